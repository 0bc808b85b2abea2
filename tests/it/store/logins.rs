//! Login links that work once, logins that are replaced, API tokens that are revoked.

use super::*;
use chrono::TimeDelta;
use photothread::{
    domain::TokenId,
    store::{ApiToken, LoginLink},
};

fn link(hash: &str, minutes: i64) -> LoginLink {
    LoginLink { link_hash: hash.into(), user_id: ann(), expires_at: now() + TimeDelta::minutes(minutes) }
}

fn month() -> DateTime<Utc> {
    now() + TimeDelta::days(30)
}

fn token(name: &str, user: UserId) -> ApiToken {
    ApiToken {
        token_id: TokenId::new(),
        user_id: user,
        name: name.into(),
        created_at: now(),
        last_used_at: None,
        expires_at: None,
    }
}

on_both! {
    async fn a_web_key_is_created_once(store: Store) {
        let all = (0..4).map(|n| {
            let store = store.clone();
            async move { store.ensure_web_key("links", &format!("key {n}")).await.unwrap() }
        });
        let keys = futures::future::join_all(all).await;
        assert!(keys.iter().all(|key| *key == keys[0]), "the first call creates it: {keys:?}");
        assert_eq!(store.ensure_web_key("links", "another").await.unwrap(), keys[0]);
        assert_eq!(store.ensure_web_key("others", "another").await.unwrap(), "another");
    }

    async fn a_link_logs_in_once_and_checking_does_not_use_it_up(store: Store) {
        store.add_login_link(&link("l1", 5)).await.unwrap();
        for _ in 0..2 {
            assert!(store.login_link_is_valid("l1", now()).await.unwrap());
        }
        assert_eq!(store.log_in("l1", "c1", now(), month()).await.unwrap(), Some(ann()));
        assert!(!store.login_link_is_valid("l1", now()).await.unwrap());
        assert_eq!(store.log_in("l1", "c2", now(), month()).await.unwrap(), None);
        assert_eq!(store.login("c1").await.unwrap().unwrap().user_id, ann());
        assert_eq!(store.login("c2").await.unwrap(), None);
    }

    async fn of_concurrent_uses_of_a_link_one_logs_in(store: Store) {
        store.add_login_link(&link("l1", 5)).await.unwrap();
        let all = (0..6).map(|n| {
            let store = store.clone();
            async move { store.log_in("l1", &format!("c{n}"), now(), month()).await.unwrap() }
        });
        let let_in = futures::future::join_all(all).await;
        assert_eq!(let_in.iter().flatten().count(), 1);
    }

    async fn expired_and_unknown_links_do_not_log_in(store: Store) {
        store.add_login_link(&link("old", -1)).await.unwrap();
        for hash in ["old", "forged"] {
            assert!(!store.login_link_is_valid(hash, now()).await.unwrap());
            assert_eq!(store.log_in(hash, "c1", now(), month()).await.unwrap(), None);
        }
    }

    async fn a_login_is_replaced_once_and_logout_ends_both(store: Store) {
        store.add_login_link(&link("l1", 5)).await.unwrap();
        store.log_in("l1", "c1", now(), month()).await.unwrap();
        let at = now();
        assert!(store.renew_login("c1", "c2", at, month()).await.unwrap());
        assert!(!store.renew_login("c1", "c3", now(), month()).await.unwrap(), "another was first");
        assert_eq!(store.login("c1").await.unwrap().unwrap().replaced_at, Some(at));
        let newer = store.login("c2").await.unwrap().unwrap();
        assert_eq!((newer.user_id, newer.created_at, newer.replaced_at), (ann(), at, None));
        store.log_out("c2").await.unwrap();
        assert_eq!((store.login("c1").await.unwrap(), store.login("c2").await.unwrap()), (None, None));
    }

    async fn logout_ends_only_this_login(store: Store) {
        for (link_hash, login) in [("l1", "desk"), ("l2", "phone")] {
            store.add_login_link(&link(link_hash, 5)).await.unwrap();
            store.log_in(link_hash, login, now(), month()).await.unwrap();
        }
        store.log_out("desk").await.unwrap();
        store.log_out("unknown").await.unwrap();
        assert!(store.login("phone").await.unwrap().is_some());
    }

    async fn logout_everywhere_ends_all_logins_and_links_of_a_user(store: Store) {
        for (link_hash, login) in [("l1", "desk"), ("l2", "phone")] {
            store.add_login_link(&link(link_hash, 5)).await.unwrap();
            store.log_in(link_hash, login, now(), month()).await.unwrap();
        }
        store.renew_login("desk", "desk2", now(), month()).await.unwrap();
        store.add_login_link(&link("unused", 5)).await.unwrap();
        let bob = UserId("200".into());
        store.add_login_link(&LoginLink { user_id: bob.clone(), ..link("l3", 5) }).await.unwrap();
        store.log_in("l3", "of bob", now(), month()).await.unwrap();
        assert!(store.add_api_token(&token("script", ann()), "h1", 2).await.unwrap());
        store.log_out_everywhere(&ann()).await.unwrap();
        for ended in ["desk", "desk2", "phone"] {
            assert_eq!(store.login(ended).await.unwrap(), None, "{ended}");
        }
        assert!(!store.login_link_is_valid("unused", now()).await.unwrap());
        assert!(store.login("of bob").await.unwrap().is_some(), "Bob stays");
        assert!(store.api_token("h1").await.unwrap().is_some(), "and so does the token");
    }

    async fn expired_logins_are_deleted(store: Store) {
        store.add_login_link(&link("old", -1)).await.unwrap();
        for (n, until) in [("1", now() - TimeDelta::seconds(1)), ("2", month()), ("3", month())] {
            store.add_login_link(&link(n, 5)).await.unwrap();
            store.log_in(n, n, now(), until).await.unwrap();
        }
        store.renew_login("2", "2b", now() - TimeDelta::minutes(2), month()).await.unwrap();
        for (hash, expires_at) in [("h1", Some(now() - TimeDelta::seconds(1))), ("h2", Some(month())), ("h3", None)] {
            store.add_api_token(&ApiToken { expires_at, ..token("script", ann()) }, hash, 9).await.unwrap();
        }
        let a_minute_ago = now() - TimeDelta::minutes(1);
        assert_eq!(store.delete_expired_logins(now(), a_minute_ago).await.unwrap(), 4, "a link, two logins, a token");
        for (hash, kept) in [("h1", false), ("h2", true), ("h3", true)] {
            assert_eq!(store.api_token(hash).await.unwrap().is_some(), kept, "{hash}");
        }
        for (hash, kept) in [("1", false), ("2", false), ("2b", true), ("3", true)] {
            assert_eq!(store.login(hash).await.unwrap().is_some(), kept, "{hash}");
        }
    }

    async fn users_list_and_revoke_only_their_own_tokens(store: Store) {
        let bob = UserId("200".into());
        let (first, of_bob) = (token("script", ann()), token("phone", bob.clone()));
        assert!(store.add_api_token(&first, "h1", 2).await.unwrap());
        assert!(store.add_api_token(&of_bob, "h2", 2).await.unwrap());
        assert_eq!(store.api_token("h1").await.unwrap(), Some(first.clone()));
        assert_eq!(store.api_token("h3").await.unwrap(), None);
        let at = now();
        store.record_token_use(first.token_id, at).await.unwrap();
        let used = ApiToken { last_used_at: Some(at), ..first.clone() };
        assert_eq!(store.api_tokens(&ann()).await.unwrap(), [used]);
        assert!(!store.revoke_api_token(&bob, first.token_id).await.unwrap(), "not Bob's");
        assert!(store.revoke_api_token(&ann(), first.token_id).await.unwrap());
        assert!(!store.revoke_api_token(&ann(), first.token_id).await.unwrap());
        assert_eq!(store.api_token("h1").await.unwrap(), None);
        assert_eq!(store.api_tokens(&bob).await.unwrap(), [of_bob]);
    }

    async fn the_number_of_tokens_is_limited(store: Store) {
        for n in 0..2 {
            assert!(store.add_api_token(&token("one", ann()), &format!("h{n}"), 2).await.unwrap());
        }
        assert!(!store.add_api_token(&token("too many", ann()), "h2", 2).await.unwrap());
        let expired = ApiToken { expires_at: Some(now() - TimeDelta::days(1)), ..token("old", ann()) };
        assert!(store.add_api_token(&expired, "h4", 3).await.unwrap());
        assert!(store.add_api_token(&token("another", ann()), "h5", 3).await.unwrap(), "expired ones do not count");
        assert!(store.add_api_token(&token("bob's", UserId("200".into())), "h3", 2).await.unwrap());
    }
}
