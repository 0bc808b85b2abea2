//! Secrets: the bot's token and the vendors' API keys. Read from the environment only, never from a file.

use crate::providers::Vendor;
use secrecy::SecretString;
use std::collections::HashMap;

#[derive(Debug, Clone, Default)]
pub struct Secrets {
    pub telegram_bot_token: Option<SecretString>,
    pub anthropic_api_key: Option<SecretString>,
    pub openai_api_key: Option<SecretString>,
    pub gemini_api_key: Option<SecretString>,
}

impl Secrets {
    pub(super) fn from_variables(variables: &HashMap<String, String>) -> Self {
        let secret = |name: &str| {
            let value = variables.get(name)?.trim();
            (!value.is_empty()).then(|| SecretString::from(value))
        };
        Self {
            telegram_bot_token: secret("TELEGRAM_BOT_TOKEN"),
            anthropic_api_key: secret("ANTHROPIC_API_KEY"),
            openai_api_key: secret("OPENAI_API_KEY"),
            gemini_api_key: secret("GEMINI_API_KEY"),
        }
    }

    pub fn key(&self, vendor: Vendor) -> Option<&SecretString> {
        match vendor {
            Vendor::Anthropic => self.anthropic_api_key.as_ref(),
            Vendor::OpenAi => self.openai_api_key.as_ref(),
            Vendor::Gemini => self.gemini_api_key.as_ref(),
        }
    }

    pub fn all(&self) -> impl Iterator<Item = &SecretString> {
        [&self.telegram_bot_token, &self.anthropic_api_key, &self.openai_api_key, &self.gemini_api_key]
            .into_iter()
            .flatten()
    }
}

/// The order in which `provider: auto` looks for a key.
pub const VENDORS: [Vendor; 3] = [Vendor::Anthropic, Vendor::OpenAi, Vendor::Gemini];

/// The environment variable that holds a vendor's key.
pub fn key_variable(vendor: Vendor) -> String {
    format!("{}_API_KEY", vendor.as_str().to_ascii_uppercase())
}
