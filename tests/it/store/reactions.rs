//! Reactions: recorded before they are shown, and spare once their message is answered.

use super::*;
use photothread::store::{BatchedUpdate, Reaction};

async fn parked(store: &Store, key: &str, album: Option<&str>) -> Reaction {
    let row = store.receive_updates(&[update(key)]).await.unwrap().remove(0);
    let album_id = album.map(str::to_owned);
    let (conversation_id, sender_id) = (chat(1).id, "100".to_owned());
    let parked = BatchedUpdate { inbox_id: row.inbox_id, conversation_id, sender_id, album_id };
    store.add_to_batches(&[parked]).await.unwrap();
    Reaction { inbox_id: row.inbox_id, conversation: chat(1), shown_id: key.into() }
}

on_both! {
    async fn a_reaction_is_spare_once_its_turn_is_over_and_its_answer_is_sent(store: Store) {
        let reaction = parked(&store, "1", None).await;
        assert!(store.add_reaction(&reaction).await.unwrap());
        assert!(!store.add_reaction(&reaction).await.unwrap(), "once");
        assert_eq!(store.spare_reactions().await.unwrap(), [], "it waits for its batch");
        let batch = Filing { inbox_ids: vec![reaction.inbox_id], ..filing(&chat(1), vec![note("1", "hello")]) };
        store.file(&batch).await.unwrap();
        assert_eq!(store.spare_reactions().await.unwrap(), [], "it waits for its turn");
        store.cancel_turns(&chat(1)).await.unwrap();
        assert_eq!(store.spare_reactions().await.unwrap(), std::slice::from_ref(&reaction));
        store.delete_reaction(reaction.inbox_id).await.unwrap();
        assert_eq!(store.spare_reactions().await.unwrap(), []);
    }

    async fn an_album_has_one_reaction(store: Store) {
        let (first, second) = (parked(&store, "1", Some("a")).await, parked(&store, "2", Some("a")).await);
        let (of_another, alone) = (parked(&store, "3", Some("b")).await, parked(&store, "4", None).await);
        assert!(store.add_reaction(&first).await.unwrap());
        assert!(!store.add_reaction(&second).await.unwrap());
        assert!(store.add_reaction(&of_another).await.unwrap());
        assert!(store.add_reaction(&alone).await.unwrap());
    }
}
