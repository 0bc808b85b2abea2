//! TODO by its helper.
use super::{Album, Assembly, Fault};
use crate::providers::{Completion, ModelSettings, Prompt, ProviderError};
use serde_json::Value;

pub fn request(_settings: &ModelSettings, _prompt: &Prompt, _album: &Album) -> Value {
    Value::Null
}

pub fn completion(_model: &str, _response: &Value) -> Result<Completion, ProviderError> {
    Ok(Completion::default())
}

#[derive(Debug, Default)]
pub struct Pieces;

impl Assembly for Pieces {
    fn take(&mut self, _event: &Value) -> Result<String, ProviderError> {
        Ok(String::new())
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        None
    }
}

pub fn fault(_response: &Value) -> Option<Fault> {
    None
}
