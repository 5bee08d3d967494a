//! Spans of time as they are typed: `90s`, `10m`, `1.5h`.

use std::time::Duration;

/// Reads a number with its unit.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a span of time: write it like 90s, 10m or 1.5h");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1.0,
        'm' => 60.0,
        'h' => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = text[..text.len() - 1].trim().parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units_and_refuses_the_rest() {
        assert_eq!(parse("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("1.5h"), Ok(Duration::from_secs(5400)));
        for wrong in ["", "10", "m", "-1m", "10 miles", "1e400h", "µ"] {
            assert!(parse(wrong).unwrap_err().contains("10m"), "{wrong}");
        }
    }
}
