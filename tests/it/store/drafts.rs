//! Drafts: at most one per running turn, never taken by the ordinary sender, deleted when it becomes the answer.

use super::*;
use photothread::{
    domain::{Turn, TurnState},
    store::{Draft, FinishedTurn, SendState},
};

async fn running_turn(store: &Store, conversation: &Conversation) -> Turn {
    store.file(&filing(conversation, vec![note("1", "please")])).await.unwrap();
    store.claim_turn(MANY).await.unwrap().unwrap()
}

async fn start(store: &Store, turn: &Turn) -> Option<i64> {
    store.start_draft(turn.turn_id, &text_send("Plea …"), Some("1")).await.unwrap()
}

async fn draft(store: &Store, turn: &Turn) -> Option<Draft> {
    store.draft_of_turn(turn.turn_id).await.unwrap()
}

async fn finish(store: &Store, turn: &Turn, sends: &[PlannedSend]) {
    let message = NewMessage {
        turn_id: Some(turn.turn_id),
        thread_root_id: Some(turn.thread_root_id),
        ..answered(&turn.conversation, turn.session_id, "Pleased.")
    };
    let state = TurnState::Done;
    store.finish_turn(&FinishedTurn { turn, state, message: &message, sends, reply_to: None }).await.unwrap();
}

on_both! {
    async fn a_draft_starts_as_sending_and_blocks_other_sends(store: Store) {
        let turn = running_turn(&store, &chat(1)).await;
        let outbox_id = start(&store, &turn).await.unwrap();
        let expected = Draft { turn_id: turn.turn_id, outbox_id, conversation: chat(1), shown_id: None };
        assert_eq!(draft(&store, &turn).await, Some(expected));
        assert!(store.is_sending(&chat(1)).await.unwrap());
        assert_eq!(store.conversations_to_send(InterfaceType::Telegram).await.unwrap(), []);
        finish(&store, &turn, &[text_send("Pleased.")]).await;
        assert_eq!(store.next_send(&chat(1)).await.unwrap(), None, "the answer waits for it");
        store.mark_draft_sent(turn.turn_id, "7").await.unwrap();
        assert_eq!(store.next_send(&chat(1)).await.unwrap().unwrap().payload, json!({ "text": "Pleased." }));
        assert_eq!(draft(&store, &turn).await.unwrap().shown_id.as_deref(), Some("7"));
    }

    async fn a_draft_needs_a_running_turn_and_an_empty_outbox(store: Store) {
        let turn = running_turn(&store, &chat(1)).await;
        store.answer_update(&[], &chat(1), None, &[text_send("help")]).await.unwrap();
        assert_eq!(start(&store, &turn).await, None, "something else goes first");
        let help = store.next_send(&chat(1)).await.unwrap().unwrap();
        store.mark_sent(&help, &["5".into()]).await.unwrap();
        assert!(start(&store, &turn).await.is_some());
        store.mark_draft_sent(turn.turn_id, "7").await.unwrap();
        assert_eq!(start(&store, &turn).await, None, "it has one");
        let other = running_turn(&store, &chat(2)).await;
        store.cancel_turns(&chat(2)).await.unwrap();
        assert_eq!(start(&store, &other).await, None, "it does not run any more");
    }

    async fn a_draft_that_became_the_answer_is_found_in_the_history(store: Store) {
        let turn = running_turn(&store, &chat(1)).await;
        start(&store, &turn).await.unwrap();
        store.mark_draft_sent(turn.turn_id, "7").await.unwrap();
        let shown = store.find_draft(&chat(1), "7").await.unwrap();
        assert_eq!(shown.map(|draft| draft.turn_id), Some(turn.turn_id));
        assert_eq!(store.find_draft(&chat(2), "7").await.unwrap(), None, "ids are a chat's own");
        assert_eq!(store.find_message(&chat(1), "7").await.unwrap(), None);

        finish(&store, &turn, &[text_send("Pleased."), text_send("Very.")]).await;
        assert_eq!(store.abandoned_drafts().await.unwrap(), [], "it is about to be the answer");
        let answer = store.next_send(&chat(1)).await.unwrap().unwrap();
        store.mark_sent(&answer, &["7".into()]).await.unwrap();
        assert_eq!(draft(&store, &turn).await, None);
        assert_eq!(store.find_draft(&chat(1), "7").await.unwrap(), None);
        let found = store.find_message(&chat(1), "7").await.unwrap().unwrap();
        assert_eq!(found.message.content, "Pleased.");
    }

    async fn a_draft_is_abandoned_when_its_turn_ended_and_all_is_sent(store: Store) {
        let turn = running_turn(&store, &chat(1)).await;
        start(&store, &turn).await.unwrap();
        store.mark_draft_sent(turn.turn_id, "7").await.unwrap();
        assert_eq!(store.abandoned_drafts().await.unwrap(), []);
        finish(&store, &turn, &[album_send(&[AttachmentId::new()])]).await;
        assert_eq!(store.abandoned_drafts().await.unwrap(), []);
        let album = store.next_send(&chat(1)).await.unwrap().unwrap();
        store.mark_sent(&album, &["8".into()]).await.unwrap();
        let spare = store.abandoned_drafts().await.unwrap();
        assert_eq!(spare.iter().map(|draft| draft.shown_id.as_deref()).collect::<Vec<_>>(), [Some("7")]);
        store.delete_draft(turn.turn_id).await.unwrap();
        assert_eq!(store.abandoned_drafts().await.unwrap(), []);

        let cancelled = running_turn(&store, &chat(2)).await;
        start(&store, &cancelled).await.unwrap();
        store.cancel_turns(&chat(2)).await.unwrap();
        assert_eq!(store.abandoned_drafts().await.unwrap(), [], "it is still on the wire");
        store.mark_draft_sent(cancelled.turn_id, "3").await.unwrap();
        assert_eq!(store.abandoned_drafts().await.unwrap().len(), 1);
    }

    async fn deleting_a_draft_that_did_not_arrive_deletes_its_send(store: Store) {
        let turn = running_turn(&store, &chat(1)).await;
        start(&store, &turn).await.unwrap();
        store.delete_draft(turn.turn_id).await.unwrap();
        assert_eq!(draft(&store, &turn).await, None);
        assert!(!store.is_sending(&chat(1)).await.unwrap());
        assert_eq!(store.undelivered_sends(10).await.unwrap(), []);
        assert!(start(&store, &turn).await.is_some(), "another may be tried");
    }

    async fn after_a_crash_a_draft_in_flight_is_unknown(store: Store) {
        let turn = running_turn(&store, &chat(1)).await;
        let outbox_id = start(&store, &turn).await.unwrap();
        assert_eq!(store.mark_interrupted_sends().await.unwrap(), 1);
        let troubled = store.undelivered_sends(10).await.unwrap();
        assert_eq!((troubled[0].outbox_id, troubled[0].state), (outbox_id, SendState::Unknown));
        assert_eq!(draft(&store, &turn).await.unwrap().shown_id, None);
        assert_eq!(start(&store, &turn).await, None, "there must not be two");
    }

    async fn after_a_crash_the_edit_of_a_draft_is_queued_again(store: Store) {
        let turn = running_turn(&store, &chat(1)).await;
        start(&store, &turn).await.unwrap();
        store.mark_draft_sent(turn.turn_id, "7").await.unwrap();
        finish(&store, &turn, &[text_send("Pleased."), text_send("Very.")]).await;
        let first = store.next_send(&chat(1)).await.unwrap().unwrap();
        assert!(store.claim_send(first.outbox_id).await.unwrap());
        assert_eq!(store.mark_interrupted_sends().await.unwrap(), 0, "an edit can be made twice");
        let again = store.next_send(&chat(1)).await.unwrap().unwrap();
        assert_eq!(again.outbox_id, first.outbox_id);
        store.mark_sent(&again, &["7".into()]).await.unwrap();

        let second = store.next_send(&chat(1)).await.unwrap().unwrap();
        assert!(store.claim_send(second.outbox_id).await.unwrap());
        assert_eq!(store.mark_interrupted_sends().await.unwrap(), 1, "what follows is a send like any other");
    }
}
