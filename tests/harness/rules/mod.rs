//! What the real APIs refuse, one file per vendor: pure checks of a request's JSON.

pub mod gemini;
