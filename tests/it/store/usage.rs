//! Usage: requests are summed by day, user, chat, agent and model.

use super::*;
use chrono::{NaiveDate, TimeDelta};
use photothread::store::{DayCosts, ModelUsage, RequestUsage, Spender};

fn today() -> NaiveDate {
    Utc::now().date_naive()
}

fn spender(conversation: &Conversation, user: &str, agent: &str) -> Spender {
    Spender { conversation: conversation.clone(), user_id: UserId(user.into()), agent_id: agent.into() }
}

/// A request of 100 tokens in and 20 out.
fn note(spender: &Spender, model: &str, cost_micros: Option<i64>) -> RequestUsage {
    RequestUsage {
        day: today(),
        spender: spender.clone(),
        provider: "openai".into(),
        model: model.into(),
        input_tokens: 100,
        output_tokens: 20,
        cost_micros,
    }
}

on_both! {
    async fn requests_of_one_model_are_added_up(store: Store) {
        let ann = spender(&chat(1), "100", "photothread");
        store.add_usage(&note(&ann, "gpt-5-mini", Some(65))).await.unwrap();
        store.add_usage(&note(&ann, "gpt-5-mini", None)).await.unwrap();
        store.add_usage(&note(&ann, "gpt-5-mini", Some(5))).await.unwrap();
        store.add_usage(&note(&ann, "another", Some(1))).await.unwrap();
        let line = ModelUsage {
            day: today(), model: "gpt-5-mini".into(), requests: 3, input_tokens: 300, output_tokens: 60,
            cost_micros: 70, unpriced: 1,
        };
        let used = store.usage_of_user(InterfaceType::Telegram, &ann.user_id, today()).await.unwrap();
        assert_eq!(used.iter().map(|used| used.model.as_str()).collect::<Vec<_>>(), ["another", "gpt-5-mini"]);
        assert_eq!(used[1], line);
        assert_eq!(store.usage_of_conversation(&chat(1), today()).await.unwrap(), used);
    }

    async fn costs_of_a_day_are_summed_by_user_chat_and_agent(store: Store) {
        let (ann, bob) = (spender(&chat(1), "100", "photothread"), spender(&chat(1), "200", "describe"));
        let elsewhere = spender(&chat(2), "100", "describe");
        let namesake = spender(&page("1"), "100", "photothread");
        for (spender, cost) in [(&ann, 1), (&bob, 10), (&elsewhere, 100), (&namesake, 1000)] {
            store.add_usage(&note(spender, "m", Some(cost))).await.unwrap();
        }
        let yesterday = RequestUsage { day: today() - TimeDelta::days(1), ..note(&ann, "m", Some(10_000)) };
        store.add_usage(&yesterday).await.unwrap();
        let spent = DayCosts { by_user: 101, by_chat: 11, by_agent: 1001 };
        assert_eq!(store.costs_of_day(today(), &ann).await.unwrap(), spent);
        let spent = DayCosts { by_user: 10, by_chat: 11, by_agent: 110 };
        assert_eq!(store.costs_of_day(today(), &bob).await.unwrap(), spent);
        let nothing = spender(&chat(9), "900", "unknown");
        assert_eq!(store.costs_of_day(today(), &nothing).await.unwrap(), DayCosts::default());
        assert_eq!(store.costs_of_day(today() + TimeDelta::days(1), &ann).await.unwrap(), DayCosts::default(), "it starts anew");
    }

    async fn usage_is_listed_by_day_since_the_given_day(store: Store) {
        let ann = spender(&chat(1), "100", "photothread");
        let bob = spender(&chat(1), "200", "photothread");
        for days in [0, 1, 40] {
            let day = today() - TimeDelta::days(days);
            store.add_usage(&RequestUsage { day, ..note(&ann, "m", Some(7)) }).await.unwrap();
        }
        store.add_usage(&note(&bob, "m", Some(7))).await.unwrap();
        store.add_usage(&note(&spender(&chat(2), "100", "other"), "m", Some(7))).await.unwrap();
        let month = today() - TimeDelta::days(29);
        let told = |used: Vec<ModelUsage>| used.into_iter().map(|used| (used.day, used.requests)).collect::<Vec<_>>();
        let yesterday = today() - TimeDelta::days(1);
        let of_ann = store.usage_of_user(InterfaceType::Telegram, &ann.user_id, month).await.unwrap();
        assert_eq!(told(of_ann), [(yesterday, 1), (today(), 2)], "in both chats");
        let of_chat = store.usage_of_conversation(&chat(1), month).await.unwrap();
        assert_eq!(told(of_chat), [(yesterday, 1), (today(), 2)], "of both people");
        assert_eq!(store.usage_of_user(InterfaceType::Web, &ann.user_id, month).await.unwrap(), []);
    }

    async fn concurrent_requests_are_all_counted(store: Store) {
        let ann = spender(&chat(1), "100", "photothread");
        let one = note(&ann, "m", Some(3));
        let all = (0..20).map(|_| store.add_usage(&one));
        assert!(futures::future::join_all(all).await.iter().all(Result::is_ok));
        assert_eq!(store.costs_of_day(today(), &ann).await.unwrap().by_user, 60);
    }
}
