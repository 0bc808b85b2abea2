//! Turns are run here: a claimed turn becomes an answer, whatever goes wrong on the way.
//! Nothing in this room knows which interface it serves.

mod answer;
mod bill;
mod engine;
mod media;
pub mod says;
mod steps;
mod titles;
mod turns;

#[cfg(test)]
mod tests;

pub use engine::{Agent, Engine, Planner};
pub use media::Media;
pub use titles::Titles;
pub use turns::{Progress, TurnEvent, Turns};
