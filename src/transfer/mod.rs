//! Export and import of conversations, for the command line and the HTTP API. Knows nothing of HTTP.
//! An export can be imported again: same messages, same files, new ids.

pub mod export;
pub mod import;
pub mod json;
pub mod json_cost;
pub mod pages;
