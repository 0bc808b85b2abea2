//! Chooses the image generation service of an agent from the settings and the keys.

use super::{AgentSettings, Config, VENDORS};
use crate::providers::{Vendor, image_generation::default_image_model};

impl Config {
    /// Vendor and model that generate images for an agent: its own vendor if that can, else the first that can.
    /// `None` for the offline agent, which cannot ask for images.
    pub fn image_generator_of(&self, agent: &AgentSettings) -> Option<(Vendor, String)> {
        let own = self.vendor_of(agent)?;
        let vendors = [own].into_iter().chain(VENDORS);
        vendors.into_iter().find_map(|vendor| Some((vendor, self.image_model(vendor)?)))
    }

    /// The image model of a vendor's service, or of the server set as its `base_url`.
    fn image_model(&self, vendor: Vendor) -> Option<String> {
        let settings = self.providers.of(vendor);
        let official = vendor.is_official(&settings.base_url);
        let model = match settings.image_model.as_deref()?.trim() {
            auto if auto.eq_ignore_ascii_case("auto") => default_image_model(vendor).filter(|_| official)?,
            named => named,
        };
        // A self-hosted server may need no key.
        (!official || self.secrets.key(vendor).is_some()).then(|| model.to_owned())
    }

    /// Names the setting that would let an agent generate images.
    pub fn explain_missing_image_generator(&self, agent: &AgentSettings) -> &'static str {
        match self.vendor_of(agent) {
            None => "the offline agent does not make pictures; give it a provider",
            Some(_) => {
                "no provider makes pictures: set OPENAI_API_KEY or GEMINI_API_KEY and leave image_model at auto, or \
                 name the image_model of the server at providers.openai.base_url or providers.gemini.base_url"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generator_of_first_agent(file: &str, keys: &[&str]) -> Option<(Vendor, String)> {
        let keys = keys.iter().map(|name| (name.to_string(), "key".to_string()));
        let config = Config::from_layers(Some(("config.yaml", file)), keys).unwrap();
        config.image_generator_of(&config.agents[0])
    }

    const OPENAI: &str = "OPENAI_API_KEY";
    const GEMINI: &str = "GEMINI_API_KEY";
    const ANTHROPIC: &str = "ANTHROPIC_API_KEY";

    #[test]
    fn an_agent_uses_its_own_vendor_or_the_first_that_generates_images() {
        let gpt = Some((Vendor::OpenAi, "gpt-image-1".to_owned()));
        let flash = Some((Vendor::Gemini, "gemini-2.5-flash-image".to_owned()));
        assert_eq!(generator_of_first_agent("", &[OPENAI, GEMINI]), gpt);
        assert_eq!(generator_of_first_agent("agents: { a: { provider: gemini } }", &[OPENAI, GEMINI]), flash);
        assert_eq!(generator_of_first_agent("", &[ANTHROPIC, GEMINI]), flash);
        assert_eq!(generator_of_first_agent("", &[ANTHROPIC, OPENAI, GEMINI]), gpt);
    }

    #[test]
    fn without_key_or_image_model_there_is_no_generator() {
        assert_eq!(generator_of_first_agent("", &[]), None, "offline");
        assert_eq!(generator_of_first_agent("agents: { a: { provider: offline } }", &[OPENAI]), None);
        assert_eq!(generator_of_first_agent("", &[ANTHROPIC]), None);
        assert_eq!(generator_of_first_agent("providers: { openai: { image_model: null } }", &[OPENAI]), None);
        let named = "providers: { gemini: { image_model: imagine } }";
        assert_eq!(generator_of_first_agent(named, &[ANTHROPIC]), None, "Google needs a key");
    }

    #[test]
    fn a_self_hosted_server_needs_a_named_image_model() {
        let server = "agents: { a: { provider: openai } }\nproviders: { openai: { base_url: 'http://x/v1'";
        assert_eq!(generator_of_first_agent(&format!("{server} }} }}"), &[]), None);
        let named = generator_of_first_agent(&format!("{server}, image_model: flux }} }}"), &[]);
        assert_eq!(named, Some((Vendor::OpenAi, "flux".to_owned())));
    }
}
