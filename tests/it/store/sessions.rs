//! Sessions: start, message count, preview, title and list.

use super::*;
use chrono::TimeDelta;
use photothread::domain::ToolCall;

on_both! {
    async fn a_conversation_keeps_its_session_until_a_new_one_is_started(store: Store) {
        let conversation = chat(1);
        assert_eq!(newest_session(&store, &conversation).await, None);
        let first = session_of_filed(&store, &conversation, &ann(), "1").await;
        assert_eq!(session_of_filed(&store, &conversation, &UserId("200".into()), "2").await, first);
        let second = store.start_session(&conversation, &ann()).await.unwrap();
        assert_ne!(second, first);
        assert_eq!(session_of_filed(&store, &conversation, &ann(), "3").await, second);
        assert_eq!(newest_session(&store, &conversation).await.unwrap().session_id, second);
        assert_ne!(session_of_filed(&store, &chat(2), &ann(), "1").await, second, "each conversation its own");
    }

    async fn a_new_session_is_empty_and_has_its_user(store: Store) {
        let id = store.start_session(&page("desk"), &ann()).await.unwrap();
        let session = newest_session(&store, &page("desk")).await.unwrap();
        assert_eq!((session.session_id, session.conversation, session.user_id), (id, page("desk"), ann()));
        assert_eq!((session.title, session.first_message_preview.as_str(), session.message_count), (None, "", 0));
        assert_eq!(session.created_at, session.last_activity);
    }

    async fn tool_calls_and_results_are_not_counted(store: Store) {
        let conversation = chat(1);
        let id = store.start_session(&conversation, &ann()).await.unwrap();
        store.add_message(&said(&conversation, id, "make it brighter"), &[]).await.unwrap();
        let call = ToolCall { id: "1".into(), name: "adjust_image".into(), arguments: "{}".into() };
        store.add_message(&NewMessage { tool_calls: vec![call], ..answered(&conversation, id, "") }, &[]).await.unwrap();
        let result = NewMessage { tool_call_id: Some("1".into()), ..NewMessage::new(conversation.clone(), id, Role::Tool, "ok") };
        store.add_message(&result, &[]).await.unwrap();
        store.add_message(&answered(&conversation, id, "Brighter now."), &[]).await.unwrap();
        assert_eq!(newest_session(&store, &conversation).await.unwrap().message_count, 2);
    }

    async fn the_preview_is_the_first_line_of_the_user(store: Store) {
        let conversation = chat(1);
        let id = store.start_session(&conversation, &ann()).await.unwrap();
        store.add_message(&answered(&conversation, id, "Hello!"), &[]).await.unwrap();
        store.add_message(&said(&conversation, id, ""), &[]).await.unwrap();
        let long = "é".repeat(500);
        store.add_message(&said(&conversation, id, &format!("{long}\nand more")), &[]).await.unwrap();
        store.add_message(&said(&conversation, id, "later"), &[]).await.unwrap();
        let preview = newest_session(&store, &conversation).await.unwrap().first_message_preview;
        assert_eq!(preview, "é".repeat(120));
    }

    async fn sessions_are_listed_by_last_activity_in_pages(store: Store) {
        let mut ids = Vec::new();
        for n in 1..=3 {
            ids.push(store.start_session(&chat(n), &ann()).await.unwrap());
        }
        store.start_session(&chat(4), &UserId("200".into())).await.unwrap();
        let soon = now() + TimeDelta::minutes(1);
        store.add_message(&NewMessage { timestamp: soon, ..said(&chat(1), ids[0], "hi") }, &[]).await.unwrap();

        let listed = |limit, offset| {
            let store = store.clone();
            async move {
                let sessions = store.sessions(&started_by(&ann()), limit, offset).await.unwrap().sessions;
                sessions.iter().map(|s| s.session_id).collect::<Vec<_>>()
            }
        };
        assert_eq!(listed(10, 0).await, [ids[0], ids[2], ids[1]]);
        assert_eq!(listed(2, 1).await, [ids[2], ids[1]]);
        assert_eq!(listed(10, 3).await, []);
        assert_eq!(store.sessions(&started_by(&ann()), 1, 0).await.unwrap().sessions[0].last_activity, soon);
    }

    async fn a_title_is_replaced_only_if_it_is_the_expected_one(store: Store) {
        let id = store.start_session(&chat(1), &ann()).await.unwrap();
        let other = store.start_session(&chat(2), &ann()).await.unwrap();
        assert!(store.replace_title(id, None, "make it brighter").await.unwrap());
        assert!(!store.replace_title(id, None, "too late").await.unwrap());
        assert!(store.replace_title(id, Some("make it brighter"), "A brighter cat").await.unwrap());
        assert!(!store.replace_title(id, Some("make it brighter"), "too late").await.unwrap());
        assert_eq!(store.session(id).await.unwrap().unwrap().title.as_deref(), Some("A brighter cat"));
        assert_eq!(store.session(other).await.unwrap().unwrap().title, None);
        assert_eq!(store.session(SessionId::new()).await.unwrap(), None);
    }

    async fn an_older_message_does_not_change_the_last_activity(store: Store) {
        let conversation = chat(1);
        let id = store.start_session(&conversation, &ann()).await.unwrap();
        let begun = newest_session(&store, &conversation).await.unwrap().last_activity;
        let yesterday = now() - TimeDelta::days(1);
        store.add_message(&NewMessage { timestamp: yesterday, ..said(&conversation, id, "from before") }, &[]).await.unwrap();
        assert_eq!(newest_session(&store, &conversation).await.unwrap().last_activity, begun);
    }
}
