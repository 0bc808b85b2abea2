//! The block of recent attachments in the system prompt: only in a thread, only if there are any, newest first,
//! bounded by age but always with the thread's own.

use super::{ContextError, focus::Scene};
use crate::{
    domain::Attachment,
    prompts::{Prompts, RecentItem},
};
use chrono::{DateTime, TimeDelta, Utc};

/// How many of the conversation's recent files are shown.
pub const MOST: i64 = 20;

pub fn block(prompts: &Prompts, mut files: Vec<Attachment>, scene: &Scene) -> Result<String, ContextError> {
    for own in scene.thread_files.iter().chain(&scene.focus.sent) {
        if files.iter().all(|file| file.attachment_id != own.attachment_id) {
            files.push(own.clone());
        }
    }
    if files.is_empty() {
        return Ok(String::new());
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.created_at));
    let now = Utc::now();
    let items: Vec<RecentItem> = files.iter().map(|file| item(file, now)).collect();
    Ok(prompts.recent_attachments(&items)?)
}

fn item(file: &Attachment, now: DateTime<Utc>) -> RecentItem {
    RecentItem {
        id: file.attachment_id,
        filename: file.filename.clone(),
        mime_type: file.mime_type.clone(),
        age: age(now - file.created_at),
    }
}

/// "just now", "5 minutes ago", "2 hours ago", "3 days ago".
fn age(passed: TimeDelta) -> String {
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
    fn ages_read_as_people_say_them() {
        let said: Vec<String> =
            [10, 60, 300, 3600, 7200, 86_400 * 3].map(|s| age(TimeDelta::seconds(s))).into();
        assert_eq!(
            said,
            ["just now", "1 minute ago", "5 minutes ago", "1 hour ago", "2 hours ago", "3 days ago"]
        );
    }
}
