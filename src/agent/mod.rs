//! Turns are run here: a claimed turn becomes an answer, whatever goes wrong on the way.
//! Nothing in this room knows which interface it serves.

mod answer;
mod engine;
mod media;
mod provenance;
pub mod says;
mod steps;
mod turns;

#[cfg(test)]
mod tests;

pub use engine::{Agent, Engine, Planner};
pub use media::Media;
pub use turns::{Progress, TurnEvent, Turns};
