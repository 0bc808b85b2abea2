//! References and tags of messages: revisions, search, and removal with the files they refer to.

use super::*;
use futures::future::join_all;
use photothread::{
    domain::{Message, MessageId, Reference, ReferenceTarget, TurnId},
    store::{ChangeOutcome, MessageAnnotation},
};

fn source(url: &str) -> Reference {
    Reference { url: url.into(), title: Some("A source".into()), ..Reference::default() }
}

async fn found(store: &Store, tag: Option<&str>, reference: Option<&str>) -> i64 {
    let filter = SessionFilter {
        tag: tag.map(Into::into),
        reference: reference.map(Into::into),
        ..SessionFilter::default()
    };
    store.sessions(&filter, 10, 0).await.unwrap().total
}

async fn revision(store: &Store, session: SessionId) -> i64 {
    store.session(session).await.unwrap().unwrap().revision
}

async fn message(store: &Store, id: MessageId) -> Message {
    store.message(id).await.unwrap().unwrap()
}

on_both! {
    async fn annotations_need_the_current_revision_and_sessions_are_found_by_them(store: Store) {
        let session = store.create_web_session(&ann(), None).await.unwrap();
        let (conversation, session) = (session.conversation, session.session_id);
        let id = store.add_message(&said(&conversation, session, "hi"), &[]).await.unwrap();
        let seen = revision(&store, session).await;
        let note = MessageAnnotation {
            session,
            revision: seen,
            message: id,
            refs: Some(vec![source("https://a.example")]),
            tags: Some(vec!["topic:cats".into()]),
        };
        assert_eq!(store.annotate_message(&note).await.unwrap(), ChangeOutcome::Changed);
        assert_eq!(revision(&store, session).await, seen + 1);
        assert_eq!(store.annotate_message(&note).await.unwrap(), ChangeOutcome::Stale);
        let stored = message(&store, id).await;
        assert_eq!((stored.refs.clone(), stored.tags.clone()), (vec![source("https://a.example")], vec!["topic:cats".to_owned()]));
        assert_eq!((found(&store, Some("topic:cats"), None).await, found(&store, None, Some("https://a.example")).await), (1, 1));

        let other = MessageAnnotation { revision: seen + 1, refs: None, tags: Some(vec!["b".into()]), ..note.clone() };
        assert_eq!(store.annotate_message(&other).await.unwrap(), ChangeOutcome::Changed);
        assert_eq!((found(&store, Some("topic:cats"), None).await, found(&store, Some("b"), None).await), (0, 1));
        assert_eq!(message(&store, id).await.refs.len(), 1, "what is not named stays");
        let cleared = MessageAnnotation { revision: seen + 2, refs: Some(Vec::new()), tags: None, ..note.clone() };
        assert_eq!(store.annotate_message(&cleared).await.unwrap(), ChangeOutcome::Changed);
        assert_eq!(found(&store, None, Some("https://a.example")).await, 0);

        let elsewhere = store.create_web_session(&ann(), None).await.unwrap().session_id;
        let wrong = MessageAnnotation { session: elsewhere, revision: 0, ..note.clone() };
        assert_eq!(store.annotate_message(&wrong).await.unwrap(), ChangeOutcome::Missing);
        assert_eq!(revision(&store, elsewhere).await, 0, "nothing was changed");
    }

    async fn of_concurrent_annotations_of_one_revision_one_succeeds(store: Store) {
        let session = store.create_web_session(&ann(), None).await.unwrap();
        let (conversation, session) = (session.conversation, session.session_id);
        let id = store.add_message(&said(&conversation, session, "hi"), &[]).await.unwrap();
        let seen = revision(&store, session).await;
        let all = (0..8).map(|n| {
            let store = store.clone();
            async move {
                let tags = Some(vec![format!("by:{n}")]);
                let note = MessageAnnotation { session, revision: seen, message: id, refs: None, tags };
                store.annotate_message(&note).await.unwrap()
            }
        });
        let made = join_all(all).await.into_iter().filter(|change| *change == ChangeOutcome::Changed).count();
        assert_eq!((made, revision(&store, session).await), (1, seen + 1));
        assert_eq!(message(&store, id).await.tags.len(), 1);
    }

    async fn references_to_a_file_are_removed_with_the_file(store: Store) {
        let session = store.create_web_session(&ann(), None).await.unwrap();
        let (conversation, session) = (session.conversation, session.session_id);
        let photo = picture(&conversation);
        let url = ReferenceTarget::attachment_url(photo.attachment_id);
        let answer = NewMessage {
            refs: vec![source(&url), source("https://a.example")],
            ..answered(&conversation, session, "done")
        };
        store.add_message(&said(&conversation, session, ""), std::slice::from_ref(&photo)).await.unwrap();
        let id = store.add_message(&answer, &[]).await.unwrap();
        let before = revision(&store, session).await;
        assert_eq!(found(&store, None, Some(&url)).await, 1);
        assert!(store.delete_attachment(photo.attachment_id).await.unwrap());
        assert_eq!(message(&store, id).await.refs, [source("https://a.example")]);
        assert_eq!((found(&store, None, Some(&url)).await, revision(&store, session).await), (0, before + 1));
    }

    async fn edits_and_deleted_files_increase_the_revision(store: Store) {
        let conversation = chat(1);
        let photo = picture(&conversation);
        let mut sent = note("10", "look");
        sent.files.push(FiledFile::New(photo.clone()));
        store.file(&filing(&conversation, vec![sent])).await.unwrap();
        let session = newest_session(&store, &conversation).await.unwrap();
        assert!(store.edit_message(&conversation, "10", "look here").await.unwrap());
        assert_eq!(revision(&store, session.session_id).await, session.revision + 1);
        assert!(!store.edit_message(&conversation, "11", "never seen").await.unwrap());
        store.delete_attachment(photo.attachment_id).await.unwrap();
        assert_eq!(revision(&store, session.session_id).await, session.revision + 2);
    }

    async fn turns_of_a_session_are_those_of_its_messages(store: Store) {
        let conversation = page("x");
        let (one, two) = (store.create_web_session(&ann(), None).await.unwrap(), store.create_web_session(&ann(), None).await.unwrap());
        let (here, there) = (TurnId::new(), TurnId::new());
        for (session, turn) in [(&one, here), (&one, here), (&two, there)] {
            let answer = NewMessage { turn_id: Some(turn), ..answered(&conversation, session.session_id, "") };
            store.add_message(&answer, &[]).await.unwrap();
        }
        assert_eq!(store.turns_of_session(one.session_id).await.unwrap(), [here]);
        let asked = [here, there, TurnId::new()];
        assert_eq!(store.turns_of_other_sessions(one.session_id, &asked).await.unwrap(), [there]);
        assert_eq!(store.turns_of_other_sessions(one.session_id, &[]).await.unwrap(), []);
    }
}
