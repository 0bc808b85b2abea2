//! What models cost: prices, the ledger of what was spent, and the budgets that stop a request before it is made.
//! The words that people read about it are the interfaces' and the agent's.

mod budgets;
mod prices;

pub use budgets::{Budgets, Exhausted, Left, Whose};
pub use prices::{Price, Prices};

use crate::{
    providers::Usage,
    store::{Spender, Store, StoreError, UsageNote},
};
use chrono::{NaiveDate, Utc};
use serde_json::{Value, json};
use std::sync::Arc;
use tracing::error;

/// The provider that asks nobody: no tokens, no cost, no budget.
const OFFLINE: &str = "offline";

/// Dollars, as exactly as the ledger keeps them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub i64);

impl Micros {
    pub fn of_dollars(dollars: f64) -> Self {
        Self((dollars * 1e6).round() as i64)
    }

    fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// "$0.50", and no digit less than it has.
    pub fn exactly(self) -> String {
        let text = format!("${:.6}", self.dollars());
        let short = text.trim_end_matches('0');
        let point = text.find('.').unwrap_or_default();
        text[..short.len().max(point + 3)].to_owned()
    }

    /// "$1.23", "$0.34", "$0.0021": what is worth knowing of an estimate.
    pub fn about(self) -> String {
        match self.0 {
            10_000.. => format!("${:.2}", self.dollars()),
            1_000.. => format!("${:.3}", self.dollars()),
            100.. => format!("${:.4}", self.dollars()),
            _ => self.exactly(),
        }
    }
}

/// All there is to know about money. Cheap to clone.
#[derive(Clone)]
pub struct Money {
    store: Store,
    rules: Arc<Rules>,
}

/// What whoever runs the bot has decided.
#[derive(Debug, Default)]
pub struct Rules {
    pub prices: Prices,
    pub budgets: Budgets,
    /// Commands, without the slash, of agents that cost nothing.
    pub free_commands: Vec<String>,
    /// Whether any agent asks a model that may cost something.
    pub models: Models,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Models {
    #[default]
    Hosted,
    /// Nothing here ever costs anything.
    OnlyOffline,
}

impl Money {
    pub fn new(store: Store, rules: Rules) -> Self {
        Self { store, rules: rules.into() }
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The day that budgets are for.
    pub fn today() -> NaiveDate {
        Utc::now().date_naive()
    }

    /// The first budget that leaves nothing for another request, if any. `provider` is whom the request is for.
    pub async fn exhausted(
        &self,
        spender: &Spender,
        provider: &str,
    ) -> Result<Option<Exhausted>, StoreError> {
        if provider == OFFLINE || !self.rules.budgets.concern(&spender.agent_id) {
            return Ok(None);
        }
        let spent = self.store.spent(Self::today(), spender).await?;
        Ok(self.rules.budgets.exhausted(spender, spent))
    }

    /// What is left today of the budgets that a person meets here, whoever's they are.
    pub async fn left(&self, spender: &Spender) -> Result<Vec<Left>, StoreError> {
        if !self.rules.budgets.concern(&spender.agent_id) {
            return Ok(Vec::new());
        }
        let spent = self.store.spent(Self::today(), spender).await?;
        Ok(self.rules.budgets.left(spender, spent))
    }

    /// Writes a request into the ledger. A turn does not fail because its bill could not be kept.
    pub async fn note(&self, spender: &Spender, configured: &str, usage: &Usage) {
        if usage.provider.is_empty() || usage.provider == OFFLINE {
            return;
        }
        let count = |tokens: Option<u64>| i64::try_from(tokens.unwrap_or_default()).unwrap_or(i64::MAX);
        let cost = self.rules.prices.cost(usage, configured).map(Micros::of_dollars);
        let note = UsageNote {
            day: Self::today(),
            spender: spender.clone(),
            provider: usage.provider.to_owned(),
            model: usage.model.clone(),
            input_tokens: count(usage.input_tokens),
            output_tokens: count(usage.output_tokens),
            cost_micros: cost.map(|cost| cost.0),
        };
        if let Err(error) = self.store.note_usage(&note).await {
            error!(%error, model = usage.model, ?cost, "what a request cost could not be noted");
        }
    }

    /// What the history keeps of how an answer came about: who gave it, its tokens and about what it cost.
    pub fn reasoning_info(&self, configured: &str, usage: &Usage) -> Value {
        let mut info = json!(usage);
        if let Some(cost) = self.rules.prices.cost(usage, configured) {
            info["cost_usd"] = json!(cost);
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_told_exactly_and_estimates_in_what_matters() {
        let exactly = [500_000, 2_000_000, 125_000, 65, 0].map(|micros| Micros(micros).exactly());
        assert_eq!(exactly, ["$0.50", "$2.00", "$0.125", "$0.000065", "$0.00"]);
        let about = [12_345_678, 343_000, 2_149, 149, 65, 0].map(|micros| Micros(micros).about());
        assert_eq!(about, ["$12.35", "$0.34", "$0.002", "$0.0001", "$0.000065", "$0.00"]);
        assert_eq!(Micros::of_dollars(0.1 + 0.2), Micros(300_000));
    }
}
