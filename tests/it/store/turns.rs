//! Turns: filed in one transaction, claimed one per conversation, finished with their sends.

use super::*;
use photothread::{
    domain::{Turn, TurnId, TurnState},
    store::{Filing, FinishedTurn, StoreError},
};

async fn filed_turn(store: &Store, conversation: &Conversation, shown_id: &str) -> TurnId {
    store.file(&filing(conversation, vec![note(shown_id, "please")])).await.unwrap().turn.unwrap()
}

async fn claimed(store: &Store) -> Option<TurnId> {
    store.claim_turn(MANY).await.unwrap().map(|turn| turn.turn_id)
}

fn last_word(turn: &Turn) -> NewMessage {
    NewMessage {
        turn_id: Some(turn.turn_id),
        thread_root_id: Some(turn.thread_root_id),
        ..answered(&turn.conversation, turn.session_id, "Done.")
    }
}

async fn finish(
    store: &Store,
    turn: &Turn,
    sends: &[PlannedSend],
    reply_to: Option<&str>,
) -> Result<(), StoreError> {
    let message = last_word(turn);
    store
        .finish_turn(&FinishedTurn { turn, state: TurnState::Done, message: &message, sends, reply_to })
        .await
        .map(drop)
}

on_both! {
    async fn a_filing_stores_messages_attachments_thread_and_turn(store: Store) {
        let conversation = chat(1);
        let rows = store.receive_updates(&[update("1"), update("2")]).await.unwrap();
        let pictures = [picture(&conversation), picture(&conversation)];
        let photo = |at: usize, shown_id: &str| FiledMessage {
            files: vec![FiledFile::New(pictures[at].clone())],
            ..album_photo(&conversation, shown_id, "x")
        };
        let batch = Filing {
            inbox_ids: rows.iter().map(|row| row.inbox_id).collect(),
            ..filing(&conversation, vec![photo(0, "1"), photo(1, "2")])
        };
        let filed = store.file(&batch).await.unwrap();

        assert_eq!(store.unhandled_updates().await.unwrap(), []);
        let thread = store.thread(filed.messages[0]).await.unwrap();
        assert_eq!(thread.iter().map(|m| m.internal_id).collect::<Vec<_>>(), filed.messages);
        assert_eq!((thread[0].thread_root_id, thread[1].thread_root_id), (None, Some(filed.messages[0])));
        let session = newest_session(&store, &conversation).await.unwrap();
        for (message, picture) in thread.iter().zip(&pictures) {
            assert_eq!(message.attachments, [picture.attachment_id]);
            assert_eq!(store.attachment(&conversation, picture.attachment_id).await.unwrap().as_ref(), Some(picture));
            assert_eq!(message.session_id, session.session_id);
        }
        assert_eq!(session.message_count, 2);
        let turn = store.turn(filed.turn.unwrap()).await.unwrap().unwrap();
        assert_eq!((turn.state, turn.attempts, turn.thread_root_id), (TurnState::Pending, 0, filed.messages[0]));
        assert_eq!((turn.inputs, turn.session_id, turn.conversation), (filed.messages, session.session_id, conversation));
        assert_eq!((turn.user_id, turn.agent_id.as_str()), (ann(), "photothread"));
    }

    async fn a_filing_whose_update_was_already_closed_leaves_nothing_behind(store: Store) {
        let conversation = chat(1);
        let rows = store.receive_updates(&[update("1"), update("2")]).await.unwrap();
        store.close_update(rows[1].inbox_id).await.unwrap();
        let batch = Filing {
            inbox_ids: rows.iter().map(|row| row.inbox_id).collect(),
            ..filing(&conversation, vec![album_photo(&conversation, "1", "x")])
        };
        assert!(matches!(store.file(&batch).await, Err(StoreError::AlreadyDone)));
        assert_eq!(store.unhandled_updates().await.unwrap(), [rows[0].clone()]);
        assert_eq!(store.find_message(&conversation, "1").await.unwrap(), None);
        assert_eq!(store.stored_bytes(&conversation, &ann()).await.unwrap().conversation, 0);
        assert_eq!(newest_session(&store, &conversation).await, None);
        assert_eq!(store.count_open_turns().await.unwrap(), 0);
    }

    async fn a_filing_that_fails_halfway_leaves_nothing_behind(store: Store) {
        let conversation = chat(1);
        let row = store.receive_updates(&[update("1")]).await.unwrap().remove(0);
        let same_id_twice = vec![album_photo(&conversation, "1", "x"), album_photo(&conversation, "1", "x")];
        let batch = Filing { inbox_ids: vec![row.inbox_id], ..filing(&conversation, same_id_twice) };
        let error = store.file(&batch).await.unwrap_err();
        assert!(matches!(error, StoreError::Broken(_)), "{error}");
        assert!(error.to_string().starts_with("file: "), "{error}");
        assert_eq!(store.unhandled_updates().await.unwrap(), [row], "to be tried again");
        assert_eq!(store.find_message(&conversation, "1").await.unwrap(), None);
        assert_eq!(store.stored_bytes(&conversation, &ann()).await.unwrap().conversation, 0);
    }

    async fn a_reply_is_filed_in_the_thread_and_session_of_its_target(store: Store) {
        let conversation = chat(1);
        let first = store.file(&filing(&conversation, vec![note("1", "a"), note("2", "b")])).await.unwrap();
        store.start_session(&conversation, &ann()).await.unwrap();
        let child = store.message(first.messages[1]).await.unwrap().unwrap();
        let reply = Filing { thread_root: Some(child.clone()), ..filing(&conversation, vec![note("3", "c")]) };
        let filed = store.file(&reply).await.unwrap();
        let message = store.message(filed.messages[0]).await.unwrap().unwrap();
        assert_eq!((message.thread_root_id, message.session_id), (Some(first.messages[0]), child.session_id));
        let turn = store.turn(filed.turn.unwrap()).await.unwrap().unwrap();
        assert_eq!((turn.thread_root_id, turn.session_id), (first.messages[0], child.session_id));
    }

    async fn messages_that_want_no_turn_start_none(store: Store) {
        let quiet = Filing { wants_turn: WantsTurn::No, ..filing(&chat(1), vec![note("1", "fyi")]) };
        let filed = store.file(&quiet).await.unwrap();
        assert_eq!((filed.turn, filed.messages.len()), (None, 1));
        assert_eq!(store.count_open_turns().await.unwrap(), 0);
    }

    async fn a_late_album_photo_joins_the_pending_turn(store: Store) {
        let conversation = chat(1);
        let first = store.file(&filing(&conversation, vec![album_photo(&conversation, "1", "x")])).await.unwrap();
        let root = store.messages_of_album(&conversation, "x").await.unwrap().remove(0);
        let late = Filing { thread_root: Some(root), ..filing(&conversation, vec![album_photo(&conversation, "2", "x")]) };
        let second = store.file(&late).await.unwrap();
        assert_eq!(second.turn, first.turn);
        let turn = store.claim_turn(MANY).await.unwrap().unwrap();
        assert_eq!(turn.inputs, [first.messages[0], second.messages[0]]);
        assert_eq!(store.count_open_turns().await.unwrap(), 1);
    }

    async fn a_photo_too_late_for_its_running_turn_starts_another(store: Store) {
        let conversation = chat(1);
        let first = store.file(&filing(&conversation, vec![album_photo(&conversation, "1", "x")])).await.unwrap();
        let running = store.claim_turn(MANY).await.unwrap().unwrap();
        let root = store.messages_of_album(&conversation, "x").await.unwrap().remove(0);
        let late = Filing { thread_root: Some(root), ..filing(&conversation, vec![album_photo(&conversation, "2", "x")]) };
        let second = store.file(&late).await.unwrap();
        assert_ne!(second.turn, first.turn);
        assert_eq!(store.inputs_of_turn(running.turn_id).await.unwrap().len(), 1);
        assert_eq!(store.thread(first.messages[0]).await.unwrap().len(), 2, "but in the same thread");
    }

    async fn other_albums_and_other_chats_do_not_join(store: Store) {
        let first = store.file(&filing(&chat(1), vec![album_photo(&chat(1), "1", "x")])).await.unwrap();
        let other = store.file(&filing(&chat(1), vec![album_photo(&chat(1), "2", "y")])).await.unwrap();
        let elsewhere = store.file(&filing(&chat(2), vec![album_photo(&chat(2), "1", "x")])).await.unwrap();
        assert!(first.turn != other.turn && first.turn != elsewhere.turn);
        assert_eq!(store.count_open_turns().await.unwrap(), 3);
    }

    async fn one_turn_per_conversation_runs_oldest_first(store: Store) {
        let a1 = filed_turn(&store, &chat(1), "1").await;
        let a2 = filed_turn(&store, &chat(1), "2").await;
        let b = filed_turn(&store, &chat(2), "1").await;
        let web = filed_turn(&store, &page("1"), "1").await;
        let running = store.claim_turn(MANY).await.unwrap().unwrap();
        assert_eq!((running.turn_id, running.state, running.attempts), (a1, TurnState::Running, 1));
        assert_eq!(claimed(&store).await, Some(b), "only the second turn of chat 1 waits");
        assert_eq!(claimed(&store).await, Some(web));
        assert_eq!(claimed(&store).await, None);
        finish(&store, &running, &[], None).await.unwrap();
        assert_eq!(claimed(&store).await, Some(a2));
    }

    async fn finishing_queues_the_sends_in_order_and_only_the_first_is_a_reply(store: Store) {
        let conversation = chat(1);
        filed_turn(&store, &conversation, "1").await;
        let turn = store.claim_turn(MANY).await.unwrap().unwrap();
        let message = last_word(&turn);
        let sends = ["a", "b", "c"].map(text_send);
        let end = FinishedTurn { turn: &turn, state: TurnState::Failed, message: &message, sends: &sends, reply_to: Some("1") };
        let id = store.finish_turn(&end).await.unwrap();
        assert_eq!(store.turn(turn.turn_id).await.unwrap().unwrap().state, TurnState::Failed);
        assert_eq!(store.messages_of_turn(turn.turn_id).await.unwrap()[0].internal_id, id);
        for (text, reply_to) in [("a", Some("1")), ("b", None), ("c", None)] {
            let send = store.next_send(&conversation).await.unwrap().unwrap();
            assert_eq!((send.payload.clone(), send.reply_to.as_deref()), (json!({ "text": text }), reply_to));
            assert_eq!((send.turn_id, send.internal_id), (Some(turn.turn_id), Some(id)));
            assert!(store.claim_send(send.outbox_id).await.unwrap());
            store.mark_sent(&send, &[format!("9{text}")]).await.unwrap();
        }
        assert_eq!(store.next_send(&conversation).await.unwrap(), None);
    }

    async fn a_cancelled_turn_cannot_be_finished(store: Store) {
        let conversation = chat(1);
        let first = filed_turn(&store, &conversation, "1").await;
        let second = filed_turn(&store, &conversation, "2").await;
        let elsewhere = filed_turn(&store, &chat(2), "1").await;
        let turn = store.claim_turn(MANY).await.unwrap().unwrap();
        let mut cancelled = store.cancel_turns(&conversation).await.unwrap();
        cancelled.sort();
        assert_eq!(cancelled, [first, second]);
        assert!(matches!(finish(&store, &turn, &[text_send("late")], None).await, Err(StoreError::AlreadyDone)));
        assert_eq!(store.messages_of_turn(first).await.unwrap(), []);
        assert_eq!(store.next_send(&conversation).await.unwrap(), None);
        assert_eq!(store.turn(first).await.unwrap().unwrap().state, TurnState::Cancelled);
        assert_eq!(store.cancel_turns(&conversation).await.unwrap(), []);
        assert_eq!(claimed(&store).await, Some(elsewhere), "other conversations go on");
    }

    async fn a_turn_is_finished_only_once(store: Store) {
        filed_turn(&store, &chat(1), "1").await;
        let turn = store.claim_turn(MANY).await.unwrap().unwrap();
        finish(&store, &turn, &[], None).await.unwrap();
        assert!(matches!(finish(&store, &turn, &[], None).await, Err(StoreError::AlreadyDone)));
        assert_eq!(store.messages_of_turn(turn.turn_id).await.unwrap().len(), 1);
    }

    async fn turns_that_no_worker_runs_are_requeued(store: Store) {
        let here = filed_turn(&store, &chat(1), "1").await;
        let unheard = filed_turn(&store, &chat(2), "1").await;
        assert_eq!((claimed(&store).await, claimed(&store).await), (Some(here), Some(unheard)));
        assert_eq!(store.requeue_turns_except(&[here]).await.unwrap(), 1);
        assert_eq!(store.turn(here).await.unwrap().unwrap().state, TurnState::Running);
        assert_eq!((claimed(&store).await, claimed(&store).await), (Some(unheard), None));
        assert_eq!(store.requeue_turns_except(&[here, unheard]).await.unwrap(), 0);
        assert_eq!(store.requeue_turns_except(&[]).await.unwrap(), 2);
    }

    async fn after_a_crash_running_turns_are_pending_and_keep_their_attempts(store: Store) {
        let id = filed_turn(&store, &chat(1), "1").await;
        let later = filed_turn(&store, &chat(1), "2").await;
        store.claim_turn(MANY).await.unwrap().unwrap();
        assert_eq!((store.requeue_running_turns().await.unwrap(), store.count_open_turns().await.unwrap()), (1, 2));
        let again = store.claim_turn(MANY).await.unwrap().unwrap();
        assert_eq!((again.turn_id, again.attempts), (id, 2), "in its old position");
        finish(&store, &again, &[], None).await.unwrap();
        assert_eq!(store.requeue_running_turns().await.unwrap(), 0);
        assert_eq!(claimed(&store).await, Some(later));
        assert_eq!(store.turn(TurnId::new()).await.unwrap(), None);
    }

    async fn a_message_of_another_interface_is_echoed_and_can_be_replied_to_there(store: Store) {
        let conversation = chat(1);
        let echo = photothread::store::Echo { sends: vec![text_send("from the web")], reply_to: Some("5".into()) };
        let message = FiledMessage::new(Role::User, "hi");
        let filed = store.file(&Filing { echo: Some(echo), ..filing(&conversation, vec![message]) }).await.unwrap();
        let send = store.next_send(&conversation).await.unwrap().unwrap();
        assert_eq!((send.turn_id, send.internal_id, send.reply_to.as_deref()), (None, Some(filed.messages[0]), Some("5")));
        store.claim_send(send.outbox_id).await.unwrap();
        store.mark_sent(&send, &["42".into()]).await.unwrap();
        let found = store.find_message(&conversation, "42").await.unwrap().unwrap();
        assert_eq!(found.message.internal_id, filed.messages[0]);
    }

    async fn the_turns_of_one_person_wait_for_each_other_and_no_other_person_waits(store: Store) {
        let mut filed = Vec::new();
        for id in 1..=3 {
            filed.push(filed_turn(&store, &chat(id), "1").await);
        }
        let bob = Filing { user_id: UserId("200".into()), ..filing(&chat(4), vec![note("1", "please")]) };
        let of_bob = store.file(&bob).await.unwrap().turn.unwrap();
        let claim = async || store.claim_turn(2).await.unwrap().map(|turn| turn.turn_id);
        assert_eq!([claim().await, claim().await], [Some(filed[0]), Some(filed[1])]);
        assert_eq!(claim().await, Some(of_bob), "Ann has two already");
        assert_eq!(claim().await, None);
        let first = store.turn(filed[0]).await.unwrap().unwrap();
        finish(&store, &first, &[], None).await.unwrap();
        assert_eq!((claim().await, claim().await), (Some(filed[2]), None));
    }
}
