//! Updates: stored once, closed once, grouped while they wait.

use super::*;
use photothread::store::{BatchedUpdate, InboxRow, StoreError};

fn parked(row: &InboxRow, conversation: &Conversation, sender: &str, album: Option<&str>) -> BatchedUpdate {
    BatchedUpdate {
        inbox_id: row.inbox_id,
        conversation_id: conversation.id.clone(),
        sender_id: sender.into(),
        album_id: album.map(str::to_owned),
    }
}

on_both! {
    async fn a_repeated_update_is_stored_once(store: Store) {
        let first = store.receive_updates(&[update("7"), update("8"), update("7")]).await.unwrap();
        assert_eq!(first.iter().map(|row| row.raw.as_str()).collect::<Vec<_>>(), [r#"{"update_id":7}"#, r#"{"update_id":8}"#]);
        let again = store.receive_updates(&[update("8"), update("9")]).await.unwrap();
        assert_eq!(again.len(), 1, "only the ninth is new: {again:?}");
        assert_eq!(store.unhandled_updates().await.unwrap(), [first, again].concat());
        assert_eq!(store.receive_updates(&[]).await.unwrap(), []);
    }

    async fn updates_with_lower_ids_are_new_and_come_last(store: Store) {
        let high = store.receive_updates(&[update("900000")]).await.unwrap();
        let low = store.receive_updates(&[update("3")]).await.unwrap();
        assert_eq!(low.len(), 1);
        assert_eq!(store.unhandled_updates().await.unwrap(), [high, low].concat());
    }

    async fn the_waiting_updates_of_a_person_are_found_in_all_topics_of_a_chat(store: Store) {
        let (chat, topic) = (chat(-5), Conversation::telegram_topic(-5, 7));
        let rows = store.receive_updates(&[update("1"), update("2"), update("3")]).await.unwrap();
        let of_another_chat = Conversation::telegram_topic(-50, 7);
        let parked = [
            parked(&rows[0], &topic, "100", None),
            parked(&rows[1], &chat, "200", None),
            parked(&rows[2], &of_another_chat, "100", None),
        ];
        store.add_to_batches(&parked).await.unwrap();
        assert_eq!(store.waiting_conversations(&chat, "100").await.unwrap(), std::slice::from_ref(&topic));
        let moved = BatchedUpdate { conversation_id: chat.id.clone(), ..parked[0].clone() };
        store.add_to_batches(&[moved]).await.unwrap();
        assert_eq!(store.waiting_conversations(&topic, "100").await.unwrap(), [chat]);
    }

    async fn a_handled_update_is_recognised_when_it_is_repeated(store: Store) {
        let row = store.receive_updates(&[update("1")]).await.unwrap().remove(0);
        store.close_update(row.inbox_id).await.unwrap();
        assert_eq!(store.receive_updates(&[update("1")]).await.unwrap(), []);
        assert_eq!(store.unhandled_updates().await.unwrap(), []);
    }

    async fn an_update_is_closed_only_once(store: Store) {
        let rows = store.receive_updates(&[update("1"), update("2")]).await.unwrap();
        store.close_update(rows[1].inbox_id).await.unwrap();
        let both = [rows[0].inbox_id, rows[1].inbox_id];
        assert!(matches!(store.close_updates(&both).await, Err(StoreError::AlreadyDone)));
        assert_eq!(store.unhandled_updates().await.unwrap(), [rows[0].clone()], "the first stays open");
        assert!(matches!(store.close_update(i64::MAX).await, Err(StoreError::AlreadyDone)));
    }

    async fn handled_and_skipped_updates_are_pruned(store: Store) {
        let rows = store.receive_updates(&[update("1"), update("2"), update("3")]).await.unwrap();
        store.skip_update(rows[0].inbox_id, "no idea what this is").await.unwrap();
        store.close_update(rows[1].inbox_id).await.unwrap();
        assert_eq!(store.unhandled_updates().await.unwrap(), [rows[2].clone()]);

        assert_eq!(store.prune_inbox(long_ago()).await.unwrap(), 0, "nothing is that old");
        let later = now() + chrono::TimeDelta::minutes(1);
        let again = [update("1"), update("2"), update("3")];
        assert_eq!(store.receive_updates(&again).await.unwrap(), [], "all are still known");
        assert_eq!(store.prune_inbox(later).await.unwrap(), 2, "only what waits stays");
        assert_eq!(store.unhandled_updates().await.unwrap(), [rows[2].clone()]);
    }

    async fn waiting_updates_are_grouped_by_conversation_and_sender(store: Store) {
        let before = now();
        let rows = store.receive_updates(&["1", "2", "3", "4"].map(update)).await.unwrap();
        store.add_to_batches(&[
            parked(&rows[0], &chat(1), "ann", Some("album")),
            parked(&rows[1], &chat(2), "ann", None),
            parked(&rows[2], &chat(1), "bob", None),
            parked(&rows[3], &chat(1), "ann", None),
        ]).await.unwrap();
        assert_eq!(store.unhandled_updates().await.unwrap(), []);

        let groups = store.waiting_groups().await.unwrap();
        let seen: Vec<_> =
            groups.iter().map(|g| (g.conversation_id.as_str(), g.sender_id.as_str(), g.has_album)).collect();
        assert_eq!(seen, [("1", "ann", true), ("2", "ann", false), ("1", "bob", false)]);
        assert!(groups.iter().all(|g| !g.busy && !g.joins_pending));
        assert!(groups[0].first_arrival >= before && groups[0].last_arrival >= groups[0].first_arrival);

        assert_eq!(store.waiting_updates("1", "ann").await.unwrap(), [rows[0].clone(), rows[3].clone()]);
        store.close_updates(&[rows[0].inbox_id, rows[3].inbox_id]).await.unwrap();
        assert_eq!(store.waiting_updates("1", "ann").await.unwrap(), []);
        assert_eq!(store.waiting_groups().await.unwrap().len(), 2);
    }

    async fn a_group_may_grow_until_all_updates_of_its_chat_are_handled(store: Store) {
        let of = |key: &str, chat: &str| NewUpdate { conversation_id: Some(chat.into()), ..update(key) };
        let rows = store.receive_updates(&[of("1", "1"), of("2", "1"), of("3", "2")]).await.unwrap();
        store.add_to_batches(&[parked(&rows[0], &chat(1), "ann", Some("album"))]).await.unwrap();
        assert!(store.waiting_groups().await.unwrap()[0].more_may_come);
        store.add_to_batches(&[parked(&rows[1], &chat(1), "ann", Some("album"))]).await.unwrap();
        assert!(!store.waiting_groups().await.unwrap()[0].more_may_come);
    }

    async fn an_update_that_is_done_cannot_be_skipped(store: Store) {
        let row = store.receive_updates(&[update("1")]).await.unwrap().remove(0);
        store.close_update(row.inbox_id).await.unwrap();
        store.skip_update(row.inbox_id, "too late").await.unwrap();
        assert_eq!(store.prune_inbox(Utc::now() + chrono::TimeDelta::hours(1)).await.unwrap(), 1);
    }

    async fn a_group_has_the_times_of_its_first_and_last_update(store: Store) {
        let first = store.receive_updates(&[update("1")]).await.unwrap().remove(0);
        let between = Utc::now();
        let last = store.receive_updates(&[update("2")]).await.unwrap().remove(0);
        let all = [parked(&first, &chat(1), "ann", None), parked(&last, &chat(1), "ann", None)];
        store.add_to_batches(&all).await.unwrap();
        let group = store.waiting_groups().await.unwrap().remove(0);
        assert!(group.first_arrival <= between, "{group:?}");
        assert!(group.last_arrival >= between.trunc_subsecs(6), "{group:?}");
    }

    async fn a_handled_update_does_not_wait_again(store: Store) {
        let row = store.receive_updates(&[update("1")]).await.unwrap().remove(0);
        store.close_update(row.inbox_id).await.unwrap();
        store.add_to_batches(&[parked(&row, &chat(1), "ann", None)]).await.unwrap();
        assert_eq!(store.waiting_groups().await.unwrap(), []);
    }

    async fn a_group_tells_whether_its_conversation_is_busy_and_its_album_is_pending(store: Store) {
        let conversation = chat(1);
        store.file(&filing(&conversation, vec![album_photo(&conversation, "10", "album")])).await.unwrap();
        let rows = store.receive_updates(&["1", "2", "3"].map(update)).await.unwrap();
        store.add_to_batches(&[
            parked(&rows[0], &conversation, "ann", Some("album")),
            parked(&rows[1], &conversation, "bob", Some("another")),
            parked(&rows[2], &chat(2), "ann", Some("album")),
        ]).await.unwrap();
        let flags = |groups: Vec<photothread::store::WaitingGroup>| {
            groups.iter().map(|g| (g.busy, g.joins_pending)).collect::<Vec<_>>()
        };
        assert_eq!(flags(store.waiting_groups().await.unwrap()), [(true, true), (true, false), (false, false)]);

        store.claim_turn(MANY).await.unwrap().unwrap();
        assert_eq!(flags(store.waiting_groups().await.unwrap()), [(true, false), (true, false), (false, false)]);

        store.cancel_turns(&conversation).await.unwrap();
        assert_eq!(flags(store.waiting_groups().await.unwrap()), [(false, false); 3]);
    }
}
