//! The most that a request to a model is likely to cost, in tokens. Too high rather than too low: the difference is given
//! back when the request ends.

use crate::providers::{Prompt, PromptMessage, ShownFile};

/// Three bytes per token is too many tokens for most languages.
const BYTES_PER_TOKEN: u64 = 3;
/// A picture of 1568 pixels, at the vendor that counts the most for it.
const TOKENS_PER_PICTURE: u64 = 3_000;
/// A document of a few pages, or minutes of sound.
const MIN_TOKENS_PER_DOCUMENT: u64 = 30_000;
/// A page of a plain PDF takes about 5 kB, and vendors count up to 3,000 tokens for it.
const BYTES_PER_DOCUMENT_TOKEN: u64 = 2;
/// No model takes a longer prompt.
const MAX_TOKENS_PER_DOCUMENT: u64 = 1_000_000;
/// What image generation services count for one picture at most, and for its prompt with a picture to edit.
const TOKENS_PER_GENERATED_PICTURE: u64 = 6_500;
const TOKENS_PER_GENERATION_PROMPT: u64 = 5_000;

/// Tokens of a request that has not been made yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenEstimate {
    pub input: u64,
    pub output: u64,
}

impl TokenEstimate {
    /// `max_output_tokens` is how long an answer may become, with thinking.
    pub fn of_prompt(prompt: &Prompt, max_output_tokens: u64) -> Self {
        let tools = prompt.tools.iter().map(|tool| {
            (tool.name.len() + tool.description.len() + tool.parameters.to_string().len()) as u64
        });
        let bytes = prompt.system.len() as u64
            + tools.sum::<u64>()
            + prompt.messages.iter().map(text_bytes).sum::<u64>();
        let files = prompt.messages.iter().flat_map(shown_files).map(tokens_of_file).sum::<u64>();
        Self { input: bytes.div_ceil(BYTES_PER_TOKEN) + files, output: max_output_tokens }
    }

    pub fn of_generated_pictures(count: u64) -> Self {
        Self {
            input: TOKENS_PER_GENERATION_PROMPT.saturating_mul(count),
            output: TOKENS_PER_GENERATED_PICTURE.saturating_mul(count),
        }
    }
}

fn text_bytes(message: &PromptMessage) -> u64 {
    let bytes = match message {
        PromptMessage::User { text, .. } => text.len(),
        PromptMessage::Tool { text, name, .. } => text.len() + name.len(),
        PromptMessage::Assistant { text, tool_calls, provider_metadata } => {
            let calls = tool_calls.iter().map(|call| call.name.len() + call.arguments.len());
            let metadata = provider_metadata.as_ref().map_or(0, |metadata| metadata.to_string().len());
            text.len() + calls.sum::<usize>() + metadata
        }
    };
    bytes as u64
}

fn shown_files(message: &PromptMessage) -> &[ShownFile] {
    match message {
        PromptMessage::User { shown, .. } | PromptMessage::Tool { shown, .. } => shown,
        PromptMessage::Assistant { .. } => &[],
    }
}

fn tokens_of_file(file: &ShownFile) -> u64 {
    if file.attachment.is_image() {
        return TOKENS_PER_PICTURE;
    }
    (file.attachment.size.unsigned_abs() / BYTES_PER_DOCUMENT_TOKEN)
        .clamp(MIN_TOKENS_PER_DOCUMENT, MAX_TOKENS_PER_DOCUMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_instructions_count_and_an_answer_may_be_long() {
        let user = |text: &str| PromptMessage::User { text: text.into(), shown: Vec::new() };
        let prompt =
            Prompt { system: "x".repeat(300), messages: vec![user(&"y".repeat(600))], ..Prompt::default() };
        let estimate = TokenEstimate::of_prompt(&prompt, 20_000);
        assert_eq!((estimate.input, estimate.output), (300, 20_000));
    }
}
