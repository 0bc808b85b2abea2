//! Runs turns: a claimed turn becomes an answer, and every turn ends. No module here knows which interface it serves.
//!
//! A turn is one request of a person and all work on it. Its row in `turns` is a state machine:
//!
//! ```text
//!              claim_turn              finish_turn
//!   pending ───────────────▶ running ───────────────▶ done      the model answered
//!      │  ▲                   │ │ │                   failed    the chat got one sentence about the reason
//!      │  └───────────────────┘ │ └── cancel_turns ─▶ cancelled the person stopped it; nothing is sent
//!      │   requeue_running_turns│
//!      │   requeue_turns_except │
//!      └── cancel_turns ────────┴───────────────────▶ cancelled
//! ```
//!
//! - **pending**: written in the transaction that stores the person's messages. Late photos of an album may still join.
//! - **running**: `worker` claims the oldest pending turn of a conversation without a running one. So a conversation has
//!   at most one running turn, and its turns run in order. A person has at most `limits.turns_per_person` running
//!   turns, a process `limits.turns_at_once`; the others stay pending. Each claim counts in `attempts`.
//! - **done**, **failed**: `finish` stores the last message, the planned sends and the new state in one transaction. If
//!   the turn was cancelled meanwhile, the store refuses and the answer is dropped.
//! - **cancelled**: the store changes the state first, then [`Turns::stop`] stops the running task.
//!
//! A crash leaves a turn `running`. At start-up `requeue_running_turns` makes it `pending` again. Every model answer and tool
//! result is stored as it is made, so the next attempt continues after the last stored step; a tool call without a
//! result is repeated, which is safe because edits are deterministic. A turn that was claimed more than
//! `MAX_TURN_ATTEMPTS` times fails instead of crashing the program again. If the response to a claim is lost,
//! `requeue_turns_except` returns the claimed turn to the queue.
//!
//! The path of a turn: `worker` (claim, time-out, panic, cancel) → `fallback` (which agent runs it) → `turn_loop`
//! (model ⇄ tools, through `model_request` and `tool_steps`) → `finish`. `turn_budget` reserves a part of the budget
//! before every request and records the cost after it; the limits, prices and the ledger are in `budgets`.

pub mod budgets;
mod engine;
mod fallback;
mod finish;
mod media;
pub mod messages;
mod model_request;
mod outcome;
mod provenance;
mod references;
mod routing;
mod sent_files;
mod titles;
mod tool_steps;
mod turn_budget;
mod turn_loop;
mod turns;
mod viewed_images;
mod worker;

#[cfg(test)]
mod tests;

pub use engine::{Agent, Engine, Planner, Titles, TurnLimits};
pub use media::ModelMedia;
pub use routing::{AgentCommand, Route, Routes};
pub use turns::{Progress, TurnEvent, Turns};
pub use worker::run;
