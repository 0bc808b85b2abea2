//! The answer to /usage: tokens and cost of a person and of a chat, and what is left of the budgets.

use crate::{
    agent::budgets::{BudgetLeft, BudgetOwner, Micros, Models},
    store::ModelUsage,
};
use chrono::NaiveDate;

/// The numbers that /usage reports.
pub struct Spending {
    pub today: NaiveDate,
    /// Of the person, in all conversations.
    pub own: Vec<ModelUsage>,
    /// Of all people in this chat. `None` in a private chat.
    pub chat: Option<Vec<ModelUsage>>,
    pub left: Vec<BudgetLeft>,
    pub models: Models,
}

pub fn usage(spending: &Spending) -> String {
    let Spending { today, own, chat, left, models } = spending;
    if own.is_empty() && chat.as_ref().is_none_or(Vec::is_empty) && *models == Models::OnlyOffline {
        return "Nothing yet, and nothing to come: I work offline here, without a model, and that costs nothing."
            .to_owned();
    }
    let mut parts = Vec::new();
    match own.is_empty() {
        true => parts.push("Nothing yet: no model has worked for you in the last 30 days.".to_owned()),
        false => parts.push(section("You", own, *today)),
    }
    if let Some(chat) = chat.as_ref().filter(|chat| !chat.is_empty()) {
        parts.push(section("This chat, all people together", chat, *today));
    }
    if !left.is_empty() {
        let lines: Vec<String> = left.iter().map(budget_line).collect();
        parts.push(format!("{}\nBudgets start anew at 00:00 UTC.", lines.join("\n")));
    }
    if *models == Models::OnlyOffline {
        parts.push("By now I work offline here, and that costs nothing.".to_owned());
    }
    parts.join("\n\n")
}

/// One heading with the sums of today, of 30 days and of each model.
fn section(who: &str, used: &[ModelUsage], today: NaiveDate) -> String {
    let all = UsageSum::of(used.iter());
    let mut lines = vec![
        format!("**{who}**"),
        format!("Today: {}", UsageSum::of(used.iter().filter(|used| used.day == today)).describe()),
        format!("Last 30 days: {}", all.describe()),
    ];
    let mut models: Vec<&str> = used.iter().map(|used| used.model.as_str()).collect();
    models.sort_unstable();
    models.dedup();
    if models.len() > 1 {
        let line = |model: &&str| {
            format!(
                "• {model}: {}",
                UsageSum::of(used.iter().filter(|used| used.model == **model)).describe()
            )
        };
        lines.extend(models.iter().map(line));
    }
    if all.unpriced > 0 && all.unpriced < all.requests {
        let (were, are) = if all.unpriced == 1 { ("request was", "is") } else { ("requests were", "are") };
        lines.push(format!(
            "{} {were} to a model whose price I don't know, and {are} not in these dollars.",
            all.unpriced
        ));
    }
    lines.join("\n")
}

fn budget_line(BudgetLeft { owner, budget, left }: &BudgetLeft) -> String {
    let whose = match owner {
        BudgetOwner::Person => "Your budget today".to_owned(),
        BudgetOwner::Chat => "This chat's budget today".to_owned(),
        BudgetOwner::Agent(name) => format!("Budget of {name} today, of all people together"),
    };
    match left.0 {
        0 => format!("{whose}: all of {} used.", budget.exactly()),
        _ => format!("{whose}: {} of {} left.", left.about(), budget.exactly()),
    }
}

#[derive(Default)]
struct UsageSum {
    requests: i64,
    tokens: i64,
    cost: i64,
    unpriced: i64,
}

impl UsageSum {
    fn of<'a>(used: impl Iterator<Item = &'a ModelUsage>) -> Self {
        used.fold(Self::default(), |sum, used| Self {
            requests: sum.requests + used.requests,
            tokens: sum.tokens + used.input_tokens + used.output_tokens,
            cost: sum.cost + used.cost_micros,
            unpriced: sum.unpriced + used.unpriced,
        })
    }

    fn describe(&self) -> String {
        let cost = match self.unpriced == self.requests {
            true => "price unknown".to_owned(),
            false => format!("about {}", Micros(self.cost).about()),
        };
        match self.requests {
            0 => "nothing".to_owned(),
            1 => format!("1 request, {} tokens, {cost}", with_separators(self.tokens)),
            requests => format!(
                "{} requests, {} tokens, {cost}",
                with_separators(requests),
                with_separators(self.tokens)
            ),
        }
    }
}

/// 1234567 → "1,234,567".
fn with_separators(number: i64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(day: u32, model: &str, requests: i64, cost_micros: i64, unpriced: i64) -> ModelUsage {
        let day = NaiveDate::from_ymd_opt(2026, 9, day).unwrap();
        let (input_tokens, output_tokens) = (1000 * requests, 200 * requests);
        ModelUsage { day, model: model.into(), requests, input_tokens, output_tokens, cost_micros, unpriced }
    }

    fn spending(own: Vec<ModelUsage>) -> Spending {
        let today = NaiveDate::from_ymd_opt(2026, 9, 10).unwrap();
        Spending { today, own, chat: None, left: Vec::new(), models: Models::Hosted }
    }

    #[test]
    fn a_person_gets_sums_of_today_of_the_month_and_of_each_model() {
        let own = vec![
            used(3, "gpt-5-mini", 40, 330_000, 0),
            used(10, "llama", 2, 0, 2),
            used(10, "gpt-5", 1, 9_000, 0),
        ];
        insta::assert_snapshot!(usage(&spending(own)), @r"
        **You**
        Today: 3 requests, 3,600 tokens, about $0.009
        Last 30 days: 43 requests, 51,600 tokens, about $0.34
        • gpt-5: 1 request, 1,200 tokens, about $0.009
        • gpt-5-mini: 40 requests, 48,000 tokens, about $0.33
        • llama: 2 requests, 2,400 tokens, price unknown
        2 requests were to a model whose price I don't know, and are not in these dollars.
        ");
    }

    #[test]
    fn a_group_also_gets_sums_and_budgets_of_the_chat() {
        let left = |owner, left| BudgetLeft { owner, budget: Micros(500_000), left: Micros(left) };
        let spending = Spending {
            chat: Some(vec![used(10, "gpt-5", 2, 500_000, 0)]),
            left: vec![
                left(BudgetOwner::Person, 123_456),
                left(BudgetOwner::Chat, 0),
                left(BudgetOwner::Agent("painter".into()), 1),
            ],
            ..spending(vec![used(9, "gpt-5", 1, 65, 0)])
        };
        insta::assert_snapshot!(usage(&spending), @r"
        **You**
        Today: nothing
        Last 30 days: 1 request, 1,200 tokens, about $0.000065

        **This chat, all people together**
        Today: 2 requests, 2,400 tokens, about $0.50
        Last 30 days: 2 requests, 2,400 tokens, about $0.50

        Your budget today: $0.12 of $0.50 left.
        This chat's budget today: all of $0.50 used.
        Budget of painter today, of all people together: $0.000001 of $0.50 left.
        Budgets start anew at 00:00 UTC.
        ");
    }

    #[test]
    fn no_usage_is_reported_as_nothing() {
        assert!(usage(&spending(Vec::new())).starts_with("Nothing yet"));
        let offline = Spending { models: Models::OnlyOffline, ..spending(Vec::new()) };
        assert!(usage(&offline).contains("costs nothing"));
        assert_eq!(with_separators(1_234_567), "1,234,567");
    }
}
