//! The worker: claims turns as conversations become free, runs each on its own, and makes sure that every one ends.

use super::{
    answer, provenance, says, sources,
    sources::Ending,
    steps::{self, Next, Outcome},
    titles::{self, Titles},
    turns::Turns,
};
use crate::{
    access::Scope,
    context::{self, Bounds, ContextError},
    domain::{Answer, InterfaceType, NewMessage, PlannedSend, Role, Turn, TurnState},
    money::Money,
    prompts::Prompts,
    providers::Provider,
    rendering::Renderer,
    store::{Finish, Store, StoreError},
    tools::{Registry, ToolContext},
};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, error, info, info_span, warn};

/// A turn that was started this often without an end is not tried again: it may be what kills us.
const MOST_ATTEMPTS: i64 = 3;

/// How an interface turns an answer into sends.
pub type Planner = fn(&Answer) -> Vec<PlannedSend>;

/// An agent as configured, ready to run.
pub struct Agent {
    pub name: String,
    pub provider: Arc<dyn Provider>,
    pub prompt: String,
    pub max_steps: u32,
    pub tools: Registry,
    /// The agent that goes on when this one's model cannot be had.
    pub fallback: Option<String>,
}

pub struct Engine {
    pub store: Store,
    pub renderer: Renderer,
    pub turns: Arc<Turns>,
    pub prompts: Prompts,
    pub bounds: Bounds,
    /// Never empty; the first is the default.
    pub agents: Vec<Agent>,
    pub planners: HashMap<InterfaceType, Planner>,
    pub tool_timeout: Duration,
    pub turn_timeout: Duration,
    pub money: Money,
    pub titles: Titles,
}

impl Engine {
    /// Runs turns until dropped. Never ends by itself.
    pub async fn run(self: Arc<Self>) {
        // A claim may have been committed although we did not hear of it.
        let mut unsure = false;
        // In a set of their own, so that dropping us drops them.
        let mut work = JoinSet::new();
        loop {
            while work.try_join_next().is_some() {}
            match self.claim(unsure).await {
                Ok(Some(turn)) => {
                    unsure = false;
                    work.spawn(self.clone().start(turn));
                }
                Ok(None) => {
                    unsure = false;
                    // Others may file turns in the same database; a look now and then finds them.
                    let _ = tokio::time::timeout(Duration::from_secs(2), self.turns.woken()).await;
                }
                Err(error) => {
                    error!(%error, "turns cannot be claimed");
                    unsure = true;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    async fn claim(&self, unsure: bool) -> Result<Option<Turn>, StoreError> {
        if unsure {
            self.store.give_back_turns(&self.turns.running_here()).await?;
        }
        self.store.claim_turn().await
    }

    fn start(self: Arc<Self>, turn: Turn) -> impl Future<Output = ()> + Send {
        let span = info_span!("turn", id = %turn.turn_id, conversation = %turn.conversation);
        let token = self.turns.begin(turn.turn_id, &turn.conversation);
        let work = async move {
            let tools = ToolContext::new(Scope::of_turn(&turn), &self.renderer);
            let (engine, its, with) = (self.clone(), turn.clone(), tools.clone());
            // On its own, so that a panic is only its own; dropped, it stops.
            let task = tokio::spawn(async move { engine.attempt(&its, &with).await }.in_current_span());
            let task = AbortOnDropHandle::new(task);
            let outcome = tokio::select! {
                done = task => done.unwrap_or_else(|error| {
                    error!(%error, "the turn panicked");
                    Outcome::broken("the turn panicked")
                }),
                () = token.cancelled() => {
                    info!("cancelled");
                    self.turns.end(turn.turn_id, &turn.conversation);
                    return;
                }
                () = tokio::time::sleep(self.turn_timeout) => {
                    warn!("the turn took too long");
                    Outcome::failed(says::took_too_long(self.turn_timeout), "the turn took too long")
                }
            };
            let ended = if outcome.error.is_none() { TurnState::Done } else { TurnState::Failed };
            self.finish(&turn, outcome, &tools).await;
            self.turns.end(turn.turn_id, &turn.conversation);
            // Only now: nobody waits for a title.
            titles::give(&self, &turn, ended).await;
        };
        work.instrument(span)
    }

    /// Runs the turn, again from its stored steps if the database was away in between.
    async fn attempt(&self, turn: &Turn, tools: &ToolContext) -> Outcome {
        if turn.attempts > MOST_ATTEMPTS {
            return Outcome::broken("started too often without an end");
        }
        let Some(agent) = self.agent(&turn.agent_id) else {
            return Outcome::broken("no agent is configured");
        };
        let mut wait = Duration::from_millis(100);
        loop {
            match self.try_attempt(agent, turn, tools).await {
                Ok(outcome) => return outcome,
                Err(ContextError::Store(StoreError::Unavailable(error))) => {
                    warn!(%error, "the turn waits for the database");
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(Duration::from_secs(10));
                }
                Err(error) => {
                    error!(%error, "the turn could not be run");
                    return Outcome::broken(&error.to_string());
                }
            }
        }
    }

    async fn try_attempt(
        &self,
        agent: &Agent,
        turn: &Turn,
        tools: &ToolContext,
    ) -> Result<Outcome, ContextError> {
        let mut first_failure = None;
        let mut relay = self.relay(agent).into_iter().peekable();
        while let Some(agent) = relay.next() {
            let opening =
                context::open(&self.store, &self.prompts, &agent.prompt, &self.bounds, turn).await?;
            let outcome = steps::run(self, agent, turn, opening, tools).await?;
            let outcome = Outcome { agent: Some(agent.name.clone()), ..outcome };
            if outcome.error.is_none() {
                return Ok(outcome);
            }
            let next = relay.peek().filter(|_| outcome.next == Next::AnotherMayTry);
            // What the person hears is about the agent they asked.
            first_failure.get_or_insert(outcome);
            let Some(next) = next else { break };
            warn!(agent = agent.name, fallback = next.name, "the fallback goes on with the turn");
        }
        Ok(first_failure.unwrap_or_else(|| Outcome::broken("nobody ran the turn")))
    }

    /// An agent, its fallback, the fallback's fallback; each once.
    fn relay<'a>(&'a self, first: &'a Agent) -> Vec<&'a Agent> {
        let mut relay = vec![first];
        while let Some(fallback) = relay.last().and_then(|agent| agent.fallback.as_ref())
            && let Some(next) = self.agents.iter().find(|agent| agent.name == *fallback)
            && relay.iter().all(|known| known.name != next.name)
        {
            relay.push(next);
        }
        relay
    }

    /// The agent of a turn; one that is no longer configured hands over to the default.
    pub(super) fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name == name).or(self.agents.first())
    }

    /// Stores the last message and plans the sends, however long the database takes to come back.
    async fn finish(&self, turn: &Turn, outcome: Outcome, tools: &ToolContext) {
        let mut wait = Duration::from_millis(50);
        loop {
            match self.try_finish(turn, &outcome, tools).await {
                Ok(()) => return,
                Err(StoreError::AlreadyDone) => {
                    info!("the turn was cancelled; its answer is dropped");
                    return;
                }
                Err(error) => {
                    error!(%error, "the end of a turn could not be stored; trying again");
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(Duration::from_secs(10));
                }
            }
        }
    }

    async fn try_finish(
        &self,
        turn: &Turn,
        outcome: &Outcome,
        tools: &ToolContext,
    ) -> Result<(), StoreError> {
        let made = self.store.messages_of_turn(turn.turn_id).await?;
        let outputs = answer::outputs(&self.store, &made).await?;
        // What may be what kills us is not tried once more for its pictures' sake.
        let within = if turn.attempts > MOST_ATTEMPTS { Duration::ZERO } else { self.tool_timeout };
        let (attachments, lost) = answer::printed(tools, outputs, within).await;
        let mut text = outcome.text.trim().to_owned();
        for why in lost {
            text = format!("{text}\n\n{why}").trim_start().to_owned();
        }
        // A model that has seen the line may say it itself.
        if let Some(line) = provenance::told(&self.store, &attachments).await?
            && !text.contains(&line)
        {
            text = format!("{text}\n\n{line}").trim_start().to_owned();
        }
        if text.is_empty() && attachments.is_empty() {
            text = says::nothing_to_say();
        }
        let ending = if outcome.error.is_none() { Ending::Answered } else { Ending::Failed };
        let refs = sources::refs(&self.store, turn, &made, &attachments, ending).await?;
        let answer = Answer { text, attachments };
        let sends =
            self.planners.get(&turn.conversation.interface).map(|plan| plan(&answer)).unwrap_or_default();
        let message = NewMessage {
            turn_id: Some(turn.turn_id),
            thread_root_id: Some(turn.thread_root_id),
            agent_id: outcome
                .agent
                .clone()
                .or_else(|| self.agent(&turn.agent_id).map(|agent| agent.name.clone())),
            reasoning_info: outcome.usage.clone(),
            provider_metadata: outcome.provider_metadata.clone(),
            error: outcome.error.clone(),
            refs,
            attachments: answer.attachments.iter().map(|a| a.attachment_id).collect(),
            ..NewMessage::new(turn.conversation.clone(), turn.session_id, Role::Assistant, answer.text)
        };
        let state = if outcome.error.is_none() { TurnState::Done } else { TurnState::Failed };
        let reply_to = match &outcome.answers {
            Some(answers) => Some(answers.clone()),
            // It ended before it had an opening, but the person should see what the apology is about.
            None => context::answered(&self.store.inputs_of_turn(turn.turn_id).await?),
        };
        let reply_to = reply_to.as_deref();
        let finish = Finish { turn, state, message: &message, sends: &sends, reply_to };
        self.store.finish_turn(&finish).await?;
        info!(state = state.as_str(), sends = sends.len(), "turn over");
        Ok(())
    }
}
