//! The list of conversations in the sidebar.

use crate::{
    access::Viewer,
    domain::{InterfaceType, Session, SessionId},
};
use chrono::{DateTime, Local, Utc};

pub struct SidebarItem {
    pub id: SessionId,
    pub title: String,
    pub count: i64,
    /// "now", "5 min", "3 h", "Tue", "3 Jun".
    pub ago: String,
    pub iso: String,
    pub telegram: bool,
    pub current: bool,
    pub may_delete: bool,
}

const MAX_TITLE_CHARS: usize = 80;

pub fn list_items(sessions: &[Session], current: Option<SessionId>, viewer: &Viewer) -> Vec<SidebarItem> {
    sessions
        .iter()
        .map(|session| SidebarItem {
            id: session.session_id,
            title: title(session),
            count: session.message_count,
            ago: ago(session.last_activity, Utc::now()),
            iso: session.last_activity.to_rfc3339(),
            telegram: session.conversation.interface == InterfaceType::Telegram,
            current: Some(session.session_id) == current,
            may_delete: viewer.may_change_all(&session.conversation),
        })
        .collect()
}

/// The title of a conversation: its own, its first words, or a generic name.
pub fn title(session: &Session) -> String {
    let said = [session.title.as_deref().unwrap_or_default().trim(), session.first_message_preview.trim()];
    // A first message without text starts with the marker of its photo.
    let said = said.into_iter().find(|text| !text.is_empty() && !text.starts_with("[Attachment ID:"));
    match said {
        Some(text) if text.chars().count() > MAX_TITLE_CHARS => {
            text.chars().take(MAX_TITLE_CHARS).chain(['…']).collect()
        }
        Some(text) => text.to_owned(),
        None if session.message_count > 0 => "Photos".into(),
        None => "New conversation".into(),
    }
}

fn ago(then: DateTime<Utc>, now: DateTime<Utc>) -> String {
    let passed = now - then;
    let day = then.with_timezone(&Local);
    match passed.num_minutes() {
        ..1 => "now".into(),
        minutes @ ..60 => format!("{minutes} min"),
        minutes @ ..1440 => format!("{} h", minutes / 60),
        minutes if minutes < 6 * 1440 => day.format("%a").to_string(),
        _ => day.format("%-d %b").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Conversation, UserId};
    use chrono::TimeDelta;

    fn session(title: &str, preview: &str, count: i64) -> Session {
        Session {
            session_id: SessionId::new(),
            conversation: Conversation::telegram(1),
            user_id: UserId("1".into()),
            title: (!title.is_empty()).then(|| title.into()),
            first_message_preview: preview.into(),
            message_count: count,
            created_at: Utc::now(),
            last_activity: Utc::now(),
            revision: 0,
        }
    }

    #[test]
    fn every_conversation_has_a_title() {
        assert_eq!(title(&session("The eagle", "look", 2)), "The eagle");
        assert_eq!(title(&session(" ", "look", 2)), "look");
        assert_eq!(title(&session("", "[Attachment ID: x]", 2)), "Photos");
        assert_eq!(title(&session("", "", 0)), "New conversation");
        assert_eq!(title(&session(&"é".repeat(300), "", 1)).chars().count(), MAX_TITLE_CHARS + 1);
    }

    #[test]
    fn ages_are_short() {
        let now = Utc::now();
        let told = [0, 90, 7_200].map(|seconds| ago(now - TimeDelta::seconds(seconds), now));
        assert_eq!(told, ["now", "1 min", "2 h"]);
    }
}
