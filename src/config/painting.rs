//! Which service makes pictures for an agent, out of what is set.

use super::{Agent, Config, VENDORS};
use crate::providers::{Vendor, image_generation::default_image_model};

impl Config {
    /// The agent's own vendor if that makes pictures, else the first that does. None for the offline agent, which
    /// could not ask for any.
    pub fn painter_of(&self, agent: &Agent) -> Option<(Vendor, String)> {
        let own = self.vendor_of(agent)?;
        let vendors = [own].into_iter().chain(VENDORS);
        vendors.into_iter().find_map(|vendor| Some((vendor, self.image_model(vendor)?)))
    }

    /// What a vendor's service, or the server in its place, makes pictures with.
    fn image_model(&self, vendor: Vendor) -> Option<String> {
        let settings = self.providers.of(vendor);
        let official = vendor.is_official(&settings.base_url);
        let model = match settings.image_model.as_deref()?.trim() {
            auto if auto.eq_ignore_ascii_case("auto") => default_image_model(vendor).filter(|_| official)?,
            named => named,
        };
        // A server of one's own may want no key.
        (!official || self.secrets.key(vendor).is_some()).then(|| model.to_owned())
    }

    /// What to set so that an agent could make pictures.
    pub fn why_no_painter(&self, agent: &Agent) -> &'static str {
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

    /// What makes pictures for the first agent.
    fn painter(file: &str, keys: &[&str]) -> Option<(Vendor, String)> {
        let keys = keys.iter().map(|name| (name.to_string(), "key".to_string()));
        let config = Config::from_layers(Some(("config.yaml", file)), keys).unwrap();
        config.painter_of(&config.agents[0])
    }

    const OPENAI: &str = "OPENAI_API_KEY";
    const GEMINI: &str = "GEMINI_API_KEY";
    const ANTHROPIC: &str = "ANTHROPIC_API_KEY";

    #[test]
    fn an_agent_paints_with_its_own_vendor_or_else_with_the_first_that_can() {
        let gpt = Some((Vendor::OpenAi, "gpt-image-1".to_owned()));
        let flash = Some((Vendor::Gemini, "gemini-2.5-flash-image".to_owned()));
        assert_eq!(painter("", &[OPENAI, GEMINI]), gpt);
        assert_eq!(painter("agents: { a: { provider: gemini } }", &[OPENAI, GEMINI]), flash);
        assert_eq!(painter("", &[ANTHROPIC, GEMINI]), flash);
        assert_eq!(painter("", &[ANTHROPIC, OPENAI, GEMINI]), gpt);
    }

    #[test]
    fn without_a_key_a_model_or_a_mind_nothing_paints() {
        assert_eq!(painter("", &[]), None, "offline");
        assert_eq!(painter("agents: { a: { provider: offline } }", &[OPENAI]), None);
        assert_eq!(painter("", &[ANTHROPIC]), None);
        assert_eq!(painter("providers: { openai: { image_model: null } }", &[OPENAI]), None);
        let named = "providers: { gemini: { image_model: imagine } }";
        assert_eq!(painter(named, &[ANTHROPIC]), None, "Google wants a key");
    }

    #[test]
    fn a_server_of_ones_own_paints_only_with_a_model_that_is_named() {
        let server = "agents: { a: { provider: openai } }\nproviders: { openai: { base_url: 'http://x/v1'";
        assert_eq!(painter(&format!("{server} }} }}"), &[]), None);
        let named = painter(&format!("{server}, image_model: flux }} }}"), &[]);
        assert_eq!(named, Some((Vendor::OpenAi, "flux".to_owned())));
    }
}
