//! What the on-device models found: stored once, replaced, searched, and deleted with its file.

use super::*;
use photothread::domain::Findings;

fn findings(id: AttachmentId, kind: &str, words: &str) -> Findings {
    Findings {
        attachment_id: id,
        kind: kind.into(),
        model: "a model".into(),
        version: 1,
        found: json!([{"label": words, "score": 0.5}]),
        words: words.into(),
    }
}

/// A picture in a conversation, and its session.
async fn filed_picture(store: &Store) -> (AttachmentId, SessionId) {
    let photo = picture(&chat(1));
    let message = FiledMessage { files: vec![FiledFile::New(photo.clone())], ..note("1", "look") };
    let filed = store.file(&filing(&chat(1), vec![message])).await.unwrap();
    let session = store.message(filed.messages[0]).await.unwrap().unwrap().session_id;
    (photo.attachment_id, session)
}

async fn searched(store: &Store, words: &str) -> Vec<SessionId> {
    let filter = SessionFilter { words: SessionFilter::words_of(words), ..SessionFilter::default() };
    let list = store.sessions(&filter, 10, 0).await.unwrap();
    list.sessions.iter().map(|session| session.session_id).collect()
}

on_both! {
    async fn findings_are_stored_once_and_replaced_by_newer_ones(store: Store) {
        let (id, _) = filed_picture(&store).await;
        let (cat, dog) = (findings(id, "objects", "cat"), findings(id, "objects", "dog"));
        store.save_findings(&cat).await.unwrap();
        store.save_findings(&findings(id, "text", "receipt")).await.unwrap();
        store.save_findings(&dog).await.unwrap();
        let stored = store.findings_of(id).await.unwrap();
        assert_eq!(stored, [dog, findings(id, "text", "receipt")]);
        assert_eq!(store.findings_of_files(&[id, AttachmentId::new()]).await.unwrap(), stored);
    }

    async fn findings_of_a_file_that_is_not_stored_are_left_out(store: Store) {
        let id = AttachmentId::new();
        store.save_findings(&findings(id, "objects", "cat")).await.unwrap();
        assert_eq!(store.findings_of(id).await.unwrap(), []);
    }

    async fn sessions_are_found_by_what_is_in_their_photos(store: Store) {
        let (id, session) = filed_picture(&store).await;
        assert_eq!(searched(&store, "receipt").await, []);
        store.save_findings(&findings(id, "text", "grocery receipt\ntotal 12.50")).await.unwrap();
        assert_eq!(searched(&store, "receipt").await, [session]);
        assert_eq!(searched(&store, "Receipt total").await, [session]);
        assert_eq!(searched(&store, "receipt unicorn").await, []);
    }

    async fn findings_are_deleted_with_their_file(store: Store) {
        let (id, session) = filed_picture(&store).await;
        store.save_findings(&findings(id, "objects", "cat")).await.unwrap();
        store.delete_session(session).await.unwrap();
        assert_eq!(store.findings_of(id).await.unwrap(), []);
    }
}
