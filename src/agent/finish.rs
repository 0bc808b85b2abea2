//! Ends a turn: stores the last message and the planned sends in one transaction.

use super::{
    Engine, fallback::MAX_TURN_ATTEMPTS, messages, outcome::Outcome, provenance, references, sent_files,
};
use crate::{
    context,
    domain::{Answer, Message, NewMessage, Role, Turn},
    retry,
    store::{FinishedTurn, StoreError},
    tools::ToolContext,
};
use backon::Retryable as _;
use std::time::Duration;
use tracing::{error, info};

const FIRST_FINISH_WAIT: Duration = Duration::from_millis(50);
const MAX_FINISH_WAIT: Duration = Duration::from_secs(10);

/// Stores the outcome. Retries until the store accepts it, however long that takes.
pub async fn finish(engine: &Engine, turn: &Turn, outcome: &Outcome, tools: &ToolContext) {
    let finished = (|| try_finish(engine, turn, outcome, tools))
        .retry(retry::forever(FIRST_FINISH_WAIT, MAX_FINISH_WAIT))
        .when(|error| !matches!(error, StoreError::AlreadyDone))
        .notify(|error, wait| error!(%error, op = "finish_turn", "store error; retrying in {wait:?}"));
    if finished.await.is_err() {
        info!(op = "finish_turn", "turn cancelled; its answer is dropped");
    }
}

async fn try_finish(
    engine: &Engine,
    turn: &Turn,
    outcome: &Outcome,
    tools: &ToolContext,
) -> Result<(), StoreError> {
    let steps = engine.store.messages_of_turn(turn.turn_id).await?;
    let answer = build_answer(engine, turn, &steps, outcome, tools).await?;
    let refs =
        references::of_answer(&engine.store, turn, &steps, &answer.attachments, outcome.state()).await?;
    let planner = engine.planners.get(&turn.conversation.interface);
    let sends = planner.map(|plan| plan(&answer)).unwrap_or_default();
    let default_agent = || engine.agent(&turn.agent_id).map(|agent| agent.name.clone());
    let (reasoning_info, provider_metadata, error) = match outcome {
        Outcome::Answered { reasoning_info, provider_metadata, .. } => {
            (reasoning_info.clone(), provider_metadata.clone(), None)
        }
        Outcome::Failed { error, .. } => (None, None, Some(error.clone())),
    };
    let message = NewMessage {
        turn_id: Some(turn.turn_id),
        thread_root_id: Some(turn.thread_root_id),
        agent_id: outcome.agent().map(str::to_owned).or_else(default_agent),
        reasoning_info,
        provider_metadata,
        error,
        refs,
        attachments: answer.attachments.iter().map(|a| a.attachment_id).collect(),
        ..NewMessage::new(turn.conversation.clone(), turn.session_id, Role::Assistant, answer.text)
    };
    let reply_to = match outcome.reply_to() {
        Some(id) => Some(id.to_owned()),
        // The turn ended before its prompt was built. The apology replies to the person's message all the same.
        None => context::message_to_answer(&engine.store.inputs_of_turn(turn.turn_id).await?),
    };
    let state = outcome.state();
    let finish =
        FinishedTurn { turn, state, message: &message, sends: &sends, reply_to: reply_to.as_deref() };
    engine.store.finish_turn(&finish).await?;
    info!(op = "finish_turn", state = state.as_str(), sends = sends.len(), "turn finished");
    Ok(())
}

/// The text and the files of the last message. Never empty.
async fn build_answer(
    engine: &Engine,
    turn: &Turn,
    steps: &[Message],
    outcome: &Outcome,
    tools: &ToolContext,
) -> Result<Answer, StoreError> {
    let outputs = sent_files::select(&engine.store, steps).await?;
    // A turn that may be the reason for crashes renders nothing more.
    let timeout = if turn.attempts > MAX_TURN_ATTEMPTS { Duration::ZERO } else { engine.tool_timeout };
    let (attachments, failures) = sent_files::ensure_stored(tools, outputs, timeout).await;
    let mut paragraphs = vec![outcome.text().trim().to_owned()];
    paragraphs.extend(failures);
    let mut text = join_paragraphs(&paragraphs);
    // The model may have written the provenance line itself.
    if let Some(line) = provenance::line(&engine.store, &attachments).await?
        && !text.contains(&line)
    {
        text = join_paragraphs(&[text, line]);
    }
    if text.is_empty() && attachments.is_empty() {
        text = messages::nothing_to_say();
    }
    Ok(Answer { text, attachments })
}

fn join_paragraphs(paragraphs: &[String]) -> String {
    let paragraphs = paragraphs.iter().map(String::as_str).filter(|paragraph| !paragraph.is_empty());
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
