//! Deletion of sessions and files, with the blobs that no other file uses.

use super::*;
use photothread::{
    domain::{MessageId, ToolCall},
    store::{FinishedTurn, StoreError},
};

fn file(conversation: &Conversation, key: &str) -> Attachment {
    Attachment { content: Content::stored(key, key), ..picture(conversation) }
}

/// A photo that was cropped in one turn, in a session of its own.
async fn a_cropped_photo(
    store: &Store,
    conversation: &Conversation,
    shown: &str,
    photo: &Attachment,
) -> SessionId {
    let session = store.start_session(conversation, &ann()).await.unwrap();
    let mut sent = note(shown, "crop it");
    sent.files.push(FiledFile::New(photo.clone()));
    store.file(&Filing { session: Some(session), ..filing(conversation, vec![sent]) }).await.unwrap();
    let turn = store.claim_turn(MANY).await.unwrap().unwrap();
    let calls = vec![ToolCall { id: "1".into(), name: "crop_image".into(), arguments: "{}".into() }];
    let step = NewMessage {
        turn_id: Some(turn.turn_id),
        thread_root_id: Some(turn.thread_root_id),
        ..answered(conversation, session, "")
    };
    store.add_message(&NewMessage { tool_calls: calls, ..step.clone() }, &[]).await.unwrap();
    let cropped =
        Attachment { parents: vec![photo.attachment_id], ..file(conversation, &format!("cropped-{shown}")) };
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
    async fn deleting_a_session_deletes_its_rows_sends_and_files(store: Store) {
        let conversation = chat(1);
        let photo = file(&conversation, "photo");
        let session = a_cropped_photo(&store, &conversation, "10", &photo).await;
        assert!(store.next_send(&conversation).await.unwrap().is_some());

        let deleted = store.delete_session(session).await.unwrap().unwrap();
        assert_eq!((deleted.conversation, deleted.turns), (conversation.clone(), vec![]));
        assert_eq!(store.session(session).await.unwrap(), None);
        assert_eq!(store.messages_of_session(session, None, None, Detail::WithTools).await.unwrap(), []);
        assert_eq!(store.find_message(&conversation, "10").await.unwrap(), None);
        assert_eq!(store.attachment_of_any_conversation(photo.attachment_id).await.unwrap(), None);
        assert_eq!(store.next_send(&conversation).await.unwrap(), None, "nothing of it is sent any more");
        let search = SessionFilter { words: vec!["crop".into()], ..SessionFilter::default() };
        assert_eq!(store.sessions(&search, 9, 0).await.unwrap().total, 0, "nor found");
        assert_eq!(doomed_keys(&store).await, ["cropped-10", "photo"]);
        assert_eq!(store.delete_session(session).await.unwrap(), None, "a second time there is nothing");
    }

    async fn files_used_by_another_session_stay(store: Store) {
        let conversation = chat(1);
        let photo = file(&conversation, "photo");
        let first = a_cropped_photo(&store, &conversation, "10", &photo).await;
        let second = store.start_session(&conversation, &ann()).await.unwrap();
        let again = NewMessage { attachments: vec![photo.attachment_id], ..said(&conversation, second, "this one again") };
        store.add_message(&again, &[]).await.unwrap();
        store.delete_session(first).await.unwrap().unwrap();
        assert!(store.attachment(&conversation, photo.attachment_id).await.unwrap().is_some());
        assert_eq!(doomed_keys(&store).await, ["cropped-10"]);
    }

    async fn parents_of_unrendered_pictures_stay(store: Store) {
        let conversation = chat(1);
        let photo = file(&conversation, "photo");
        let first = a_cropped_photo(&store, &conversation, "10", &photo).await;
        let second = store.start_session(&conversation, &ann()).await.unwrap();
        let middle = Attachment { parents: vec![photo.attachment_id], ..unrendered(&conversation) };
        let last = Attachment { parents: vec![middle.attachment_id], ..unrendered(&conversation) };
        let kept = NewMessage { attachments: vec![last.attachment_id], ..answered(&conversation, second, "") };
        store.add_message(&kept, &[middle, last]).await.unwrap();
        store.delete_session(first).await.unwrap().unwrap();
        assert!(store.attachment(&conversation, photo.attachment_id).await.unwrap().is_some());
    }

    async fn open_turns_of_a_deleted_session_are_returned_and_cannot_write(store: Store) {
        let conversation = chat(1);
        let filed = store.file(&filing(&conversation, vec![note("1", "hi")])).await.unwrap();
        let turn = store.claim_turn(MANY).await.unwrap().unwrap();
        let deleted = store.delete_session(turn.session_id).await.unwrap().unwrap();
        assert_eq!(deleted.turns, [filed.turn.unwrap()]);
        let late = NewMessage { turn_id: Some(turn.turn_id), ..answered(&conversation, turn.session_id, "late") };
        assert!(matches!(store.add_message(&late, &[]).await, Err(StoreError::Broken(_))));
        let message = answered(&conversation, turn.session_id, "late");
        let state = photothread::domain::TurnState::Done;
        let end = FinishedTurn { turn: &turn, state, message: &message, sends: &[], reply_to: None };
        assert!(matches!(store.finish_turn(&end).await, Err(StoreError::AlreadyDone)));
        assert_eq!(store.count_open_turns().await.unwrap(), 0);
    }

    async fn a_deleted_file_is_listed_until_its_blob_is_deleted(store: Store) {
        let conversation = chat(1);
        let (one, same) = (file(&conversation, "same"), file(&conversation, "same"));
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        store.add_message(&said(&conversation, session, ""), &[one.clone(), same.clone()]).await.unwrap();
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

    async fn messages_after_and_before_an_id_are_paged(store: Store) {
        let conversation = page("x");
        let session = store.create_web_session(&ann(), None).await.unwrap().session_id;
        assert_eq!(store.last_message_id(session).await.unwrap(), None);
        let mut ids: Vec<MessageId> = Vec::new();
        for text in ["a", "b", "c"] {
            ids.push(store.add_message(&said(&conversation, session, text), &[]).await.unwrap());
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
