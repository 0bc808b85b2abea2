//! Every sentence that the offline agent sends to people. Each sentence has one function or constant here.
//!
//! `messages`: a whole turn. `questions`: what the planner must ask. `actions`: what was done, as phrases of the final
//! sentence. `sights`: what was found in a picture. `tool_results` and `file_facts`: results of tools in plain words. `text`: formatting helpers.

pub mod actions;
pub mod file_facts;
pub mod messages;
pub mod questions;
pub mod sights;
pub mod text;
pub mod tool_results;
