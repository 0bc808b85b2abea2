//! The parameters of a request: JSON, a form, a query or multipart with files.

use super::api::Refusal;
use axum::{
    RequestExt,
    body::to_bytes,
    extract::{FromRequest, Multipart, Query, Request},
    http::header::CONTENT_TYPE,
};
use bytes::Bytes;
use serde_json::{Map, Value};
use std::collections::HashMap;

#[derive(Clone, Default)]
pub struct Params {
    pub fields: Map<String, Value>,
    pub files: HashMap<String, Upload>,
}

#[derive(Clone)]
pub struct Upload {
    pub name: String,
    pub bytes: Bytes,
}

impl Params {
    pub async fn read(mut request: Request) -> Result<Params, Refusal> {
        let mut params = Params::default();
        if let Ok(Query(query)) = request.extract_parts::<Query<HashMap<String, String>>>().await {
            params.fields.extend(query.into_iter().map(|(key, value)| (key, value.into())));
        }
        let encoding =
            request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if encoding.starts_with("multipart/form-data") {
            params.read_parts(request).await?;
        } else if encoding.starts_with("application/json") {
            let body = to_bytes(request.into_body(), usize::MAX).await.map_err(Refusal::unreadable)?;
            match serde_json::from_slice(&body) {
                Ok(Value::Object(fields)) => params.fields.extend(fields),
                _ => return Err(Refusal::bad("can't parse request body JSON object")),
            }
        } else if encoding.starts_with("application/x-www-form-urlencoded") {
            let form = axum::Form::<HashMap<String, String>>::from_request(request, &()).await;
            let axum::Form(form) = form.map_err(Refusal::unreadable)?;
            params.fields.extend(form.into_iter().map(|(key, value)| (key, value.into())));
        }
        Ok(params)
    }

    /// Files may come before or after the fields that name them.
    async fn read_parts(&mut self, request: Request) -> Result<(), Refusal> {
        let mut parts = Multipart::from_request(request, &()).await.map_err(Refusal::unreadable)?;
        while let Some(part) = parts.next_field().await.map_err(Refusal::unreadable)? {
            let key = part.name().unwrap_or_default().to_owned();
            match part.file_name().map(str::to_owned) {
                Some(name) => {
                    let bytes = part.bytes().await.map_err(Refusal::unreadable)?;
                    self.files.insert(key, Upload { name, bytes });
                }
                None => {
                    let text = part.text().await.map_err(Refusal::unreadable)?;
                    self.fields.insert(key, text.into());
                }
            }
        }
        Ok(())
    }

    /// One item of a media group as if it were a request of its own.
    pub fn nested(&self, item: &Value) -> Params {
        Params { fields: item.as_object().cloned().unwrap_or_default(), files: self.files.clone() }
    }

    pub fn text(&self, key: &str) -> Option<String> {
        match self.fields.get(key)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    pub fn number(&self, key: &str) -> Option<i64> {
        match self.fields.get(key)? {
            Value::String(text) => text.parse().ok(),
            other => other.as_i64(),
        }
    }

    pub fn flag(&self, key: &str) -> bool {
        matches!(self.text(key).as_deref(), Some("true" | "True" | "1"))
    }

    /// An object or array, given as itself or as a string that holds it.
    pub fn json(&self, key: &str) -> Result<Option<Value>, Refusal> {
        match self.fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => {
                let parsed = serde_json::from_str(text);
                parsed.map(Some).map_err(|_| Refusal::bad(format!("can't parse {key} JSON object")))
            }
            Some(other) => Ok(Some(other.clone())),
        }
    }

    pub fn list(&self, key: &str) -> Result<Vec<Value>, Refusal> {
        match self.json(key)? {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => Err(Refusal::bad(format!("can't parse {key}: expected an array"))),
        }
    }

    /// For recorded calls: strings with JSON are parsed, and files become their sizes.
    pub fn recorded(&self) -> Value {
        let mut record = self.fields.clone();
        for value in record.values_mut() {
            let held = value.as_str().filter(|text| text.starts_with(['[', '{']));
            if let Some(parsed) = held.and_then(|text| serde_json::from_str(text).ok()) {
                *value = parsed;
            }
        }
        for (key, upload) in &self.files {
            record.insert(key.clone(), format!("{} ({} bytes)", upload.name, upload.bytes.len()).into());
        }
        record.into()
    }
}
