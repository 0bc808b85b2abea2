//! Budgets: the reservation before a request to a model, the ledger of what was spent, daily limits and prices. The
//! sentences for people are in `agent::messages` and in the interfaces.
//!
//! A request starts while something is left of every budget that applies, after what was spent and what running requests
//! hold. So all requests together exceed a budget by less than one of them, however many start at once.

mod estimate;
mod limits;
mod prices;
mod reservation;

pub use estimate::TokenEstimate;
pub use limits::{BudgetExhausted, BudgetLeft, BudgetOwner, DailyLimits};
pub use prices::{Price, Prices};
pub use reservation::Reservation;

use crate::{
    domain::ReservationId,
    providers::Usage,
    store::{BudgetReservation, RequestUsage, ReserveOutcome, Spender, Store, StoreError},
};
use chrono::{NaiveDate, TimeDelta, Utc};
use serde_json::{Value, json};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::sync::Notify;
use tracing::error;

/// Longer than any request takes.
const RESERVATION_LIFETIME: TimeDelta = TimeDelta::minutes(30);
/// How often a request that waits for others looks again: they may run in another process.
const SETTLED_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The provider without a model: it costs nothing.
const OFFLINE: &str = "offline";

/// Millionths of a dollar, the unit of the ledger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub i64);

impl Micros {
    pub fn of_dollars(dollars: f64) -> Self {
        Self((dollars * 1e6).round() as i64)
    }

    fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// "$0.50": all digits, at least two decimals.
    pub fn exactly(self) -> String {
        let text = format!("${:.6}", self.dollars());
        let short = text.trim_end_matches('0');
        let point = text.find('.').unwrap_or_default();
        text[..short.len().max(point + 3)].to_owned()
    }

    /// "$1.23", "$0.34", "$0.0021": rounded, for estimates.
    pub fn about(self) -> String {
        match self.0 {
            10_000.. => format!("${:.2}", self.dollars()),
            1_000.. => format!("${:.3}", self.dollars()),
            100.. => format!("${:.4}", self.dollars()),
            _ => self.exactly(),
        }
    }
}

/// Checks budgets and records usage. Cheap to clone.
#[derive(Clone)]
pub struct Budgets {
    store: Store,
    rules: Arc<BudgetRules>,
    /// Notified when a request of this process no longer holds a part of a budget.
    settled: Arc<Notify>,
}

/// The configured prices and limits.
#[derive(Debug, Default)]
pub struct BudgetRules {
    pub prices: Prices,
    pub limits: DailyLimits,
    /// Commands, without the slash, of agents that cost nothing.
    pub free_commands: Vec<String>,
    /// Whether any agent asks a model that may cost money.
    pub models: Models,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Models {
    #[default]
    Hosted,
    /// No agent costs money.
    OnlyOffline,
}

impl Budgets {
    pub fn new(store: Store, rules: BudgetRules) -> Self {
        Self { store, rules: rules.into(), settled: Arc::default() }
    }

    pub fn rules(&self) -> &BudgetRules {
        &self.rules
    }

    /// The current day of the budgets (UTC).
    pub fn today() -> NaiveDate {
        Utc::now().date_naive()
    }

    /// Reserves what a request to `model` may cost, or returns the budget that is exhausted. Waits while running requests
    /// hold the rest of a budget: most of it is given back when they end.
    pub async fn reserve(
        &self,
        spender: &Spender,
        provider: &str,
        model: &str,
        tokens: TokenEstimate,
    ) -> Result<Result<Reservation, BudgetExhausted>, StoreError> {
        let limits = &self.rules.limits;
        if provider == OFFLINE || !limits.apply_to(&spender.agent_id) {
            return Ok(Ok(Reservation::unlimited()));
        }
        let caps = limits.caps(&spender.agent_id);
        let cost_micros = self.estimated_cost(model, tokens);
        loop {
            let mut settled = pin!(self.settled.notified());
            settled.as_mut().enable();
            let reservation = BudgetReservation {
                reservation_id: ReservationId::new(),
                day: Self::today(),
                spender: spender.clone(),
                provider: provider.to_owned(),
                model: model.to_owned(),
                cost_micros,
                expires_at: Utc::now() + RESERVATION_LIFETIME,
            };
            match self.store.reserve_budget(&reservation, &caps).await? {
                ReserveOutcome::Reserved => {
                    return Ok(Ok(Reservation::new(self.clone(), reservation.reservation_id)));
                }
                ReserveOutcome::Full { spent } => {
                    if let Some(exhausted) = limits.exhausted(spender, spent) {
                        return Ok(Err(exhausted));
                    }
                }
            }
            let _ = tokio::time::timeout(SETTLED_POLL_INTERVAL, settled).await;
        }
    }

    /// In millionths of a dollar; nothing for a model without a price, which no budget can stop.
    fn estimated_cost(&self, model: &str, tokens: TokenEstimate) -> i64 {
        let usage = Usage {
            model: model.to_owned(),
            input_tokens: Some(tokens.input),
            output_tokens: Some(tokens.output),
            ..Usage::default()
        };
        self.rules.prices.cost(&usage, model).map_or(0, |dollars| Micros::of_dollars(dollars).0)
    }

    /// What is left today of the budgets that apply to this person, chat and agent.
    pub async fn left(&self, spender: &Spender) -> Result<Vec<BudgetLeft>, StoreError> {
        if !self.rules.limits.apply_to(&spender.agent_id) {
            return Ok(Vec::new());
        }
        let spent = self.store.costs_of_day(Self::today(), spender).await?;
        Ok(self.rules.limits.left(spender, spent))
    }

    /// Records a request in the ledger. A store error is logged: it does not fail the turn.
    pub async fn record(&self, spender: &Spender, configured: &str, usage: &Usage) {
        if usage.provider.is_empty() || usage.provider == OFFLINE {
            return;
        }
        let count = |tokens: Option<u64>| i64::try_from(tokens.unwrap_or_default()).unwrap_or(i64::MAX);
        let cost = self.rules.prices.cost(usage, configured).map(Micros::of_dollars);
        let note = RequestUsage {
            day: Self::today(),
            spender: spender.clone(),
            provider: usage.provider.to_owned(),
            model: usage.model.clone(),
            input_tokens: count(usage.input_tokens),
            output_tokens: count(usage.output_tokens),
            cost_micros: cost.map(|cost| cost.0),
        };
        if let Err(error) = self.store.add_usage(&note).await {
            error!(%error, op = "record_usage", model = usage.model, ?cost, "store error; usage not recorded");
        }
    }

    /// Provider, model, tokens and estimated cost of an answer, for the history row.
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
    fn exact_amounts_keep_all_digits_and_estimates_are_rounded() {
        let exactly = [500_000, 2_000_000, 125_000, 65, 0].map(|micros| Micros(micros).exactly());
        assert_eq!(exactly, ["$0.50", "$2.00", "$0.125", "$0.000065", "$0.00"]);
        let about = [12_345_678, 343_000, 2_149, 149, 65, 0].map(|micros| Micros(micros).about());
        assert_eq!(about, ["$12.35", "$0.34", "$0.002", "$0.0001", "$0.000065", "$0.00"]);
        assert_eq!(Micros::of_dollars(0.1 + 0.2), Micros(300_000));
    }
}
