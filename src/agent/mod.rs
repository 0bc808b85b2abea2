//! Turns are run here: a claimed turn becomes an answer, whatever goes wrong on the way.
//! Nothing in this room knows which interface it serves.

mod answer;
mod engine;
mod pictures;
pub mod says;
mod steps;
mod turns;

#[cfg(test)]
mod tests;

pub use engine::{Agent, Engine, Planner};
pub use pictures::Pictures;
pub use turns::{TurnEvent, Turns};
