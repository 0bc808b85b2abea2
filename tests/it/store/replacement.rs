//! Replacement of a whole history in one transaction: kept rows, removed files, revisions.

use super::*;
use photothread::{
    domain::{Message, MessageId, ReplyTo, ToolCall, TurnState},
    store::{ChangeOutcome, FinishedTurn, Replacement, ReplacementRow, RowContent},
};

/// A new row that is the root of a thread.
fn new(message: NewMessage) -> ReplacementRow {
    ReplacementRow { content: RowContent::New(message), thread_root: None, reply_to: None }
}

fn as_it_is(row: &Message) -> ReplacementRow {
    ReplacementRow { content: RowContent::Kept(row.internal_id), thread_root: None, reply_to: None }
}

async fn replacement(store: &Store, session: SessionId, rows: Vec<ReplacementRow>) -> Replacement {
    let revision = store.session(session).await.unwrap().unwrap().revision;
    Replacement { session, revision, title: None, files: Vec::new(), rows }
}

async fn history(store: &Store, session: SessionId) -> Vec<Message> {
    store.messages_of_session(session, None, None, Detail::WithTools).await.unwrap()
}

async fn found(store: &Store, word: &str) -> i64 {
    let filter = SessionFilter { words: vec![word.into()], ..SessionFilter::default() };
    store.sessions(&filter, 10, 0).await.unwrap().total
}

async fn blobs_to_delete(store: &Store) -> Vec<String> {
    let mut keys: Vec<String> =
        store.objects_to_delete(100).await.unwrap().into_iter().map(|object| object.object_key).collect();
    keys.sort();
    keys
}

fn file(conversation: &Conversation, key: &str) -> Attachment {
    Attachment { content: Content::stored(key, key), ..picture(conversation) }
}

/// A photo and its answer in a chat, sent and delivered.
async fn a_seen_answer(store: &Store, conversation: &Conversation) -> Vec<Message> {
    let mut sent = note("10", "purple elephants");
    sent.files.push(FiledFile::New(file(conversation, "photo")));
    store.file(&filing(conversation, vec![sent])).await.unwrap();
    let turn = store.claim_turn(MANY).await.unwrap().unwrap();
    let made = file(conversation, "made");
    let step = NewMessage {
        turn_id: Some(turn.turn_id),
        thread_root_id: Some(turn.thread_root_id),
        ..answered(conversation, turn.session_id, "")
    };
    let calls = vec![ToolCall { id: "1".into(), name: "crop_image".into(), arguments: "{}".into() }];
    store.add_message(&NewMessage { tool_calls: calls, ..step.clone() }, &[]).await.unwrap();
    let result = NewMessage {
        role: Role::Tool,
        tool_call_id: Some("1".into()),
        attachments: vec![made.attachment_id],
        ..step.clone()
    };
    store.add_message(&result, std::slice::from_ref(&made)).await.unwrap();
    let message = NewMessage { attachments: vec![made.attachment_id], content: "Here.".into(), ..step };
    let sends = [album_send(&[made.attachment_id])];
    let end = FinishedTurn {
        turn: &turn,
        state: TurnState::Done,
        message: &message,
        sends: &sends,
        reply_to: None,
    };
    store.finish_turn(&end).await.unwrap();
    let send = store.next_send(conversation).await.unwrap().unwrap();
    store.claim_send(send.outbox_id).await.unwrap();
    store.mark_sent(&send, &["11".into()]).await.unwrap();
    history(store, turn.session_id).await
}

on_both! {
    async fn a_replaced_history_is_counted_and_found_by_search(store: Store) {
        let conversation = chat(1);
        let old = a_seen_answer(&store, &conversation).await;
        let session = old[0].session_id;
        let before = store.session(session).await.unwrap().unwrap();
        let early = long_ago() + chrono::TimeDelta::days(9);
        let first = NewMessage { timestamp: early, ..said(&conversation, session, "green zebras\nsecond line") };
        let reply = Some(ReplyTo { message: Some(MessageId(999_999)), ..ReplyTo::default() });
        let second = NewMessage { timestamp: early, reply, tags: vec!["a".into()], ..answered(&conversation, session, "Yes.") };
        let mut new = replacement(&store, session, vec![new(first), new(second)]).await;
        new.rows[1].thread_root = Some(0);
        new.rows[1].reply_to = Some(0);
        new.title = Some("Zebras".into());
        assert_eq!(store.replace_history(&new).await.unwrap(), ChangeOutcome::Changed);

        let rows = history(&store, session).await;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].thread_root_id, Some(rows[0].internal_id));
        assert_eq!(rows[1].reply.as_ref().unwrap().message, Some(rows[0].internal_id));
        let after = store.session(session).await.unwrap().unwrap();
        assert_eq!((after.message_count, after.revision, after.last_activity), (2, before.revision + 1, early));
        assert_eq!((after.first_message_preview.as_str(), after.title.as_deref()), ("green zebras", Some("Zebras")));
        assert_eq!((found(&store, "purple").await, found(&store, "green").await), (0, 1));
        assert_eq!(blobs_to_delete(&store).await, ["made", "photo"], "no row uses them");
        assert_eq!(store.find_message(&conversation, "11").await.unwrap(), None);
        assert_eq!(store.turns_of_session(session).await.unwrap(), []);

        let none = replacement(&store, session, Vec::new()).await;
        assert_eq!(store.replace_history(&none).await.unwrap(), ChangeOutcome::Changed);
        let empty = store.session(session).await.unwrap().unwrap();
        assert_eq!((empty.message_count, empty.first_message_preview.as_str(), empty.title.as_deref()), (0, "", Some("Zebras")));
    }

    async fn kept_rows_can_still_be_replied_to(store: Store) {
        let conversation = chat(1);
        let old = a_seen_answer(&store, &conversation).await;
        let session = old[0].session_id;
        let turn = old[1].turn_id.unwrap();
        let mut rows: Vec<ReplacementRow> = old.iter().map(as_it_is).collect();
        for row in &mut rows[1..] {
            row.thread_root = Some(0);
        }
        let better = NewMessage { content: "Here it is.".into(), tags: vec!["good".into()], ..old[3].body.clone() };
        rows[3].content = RowContent::Rewritten(old[3].internal_id, better);
        rows.push(new(said(&conversation, session, "and then?")));
        let replaced = replacement(&store, session, rows).await;
        assert_eq!(store.replace_history(&replaced).await.unwrap(), ChangeOutcome::Changed);
        let now = history(&store, session).await;
        assert_eq!(now[..3], old[..3]);
        assert_eq!((now[3].internal_id, now[3].content.as_str(), now[3].tags.len()), (old[3].internal_id, "Here it is.", 1));
        let shown = store.find_message(&conversation, "11").await.unwrap().unwrap();
        assert_eq!((shown.message.internal_id, shown.attachment), (old[3].internal_id, old[3].attachments.first().copied()));
        assert_eq!(store.thread(old[0].internal_id).await.unwrap().len(), 4);
        assert!(store.turn(turn).await.unwrap().is_some());
        assert_eq!(blobs_to_delete(&store).await, [""; 0]);
    }

    async fn rows_get_another_root_if_theirs_is_removed(store: Store) {
        let conversation = chat(1);
        let old = a_seen_answer(&store, &conversation).await;
        let session = old[0].session_id;
        let replaced = replacement(&store, session, vec![as_it_is(&old[3])]).await;
        assert_eq!(store.replace_history(&replaced).await.unwrap(), ChangeOutcome::Changed);
        let now = history(&store, session).await;
        assert_eq!((now.len(), now[0].internal_id, now[0].thread_root_id), (1, old[3].internal_id, None));
        assert_eq!(blobs_to_delete(&store).await, ["photo"], "the answer still carries what was made");
        store.file(&Filing { thread_root: Some(now[0].clone()), ..filing(&conversation, vec![note("12", "more")]) }).await.unwrap();
    }

    async fn a_history_is_not_replaced_during_a_turn_or_from_an_old_revision(store: Store) {
        let conversation = chat(1);
        let old = a_seen_answer(&store, &conversation).await;
        let session = old[0].session_id;
        let mut stale = replacement(&store, session, Vec::new()).await;
        stale.revision -= 1;
        assert_eq!(store.replace_history(&stale).await.unwrap(), ChangeOutcome::Stale);
        store.file(&filing(&conversation, vec![note("20", "wait")])).await.unwrap();
        let busy = replacement(&store, session, Vec::new()).await;
        assert_eq!(store.replace_history(&busy).await.unwrap(), ChangeOutcome::Busy);
        store.claim_turn(MANY).await.unwrap().unwrap();
        assert_eq!(store.replace_history(&busy).await.unwrap(), ChangeOutcome::Busy);
        assert_eq!(history(&store, session).await.len(), 5);
        let nowhere = Replacement { session: SessionId::new(), ..busy };
        assert_eq!(store.replace_history(&nowhere).await.unwrap(), ChangeOutcome::Missing);
    }

    async fn a_failed_replacement_changes_nothing(store: Store) {
        let conversation = chat(1);
        let old = a_seen_answer(&store, &conversation).await;
        let session = old[0].session_id;
        let lost = NewMessage { attachments: vec![AttachmentId::new()], ..said(&conversation, session, "x") };
        let broken = replacement(&store, session, vec![new(said(&conversation, session, "y")), new(lost)]).await;
        assert!(store.replace_history(&broken).await.is_err());
        assert_eq!(history(&store, session).await, old);
        assert_eq!(store.session(session).await.unwrap().unwrap().revision, broken.revision);
    }

    async fn new_files_are_added_and_referenced_files_stay(store: Store) {
        let session = store.create_web_session(&ann(), None).await.unwrap();
        let (conversation, session) = (session.conversation, session.session_id);
        let (carried, referred) = (file(&conversation, "carried"), file(&conversation, "referred"));
        let url = photothread::domain::ReferenceTarget::attachment_url(referred.attachment_id);
        let refs = vec![photothread::domain::Reference { url, ..Default::default() }];
        let message = NewMessage { attachments: vec![carried.attachment_id], refs, ..said(&conversation, session, "") };
        let mut first = replacement(&store, session, vec![new(message)]).await;
        first.files = vec![carried.clone(), referred.clone()];
        assert_eq!(store.replace_history(&first).await.unwrap(), ChangeOutcome::Changed);
        let row = history(&store, session).await.remove(0);
        let kept = replacement(&store, session, vec![as_it_is(&row)]).await;
        store.replace_history(&kept).await.unwrap();
        assert_eq!(blobs_to_delete(&store).await, [""; 0]);
        let bare = NewMessage { refs: Vec::new(), ..row.body.clone() };
        let mut without = replacement(&store, session, vec![as_it_is(&row)]).await;
        without.rows[0].content = RowContent::Rewritten(row.internal_id, bare);
        store.replace_history(&without).await.unwrap();
        assert_eq!(blobs_to_delete(&store).await, ["referred"], "no message carries it or refers to it");
    }
}
