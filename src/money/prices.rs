//! What a model's tokens cost, and which of the known models a server means by the name it reports.

use crate::providers::Usage;
use std::collections::HashMap;

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// What the server has seen before; `None` costs as much as the rest.
    pub cached_input: Option<f64>,
}

/// By model.
#[derive(Debug, Clone, Default)]
pub struct Prices(HashMap<String, Price>);

impl Prices {
    pub fn new(prices: impl IntoIterator<Item = (String, Price)>) -> Self {
        Self(prices.into_iter().collect())
    }

    pub fn knows(&self, model: &str) -> bool {
        self.of(model).is_some()
    }

    /// In dollars. `None` if the price is not known or the server did not count.
    pub fn cost(&self, usage: &Usage, configured: &str) -> Option<f64> {
        let price = self.of(&usage.model).or_else(|| self.of(configured))?;
        let (input, output) = (usage.input_tokens?, usage.output_tokens?);
        let cached = usage.cached_input_tokens.unwrap_or_default().min(input);
        let dollars = (input - cached) as f64 * price.input
            + cached as f64 * price.cached_input.unwrap_or(price.input)
            + output as f64 * price.output;
        Some(dollars / 1e6)
    }

    /// The price of this very model, else of the one that it is a dated version of: the longest such name.
    fn of(&self, model: &str) -> Option<&Price> {
        let name = bare(model);
        let exact = self.0.get(model).or_else(|| self.find(|known| known == name));
        exact.or_else(|| self.find(|known| name.strip_prefix(known).is_some_and(is_version)))
    }

    fn find(&self, fits: impl Fn(&str) -> bool) -> Option<&Price> {
        let fitting = self.0.iter().filter(|(known, _)| fits(&bare(known)));
        fitting.max_by_key(|(known, _)| bare(known).len()).map(|(_, price)| price)
    }
}

/// Without whose it is: "models/gemini-3.8-flash", "openai/gpt-5-mini".
fn bare(model: &str) -> String {
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
            ("somebody/their-model".to_owned(), price(1.0, 1.0, None)),
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
    fn cached_tokens_cost_what_cached_tokens_cost() {
        let cost = |usage| prices().cost(&usage, "").map(|dollars| (dollars * 1e6).round());
        assert_eq!(cost(usage("gpt-5-mini", 1000, 0, 100)), Some(450.0));
        assert_eq!(cost(usage("gpt-5-mini", 1000, 800, 100)), Some(270.0));
        assert_eq!(cost(usage("gemini-3.8-flash", 1000, 800, 0)), Some(750.0), "as much as the rest");
        assert_eq!(cost(usage("gpt-5-mini", 1000, 5000, 0)), Some(25.0), "no more than there were");
    }

    #[test]
    fn a_model_is_known_by_its_name_with_a_date_or_an_owner_too() {
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
    fn another_model_of_the_family_is_another_model() {
        for model in
            ["gpt-5-nano", "gpt-5-1", "gpt-5.1", "gpt-5-mini-high", "gemini-3.8-flash-preview-tts", ""]
        {
            assert_eq!(input_price(model), None, "{model}");
        }
    }

    #[test]
    fn a_name_of_the_servers_own_is_looked_up_as_it_was_configured() {
        let odd = usage("deployment-7", 1000, 0, 0);
        assert_eq!(prices().cost(&odd, "gpt-5-mini"), Some(0.00025));
        assert_eq!(prices().cost(&odd, "llama"), None);
    }

    #[test]
    fn what_was_not_counted_has_no_cost() {
        let uncounted = Usage { model: "gpt-5-mini".into(), ..Usage::default() };
        assert_eq!(prices().cost(&uncounted, "gpt-5-mini"), None);
    }
}
