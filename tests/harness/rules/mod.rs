//! Requests that each vendor's API refuses, with its error messages. One file per vendor.

pub mod anthropic;
pub mod gemini;
pub mod openai;

use photothread::providers::Vendor;
use serde_json::Value;

/// The vendor's error message for this request; none if it accepts it.
pub fn complaint(vendor: Vendor, request: &Value) -> Option<String> {
    match vendor {
        Vendor::Anthropic => anthropic::complaint(request),
        Vendor::OpenAi => openai::complaint(request),
        Vendor::Gemini => gemini::complaint(request),
    }
}
