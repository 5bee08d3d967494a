//! Shares as they are typed: `5%` or `0.05`.

/// Reads a share above 0 and up to 1.
pub(crate) fn parse(text: &str) -> Result<f64, String> {
    parse_or_none(text).and_then(|share| if share > 0.0 { Ok(share) } else { Err(OUTSIDE.to_owned()) })
}

/// Reads a share from 0 to 1.
pub(crate) fn parse_or_none(text: &str) -> Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share: f64 = number.trim().parse().map_err(|_| "write a share as 5% or 0.05".to_owned())?;
    let share = share / unit;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err(OUTSIDE.to_owned()) }
}

const OUTSIDE: &str = "a share lies between 0 and 100%";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_percents_and_fractions() {
        assert_eq!((parse("5%"), parse("0.05"), parse("100 %")), (Ok(0.05), Ok(0.05), Ok(1.0)));
        for wrong in ["0", "", "%", "101%", "x", "-1%", "nan", "inf"] {
            assert!(parse(wrong).is_err(), "{wrong}");
            assert_eq!(parse_or_none(wrong).is_err(), wrong != "0", "{wrong}");
        }
    }
}
