//! Earlier messages as the model sees them. Cuts never orphan a tool call or result; they drop the oldest messages after
//! the first one, which always stays.

use super::user_message;
use crate::{
    domain::{Message, Role},
    providers::PromptMessage,
};

/// Result of a tool call without one: the turn was cancelled or the program stopped.
pub const INTERRUPTED: &str = "Error: this was interrupted before it finished.";

/// Replaces the messages that were cut.
const LEFT_OUT: &str = "(Part of this thread is left out here, because it is long.)";

/// Messages that must stay together: a person's message, an answer, or a call with all its results.
type Unit = Vec<PromptMessage>;

/// Renders stored rows as units. A result is found by its call id within its turn, at any position.
pub fn render(messages: &[Message]) -> Vec<Unit> {
    let mut units = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        match message.role {
            Role::User => {
                units.push(vec![PromptMessage::User { text: user_message::past(message), shown: Vec::new() }])
            }
            Role::Assistant if message.tool_calls.is_empty() => {
                if !message.content.trim().is_empty() {
                    units.push(vec![assistant(message)]);
                }
            }
            Role::Assistant => units.push(call_with_results(message, &messages[index + 1..])),
            // A result is rendered with its call; a result without a call is dropped.
            Role::Tool => {}
        }
    }
    units
}

/// The steps of the running turn so far.
pub fn steps_of_turn(messages: &[Message]) -> Vec<PromptMessage> {
    render(messages).into_iter().flatten().collect()
}

fn assistant(message: &Message) -> PromptMessage {
    PromptMessage::Assistant {
        text: message.content.clone(),
        tool_calls: message.tool_calls.clone(),
        provider_metadata: message.provider_metadata.clone(),
    }
}

fn call_with_results(message: &Message, later: &[Message]) -> Unit {
    let mut unit = vec![assistant(message)];
    for call in &message.tool_calls {
        let result = later.iter().find(|m| {
            m.role == Role::Tool
                && m.turn_id == message.turn_id
                && m.tool_call_id.as_deref() == Some(&call.id)
        });
        unit.push(PromptMessage::Tool {
            call_id: call.id.clone(),
            name: call.name.clone(),
            text: result.map_or_else(|| INTERRUPTED.to_owned(), |m| m.content.clone()),
            shown: Vec::new(),
        });
    }
    unit
}

/// Drops units after the first, oldest first, until the rest fits. A note replaces them.
pub fn bound(units: Vec<Unit>, max_tokens: Option<usize>) -> Vec<PromptMessage> {
    let kept = match max_tokens {
        Some(max) => cut(units, max, 2),
        None => units,
    };
    kept.into_iter().flatten().collect()
}

/// Keeps at least `min_units` units, always including the first.
fn cut(mut units: Vec<Unit>, max_tokens: usize, min_units: usize) -> Vec<Unit> {
    let mut total: usize = units.iter().map(|unit| estimate_tokens(unit)).sum();
    let mut dropped = 0;
    while total > max_tokens && units.len() - dropped > min_units {
        dropped += 1;
        total -= estimate_tokens(&units[dropped]);
    }
    if dropped > 0 {
        let note = vec![PromptMessage::User { text: LEFT_OUT.to_owned(), shown: Vec::new() }];
        units.splice(1..=dropped, [note]);
    }
    units
}

/// Halves the history after the model found it too long. The first and the current message stay, with one picture. None
/// if nothing can be dropped.
pub fn shorten(messages: &[PromptMessage]) -> Option<Vec<PromptMessage>> {
    let mut past = group_units(messages);
    let mut now = past.pop()?;
    let half = past.iter().map(|unit| estimate_tokens(unit)).sum::<usize>() / 2;
    let mut past = cut(past, half, 1);
    past.iter_mut().flatten().for_each(|message| limit_pictures(message, 0));
    now.iter_mut().for_each(|message| limit_pictures(message, 1));
    past.push(now);
    let shorter: Vec<PromptMessage> = past.into_iter().flatten().collect();
    // The note may be longer than the dropped messages.
    let less = estimate_tokens(&shorter) < estimate_tokens(messages)
        || count_pictures(&shorter) < count_pictures(messages);
    less.then_some(shorter)
}

/// Groups calls with their results.
fn group_units(messages: &[PromptMessage]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for message in messages {
        match (message, units.last_mut()) {
            (PromptMessage::Tool { .. }, Some(unit)) => unit.push(message.clone()),
            _ => units.push(vec![message.clone()]),
        }
    }
    units
}

fn limit_pictures(message: &mut PromptMessage, max: usize) {
    if let PromptMessage::User { shown, .. } | PromptMessage::Tool { shown, .. } = message {
        shown.truncate(max);
    }
}

fn count_pictures(messages: &[PromptMessage]) -> usize {
    let shown = |message: &PromptMessage| match message {
        PromptMessage::User { shown, .. } | PromptMessage::Tool { shown, .. } => shown.len(),
        PromptMessage::Assistant { .. } => 0,
    };
    messages.iter().map(shown).sum()
}

/// A rough estimate, too high for most languages: three bytes per token.
fn estimate_tokens(messages: &[PromptMessage]) -> usize {
    let bytes = |message: &PromptMessage| match message {
        PromptMessage::User { text, .. } | PromptMessage::Tool { text, .. } => text.len(),
        PromptMessage::Assistant { text, tool_calls, .. } => {
            text.len() + tool_calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>()
        }
    };
    messages.iter().map(|message| bytes(message) / 3 + 4).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{
            Attachment, AttachmentId, AttachmentSource, Content, Conversation, MessageId, NewMessage,
            SessionId, ToolCall, TurnId,
        },
        providers::ShownFile,
    };
    use proptest::prelude::*;
    use uuid::Uuid;

    fn row(role: Role, turn: u128, content: &str, calls: &[u8], answers: Option<u8>) -> Message {
        let id = |number: &u8| format!("call_{number}");
        let call = |number: &u8| ToolCall { id: id(number), name: "look".into(), arguments: "{}".into() };
        let session = SessionId(Uuid::nil());
        let message = NewMessage {
            turn_id: (role != Role::User).then_some(TurnId(Uuid::from_u128(turn))),
            tool_calls: calls.iter().map(call).collect(),
            tool_call_id: answers.as_ref().map(id),
            ..NewMessage::new(Conversation::telegram(1), session, role, content)
        };
        Message { internal_id: MessageId(0), body: message }
    }

    /// Rows in any order and with gaps, as a cut, a crash or a cancelled turn may leave them.
    fn any_row() -> impl Strategy<Value = Message> {
        let ids = prop::collection::btree_set(0..4u8, 0..3);
        prop_oneof![
            "[a-z]{1,30}".prop_map(|text| row(Role::User, 0, &text, &[], None)),
            (0..3u128, "[a-z]{0,30}", ids).prop_map(|(turn, text, calls)| {
                row(Role::Assistant, turn, &text, &calls.into_iter().collect::<Vec<_>>(), None)
            }),
            (0..3u128, 0..5u8).prop_map(|(turn, id)| row(Role::Tool, turn, "seen", &[], Some(id))),
        ]
    }

    /// Why a model would reject this sequence.
    fn rule_violation(messages: &[PromptMessage]) -> Option<&'static str> {
        let mut open: Vec<&str> = Vec::new();
        for message in messages {
            match message {
                PromptMessage::Tool { call_id, .. } => match open.iter().position(|id| id == call_id) {
                    Some(at) => drop(open.remove(at)),
                    None => return Some("a result without its call"),
                },
                _ if !open.is_empty() => return Some("a call not directly followed by all its results"),
                PromptMessage::Assistant { text, tool_calls, .. } => {
                    if text.is_empty() && tool_calls.is_empty() {
                        return Some("an empty assistant message");
                    }
                    open = tool_calls.iter().map(|call| call.id.as_str()).collect();
                }
                PromptMessage::User { .. } => {}
            }
        }
        (!open.is_empty()).then_some("a call without a result")
    }

    proptest! {
        #[test]
        fn no_cut_leaves_an_orphaned_call_or_result(
            rows in prop::collection::vec(any_row(), 0..24),
            from in 0..24usize,
            most in prop::option::of(0..200usize),
        ) {
            let rows = &rows[from.min(rows.len())..];
            let whole = render(rows);
            let first = whole.first().cloned();
            let messages = bound(whole, most);
            prop_assert_eq!(rule_violation(&messages), None, "{:#?}", messages);
            if let Some(first) = first {
                prop_assert!(messages.starts_with(&first), "the root stays");
            }
        }

        #[test]
        fn a_shortened_history_is_still_valid(rows in prop::collection::vec(any_row(), 0..24)) {
            let past = render(&rows);
            let first = past.first().cloned().unwrap_or_default();
            let mut messages: Vec<_> = past.into_iter().flatten().collect();
            let now = PromptMessage::User { text: "and now?".into(), shown: Vec::new() };
            messages.push(now.clone());
            if let Some(shorter) = shorten(&messages) {
                prop_assert_eq!(rule_violation(&shorter), None, "{:#?}", shorter);
                prop_assert!(shorter.starts_with(&first), "the root stays");
                prop_assert_eq!(shorter.last(), Some(&now), "and what is asked now");
                prop_assert!(estimate_tokens(&shorter) < estimate_tokens(&messages), "{:#?}", shorter);
            }
        }
    }

    #[test]
    fn a_long_history_is_halved_and_one_picture_stays() {
        let said = |text: &str| PromptMessage::User { text: text.into(), shown: Vec::new() };
        let long = |letter: &str| letter.repeat(300);
        let file = |text: &str| PromptMessage::User { text: text.into(), shown: vec![picture(), picture()] };
        let messages = [said(&long("a")), said(&long("b")), said(&long("c")), said(&long("d")), file("now")];
        let shorter = shorten(&messages).unwrap();
        assert_eq!(shorter[..3], [said(&long("a")), said(LEFT_OUT), said(&long("d"))]);
        assert_eq!(count_pictures(&shorter), 1);
        let only = shorten(&shorter).unwrap();
        assert_eq!(only[..2], [said(&long("a")), said(LEFT_OUT)], "the last of the past may go as well");
        assert_eq!(shorten(&only), None, "there is nothing left to leave out");
        assert_eq!(shorten(&[said("now")]), None);
        assert_eq!(shorten(&[]), None);
    }

    fn picture() -> ShownFile {
        ShownFile::whole(Attachment {
            attachment_id: AttachmentId(Uuid::nil()),
            conversation: Conversation::telegram(1),
            user_id: crate::domain::UserId("100".into()),
            source: AttachmentSource::User,
            mime_type: "image/jpeg".into(),
            filename: "image.jpg".into(),
            description: None,
            size: 1,
            width: None,
            height: None,
            content: Content::stored("none", "none"),
            created_at: chrono::DateTime::UNIX_EPOCH,
            parents: Vec::new(),
        })
    }

    #[test]
    fn a_call_is_paired_with_a_result_of_its_own_turn() {
        let rows = [
            row(Role::Assistant, 1, "", &[1, 2], None),
            row(Role::Tool, 2, "of another turn", &[], Some(1)),
            row(Role::Tool, 1, "mine", &[], Some(1)),
        ];
        let texts: Vec<_> = steps_of_turn(&rows)
            .into_iter()
            .filter_map(|message| match message {
                PromptMessage::Tool { text, .. } => Some(text),
                _ => None,
            })
            .collect();
        assert_eq!(texts, ["mine", INTERRUPTED]);
    }

    #[test]
    fn the_oldest_messages_after_the_first_are_replaced_by_a_note() {
        let text = |number: usize| format!("{number}").repeat(30);
        let rows: Vec<_> = (0..5).map(|number| row(Role::User, 0, &text(number), &[], None)).collect();
        let messages = bound(render(&rows), Some(60));
        let shown: Vec<_> = messages
            .iter()
            .filter_map(|message| match message {
                PromptMessage::User { text, .. } => Some(text.trim_matches(['<', '>', '\n']).to_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(shown, [text(0), LEFT_OUT.to_owned(), text(3), text(4)]);
    }
}
