//! The recent-attachments block of the system prompt: only in a thread and only if there are files, newest first. It is
//! bounded by age, but the thread's own files are always included.

use super::{ContextError, focus::TurnFacts};
use crate::{
    attachments::format_age,
    domain::Attachment,
    prompts::{Prompts, RecentItem},
};
use chrono::{DateTime, Utc};

/// Limit of recent files of the conversation.
pub const MAX_FILES: i64 = 20;

pub fn block(
    prompts: &Prompts,
    mut files: Vec<Attachment>,
    facts: &TurnFacts,
) -> Result<String, ContextError> {
    for own in facts.thread_files.iter().chain(&facts.focus.sent) {
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
        age: format_age(now - file.created_at),
    }
}
