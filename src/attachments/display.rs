//! Formats sizes and ages of files for people.

use chrono::TimeDelta;

/// 1_572_864 → "1.5 MB".
pub fn format_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["bytes", "kB", "MB", "GB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit < UNITS.len() - 1 {
        value /= 1024.0;
        unit += 1;
    }
    let rounded = (value * 10.0).round() / 10.0;
    format!("{rounded} {}", UNITS[unit])
}

/// "just now", "5 minutes ago", "2 hours ago", "3 days ago".
pub fn format_age(passed: TimeDelta) -> String {
    let (count, unit) = match passed.num_minutes() {
        ..1 => return "just now".into(),
        minutes @ ..60 => (minutes, "minute"),
        minutes @ ..1440 => (minutes / 60, "hour"),
        minutes => (minutes / 1440, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural} ago")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_use_the_largest_whole_unit() {
        let said =
            [0, 59, 60, 3599, 3600, 86_399, 86_400, 200_000].map(|s| format_age(TimeDelta::seconds(s)));
        let expected = [
            "just now",
            "just now",
            "1 minute ago",
            "59 minutes ago",
            "1 hour ago",
            "23 hours ago",
            "1 day ago",
            "2 days ago",
        ];
        assert_eq!(said, expected);
        assert_eq!(format_age(TimeDelta::seconds(-5)), "just now");
    }

    #[test]
    fn sizes_use_the_largest_unit_that_fits() {
        let said = [0, 900, 1536, 50 * 1024 * 1024, 3 << 30].map(format_size);
        assert_eq!(said, ["0 bytes", "900 bytes", "1.5 kB", "50 MB", "3 GB"]);
    }
}
