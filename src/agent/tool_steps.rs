//! The stored steps of a running turn: the model's tool calls and their results, each stored as it is made.

use super::{Agent, Engine, turn_budget};
use crate::{
    attachments::AttachmentError,
    domain::{Attachment, Message, MessageId, NewMessage, Role, ToolCall, Turn},
    providers::Completion,
    retry,
    store::StoreError,
    tools::{Called, Output, ToolContext},
};
use futures::future::join_all;
use serde_json::json;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};
use tracing::debug;

/// Which attempt stored a message.
enum Stored {
    Now(MessageId),
    /// An earlier one, whose response was lost: all messages of the turn.
    Before(Vec<Message>),
}

/// The steps of one turn, run by one agent.
pub struct TurnSteps<'a> {
    engine: &'a Engine,
    agent: &'a Agent,
    turn: &'a Turn,
    tools: &'a ToolContext,
    stored: Vec<Message>,
}

impl<'a> TurnSteps<'a> {
    /// Loads the steps of earlier attempts. Repeats calls whose results were lost in a crash: edits are deterministic
    /// and non-destructive.
    pub async fn resume(
        engine: &'a Engine,
        agent: &'a Agent,
        turn: &'a Turn,
        tools: &'a ToolContext,
    ) -> Result<Self, StoreError> {
        let stored = engine.store.messages_of_turn(turn.turn_id).await?;
        let has_result = |id: &str| stored.iter().any(|m| m.tool_call_id.as_deref() == Some(id));
        let calls = stored.iter().flat_map(|m| m.tool_calls.clone());
        let lost: Vec<ToolCall> = calls.filter(|call| !has_result(&call.id)).collect();
        let mut steps = Self { engine, agent, turn, tools, stored };
        steps.run_calls(&lost).await?;
        Ok(steps)
    }

    pub fn stored(&self) -> &[Message] {
        &self.stored
    }

    /// How many steps this agent has made in this turn.
    pub fn count(&self) -> u32 {
        let own = |m: &&Message| {
            !m.tool_calls.is_empty() && m.agent_id.as_deref() == Some(self.agent.name.as_str())
        };
        self.stored.iter().filter(own).count() as u32
    }

    /// Stores the model's calls, runs them and stores their results.
    pub async fn run_step(&mut self, completion: Completion) -> Result<(), StoreError> {
        let completion = self.make_ids_unique(completion);
        let calls = completion.tool_calls.clone();
        let reasoning_info = turn_budget::reasoning_info(self.engine, self.agent, &completion.usage);
        let message = NewMessage {
            content: completion.text,
            tool_calls: completion.tool_calls,
            reasoning_info: Some(reasoning_info),
            provider_metadata: completion.provider_metadata,
            ..self.new_message(Role::Assistant)
        };
        self.store(message, &[]).await?;
        self.run_calls(&calls).await
    }

    /// Some models repeat or omit call ids; a result must match exactly one call.
    fn make_ids_unique(&self, mut completion: Completion) -> Completion {
        let mut taken: Vec<String> =
            self.stored.iter().flat_map(|m| m.tool_calls.iter().map(|call| call.id.clone())).collect();
        for (index, call) in completion.tool_calls.iter_mut().enumerate() {
            if call.id.is_empty() || taken.contains(&call.id) {
                call.id = format!("call-{}-{index}", taken.len() + 1);
            }
            taken.push(call.id.clone());
        }
        completion
    }

    /// Runs the calls concurrently. Every call gets a result.
    async fn run_calls(&mut self, calls: &[ToolCall]) -> Result<(), StoreError> {
        let Self { engine, agent, turn, tools, .. } = *self;
        let progress = (!calls.is_empty()).then(|| agent.tools.describe_progress(calls));
        engine.turns.progress(turn.turn_id, |shown| shown.doing = progress);
        let work = calls.iter().map(|call| async {
            let since = Instant::now();
            let reservation = match turn_budget::reserve_for_call(engine, agent, turn, call).await? {
                Ok(reservation) => reservation,
                Err(exhausted) => return Ok((Called::refused(&exhausted), since.elapsed())),
            };
            let result = agent.tools.call(tools, &call.name, &call.arguments, engine.tool_timeout).await;
            // Here and not after all calls: another call may wait for this part of the budget.
            turn_budget::record_tool(engine, agent, turn, &result.usage).await;
            reservation.release().await;
            Ok::<_, StoreError>((result, since.elapsed()))
        });
        let results = join_all(work).await;
        engine.turns.progress(turn.turn_id, |shown| shown.doing = None);
        for (call, result) in calls.iter().zip(results) {
            let (result, took) = result?;
            debug!(op = "run_tool", tool = call.name, failed = result.failed, ?took, "tool finished");
            let made = result.outputs.iter().filter_map(|output| match output {
                Output::Made(attachment) => Some(attachment.clone()),
                Output::Known(_) => None,
            });
            let made: Vec<Attachment> = made.collect();
            let message = NewMessage {
                tool_call_id: Some(call.id.clone()),
                tool_name: Some(call.name.clone()),
                reasoning_info: Some(json!({ "duration_ms": took.as_millis() as u64 })),
                error: result.failed.then(|| result.text.clone()),
                attachments: result.outputs.iter().map(Output::id).collect(),
                content: result.text.clone(),
                ..self.new_message(Role::Tool)
            };
            self.store(message, &made).await?;
        }
        Ok(())
    }

    fn new_message(&self, role: Role) -> NewMessage {
        NewMessage {
            turn_id: Some(self.turn.turn_id),
            thread_root_id: Some(self.turn.thread_root_id),
            agent_id: Some(self.agent.name.clone()),
            ..NewMessage::new(self.turn.conversation.clone(), self.turn.session_id, role, "")
        }
    }

    /// Stores one message, however long the database is unavailable: the model is not asked twice for the same step.
    async fn store(&mut self, message: NewMessage, made: &[Attachment]) -> Result<(), StoreError> {
        let (engine, turn, known) = (self.engine, self.turn, self.stored.len());
        let retried = AtomicBool::new(false);
        let add = || async {
            // The attempt before may have been committed although its response was lost.
            if retried.swap(true, Ordering::Relaxed) {
                let stored = engine.store.messages_of_turn(turn.turn_id).await?;
                if stored.len() > known {
                    return Ok(Stored::Before(stored));
                }
            }
            Ok(Stored::Now(engine.store.add_message(&message, made).await?))
        };
        match retry::while_unavailable("add_message", add).await {
            Ok(Stored::Now(internal_id)) => self.stored.push(Message { internal_id, body: message }),
            Ok(Stored::Before(stored)) => self.stored = stored,
            // Files that were made at the same time took the room: the call has failed.
            Err(StoreError::OverQuota(over)) => {
                let text = format!("Error: {}", AttachmentError::from(over));
                let failed = NewMessage {
                    error: Some(text.clone()),
                    content: text,
                    attachments: Vec::new(),
                    ..message.clone()
                };
                let add = || engine.store.add_message(&failed, &[]);
                let internal_id = retry::while_unavailable("add_message", add).await?;
                self.stored.push(Message { internal_id, body: failed });
            }
            Err(error) => return Err(error),
        }
        engine.turns.changed(&turn.conversation);
        Ok(())
    }
}
