//! The block of recent attachments in the system prompt: only in a thread, only if there are any, newest first,
//! bounded by age but always with the thread's own.

use super::{ContextError, focus::Scene};
use crate::{
    attachments::age,
    domain::Attachment,
    prompts::{Prompts, RecentItem},
};
use chrono::{DateTime, Utc};

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
