//! What the real APIs refuse, one file per vendor: our stand-ins ask here before they answer.

pub mod anthropic;
