//! Limits of what an import may bring: counts, lengths of texts, and dates that can be true.

use chrono::{DateTime, Datelike as _, TimeDelta, Utc};

/// Files of one import, and uses of files by its entries.
pub const MAX_FILES: usize = 10_000;
/// Files of one entry, and parents of one file.
pub const MAX_FILES_PER_ENTRY: usize = 100;
/// What all imports together may take while their histories are read and checked. One history may take all of it.
pub const MAX_IMPORT_MEMORY: u64 = 200 << 20;
/// The longest history that can fit.
pub const MAX_HISTORY_BYTES: u64 = MAX_IMPORT_MEMORY / 4;
pub const MAX_CONTENT_CHARS: usize = 200_000;
pub const MAX_NAME_CHARS: usize = 200;
pub const MAX_TOOL_NAME_CHARS: usize = 64;
pub const MAX_NOTE_CHARS: usize = 20_000;
/// Names of files are cut when they are stored; this bounds what is read.
pub const MAX_FILENAME_CHARS: usize = 1_000;
pub const MAX_DESCRIPTION_CHARS: usize = 4_000;

/// Clocks differ, and so do zones that were left out.
const MAX_AHEAD: TimeDelta = TimeDelta::days(1);

/// Fails for a time before 1970 or in the future, with what is allowed.
pub fn check_time(time: DateTime<Utc>) -> Result<(), &'static str> {
    if time.year() < 1970 {
        return Err("must not be before 1970");
    }
    if time > Utc::now() + MAX_AHEAD {
        return Err("must not be in the future");
    }
    Ok(())
}

/// Fails for what no tool is called.
pub fn check_tool_name(name: &str) -> Result<(), String> {
    let is_name = !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_'));
    if is_name && name.len() <= MAX_TOOL_NAME_CHARS {
        return Ok(());
    }
    Err(format!("must be the name of a tool: at most {MAX_TOOL_NAME_CHARS} small letters and underscores"))
}

/// Fails for a longer text, or one with NUL characters, which the database does not take.
pub fn check_text(text: &str, max_chars: usize) -> Result<(), String> {
    if text.chars().count() > max_chars {
        return Err(format!("must have at most {max_chars} characters"));
    }
    if text.contains('\0') {
        return Err("must not contain the NUL character".to_owned());
    }
    Ok(())
}
