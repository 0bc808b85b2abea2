//! Deleted means deleted: rows at once, and the bytes of files that nobody else has.

use super::*;
use photothread::{
    domain::{MessageId, ToolCall},
    store::{FinishedTurn, StoreError},
};

fn file(place: &Conversation, key: &str) -> Attachment {
    Attachment { content: Content::stored(key, key), ..picture(place) }
}

/// A photo that was cropped in one turn, in a session of its own.
async fn a_cropped_photo(store: &Store, place: &Conversation, shown: &str, photo: &Attachment) -> SessionId {
    let session = store.start_session(place, &ann()).await.unwrap();
    let mut sent = note(shown, "crop it");
    sent.files.push(FiledFile::New(photo.clone()));
    store.file(&Filing { session: Some(session), ..filing(place, vec![sent]) }).await.unwrap();
    let turn = store.claim_turn().await.unwrap().unwrap();
    let calls = vec![ToolCall { id: "1".into(), name: "crop_image".into(), arguments: "{}".into() }];
    let step = NewMessage {
        turn_id: Some(turn.turn_id),
        thread_root_id: Some(turn.thread_root_id),
        ..answered(place, session, "")
    };
    store.add_message(&NewMessage { tool_calls: calls, ..step.clone() }, &[]).await.unwrap();
    let cropped =
        Attachment { parents: vec![photo.attachment_id], ..file(place, &format!("cropped-{shown}")) };
    let result = NewMessage {
        role: Role::Tool,
        tool_call_id: Some("1".into()),
        attachments: vec![cropped.attachment_id],
        ..step.clone()
    };
    store.add_message(&result, std::slice::from_ref(&cropped)).await.unwrap();
    let message = NewMessage { attachments: vec![cropped.attachment_id], ..step };
    let sends = [album_send(&[cropped.attachment_id])];
    let state = photothread::domain::TurnState::Done;
    store
        .finish_turn(&FinishedTurn { turn: &turn, state, message: &message, sends: &sends, reply_to: None })
        .await
        .unwrap();
    session
}

async fn doomed_keys(store: &Store) -> Vec<String> {
    let mut keys: Vec<String> =
        store.objects_to_delete(100).await.unwrap().into_iter().map(|object| object.object_key).collect();
    keys.sort();
    keys
}

on_both! {
    async fn a_deleted_session_takes_its_rows_its_sends_and_its_files_with_it(store: Store) {
        let place = chat(1);
        let photo = file(&place, "photo");
        let session = a_cropped_photo(&store, &place, "10", &photo).await;
        assert!(store.next_send(&place).await.unwrap().is_some());

        let deleted = store.delete_session(session).await.unwrap().unwrap();
        assert_eq!((deleted.conversation, deleted.turns), (place.clone(), vec![]));
        assert_eq!(store.session(session).await.unwrap(), None);
        assert_eq!(store.messages_of_session(session, None, None, Detail::WithTools).await.unwrap(), []);
        assert_eq!(store.find_message(&place, "10").await.unwrap(), None);
        assert_eq!(store.attachment_of_any_conversation(photo.attachment_id).await.unwrap(), None);
        assert_eq!(store.next_send(&place).await.unwrap(), None, "nothing of it is sent any more");
        let search = SessionFilter { words: vec!["crop".into()], ..SessionFilter::default() };
        assert_eq!(store.sessions(&search, 9, 0).await.unwrap().total, 0, "nor found");
        assert_eq!(doomed_keys(&store).await, ["cropped-10", "photo"]);
        assert_eq!(store.delete_session(session).await.unwrap(), None, "a second time there is nothing");
    }

    async fn what_another_session_uses_stays(store: Store) {
        let place = chat(1);
        let photo = file(&place, "photo");
        let first = a_cropped_photo(&store, &place, "10", &photo).await;
        let second = store.start_session(&place, &ann()).await.unwrap();
        let again = NewMessage { attachments: vec![photo.attachment_id], ..said(&place, second, "this one again") };
        store.add_message(&again, &[]).await.unwrap();
        store.delete_session(first).await.unwrap().unwrap();
        assert!(store.attachment(&place, photo.attachment_id).await.unwrap().is_some());
        assert_eq!(doomed_keys(&store).await, ["cropped-10"]);
    }

    async fn a_picture_that_is_still_to_be_made_keeps_what_it_is_made_from(store: Store) {
        let place = chat(1);
        let photo = file(&place, "photo");
        let first = a_cropped_photo(&store, &place, "10", &photo).await;
        let second = store.start_session(&place, &ann()).await.unwrap();
        let middle = Attachment { parents: vec![photo.attachment_id], ..unrendered(&place) };
        let last = Attachment { parents: vec![middle.attachment_id], ..unrendered(&place) };
        let kept = NewMessage { attachments: vec![last.attachment_id], ..answered(&place, second, "") };
        store.add_message(&kept, &[middle, last]).await.unwrap();
        store.delete_session(first).await.unwrap().unwrap();
        assert!(store.attachment(&place, photo.attachment_id).await.unwrap().is_some());
    }

    async fn a_turn_that_waits_or_runs_is_told_and_can_add_nothing_more(store: Store) {
        let place = chat(1);
        let filed = store.file(&filing(&place, vec![note("1", "hi")])).await.unwrap();
        let turn = store.claim_turn().await.unwrap().unwrap();
        let deleted = store.delete_session(turn.session_id).await.unwrap().unwrap();
        assert_eq!(deleted.turns, [filed.turn.unwrap()]);
        let late = NewMessage { turn_id: Some(turn.turn_id), ..answered(&place, turn.session_id, "late") };
        assert!(matches!(store.add_message(&late, &[]).await, Err(StoreError::Broken(_))));
        let message = answered(&place, turn.session_id, "late");
        let state = photothread::domain::TurnState::Done;
        let end = FinishedTurn { turn: &turn, state, message: &message, sends: &[], reply_to: None };
        assert!(matches!(store.finish_turn(&end).await, Err(StoreError::AlreadyDone)));
        assert_eq!(store.count_open_turns().await.unwrap(), 0);
    }

    async fn one_file_can_go_alone_and_its_bytes_are_remembered_until_they_are_gone(store: Store) {
        let place = chat(1);
        let (one, same) = (file(&place, "same"), file(&place, "same"));
        let session = store.start_session(&place, &ann()).await.unwrap();
        store.add_message(&said(&place, session, ""), &[one.clone(), same.clone()]).await.unwrap();
        assert!(store.delete_attachment(one.attachment_id).await.unwrap());
        assert!(!store.delete_attachment(one.attachment_id).await.unwrap());
        assert!(store.object_in_use("same").await.unwrap(), "the other file has the same bytes");
        store.delete_attachment(same.attachment_id).await.unwrap();
        assert!(!store.object_in_use("same").await.unwrap());
        assert_eq!(doomed_keys(&store).await, ["same", "same"]);
        store.unlist_objects(&[one.attachment_id, same.attachment_id]).await.unwrap();
        store.unlist_objects(&[]).await.unwrap();
        assert_eq!(doomed_keys(&store).await, [""; 0]);
    }

    async fn only_what_was_filed_after_a_message_is_read_after_it(store: Store) {
        let place = page("x");
        let session = store.create_web_session(&ann(), None).await.unwrap().session_id;
        assert_eq!(store.last_message_id(session).await.unwrap(), None);
        let mut ids: Vec<MessageId> = Vec::new();
        for text in ["a", "b", "c"] {
            ids.push(store.add_message(&said(&place, session, text), &[]).await.unwrap());
        }
        assert_eq!(store.last_message_id(session).await.unwrap(), ids.last().copied());
        let read = |messages: Vec<photothread::domain::Message>| {
            messages.iter().map(|message| message.content.clone()).collect::<Vec<_>>()
        };
        assert_eq!(read(store.messages_after(session, ids[0], 10).await.unwrap()), ["b", "c"]);
        assert_eq!(read(store.messages_after(session, ids[0], 1).await.unwrap()), ["b"]);
        let page = store.messages_of_session(session, Some(ids[2]), Some(1), Detail::WithoutTools).await.unwrap();
        assert_eq!(read(page), ["b"], "the newest of those before");
    }
}
