//! The scales that rows are coded at: `2^(-c/4)` for the class `c`, one byte a row.
//!
//! A row takes the smallest scale not below its largest number. There are few of them, so a query is coded
//! once a class, and every document still has a scale that fits.

pub(crate) use retreever_kernels::bounds::CLASSES;

/// `2^(-c/4)`, in the same bits on every machine.
const SCALES: [f32; CLASSES] = {
    const QUARTERS: [f32; 4] = [1.0, 0.840_896_4, std::f32::consts::FRAC_1_SQRT_2, 0.594_603_56];
    let mut scales = [0.0; CLASSES];
    let (mut class, mut power) = (0, 1.0);
    while class < CLASSES {
        scales[class] = QUARTERS[class % 4] * power;
        class += 1;
        if class % 4 == 0 {
            power *= 0.5;
        }
    }
    scales
};

/// The scale of a class.
pub(crate) fn scale(class: u8) -> f32 {
    SCALES[usize::from(class)]
}

/// The class with the smallest scale that is not below `largest`, a probability. A row may sum to a little
/// more than 1; what exceeds the largest scale counts into the error of its codes.
pub(crate) fn class_of(largest: f32) -> u8 {
    (SCALES.partition_point(|scale| *scale >= largest) as u8).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_fit() {
        assert_eq!(class_of(1.0), 0);
        assert_eq!(class_of(1.0005), 0);
        assert_eq!(class_of(0.0), CLASSES as u8 - 1);
        for class in 1..CLASSES as u8 {
            assert!(scale(class) < scale(class - 1));
            assert_eq!(class_of(scale(class)), class);
            assert_eq!(class_of(scale(class) * 1.001), class - 1);
        }
    }
}
