//! The turn worker: claims pending turns and runs each in its own task, so many at once and so many of one person. Every
//! claimed turn ends, even if its task panics, takes too long or is cancelled.

use super::{Engine, fallback, finish, messages, outcome::Outcome, titles};
use crate::{access::Scope, domain::Turn, store::StoreError, tools::ToolContext};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, error, info, info_span, warn};

/// How often the queue is checked without a wake-up: other programs may file turns in the same database.
const QUEUE_POLL_INTERVAL: Duration = Duration::from_secs(2);
const CLAIM_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Whether the last claim may have been committed although its response was lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastClaim {
    Known,
    Unknown,
}

/// Runs turns until dropped. Never returns.
pub async fn run(engine: Arc<Engine>) {
    let mut last_claim = LastClaim::Known;
    // Dropping the set stops the turns.
    let mut running = JoinSet::new();
    loop {
        while running.try_join_next().is_some() {}
        if engine.turns.running_here().len() >= engine.limits.turns_at_once {
            // The end of a turn wakes the worker.
            engine.turns.woken().await;
            continue;
        }
        match claim(&engine, last_claim).await {
            Ok(Some(turn)) => {
                last_claim = LastClaim::Known;
                running.spawn(run_turn(engine.clone(), turn));
            }
            Ok(None) => {
                last_claim = LastClaim::Known;
                let _ = tokio::time::timeout(QUEUE_POLL_INTERVAL, engine.turns.woken()).await;
            }
            Err(error) => {
                error!(%error, op = "claim_turn", "store error; retrying in {CLAIM_RETRY_INTERVAL:?}");
                last_claim = LastClaim::Unknown;
                tokio::time::sleep(CLAIM_RETRY_INTERVAL).await;
            }
        }
    }
}

async fn claim(engine: &Engine, last_claim: LastClaim) -> Result<Option<Turn>, StoreError> {
    if last_claim == LastClaim::Unknown {
        engine.store.requeue_turns_except(&engine.turns.running_here()).await?;
    }
    engine.store.claim_turn(engine.limits.turns_per_person).await
}

/// Registers the turn as running at once; the returned future does the work.
fn run_turn(engine: Arc<Engine>, turn: Turn) -> impl Future<Output = ()> + Send {
    let span =
        info_span!("turn", turn_id = %turn.turn_id, conversation = %turn.conversation, agent = turn.agent_id);
    let token = engine.turns.begin(turn.turn_id, &turn.conversation);
    let work = async move {
        let tools = ToolContext::new(Scope::of_turn(&turn), &engine.renderer);
        let task = {
            let (engine, turn, tools) = (engine.clone(), turn.clone(), tools.clone());
            // A task of its own contains a panic.
            tokio::spawn(
                async move { fallback::run_with_fallbacks(&engine, &turn, &tools).await }.in_current_span(),
            )
        };
        let outcome = tokio::select! {
            done = AbortOnDropHandle::new(task) => done.unwrap_or_else(|error| {
                error!(%error, op = "run_turn", "the turn panicked");
                Outcome::internal_error("the turn panicked")
            }),
            () = token.cancelled() => {
                info!(op = "run_turn", "turn cancelled");
                engine.turns.end(turn.turn_id, &turn.conversation);
                return;
            }
            () = tokio::time::sleep(engine.turn_timeout) => {
                warn!(op = "run_turn", "turn timed out after {:?}", engine.turn_timeout);
                Outcome::failed(messages::took_too_long(engine.turn_timeout), "the turn took too long")
            }
        };
        let state = outcome.state();
        finish::finish(&engine, &turn, &outcome, &tools).await;
        engine.turns.end(turn.turn_id, &turn.conversation);
        // After the end: the person does not wait for a title.
        titles::give_title(&engine, &turn, state).await;
    };
    work.instrument(span)
}
