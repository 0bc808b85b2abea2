//! Drafts: one message that shows progress and streamed text, and becomes the answer.

use super::{Stage, said_by};
use crate::harness::{Received, jpeg, jpeg_of, user};
use serde_json::json;
use std::time::Duration;

const AT_ONCE: (&str, &str) = ("PHOTOTHREAD_TELEGRAM__DRAFTS__AFTER_MS", "0");
const OFTEN: (&str, &str) = ("PHOTOTHREAD_TELEGRAM__DRAFTS__EVERY_MS", "100");
/// The draft is not edited until it becomes the answer.
const HARDLY: (&str, &str) = ("PHOTOTHREAD_TELEGRAM__DRAFTS__EVERY_MS", "600000");

fn kinds(message: &Received) -> Vec<&str> {
    message.entities.iter().filter_map(|entity| entity["type"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn streamed_text_grows_in_a_draft_that_becomes_the_answer() {
    let stage = Stage::set_with(&[AT_ONCE, OFTEN]).await;
    let [first, second, last] = stage.model.next_slowly(["A **pelican**", " on a", " pier."]);
    let question = stage.ann.says("what is it?").await;
    first.open();
    let draft = stage.ann.next_message().await;
    assert_eq!((draft.text.as_str(), draft.reply_to), ("A pelican …", Some(question.message_id)));
    second.open();
    stage.world.wait_for_text(&draft, "A pelican on a …").await;
    last.open();
    let answer = stage.world.wait_for_text(&draft, "A pelican on a pier.").await;
    assert_eq!(kinds(&answer), ["bold"]);

    stage.ann.replies(&answer, "and behind it?").await;
    let next = stage.ann.next_message().await;
    stage.world.wait_for_text(&next, "Done.").await;
    assert_eq!(said_by("assistant", &stage.last_request()), ["A **pelican** on a pier."]);
    assert_eq!(stage.world.sends_to(1001).len(), 2);
    assert_eq!(stage.world.texts_of(&draft).last().unwrap(), "A pelican on a pier.");
    let world_refused = stage.world.refused_calls();
    assert!(world_refused.is_empty(), "{world_refused:?}");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_to_a_draft_belongs_to_its_answer() {
    let stage = Stage::set_with(&[AT_ONCE, OFTEN]).await;
    let [first, last] = stage.model.next_slowly(["A pelican", " on a pier."]);
    stage.ann.says("what is it?").await;
    first.open();
    let draft = stage.ann.next_message().await;
    let reply = stage.ann.replies(&draft, "are you sure?").await;
    stage.settings.until_looked_at(&stage.world).await;
    last.open();
    assert_eq!(stage.ann.next_message().await.reply_to, Some(reply.message_id));
    stage.settings.until_settled(&stage.world).await;
    let (_, rows) = stage.at_rest().await;
    let [question, answer, reply, _] = &rows[..] else { panic!("{rows:#?}") };
    assert_eq!(answer.interface_message_id, Some(draft.message_id.to_string()));
    assert_eq!(reply.thread_root_id, Some(question.internal_id));
    assert_eq!(reply.reply.as_ref().unwrap().message, Some(answer.internal_id));
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_shown_and_removed_when_photos_are_sent() {
    let stage = Stage::set_with(&[AT_ONCE, OFTEN]).await;
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 7 }));
    stage.model.next_reply("Turned.");
    let photos = [jpeg(900, 700), jpeg(900, 710), jpeg(900, 720)];
    stage.ann.sends_album(&photos, "turn them a little").await;
    let draft = stage.ann.next_message().await;
    assert_eq!((draft.text.as_str(), kinds(&draft)), ("turning 3 photos…", vec!["italic"]));
    let album = stage.ann.next_album().await;
    assert_eq!((album.len(), album[0].caption.as_str()), (3, "Turned."));
    stage.world.wait_until_deleted(&draft).await;
    assert_eq!(stage.world.deliveries_to(1001).len(), 2, "the draft and the album");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_replaced_by_the_text_of_the_answer() {
    let timeout = ("PHOTOTHREAD_LIMITS__TOOL_TIMEOUT_SECONDS", "0.3");
    let stage = Stage::set_with(&[AT_ONCE, OFTEN, timeout]).await;
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 7 }));
    let [answer] = stage.model.next_slowly(["It is too large for me."]);
    // Rotating this many pixels takes several times the time-out, so the tool fails and no photo is sent.
    let poster = jpeg_of(6000, 5000, [90, 90, 200]);
    stage.ann.sends_document("poster.jpg", poster, "turn it a little").await;
    let draft = stage.ann.next_message().await;
    assert_eq!(draft.text, "turning the photo…");
    stage.world.wait_for_text(&draft, "thinking…").await;
    answer.open();
    stage.world.wait_for_text(&draft, "It is too large for me.").await;
    stage.settings.until_settled(&stage.world).await;
    assert_eq!(stage.world.sends_to(1001).len(), 1);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quick_answer_is_one_message_and_never_edited() {
    let stage = Stage::set_with(&[("PHOTOTHREAD_TELEGRAM__DRAFTS__AFTER_MS", "600000"), OFTEN]).await;
    let [first, last] = stage.model.next_slowly(["A pelican", " on a pier."]);
    stage.ann.says("what is it?").await;
    first.open();
    last.open();
    assert_eq!(stage.ann.next_message().await.text, "A pelican on a pier.");
    stage.settings.until_settled(&stage.world).await;
    assert_eq!((stage.world.calls("sendMessage"), stage.world.calls("editMessageText")), (1, 0));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_pauses_draft_edits_and_the_answer_is_sent_once() {
    let stage = Stage::set_with(&[AT_ONCE, OFTEN]).await;
    let [one, two, three, four] = stage.model.next_slowly(["One", " two", " three", " four."]);
    stage.ann.says("count").await;
    one.open();
    let draft = stage.ann.next_message().await;
    stage.world.next("editMessageText").meets_flood(2);
    two.open();
    stage.world.wait_for_calls("editMessageText", 1).await;
    three.open();
    four.open();
    stage.world.wait_for_text(&draft, "One two three four.").await;
    stage.settings.until_settled(&stage.world).await;
    let calls = stage.world.all_calls();
    let edits: Vec<_> = calls.iter().filter(|call| call.method == "editMessageText").collect();
    let quiet = edits[1].at - edits[0].at;
    assert!(quiet >= Duration::from_secs(2), "{quiet:?}");
    assert_eq!(stage.world.refused_calls().len(), 1, "only the first was told to wait");
    assert_eq!(stage.world.sends_to(1001).len(), 1);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_deletes_the_draft() {
    let stage = Stage::set_with(&[AT_ONCE, OFTEN]).await;
    let [first, last] = stage.model.next_slowly(["A pelican", " on a pier."]);
    stage.ann.says("what is it?").await;
    first.open();
    let draft = stage.ann.next_message().await;
    stage.ann.says("/cancel").await;
    assert_eq!(stage.ann.next_message().await.text, "Stopped.");
    stage.world.wait_until_deleted(&draft).await;
    last.open();
    let hello = stage.ann.says("hello").await;
    assert_eq!(stage.ann.next_message().await.reply_to, Some(hello.message_id));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_in_one_chat_does_not_pause_drafts_of_another() {
    let stage = Stage::set_with(&[AT_ONCE, OFTEN]).await;
    let bob = stage.world.private_chat(user(1002, "Bob"));
    let [ann_one, ann_two] = stage.model.next_slowly(["Ann's", " answer"]);
    let [bob_one, bob_two, bob_three] = stage.model.next_slowly(["Bob's", " own", " answer."]);
    stage.ann.says("hello").await;
    stage.model.wait_for_requests(1).await;
    bob.says("hello").await;
    ann_one.open();
    bob_one.open();
    let (hers, his) = (stage.ann.next_message().await, bob.next_message().await);
    assert_eq!((hers.text.as_str(), his.text.as_str()), ("Ann's …", "Bob's …"));
    stage.world.next("editMessageText").in_chat(1001).meets_flood(600);
    ann_two.open();
    stage.world.wait_for_calls("editMessageText", 1).await;
    bob_two.open();
    stage.world.wait_for_text(&his, "Bob's own …").await;
    bob_three.open();
    stage.world.wait_for_text(&his, "Bob's own answer.").await;
    assert_eq!(stage.world.texts_of(&hers), ["Ann's …"]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_starts_in_the_draft_and_continues_in_new_messages() {
    let stage = Stage::set_with(&[AT_ONCE, OFTEN]).await;
    let (start, end) = ("pelican ".repeat(600), "heron ".repeat(300));
    let [first, last] = stage.model.next_slowly([&start, &end]);
    stage.ann.says("tell me everything").await;
    first.open();
    let draft = stage.ann.next_message().await;
    assert!(draft.text.ends_with("pelican …"), "{}", draft.text);
    last.open();
    let rest = stage.ann.next_message().await;
    assert!(rest.text.ends_with("heron") && rest.reply_to.is_none(), "{rest:?}");
    let world_refused = stage.world.refused_calls();
    assert!(world_refused.is_empty(), "{world_refused:?}");
    let begun = stage.world.texts_of(&draft).pop().unwrap();
    assert_eq!(format!("{begun} {}", rest.text), format!("{start}{}", end.trim_end()));
    let place = photothread::domain::Conversation::telegram(1001);
    let (store, rows) = stage.at_rest().await;
    for piece in [&draft, &rest] {
        let found = store.find_message(&place, &piece.message_id.to_string()).await.unwrap().unwrap();
        assert_eq!(found.message.internal_id, rows[1].internal_id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_turn_replaces_the_draft_with_its_error() {
    let stage = Stage::set_with(&[AT_ONCE, OFTEN, ("PHOTOTHREAD_LIMITS__TURN_TIMEOUT_SECONDS", "4")]).await;
    let [first, _never] = stage.model.next_slowly(["A pelican", " on a pier."]);
    stage.ann.says("what is it?").await;
    first.open();
    let draft = stage.ann.next_message().await;
    assert_eq!(draft.text, "A pelican …");
    stage.ann.next_edit().await;
    let said = stage.world.texts_of(&draft).pop().unwrap();
    assert!(said.contains("longer than 4 seconds") && !said.contains("pelican"), "{said}");
    assert_eq!(stage.world.sends_to(1001).len(), 1);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_cannot_be_edited_is_replaced_by_a_new_message() {
    let stage = Stage::set_with(&[AT_ONCE, HARDLY]).await;
    let [first, last] = stage.model.next_slowly(["A **pelican**", " on a pier."]);
    let question = stage.ann.says("what is it?").await;
    first.open();
    let draft = stage.ann.next_message().await;
    stage.world.next("editMessageText").answers(400);
    last.open();
    let answer = stage.ann.next_message().await;
    assert_eq!((answer.text.as_str(), answer.reply_to), ("A pelican on a pier.", Some(question.message_id)));
    assert_eq!(kinds(&answer), ["bold"]);
    assert_eq!(stage.world.deleted_in(1001), [draft.message_id]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_edit_with_a_lost_response_is_repeated() {
    let stage = Stage::set_with(&[AT_ONCE, HARDLY]).await;
    let [first, last] = stage.model.next_slowly(["A pelican", " on a pier."]);
    stage.ann.says("what is it?").await;
    first.open();
    let draft = stage.ann.next_message().await;
    stage.world.next("editMessageText").loses_its_answer();
    last.open();
    stage.world.wait_for_calls("editMessageText", 2).await;
    stage.settings.until_settled(&stage.world).await;
    assert_eq!(stage.world.texts_of(&draft), ["A pelican …", "A pelican on a pier."]);
    let (store, rows) = stage.at_rest().await;
    assert_eq!(store.undelivered_sends(10).await.unwrap(), []);
    assert_eq!(rows[1].interface_message_id, Some(draft.message_id.to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_with_an_unknown_outcome_is_not_sent_again() {
    let stage = Stage::set_with(&[AT_ONCE, OFTEN]).await;
    let [first, second, last] = stage.model.next_slowly(["A pelican", " on a", " pier."]);
    stage.world.next("sendMessage").loses_its_answer();
    stage.ann.says("what is it?").await;
    first.open();
    stage.ann.next_message().await;
    second.open();
    last.open();
    assert_eq!(stage.ann.next_message().await.text, "A pelican on a pier.");
    stage.settings.until_settled(&stage.world).await;
    assert_eq!((stage.world.calls("sendMessage"), stage.world.calls("editMessageText")), (2, 0));
    let (store, _) = stage.at_rest().await;
    let troubled = store.undelivered_sends(10).await.unwrap();
    assert_eq!(troubled.iter().map(|send| send.state.as_str()).collect::<Vec<_>>(), ["unknown"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_that_was_not_sent_is_retried() {
    let stage = Stage::set_with(&[AT_ONCE, OFTEN]).await;
    let [first, last] = stage.model.next_slowly(["A pelican", " on a pier."]);
    stage.world.next("sendMessage").meets_flood(1);
    stage.ann.says("what is it?").await;
    first.open();
    let draft = stage.ann.next_message().await;
    assert_eq!(draft.text, "A pelican …");
    last.open();
    stage.world.wait_for_text(&draft, "A pelican on a pier.").await;
    let (store, _) = stage.at_rest().await;
    assert_eq!(store.undelivered_sends(10).await.unwrap(), []);
}
