//! What requests took that ended without a completion: a model that declines has read the prompt all the same, and its
//! vendor charges for it. An error has no room for that, so it is kept beside it.

use super::{Usage, Vendor};
use serde_json::Value;
use std::cell::RefCell;

tokio::task_local! {
    static UNANSWERED: RefCell<Vec<Usage>>;
}

/// Does the work, and tells what its requests without an answer took.
pub async fn metered<W: Future>(work: W) -> (W::Output, Vec<Usage>) {
    let both = async {
        let done = work.await;
        (done, UNANSWERED.with(RefCell::take))
    };
    UNANSWERED.scope(RefCell::default(), both).await
}

/// Notes what a response of no use took, if it says so and anybody wants to know.
pub(super) fn unanswered(vendor: Vendor, model: &str, response: &Value) {
    if let Some(usage) = counted(vendor, model, response) {
        let _ = UNANSWERED.try_with(|unanswered| unanswered.borrow_mut().push(usage));
    }
}

/// What a response counts, whatever else is wrong with it.
fn counted(vendor: Vendor, model: &str, response: &Value) -> Option<Usage> {
    let (counted, reported) = match vendor {
        Vendor::Gemini => (&response["usageMetadata"], &response["modelVersion"]),
        Vendor::Anthropic | Vendor::OpenAi => (&response["usage"], &response["model"]),
    };
    let count = |name: &str| counted[name].as_u64();
    let sum = |names: &[&str]| names.iter().filter_map(|name| count(name)).reduce(|a, b| a + b);
    let (input, output, cached) = match vendor {
        Vendor::Anthropic => (
            sum(&["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]),
            count("output_tokens"),
            count("cache_read_input_tokens"),
        ),
        Vendor::OpenAi => (
            count("prompt_tokens"),
            count("completion_tokens"),
            counted["prompt_tokens_details"]["cached_tokens"].as_u64(),
        ),
        Vendor::Gemini => (
            count("promptTokenCount"),
            sum(&["candidatesTokenCount", "thoughtsTokenCount"]),
            count("cachedContentTokenCount"),
        ),
    };
    Some(Usage {
        provider: vendor.as_str(),
        model: reported.as_str().unwrap_or(model).to_owned(),
        // Gemini leaves out what is nothing.
        output_tokens: output.or(input.map(|_| 0)),
        input_tokens: Some(input?),
        cached_input_tokens: cached,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn what_a_refused_request_took_is_told_in_every_language() {
        let work = async {
            let usage = json!({ "prompt_tokens": 100, "completion_tokens": 0 });
            unanswered(Vendor::OpenAi, "m", &json!({ "model": "gpt", "usage": usage }));
            let usage = json!({ "input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 3 });
            unanswered(Vendor::Anthropic, "m", &json!({ "usage": usage }));
            unanswered(Vendor::Gemini, "m", &json!({ "usageMetadata": { "promptTokenCount": 100 } }));
            unanswered(Vendor::Gemini, "m", &json!({ "promptFeedback": {} }));
            "declined"
        };
        let (done, took) = metered(work).await;
        let told: Vec<_> = took.iter().map(|u| (u.model.as_str(), u.input_tokens, u.output_tokens)).collect();
        let expected = [("gpt", Some(100), Some(0)), ("m", Some(100), Some(3)), ("m", Some(100), Some(0))];
        assert_eq!((done, told), ("declined", expected.to_vec()));
        unanswered(Vendor::OpenAi, "m", &json!({ "usage": { "prompt_tokens": 1 } }));
        assert_eq!(metered(async {}).await.1, [], "nobody asked");
    }
}
