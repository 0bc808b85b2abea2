//! What tests stand on.

pub mod postgres;
