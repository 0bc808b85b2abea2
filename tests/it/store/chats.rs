//! A chat that moves to another id: everything that is stored of it and its topics moves along.

use super::*;
use photothread::{
    domain::TurnId,
    store::{RequestUsage, SendState, Spender},
};

const OLD: i64 = -5;
const NEW: i64 = -1005;

fn usage_in(conversation: &Conversation) -> RequestUsage {
    let spender =
        Spender { conversation: conversation.clone(), user_id: ann(), agent_id: "photothread".into() };
    RequestUsage {
        day: now().date_naive(),
        spender,
        provider: "openai".into(),
        model: "gpt-5-mini".into(),
        input_tokens: 100,
        output_tokens: 20,
        cost_micros: Some(5),
    }
}

async fn migrate(store: &Store) -> Vec<TurnId> {
    store.migrate_chat(&chat(OLD), &chat(NEW)).await.unwrap()
}

on_both! {
    async fn a_chat_and_its_topics_move_with_everything(store: Store) {
        let places = [(chat(OLD), chat(NEW)), (Conversation::telegram_topic(OLD, 7), Conversation::telegram_topic(NEW, 7))];
        let mut files = Vec::new();
        for (old, _) in &places {
            let photo = album_photo(old, "11", "album");
            files.push(photo.files[0].id());
            store.file(&filing(old, vec![photo])).await.unwrap();
            store.add_usage(&usage_in(old)).await.unwrap();
            let turn = store.claim_turn(MANY).await.unwrap().unwrap();
            store.start_draft(turn.turn_id, &text_send("Plea"), None).await.unwrap();
        }
        let neighbour = chat(-50);
        store.file(&filing(&neighbour, vec![note("11", "hello")])).await.unwrap();
        store.answer_update(&[], &chat(OLD), Some("11"), &[text_send("Hello!")]).await.unwrap();
        store.add_usage(&usage_in(&chat(NEW))).await.unwrap();
        assert_eq!(migrate(&store).await.len(), 2, "both turns run again");

        for ((old, new), file) in places.iter().zip(&files) {
            let found = store.find_message(new, &chat(OLD).foreign_message_id("11")).await.unwrap().unwrap();
            assert_eq!((&found.message.conversation, found.attachment), (new, Some(*file)));
            assert!(store.attachment(new, *file).await.unwrap().is_some());
            assert_eq!(store.attachment(old, *file).await.unwrap(), None);
            assert_eq!(store.find_message(new, "11").await.unwrap(), None, "the new chat has its own eleventh");
            store.file(&filing(new, vec![note("11", "another")])).await.unwrap();
            assert!(store.is_member(new, &ann()).await.unwrap() && !store.is_member(old, &ann()).await.unwrap());
            let turn = store.claim_turn(MANY).await.unwrap().unwrap();
            assert!(turn.conversation == *new || turn.conversation == neighbour, "{turn:?}");
            assert_eq!(store.draft_of_turn(turn.turn_id).await.unwrap(), None);
        }
        assert!(store.find_message(&neighbour, "11").await.unwrap().is_some(), "another chat stays");
        let used = store.usage_of_conversation(&chat(NEW), now().date_naive()).await.unwrap();
        assert_eq!((used[0].requests, used[0].cost_micros), (3, 15));
        let send = store.next_send(&chat(NEW)).await.unwrap().unwrap();
        assert_eq!((send.state, send.reply_to, &send.conversation), (SendState::Queued, None, &chat(NEW)));
        assert_eq!(store.conversations_to_send(InterfaceType::Telegram).await.unwrap(), [chat(NEW)]);
    }

    async fn moving_a_chat_again_moves_what_came_meanwhile(store: Store) {
        store.file(&filing(&chat(OLD), vec![note("1", "before")])).await.unwrap();
        migrate(&store).await;
        store.file(&filing(&chat(NEW), vec![note("1", "after")])).await.unwrap();
        store.file(&filing(&chat(OLD), vec![note("2", "late")])).await.unwrap();
        store.add_usage(&usage_in(&chat(OLD))).await.unwrap();
        migrate(&store).await;
        migrate(&store).await;
        for (id, text) in [("1", "after"), ("-5:1", "before"), ("-5:2", "late")] {
            let found = store.find_message(&chat(NEW), id).await.unwrap().unwrap();
            assert_eq!(found.message.content, text);
        }
    }
}
