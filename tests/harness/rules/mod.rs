//! What each vendor's API refuses: one file per vendor, the rules that a bot can break and the words they are refused
//! with. What the vendors answer is the model's business.

pub mod anthropic;
pub mod gemini;
pub mod openai;

use photothread::providers::Vendor;
use serde_json::Value;

/// Why this vendor would refuse the request, if it would.
pub fn complaint(vendor: Vendor, request: &Value) -> Option<String> {
    match vendor {
        Vendor::Anthropic => anthropic::complaint(request),
        Vendor::OpenAi => openai::complaint(request),
        Vendor::Gemini => gemini::complaint(request),
    }
}
