//! Messages as prompts and pages read them: threads, recent ones, by conversation, edited.

use super::*;
use chrono::TimeDelta;
use photothread::{
    domain::{Message, MessageId, TurnId},
    store::{RecentFilter, StoreError},
};

fn texts(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|m| m.content.as_str()).collect()
}

const NEWEST: MessageId = MessageId(i64::MAX);

on_both! {
    async fn a_thread_is_its_root_and_children_oldest_first(store: Store) {
        let conversation = chat(1);
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        let root = store.add_message(&said(&conversation, session, "root"), &[]).await.unwrap();
        let other = store.add_message(&said(&conversation, session, "another root"), &[]).await.unwrap();
        // The timestamps descend: messages are in the order in which they were added.
        for (n, text) in ["one", "two"].into_iter().enumerate() {
            let timestamp = now() - TimeDelta::hours(n as i64);
            let child = NewMessage { thread_root_id: Some(root), timestamp, ..answered(&conversation, session, text) };
            store.add_message(&child, &[]).await.unwrap();
        }
        let thread = store.thread(root).await.unwrap();
        assert_eq!(texts(&thread), ["root", "one", "two"]);
        assert!(thread.iter().all(|m| m.root() == root));
        assert_eq!(texts(&store.thread(other).await.unwrap()), ["another root"]);
        assert_eq!(store.thread(NEWEST).await.unwrap(), []);
    }

    async fn recent_messages_respect_limit_age_and_before(store: Store) {
        let conversation = chat(1);
        let earlier = store.start_session(&conversation, &ann()).await.unwrap();
        store.add_message(&said(&conversation, earlier, "of an earlier session"), &[]).await.unwrap();
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        let mut ids = Vec::new();
        for (text, hours) in [("old", 5), ("a", 1), ("b", 1), ("c", 0), ("d", 0)] {
            let timestamp = now() - TimeDelta::hours(hours);
            ids.push(store.add_message(&NewMessage { timestamp, ..said(&conversation, session, text) }, &[]).await.unwrap());
        }
        let two_hours = now() - TimeDelta::hours(2);
        let recent = |before, since, limit| {
            let store = store.clone();
            async move {
                let messages = store.recent_messages(session, before, since, limit).await.unwrap();
                texts(&messages).join(" ")
            }
        };
        assert_eq!(recent(NEWEST, long_ago(), 10).await, "old a b c d");
        assert_eq!(recent(NEWEST, two_hours, 10).await, "a b c d");
        assert_eq!(recent(NEWEST, two_hours, 2).await, "c d", "the newest, oldest first");
        assert_eq!(recent(ids[3], two_hours, 10).await, "a b", "before is left out itself");
        assert_eq!(recent(NEWEST, long_ago(), 0).await, "");
    }

    async fn the_age_limit_is_inclusive(store: Store) {
        let conversation = chat(1);
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        // Whole seconds, milliseconds and microseconds are written with different lengths in SQLite.
        let moments = ["12:00:00Z", "12:00:00.000001Z", "12:00:00.001Z", "12:00:00.001001Z", "12:00:01Z"];
        let moments = moments.map(|t| format!("2026-02-03T{t}").parse::<DateTime<Utc>>().unwrap());
        for moment in moments {
            store.add_message(&NewMessage { timestamp: moment, ..said(&conversation, session, "") }, &[]).await.unwrap();
        }
        for (n, moment) in moments.into_iter().enumerate() {
            let found = store.recent_messages(session, NEWEST, moment, 10).await.unwrap();
            assert_eq!(found.iter().map(|m| m.timestamp).collect::<Vec<_>>(), moments[n..], "since {moment}");
        }
    }

    async fn recent_messages_by_conversation_are_grouped_newest_conversation_first(store: Store) {
        let mut sessions = Vec::new();
        for conversation in [chat(1), page("1"), chat(3)] {
            sessions.push((store.start_session(&conversation, &ann()).await.unwrap(), conversation));
        }
        for (which, text) in [(0, "a1"), (1, "b1"), (0, "a2"), (0, "a3"), (1, "b2")] {
            let (session, conversation) = &sessions[which];
            store.add_message(&said(conversation, *session, text), &[]).await.unwrap();
        }
        let (session, conversation) = &sessions[0];
        store.add_message(&NewMessage::new(conversation.clone(), *session, Role::Tool, "a tool's result"), &[]).await.unwrap();
        let (session, conversation) = &sessions[2];
        let old = NewMessage { timestamp: now() - TimeDelta::hours(3), ..said(conversation, *session, "old") };
        store.add_message(&old, &[]).await.unwrap();

        let since = now() - TimeDelta::hours(2);
        let filter =
            RecentFilter { seen_by: None, since, conversations: 10, per_conversation: 2, detail: Detail::WithoutTools };
        let read = async |filter: RecentFilter| {
            let grouped = store.recent_by_conversation(&filter).await.unwrap();
            let texts_of = |(conversation, messages): &(Conversation, Vec<Message>)| (conversation.clone(), texts(messages).join(" "));
            grouped.iter().map(texts_of).collect::<Vec<_>>()
        };
        let (of_page, of_chat) = ((page("1"), "b1 b2".to_owned()), (chat(1), "a2 a3".to_owned()));
        assert_eq!(read(filter.clone()).await, [of_page.clone(), of_chat.clone()]);
        assert_eq!(read(RecentFilter { conversations: 1, ..filter.clone() }).await, [of_page]);
        let with_tools = RecentFilter { detail: Detail::WithTools, conversations: 2, ..filter.clone() };
        assert_eq!(read(with_tools).await[0], (chat(1), "a3 a tool's result".to_owned()));
        let member = UserId("4711".into());
        let own = RecentFilter { seen_by: Some(member.clone()), ..filter };
        assert_eq!(read(own.clone()).await, []);
        store.add_member(&chat(1), &member).await.unwrap();
        assert_eq!(read(own).await, [of_chat]);
    }

    async fn messages_of_turns_and_sessions_are_in_order(store: Store) {
        let conversation = chat(1);
        let filed = store.file(&filing(&conversation, vec![note("1", "a"), note("2", "b")])).await.unwrap();
        let turn = store.turn(filed.turn.unwrap()).await.unwrap().unwrap();
        for text in ["thinking", "done"] {
            let step = NewMessage {
                turn_id: Some(turn.turn_id),
                thread_root_id: Some(turn.thread_root_id),
                ..answered(&conversation, turn.session_id, text)
            };
            store.add_message(&step, &[]).await.unwrap();
        }
        assert_eq!(texts(&store.inputs_of_turn(turn.turn_id).await.unwrap()), ["a", "b"]);
        assert_eq!(texts(&store.messages_of_turn(turn.turn_id).await.unwrap()), ["thinking", "done"]);
        let session = store.messages_of_session(turn.session_id, None, None, Detail::WithTools).await.unwrap();
        assert_eq!(texts(&session), ["a", "b", "thinking", "done"]);
        assert_eq!(store.messages_of_turn(TurnId::new()).await.unwrap(), []);
        assert_eq!(store.messages_of_session(SessionId::new(), None, None, Detail::WithTools).await.unwrap(), []);
    }

    async fn a_span_counts_the_newest_messages_and_pages_walk_it_oldest_first(store: Store) {
        let conversation = chat(1);
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        assert_eq!(store.history_span(session, None, None, Detail::WithTools).await.unwrap(), None);
        let mut ids = Vec::new();
        for text in ["a", "b", "c", "d"] {
            ids.push(store.add_message(&said(&conversation, session, text), &[]).await.unwrap());
            let result = NewMessage::new(conversation.clone(), session, Role::Tool, format!("result of {text}"));
            ids.push(store.add_message(&result, &[]).await.unwrap());
        }
        let other = store.start_session(&chat(2), &ann()).await.unwrap();
        store.add_message(&said(&chat(2), other, "elsewhere"), &[]).await.unwrap();
        let span = async |before, limit, detail| {
            let span = store.history_span(session, before, limit, detail).await.unwrap().unwrap();
            (span.first, span.last, span.count)
        };
        assert_eq!(span(None, None, Detail::WithTools).await, (ids[0], ids[7], 8));
        assert_eq!(span(None, None, Detail::WithoutTools).await, (ids[0], ids[6], 4));
        assert_eq!(span(Some(ids[4]), Some(1), Detail::WithoutTools).await, (ids[2], ids[2], 1));

        let page = async |after, last, detail| {
            texts(&store.history_page(session, after, last, detail).await.unwrap()).join(" ")
        };
        assert_eq!(page(MessageId(0), ids[7], Detail::WithoutTools).await, "a b c d");
        assert_eq!(page(ids[0], ids[4], Detail::WithTools).await, "result of a b result of b c");
        assert_eq!(page(ids[7], NEWEST, Detail::WithTools).await, "");
    }

    async fn a_page_is_one_large_message_or_several_small_ones(store: Store) {
        let conversation = chat(1);
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        let large = "x".repeat(200_000);
        for text in [large.as_str(), large.as_str(), "small", large.as_str()] {
            store.add_message(&said(&conversation, session, text), &[]).await.unwrap();
        }
        let mut after = MessageId(0);
        let mut pages = Vec::new();
        loop {
            let page = store.history_page(session, after, NEWEST, Detail::WithTools).await.unwrap();
            let Some(last) = page.last() else { break };
            after = last.internal_id;
            pages.push(page.len());
        }
        assert_eq!(pages, [2, 2], "a page ends with the message that exceeds its size");
    }

    async fn the_first_question_and_the_last_answer_frame_a_history(store: Store) {
        let conversation = chat(1);
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        let asked = store.add_message(&said(&conversation, session, "first?"), &[]).await.unwrap();
        assert_eq!(store.question_and_answer(session, MessageId(0)).await.unwrap(), (None, None));
        let calls = vec![photothread::domain::ToolCall { id: "1".into(), name: "t".into(), arguments: "{}".into() }];
        for message in [
            answered(&conversation, session, "one"),
            said(&conversation, session, "second?"),
            answered(&conversation, session, "two"),
            NewMessage { tool_calls: calls, ..answered(&conversation, session, "a step") },
        ] {
            store.add_message(&message, &[]).await.unwrap();
        }
        let framed = async |last| {
            let (question, answer) = store.question_and_answer(session, last).await.unwrap();
            (question.map(|m| m.content.clone()), answer.map(|m| m.content.clone()))
        };
        assert_eq!(framed(asked).await, (Some("first?".into()), None));
        assert_eq!(framed(NEWEST).await, (Some("first?".into()), Some("two".into())));
    }

    async fn album_messages_are_found_only_in_their_conversation(store: Store) {
        let conversation = chat(1);
        let photos = vec![album_photo(&conversation, "1", "x"), album_photo(&conversation, "2", "x"), album_photo(&conversation, "3", "y")];
        store.file(&filing(&conversation, photos)).await.unwrap();
        store.file(&filing(&chat(2), vec![album_photo(&chat(2), "1", "x")])).await.unwrap();
        let album = store.messages_of_album(&conversation, "x").await.unwrap();
        let ids: Vec<_> = album.iter().map(|m| m.interface_message_id.as_deref().unwrap()).collect();
        assert_eq!(ids, ["1", "2"]);
        assert!(album.iter().all(|m| m.conversation == conversation));
    }

    async fn an_edit_changes_only_the_text_of_a_user_message(store: Store) {
        let conversation = chat(1);
        let filed = store.file(&filing(&conversation, vec![note("1", "crop it")])).await.unwrap();
        let before = store.message(filed.messages[0]).await.unwrap().unwrap();
        let answer = NewMessage { interface_message_id: Some("2".into()), ..answered(&conversation, before.session_id, "Done.") };
        let answer = store.add_message(&answer, &[]).await.unwrap();

        assert!(store.edit_message(&conversation, "1", "rotate it").await.unwrap());
        assert!(!store.edit_message(&conversation, "2", "forged").await.unwrap(), "the bot's words are not theirs to edit");
        assert!(!store.edit_message(&conversation, "99", "?").await.unwrap(), "never seen");
        assert!(!store.edit_message(&chat(2), "1", "?").await.unwrap(), "not of this chat");

        let after = store.message(before.internal_id).await.unwrap().unwrap();
        assert_eq!(after.body, NewMessage { content: "rotate it".into(), ..before.body });
        assert_eq!(store.message(answer).await.unwrap().unwrap().content, "Done.");
    }

    async fn interface_ids_are_unique_per_conversation(store: Store) {
        let conversation = chat(1);
        let filed = store.file(&filing(&conversation, vec![note("1", "first")])).await.unwrap();
        let session = store.message(filed.messages[0]).await.unwrap().unwrap().session_id;
        let same = |conversation: &Conversation, session| NewMessage {
            interface_message_id: Some("1".into()),
            ..said(conversation, session, "second")
        };
        assert!(matches!(store.add_message(&same(&conversation, session), &[]).await, Err(StoreError::Broken(_))));
        for elsewhere in [chat(2), page("1")] {
            let session = store.start_session(&elsewhere, &ann()).await.unwrap();
            store.add_message(&same(&elsewhere, session), &[]).await.unwrap();
        }
        // Messages without an id do not conflict.
        for _ in 0..2 {
            store.add_message(&said(&conversation, session, "silent"), &[]).await.unwrap();
        }
        let count = newest_session(&store, &conversation).await.unwrap().message_count;
        assert_eq!(count, 3, "the refused one is not counted");
    }

    async fn a_message_needs_a_session_that_exists(store: Store) {
        let stray = said(&chat(1), SessionId::new(), "lost");
        assert!(matches!(store.add_message(&stray, &[]).await, Err(StoreError::Broken(_))));
    }
}
