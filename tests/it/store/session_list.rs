//! The list of sessions: who sees which, and search.

use super::*;
use photothread::domain::Reference;

fn bob() -> UserId {
    UserId("200".into())
}

fn seen_by(user: &UserId) -> SessionFilter {
    SessionFilter { seen_by: Some(user.clone()), ..SessionFilter::default() }
}

fn searching(words: &str) -> SessionFilter {
    SessionFilter { words: SessionFilter::words_of(words), ..SessionFilter::default() }
}

async fn found(store: &Store, filter: &SessionFilter) -> Vec<SessionId> {
    let list = store.sessions(filter, 100, 0).await.unwrap();
    assert_eq!(list.total, list.sessions.len() as i64);
    list.sessions.iter().map(|session| session.session_id).collect()
}

on_both! {
    async fn members_see_only_their_conversations(store: Store) {
        let own = store.create_web_session(&ann(), Some("mine")).await.unwrap();
        let others = store.create_web_session(&bob(), Some("his")).await.unwrap();
        let group = chat(-5);
        let shared = store.start_session(&group, &bob()).await.unwrap();
        assert_eq!((own.title.as_deref(), own.user_id), (Some("mine"), ann()));
        assert_eq!(found(&store, &seen_by(&ann())).await, [own.session_id]);
        store.file(&filing(&group, vec![note("1", "hello all")])).await.unwrap();
        assert!(store.is_member(&group, &ann()).await.unwrap());
        assert_eq!(found(&store, &seen_by(&ann())).await, [shared, own.session_id]);
        store.remove_member(&group, &ann()).await.unwrap();
        assert_eq!(found(&store, &seen_by(&ann())).await, [own.session_id], "a former member does not see it");
        store.add_member(&group, &ann()).await.unwrap();
        store.add_member(&group, &ann()).await.unwrap();
        assert_eq!(found(&store, &seen_by(&ann())).await.len(), 2);
        assert_eq!(found(&store, &SessionFilter::default()).await.len(), 3, "without a viewer, all");
        assert!(!store.is_member(&others.conversation, &ann()).await.unwrap());
    }

    async fn members_of_a_chat_see_its_topics_and_not_those_of_chats_with_similar_ids(store: Store) {
        let topic = Conversation::telegram_topic(-5, 7);
        let of_chat = store.start_session(&chat(-5), &ann()).await.unwrap();
        let of_topic = store.start_session(&topic, &bob()).await.unwrap();
        for other in [chat(-50), Conversation::telegram_topic(-50, 7), Conversation::telegram_topic(-51, 7)] {
            store.start_session(&other, &bob()).await.unwrap();
        }
        assert!(store.is_member(&topic, &ann()).await.unwrap());
        assert!(!store.is_member(&Conversation::telegram_topic(-50, 7), &ann()).await.unwrap());
        assert_eq!(found(&store, &seen_by(&ann())).await, [of_topic, of_chat]);
        store.remove_member(&topic, &ann()).await.unwrap();
        assert_eq!(found(&store, &seen_by(&ann())).await, []);
    }

    async fn sessions_are_found_by_text_tag_and_reference(store: Store) {
        let conversation = page("x");
        let cats = store.create_web_session(&ann(), None).await.unwrap().session_id;
        let dogs = store.create_web_session(&ann(), Some("All about DOGS")).await.unwrap().session_id;
        let source = Reference { url: "https://example.org/cats".into(), ..Reference::default() };
        let message = NewMessage {
            tags: vec!["topic:cats".into()],
            refs: vec![source],
            ..said(&conversation, cats, "The white kitten's first photo, at 100% \"zoom\"")
        };
        store.add_message(&message, &[]).await.unwrap();
        let tool = NewMessage { role: Role::Tool, ..said(&conversation, dogs, "a secret kitten") };
        store.add_message(&tool, &[]).await.unwrap();

        for words in ["kitten", "KITT white", "photo first", "100"] {
            assert_eq!(found(&store, &searching(words)).await, [cats], "{words}");
        }
        assert_eq!(found(&store, &searching("dogs about")).await, [dogs], "by title");
        for words in ["kitten dog", "' OR 1=1 --", "\"unbalanced", "kitten) OR (a:*"] {
            assert_eq!(found(&store, &searching(words)).await, [], "{words}");
        }
        let tagged = |tag: &str| SessionFilter { tag: Some(tag.into()), ..SessionFilter::default() };
        assert_eq!(found(&store, &tagged("topic:cats")).await, [cats]);
        assert_eq!(found(&store, &tagged("topic")).await, []);
        let referring = |url: &str| SessionFilter { reference: Some(url.into()), ..SessionFilter::default() };
        assert_eq!(found(&store, &referring("https://example.org/cats")).await, [cats]);
        assert_eq!(found(&store, &referring("https://example.org")).await, []);

        store.delete_session(cats).await.unwrap();
        assert_eq!(found(&store, &searching("kitten")).await, []);
        assert_eq!(found(&store, &tagged("topic:cats")).await, []);
    }

    async fn every_new_message_increases_the_revision(store: Store) {
        let conversation = page("x");
        let id = store.create_web_session(&ann(), Some("old")).await.unwrap().session_id;
        assert!(store.rename_session(id, "new").await.unwrap());
        assert!(!store.rename_session(SessionId::new(), "new").await.unwrap());
        let before = store.session(id).await.unwrap().unwrap();
        assert_eq!((before.title.as_deref(), before.message_count), (Some("new"), 0));
        store.add_message(&said(&conversation, id, "hi"), &[]).await.unwrap();
        store.add_message(&NewMessage { role: Role::Tool, ..said(&conversation, id, "") }, &[]).await.unwrap();
        let after = store.session(id).await.unwrap().unwrap();
        assert_eq!((after.message_count, after.revision), (1, before.revision + 2));
    }
}
