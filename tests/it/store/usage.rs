//! Usage: requests are summed by day, user, chat, agent and model.

use super::*;
use chrono::{NaiveDate, TimeDelta};
use photothread::{
    domain::ReservationId,
    store::{BudgetReservation, DayCaps, DayCosts, ModelUsage, RequestUsage, ReserveOutcome, Spender},
};

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

/// A request that may cost 40.
fn reservation(spender: &Spender) -> BudgetReservation {
    BudgetReservation {
        reservation_id: ReservationId::new(),
        day: today(),
        spender: spender.clone(),
        provider: "openai".into(),
        model: "gpt-5-mini".into(),
        cost_micros: 40,
        expires_at: now() + TimeDelta::minutes(30),
    }
}

fn cap(by_user: i64) -> DayCaps {
    DayCaps { by_user: Some(by_user), ..DayCaps::default() }
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
        let used = store.usage_of_user(&ann.user_id, today()).await.unwrap();
        assert_eq!(used.iter().map(|used| used.model.as_str()).collect::<Vec<_>>(), ["another", "gpt-5-mini"]);
        assert_eq!(used[1], line);
        assert_eq!(store.usage_of_conversation(&chat(1), today()).await.unwrap(), used);
    }

    async fn costs_of_a_day_are_summed_by_user_chat_and_agent(store: Store) {
        let (ann, bob) = (spender(&chat(1), "100", "photothread"), spender(&chat(1), "200", "describe"));
        let elsewhere = spender(&chat(2), "100", "describe");
        let on_the_page = spender(&page("1"), "100", "photothread");
        for (spender, cost) in [(&ann, 1), (&bob, 10), (&elsewhere, 100), (&on_the_page, 1000)] {
            store.add_usage(&note(spender, "m", Some(cost))).await.unwrap();
        }
        let yesterday = RequestUsage { day: today() - TimeDelta::days(1), ..note(&ann, "m", Some(10_000)) };
        store.add_usage(&yesterday).await.unwrap();
        let spent = DayCosts { by_user: 1101, by_chat: 11, by_agent: 1001 };
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
        let of_ann = store.usage_of_user(&ann.user_id, month).await.unwrap();
        assert_eq!(told(of_ann), [(yesterday, 1), (today(), 2)], "in both chats");
        let of_chat = store.usage_of_conversation(&chat(1), month).await.unwrap();
        assert_eq!(told(of_chat), [(yesterday, 1), (today(), 2)], "of both people");
    }

    async fn concurrent_requests_are_all_counted(store: Store) {
        let ann = spender(&chat(1), "100", "photothread");
        let one = note(&ann, "m", Some(3));
        let all = (0..20).map(|_| store.add_usage(&one));
        assert!(futures::future::join_all(all).await.iter().all(Result::is_ok));
        assert_eq!(store.costs_of_day(today(), &ann).await.unwrap().by_user, 60);
    }

    async fn requests_reserve_until_a_cap_is_reached(store: Store) {
        let (ann, bob) = (spender(&chat(1), "100", "photothread"), spender(&chat(1), "200", "photothread"));
        store.add_usage(&note(&ann, "m", Some(30))).await.unwrap();
        let first = reservation(&ann);
        assert_eq!(store.reserve_budget(&first, &cap(100)).await.unwrap(), ReserveOutcome::Reserved);
        let second = reservation(&Spender { conversation: page("9"), ..ann.clone() });
        assert_eq!(store.reserve_budget(&second, &cap(100)).await.unwrap(), ReserveOutcome::Reserved, "30 are left");
        let spent = DayCosts { by_user: 30, by_chat: 30, by_agent: 30 };
        let full = ReserveOutcome::Full { spent };
        assert_eq!(store.reserve_budget(&reservation(&ann), &cap(100)).await.unwrap(), full, "spent 30, held 80");
        assert_eq!(store.reserve_budget(&reservation(&bob), &cap(100)).await.unwrap(), ReserveOutcome::Reserved);
        store.release_reservation(first.reservation_id).await.unwrap();
        assert_eq!(store.reserve_budget(&reservation(&ann), &cap(100)).await.unwrap(), ReserveOutcome::Reserved);
        let full = ReserveOutcome::Full { spent: DayCosts { by_user: 0, ..spent } };
        let of_chat = DayCaps { by_chat: Some(100), ..DayCaps::default() };
        assert_eq!(store.reserve_budget(&reservation(&bob), &of_chat).await.unwrap(), full, "Ann's and Bob's together");
        let of_agent = DayCaps { by_agent: Some(150), ..DayCaps::default() };
        assert_eq!(store.reserve_budget(&reservation(&bob), &of_agent).await.unwrap(), full);
    }

    async fn requests_that_start_together_do_not_exceed_a_cap_together(store: Store) {
        let ann = spender(&chat(1), "100", "photothread");
        let (all, cap): (Vec<_>, _) = ((0..20).map(|_| reservation(&ann)).collect(), cap(100));
        let outcomes = futures::future::join_all(all.iter().map(|one| store.reserve_budget(one, &cap))).await;
        let reserved = outcomes.into_iter().filter(|outcome| *outcome.as_ref().unwrap() == ReserveOutcome::Reserved);
        assert_eq!(reserved.count(), 3, "40 + 40 + 40");
    }

    async fn a_new_start_charges_every_open_request(store: Store) {
        let (ann, bob) = (spender(&chat(1), "100", "photothread"), spender(&chat(2), "200", "photothread"));
        for one in [&reservation(&ann), &reservation(&ann), &reservation(&bob)] {
            assert_eq!(store.reserve_budget(one, &cap(1000)).await.unwrap(), ReserveOutcome::Reserved);
        }
        assert_eq!(store.charge_open_reservations().await.unwrap(), 3);
        assert_eq!(store.charge_open_reservations().await.unwrap(), 0);
        assert_eq!(store.costs_of_day(today(), &ann).await.unwrap().by_user, 80);
        assert_eq!(store.reserve_budget(&reservation(&bob), &cap(41)).await.unwrap(), ReserveOutcome::Reserved, "nothing is held");
    }

    async fn a_request_without_an_end_is_charged_as_estimated(store: Store) {
        let ann = spender(&chat(1), "100", "photothread");
        let (given_up, lost) = (reservation(&ann), BudgetReservation { expires_at: long_ago(), ..reservation(&ann) });
        for one in [&given_up, &lost] {
            assert_eq!(store.reserve_budget(one, &cap(1000)).await.unwrap(), ReserveOutcome::Reserved);
        }
        store.charge_reservation(given_up.reservation_id).await.unwrap();
        store.charge_reservation(given_up.reservation_id).await.unwrap();
        assert_eq!(store.charge_expired_reservations(now()).await.unwrap(), 1);
        assert_eq!(store.costs_of_day(today(), &ann).await.unwrap().by_user, 80);
        let used = store.usage_of_user(&ann.user_id, today()).await.unwrap();
        assert_eq!((used.len(), used[0].requests, used[0].input_tokens), (1, 2, 0));
    }
}
