//! Prices of models, and the lookup of a price by the model name that a server reports.

use crate::providers::Usage;
use std::collections::HashMap;

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Cached input; `None` costs the same as other input.
    pub cached_input: Option<f64>,
}

/// Prices by model.
#[derive(Debug, Clone, Default)]
pub struct Prices(HashMap<String, Price>);

impl Prices {
    pub fn new(prices: impl IntoIterator<Item = (String, Price)>) -> Self {
        Self(prices.into_iter().collect())
    }

    pub fn knows(&self, model: &str) -> bool {
        self.of(model).is_some()
    }

    /// Cost in dollars. `None` if the price is unknown or the server reported no counts. `configured` is the model of the
    /// settings, looked up if the reported one is unknown.
    pub fn cost(&self, usage: &Usage, configured: &str) -> Option<f64> {
        let price = self.of(&usage.model).or_else(|| self.of(configured))?;
        let (input, output) = (usage.input_tokens?, usage.output_tokens?);
        let cached = usage.cached_input_tokens.unwrap_or_default().min(input);
        let dollars = (input - cached) as f64 * price.input
            + cached as f64 * price.cached_input.unwrap_or(price.input)
            + output as f64 * price.output;
        Some(dollars / 1e6)
    }

    /// The price of this model, else of the model whose dated version it is; the longest name wins.
    fn of(&self, model: &str) -> Option<&Price> {
        let name = base_name(model);
        let exact = self.0.get(model).or_else(|| self.find(|known| known == name));
        exact.or_else(|| self.find(|known| name.strip_prefix(known).is_some_and(is_version)))
    }

    fn find(&self, fits: impl Fn(&str) -> bool) -> Option<&Price> {
        let fitting = self.0.iter().filter(|(known, _)| fits(&base_name(known)));
        fitting.max_by_key(|(known, _)| base_name(known).len()).map(|(_, price)| price)
    }
}

/// The name without an owner: "models/gemini-3.8-flash", "openai/gpt-5-mini".
fn base_name(model: &str) -> String {
    model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase()
}

/// "-2025-08-07", "-20260901", "@20260901", "-001", "-latest", "-preview-05-20", "-20260901-v1:0". A short number is
/// another model: gpt-5 and gpt-5-1.
fn is_version(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix(['-', '@', ':']) else { return false };
    let mut parts = rest.split('-');
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let first = parts.next().unwrap_or_default();
    let begins = matches!(first, "latest" | "preview") || (digits(first) && first.len() >= 3);
    let numbered = |part: &str| {
        let number = part.strip_prefix('v').unwrap_or(part).replace(':', "");
        digits(&number)
    };
    begins && parts.all(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prices() -> Prices {
        let price = |input, output, cached_input| Price { input, output, cached_input };
        Prices::new([
            ("gpt-5-mini".to_owned(), price(0.25, 2.0, Some(0.025))),
            ("gpt-5".to_owned(), price(1.25, 10.0, Some(0.125))),
            ("claude-sonnet-5-5".to_owned(), price(2.0, 10.0, Some(0.1))),
            ("claude-sonnet-5".to_owned(), price(3.0, 15.0, None)),
            ("gemini-3.8-flash".to_owned(), price(0.75, 3.75, None)),
            ("owner/their-model".to_owned(), price(1.0, 1.0, None)),
        ])
    }

    fn input_price(model: &str) -> Option<f64> {
        prices().of(model).map(|price| price.input)
    }

    fn usage(model: &str, input: u64, cached: u64, output: u64) -> Usage {
        Usage {
            model: model.into(),
            input_tokens: Some(input),
            output_tokens: Some(output),
            cached_input_tokens: Some(cached),
            ..Usage::default()
        }
    }

    #[test]
    fn cached_tokens_have_their_own_price() {
        let cost = |usage| prices().cost(&usage, "").map(|dollars| (dollars * 1e6).round());
        assert_eq!(cost(usage("gpt-5-mini", 1000, 0, 100)), Some(450.0));
        assert_eq!(cost(usage("gpt-5-mini", 1000, 800, 100)), Some(270.0));
        assert_eq!(cost(usage("gemini-3.8-flash", 1000, 800, 0)), Some(750.0), "as much as the rest");
        assert_eq!(cost(usage("gpt-5-mini", 1000, 5000, 0)), Some(25.0), "no more than there were");
    }

    #[test]
    fn dated_and_owned_names_are_found() {
        assert_eq!(input_price("gpt-5-mini-2025-08-07"), Some(0.25));
        assert_eq!(input_price("gpt-5-2025-08-07"), Some(1.25));
        assert_eq!(input_price("claude-sonnet-5-5-20260901"), Some(2.0));
        assert_eq!(input_price("claude-sonnet-5-20250514"), Some(3.0));
        assert_eq!(input_price("claude-sonnet-5-5@20260901"), Some(2.0));
        assert_eq!(input_price("anthropic/claude-sonnet-5-5-20260901-v1:0"), Some(2.0));
        assert_eq!(input_price("models/gemini-3.8-flash"), Some(0.75));
        assert_eq!(input_price("gemini-3.8-flash-001"), Some(0.75));
        assert_eq!(input_price("gemini-3.8-flash-preview-05-20"), Some(0.75));
        assert_eq!(input_price("openai/GPT-5-mini"), Some(0.25));
        assert_eq!(input_price("their-model-latest"), Some(1.0));
    }

    #[test]
    fn other_models_of_a_family_are_not_found() {
        for model in
            ["gpt-5-nano", "gpt-5-1", "gpt-5.1", "gpt-5-mini-high", "gemini-3.8-flash-preview-tts", ""]
        {
            assert_eq!(input_price(model), None, "{model}");
        }
    }

    #[test]
    fn an_unknown_reported_name_uses_the_configured_model() {
        let odd = usage("deployment-7", 1000, 0, 0);
        assert_eq!(prices().cost(&odd, "gpt-5-mini"), Some(0.00025));
        assert_eq!(prices().cost(&odd, "llama"), None);
    }

    #[test]
    fn usage_without_counts_has_no_cost() {
        let uncounted = Usage { model: "gpt-5-mini".into(), ..Usage::default() };
        assert_eq!(prices().cost(&uncounted, "gpt-5-mini"), None);
    }
}
