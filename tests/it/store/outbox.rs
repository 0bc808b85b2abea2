//! Sends: in order, one in flight per conversation, never repeated when their outcome is unknown.

use super::*;
use photothread::store::{OutboxRow, SendState, StoreError};

async fn plan(store: &Store, conversation: &Conversation, texts: &[&str]) {
    let sends: Vec<_> = texts.iter().map(|text| text_send(text)).collect();
    store.answer_update(&[], conversation, None, &sends).await.unwrap();
}

async fn next(store: &Store, conversation: &Conversation) -> Option<OutboxRow> {
    store.next_send(conversation).await.unwrap()
}

async fn next_text(store: &Store, conversation: &Conversation) -> Option<String> {
    next(store, conversation).await.map(|send| send.payload["text"].as_str().unwrap().to_owned())
}

async fn claim_next(store: &Store, conversation: &Conversation) -> OutboxRow {
    let send = next(store, conversation).await.unwrap();
    assert!(store.claim_send(send.outbox_id).await.unwrap());
    send
}

on_both! {
    async fn one_send_per_conversation_is_in_flight_and_in_order(store: Store) {
        plan(&store, &chat(1), &["a", "b"]).await;
        plan(&store, &chat(2), &["c"]).await;
        let a = claim_next(&store, &chat(1)).await;
        assert_eq!((a.state, a.attempts), (SendState::Queued, 0));
        assert!(!store.claim_send(a.outbox_id).await.unwrap(), "it is claimed");
        assert_eq!(next(&store, &chat(1)).await, None, "b waits for a");
        assert!(store.is_sending(&chat(1)).await.unwrap());
        assert!(!store.is_sending(&chat(2)).await.unwrap());
        assert_eq!(next_text(&store, &chat(2)).await.as_deref(), Some("c"), "chat 2 does not");
        store.mark_sent(&a, &["10".into()]).await.unwrap();
        assert_eq!(next_text(&store, &chat(1)).await.as_deref(), Some("b"));
    }

    async fn conversations_with_queued_sends_are_listed_once_per_interface(store: Store) {
        plan(&store, &chat(1), &["a", "b"]).await;
        plan(&store, &chat(2), &["c"]).await;
        plan(&store, &page("1"), &["d"]).await;
        let mut places = store.conversations_to_send(InterfaceType::Telegram).await.unwrap();
        places.sort();
        assert_eq!(places, [chat(1), chat(2)]);
        assert_eq!(store.conversations_to_send(InterfaceType::Web).await.unwrap(), [page("1")]);
        let c = claim_next(&store, &chat(2)).await;
        store.mark_sent(&c, &[]).await.unwrap();
        assert_eq!(store.conversations_to_send(InterfaceType::Telegram).await.unwrap(), [chat(1)]);
    }

    async fn the_topics_of_a_chat_share_one_send_in_flight_and_one_order(store: Store) {
        let topic = |id| Conversation::telegram_topic(-5, id);
        plan(&store, &topic(7), &["a"]).await;
        plan(&store, &chat(-5), &["b"]).await;
        plan(&store, &topic(8), &["c"]).await;
        plan(&store, &Conversation::telegram_topic(-50, 7), &["of another chat"]).await;
        let chats = store.conversations_to_send(InterfaceType::Telegram).await.unwrap();
        assert_eq!(chats, [chat(-5), chat(-50)]);
        for (text, place) in [("a", topic(7)), ("b", chat(-5)), ("c", topic(8))] {
            let send = claim_next(&store, &chat(-5)).await;
            assert_eq!((send.payload["text"].as_str(), &send.conversation), (Some(text), &place));
            assert_eq!(next(&store, &topic(9)).await, None, "one at a time");
            store.mark_sent(&send, &[]).await.unwrap();
        }
        assert_eq!(next(&store, &chat(-5)).await, None);
    }

    async fn an_update_is_closed_and_answered_together_or_not_at_all(store: Store) {
        let row = store.receive_updates(&[update("1")]).await.unwrap().remove(0);
        let answer = [text_send("Hello!"), text_send("How are you?")];
        store.answer_update(&[row.inbox_id], &chat(1), Some("5"), &answer).await.unwrap();
        assert_eq!(store.unhandled_updates().await.unwrap(), []);
        let again = store.answer_update(&[row.inbox_id], &chat(1), Some("5"), &answer).await;
        assert!(matches!(again, Err(StoreError::AlreadyDone)));
        for (text, reply_to) in [("Hello!", Some("5")), ("How are you?", None)] {
            let send = claim_next(&store, &chat(1)).await;
            assert_eq!((send.payload.clone(), send.reply_to.as_deref()), (json!({ "text": text }), reply_to));
            assert_eq!((send.turn_id, send.internal_id), (None, None));
            store.mark_sent(&send, &["6".into()]).await.unwrap();
        }
        assert_eq!(next(&store, &chat(1)).await, None, "not answered twice");
    }

    async fn a_requeued_send_keeps_its_position(store: Store) {
        plan(&store, &chat(1), &["a", "b"]).await;
        let a = claim_next(&store, &chat(1)).await;
        let moment = now() + chrono::TimeDelta::seconds(30);
        store.requeue_send(a.outbox_id, moment, "429: slow down").await.unwrap();
        let again = next(&store, &chat(1)).await.unwrap();
        assert_eq!((again.outbox_id, again.attempts, again.not_before), (a.outbox_id, 1, Some(moment)));
        assert_eq!(again.error.as_deref(), Some("429: slow down"));
        let again = claim_next(&store, &chat(1)).await;
        store.mark_sent(&again, &["10".into()]).await.unwrap();
        assert_eq!(store.undelivered_sends(10).await.unwrap(), []);
    }

    async fn a_replaced_send_keeps_its_position(store: Store) {
        plan(&store, &chat(1), &["<b>a", "b"]).await;
        let a = claim_next(&store, &chat(1)).await;
        let picture = AttachmentId::new();
        let plainer = PlannedSend { kind: SendKind::Document, ..album_send(&[picture]) };
        store.replace_send(a.outbox_id, &plainer, Some("7"), "400: can't parse").await.unwrap();
        let reshaped = next(&store, &chat(1)).await.unwrap();
        assert_eq!(reshaped.outbox_id, a.outbox_id);
        assert_eq!((reshaped.kind, reshaped.payload, reshaped.items), (plainer.kind, plainer.payload, 1));
        assert_eq!((reshaped.attachments, reshaped.reply_to.as_deref()), (vec![picture], Some("7")));
        assert_eq!((reshaped.state, reshaped.error.as_deref()), (SendState::Queued, Some("400: can't parse")));
    }

    async fn unknown_and_failed_sends_are_listed_and_never_repeated(store: Store) {
        plan(&store, &chat(1), &["a", "b", "c"]).await;
        let a = claim_next(&store, &chat(1)).await;
        store.mark_send_unknown(a.outbox_id, "the connection died").await.unwrap();
        let b = claim_next(&store, &chat(1)).await;
        store.mark_send_failed(b.outbox_id, "blocked by the user").await.unwrap();
        assert_eq!(next_text(&store, &chat(1)).await.as_deref(), Some("c"), "the rest goes on");
        assert!(!store.claim_send(a.outbox_id).await.unwrap());
        assert!(!store.claim_send(b.outbox_id).await.unwrap());

        let troubled = store.undelivered_sends(10).await.unwrap();
        let seen: Vec<_> = troubled.iter().map(|s| (s.outbox_id, s.state, s.error.as_deref().unwrap())).collect();
        let failed = (b.outbox_id, SendState::Failed, "blocked by the user");
        assert_eq!(seen, [failed, (a.outbox_id, SendState::Unknown, "the connection died")], "newest first");
        assert_eq!(store.undelivered_sends(1).await.unwrap().len(), 1);
    }

    async fn after_a_crash_sends_in_flight_are_unknown(store: Store) {
        plan(&store, &chat(1), &["a", "b"]).await;
        let a = claim_next(&store, &chat(1)).await;
        assert_eq!(store.mark_interrupted_sends().await.unwrap(), 1);
        assert_eq!(next_text(&store, &chat(1)).await.as_deref(), Some("b"));
        let troubled = store.undelivered_sends(10).await.unwrap();
        assert_eq!((troubled.len(), troubled[0].outbox_id, troubled[0].state), (1, a.outbox_id, SendState::Unknown));
        assert_eq!(store.mark_interrupted_sends().await.unwrap(), 0, "what is only queued is safe");
    }
}
