//! Turns the draft of a turn into its answer: the first text of the answer edits the draft's message.

use super::{
    drop_draft,
    edit::{edit_text, message_of},
};
use crate::{
    retry::while_unavailable,
    store::{Draft, OutboxRow},
    telegram::{
        Telegram,
        plan::SendRequest,
        send::{outcome::DeliveryOutcome, retry::hold_chat},
    },
};
use std::time::Duration;
use teloxide::requests::Requester as _;
use tracing::error;

/// The wait before an edit is repeated whose outcome is unknown.
const EDIT_RETRY_WAIT: Duration = Duration::from_secs(2);

/// The draft that this send edits instead of sending a new message, if its turn has one.
pub async fn draft_to_edit(telegram: &Telegram, row: &OutboxRow, request: &SendRequest) -> Option<Draft> {
    let (SendRequest::Text { .. }, Some(turn)) = (request, row.turn_id) else { return None };
    match while_unavailable("draft_of_turn", || telegram.store.draft_of_turn(turn)).await {
        Ok(draft) => draft.filter(|draft| draft.shown_id.is_some()),
        Err(error) => {
            error!(%error, op = "draft_of_turn", "store error; sending a new message");
            None
        }
    }
}

/// Edits the draft. An edit can be repeated, so its outcome is never unknown. If Telegram refuses the edit, the draft is
/// deleted and the answer is sent as a new message.
pub async fn turn_into_answer(
    telegram: &Telegram,
    draft: &Draft,
    row: &OutboxRow,
    request: &SendRequest,
) -> DeliveryOutcome {
    let _lock = telegram.drafts.locks.lock(draft.turn_id).await;
    let (SendRequest::Text { body }, Some((chat, message))) = (request, message_of(draft)) else {
        return DeliveryOutcome::Undeliverable("not a draft".into());
    };
    let Err(error) = edit_text(telegram, chat, message, body).await else {
        return DeliveryOutcome::Delivered(vec![message.0.to_string()]);
    };
    hold_chat(telegram, &draft.conversation, &error);
    match DeliveryOutcome::of_error(&error, row.attempts) {
        DeliveryOutcome::Unknown(reason) => {
            DeliveryOutcome::NotDelivered { retry_after: EDIT_RETRY_WAIT, reason }
        }
        DeliveryOutcome::Refused(reason) => {
            // The message may be gone already. A failure to delete it must not stop the answer.
            let _ = telegram.bot.delete_message(chat, message).await;
            drop_draft(telegram, draft.turn_id).await;
            DeliveryOutcome::NotDelivered { retry_after: Duration::ZERO, reason }
        }
        outcome => outcome,
    }
}
