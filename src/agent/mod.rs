//! Turns are run here: a claimed turn becomes an answer, whatever goes wrong on the way.
//! Nothing in this room knows which interface it serves.

mod answer;
mod asking;
mod bill;
mod engine;
mod looking;
mod media;
mod provenance;
mod routes;
pub mod says;
mod sources;
mod steps;
mod titles;
mod turns;

#[cfg(test)]
mod tests;

pub use engine::{Agent, Engine, Planner};
pub use media::Media;
pub use routes::{Commanded, Routes, Way};
pub use titles::Titles;
pub use turns::{Progress, TurnEvent, Turns};
