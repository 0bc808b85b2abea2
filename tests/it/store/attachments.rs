//! Rows of files: found only in their own conversation, moved, rendered and deleted.

use super::*;
use chrono::TimeDelta;
use futures::future::join_all;
use photothread::store::{Quota, StoreError, StoredBytes};

async fn keep(store: &Store, conversation: &Conversation, pictures: &[Attachment]) {
    let session = store.start_session(conversation, &ann()).await.unwrap();
    let message = NewMessage::new(conversation.clone(), session, Role::Tool, "made");
    store.add_message(&message, pictures).await.unwrap();
}

fn ids(attachments: &[Attachment]) -> Vec<AttachmentId> {
    attachments.iter().map(|a| a.attachment_id).collect()
}

/// An uploaded file of a message to be filed.
fn moved(upload: &Attachment) -> FiledFile {
    FiledFile::Moved { id: upload.attachment_id, from: upload.conversation.clone() }
}

on_both! {
    async fn attachments_are_found_only_in_their_own_conversation(store: Store) {
        let mine = picture(&chat(1));
        keep(&store, &chat(1), std::slice::from_ref(&mine)).await;
        let id = mine.attachment_id;
        assert_eq!(store.attachment(&chat(1), id).await.unwrap(), Some(mine.clone()));
        for elsewhere in [chat(2), page("1")] {
            assert_eq!(store.attachment(&elsewhere, id).await.unwrap(), None);
            assert_eq!(store.attachments(&elsewhere, &[id]).await.unwrap(), []);
        }
        assert_eq!(store.attachment_of_any_conversation(id).await.unwrap(), Some(mine), "the sender may ask for any");
        assert_eq!(store.attachment_of_any_conversation(AttachmentId::new()).await.unwrap(), None);
    }

    async fn attachments_are_returned_in_the_requested_order(store: Store) {
        let pictures = [picture(&chat(1)), picture(&chat(1)), picture(&chat(1))];
        keep(&store, &chat(1), &pictures).await;
        let theirs = picture(&chat(2));
        keep(&store, &chat(2), std::slice::from_ref(&theirs)).await;
        let [a, b, c] = pictures.clone().map(|p| p.attachment_id);
        let asked = [c, theirs.attachment_id, a, AttachmentId::new(), c, b];
        assert_eq!(ids(&store.attachments(&chat(1), &asked).await.unwrap()), [c, a, c, b]);
        assert_eq!(store.attachments(&chat(1), &[]).await.unwrap(), []);
    }

    async fn chat_messages_are_preferred_as_carriers_of_a_file(store: Store) {
        let conversation = chat(1);
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        let made = [picture(&conversation), picture(&conversation), picture(&conversation)];
        let [sent, between, unsaid] = made.clone().map(|p| p.attachment_id);
        let row = |role, attachments: &[AttachmentId]| NewMessage {
            attachments: attachments.to_vec(),
            ..NewMessage::new(conversation.clone(), session, role, "")
        };
        let tool = store.add_message(&row(Role::Tool, &[between, sent]), &made).await.unwrap();
        let said = store.add_message(&row(Role::Assistant, &[sent]), &[]).await.unwrap();
        store.add_message(&row(Role::Assistant, &[sent]), &[]).await.unwrap();
        let mut found = store.carrying_messages(session, &[sent, between, unsaid, AttachmentId::new()]).await.unwrap();
        found.sort_by_key(|(_, message)| *message);
        assert_eq!(found, [(between, tool), (sent, said)]);
        let another = store.start_session(&conversation, &ann()).await.unwrap();
        assert_eq!(store.carrying_messages(another, &[sent]).await.unwrap(), []);
        assert_eq!(store.carrying_messages(session, &[]).await.unwrap(), []);
    }

    async fn recent_attachments_are_of_the_conversation_and_newest_first(store: Store) {
        let made = |minutes| Attachment { created_at: now() - TimeDelta::minutes(minutes), ..picture(&chat(1)) };
        let pictures = [made(50), made(5), made(500), made(20)];
        keep(&store, &chat(1), &pictures).await;
        keep(&store, &chat(2), &[picture(&chat(2))]).await;
        keep(&store, &page("1"), &[picture(&page("1"))]).await;
        let [a, b, _, d] = pictures.clone().map(|p| p.attachment_id);
        let hours_ago = now() - TimeDelta::hours(2);
        assert_eq!(ids(&store.recent_attachments(&chat(1), hours_ago, 10).await.unwrap()), [b, d, a]);
        assert_eq!(ids(&store.recent_attachments(&chat(1), hours_ago, 2).await.unwrap()), [b, d]);
        assert_eq!(store.recent_attachments(&chat(1), now(), 10).await.unwrap(), []);
    }

    async fn a_rendered_blob_is_stored_once(store: Store) {
        let picture = unrendered(&chat(1));
        let content = |sha256: &str| Content::Stored { object_key: "ab/abab".into(), sha256: sha256.into(), recipe: picture.recipe().cloned() };
        let file = Attachment { content: content("abab"), size: 1000, ..picture.clone() };
        keep(&store, &chat(1), std::slice::from_ref(&picture)).await;
        assert_eq!(store.attachment(&chat(1), file.attachment_id).await.unwrap(), Some(picture.clone()));
        store.store_rendered_attachment(&file).await.unwrap();
        assert_eq!(store.attachment(&chat(1), file.attachment_id).await.unwrap(), Some(file.clone()));
        store.store_rendered_attachment(&Attachment { content: content("other"), ..file.clone() }).await.unwrap();
        assert_eq!(store.attachment(&chat(1), file.attachment_id).await.unwrap(), Some(file));
    }

    async fn children_of_an_attachment_are_found_newest_first(store: Store) {
        let parent = Attachment { created_at: now() - TimeDelta::minutes(9), ..picture(&chat(1)) };
        let child = |minutes, parents: &[AttachmentId]| Attachment {
            created_at: now() - TimeDelta::minutes(minutes),
            parents: parents.to_vec(),
            ..picture(&chat(1))
        };
        let id = parent.attachment_id;
        let other = AttachmentId::new();
        let children = [child(5, &[id]), child(2, &[other, id]), child(3, &[other])];
        keep(&store, &chat(1), std::slice::from_ref(&parent)).await;
        keep(&store, &chat(1), &children).await;
        let [older, newer, _] = children.map(|c| c.attachment_id);
        assert_eq!(ids(&store.children_of_attachment(&parent).await.unwrap()), [newer, older]);
    }

    async fn the_size_of_a_conversation_is_the_sum_of_its_files(store: Store) {
        let kept = async || store.stored_bytes(&chat(1), &ann()).await.unwrap();
        assert_eq!(kept().await, StoredBytes::both(0));
        let big = Attachment { size: 5_000_000_000, ..picture(&chat(1)) };
        keep(&store, &chat(1), &[big, picture(&chat(1))]).await;
        keep(&store, &chat(2), &[picture(&chat(2))]).await;
        let others = Attachment { user_id: UserId("200".into()), ..picture(&chat(1)) };
        keep(&store, &chat(1), &[others]).await;
        assert_eq!(kept().await, StoredBytes { conversation: 5_000_002_000, person: 5_000_002_000 });
    }

    async fn files_that_are_added_together_stay_within_the_quota(store: Store) {
        let quota = Quota { max_conversation_bytes: 4_000, max_person_bytes: 6_000 };
        let store = store.with_quota(quota);
        let add = |id: i64| {
            let store = store.clone();
            async move { store.add_attachment(&picture(&chat(id))).await }
        };
        let results = join_all((0..20).map(|n| add(1 + n % 2))).await;
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 6, "of 1000 bytes each");
        let refused = results.into_iter().filter_map(Result::err);
        assert!(refused.into_iter().all(|error| matches!(error, StoreError::OverQuota(_))));
        let kept = async |id| store.stored_bytes(&chat(id), &ann()).await.unwrap();
        assert_eq!(kept(1).await.conversation + kept(2).await.conversation, 6_000);
        assert!(kept(1).await.conversation <= 4_000 && kept(2).await.conversation <= 4_000);
        let of_bob = Attachment { user_id: UserId("200".into()), ..picture(&chat(3)) };
        store.add_attachment(&of_bob).await.unwrap();
    }

    async fn files_of_one_message_are_checked_together(store: Store) {
        let store = store.with_quota(Quota { max_conversation_bytes: 2_500, max_person_bytes: 6_000 });
        let session = store.start_session(&chat(1), &ann()).await.unwrap();
        let add = async |files: &[Attachment]| store.add_message(&said(&chat(1), session, "here"), files).await;
        let three = [picture(&chat(1)), picture(&chat(1)), picture(&chat(1))];
        assert!(matches!(add(&three).await, Err(StoreError::OverQuota(_))));
        assert_eq!(store.stored_bytes(&chat(1), &ann()).await.unwrap(), StoredBytes::both(0));
        add(&three[..2]).await.unwrap();
        add(&[unrendered(&chat(1))]).await.unwrap();
        let mut full = note("9", "one more");
        full.files.push(FiledFile::New(picture(&chat(1))));
        assert!(matches!(store.file(&filing(&chat(1), vec![full])).await, Err(StoreError::OverQuota(_))));
    }

    async fn a_picture_that_is_stored_already_is_not_checked_again(store: Store) {
        let store = store.with_quota(Quota { max_conversation_bytes: 1_500, max_person_bytes: 1_500 });
        let picture = unrendered(&chat(1));
        keep(&store, &chat(1), std::slice::from_ref(&picture)).await;
        let rendered = Attachment { content: Content::stored("ab/abab", "abab"), size: 1000, ..picture };
        for _ in 0..2 {
            assert!(store.store_rendered_attachment(&rendered).await.unwrap());
        }
    }

    async fn files_are_found_by_the_range_of_their_keys(store: Store) {
        let kept = picture(&chat(1));
        keep(&store, &chat(1), std::slice::from_ref(&kept)).await;
        let expected = [(kept.attachment_id, "ab/abab".to_owned())];
        assert_eq!(store.stored_objects("ab/", "ab0").await.unwrap(), expected);
        assert_eq!(store.stored_objects("ac/", "ac0").await.unwrap(), []);
    }

    async fn old_files_expire_unless_a_newer_one_was_made_from_them(store: Store) {
        let made = |days: i64, parents: &[AttachmentId]| Attachment {
            created_at: now() - TimeDelta::days(days),
            parents: parents.to_vec(),
            ..picture(&chat(1))
        };
        let (forgotten, original) = (made(50, &[]), made(50, &[]));
        let step = made(40, &[original.attachment_id]);
        let newest = made(1, &[step.attachment_id]);
        let all = [forgotten.clone(), original, step, newest];
        keep(&store, &chat(1), &all).await;
        let session = store.start_session(&chat(1), &ann()).await.unwrap();
        let shown = NewMessage { attachments: vec![forgotten.attachment_id], ..said(&chat(1), session, "look") };
        let shown = store.add_message(&shown, &[]).await.unwrap();
        let before = now() - TimeDelta::days(30);
        let ignored = |_: &Attachment, content: &str| content.to_owned();
        store.file(&filing(&chat(1), vec![note("70", "use the old one")])).await.unwrap();
        assert_eq!(store.expire_files(&chat(1), before, &ignored).await.unwrap(), 0, "a turn may need one");
        store.cancel_turns(&chat(1)).await.unwrap();
        assert_eq!(store.conversations_with_files_before(before).await.unwrap(), [chat(1)]);
        let rewrite = |file: &Attachment, content: &str| format!("{content} without {}", file.filename);
        assert_eq!(store.expire_files(&chat(1), before, &rewrite).await.unwrap(), 1);
        let left = store.recent_attachments(&chat(1), long_ago(), 10).await.unwrap();
        assert_eq!(left.len(), 3);
        assert!(left.iter().all(|file| file.attachment_id != forgotten.attachment_id));
        let shown = store.message(shown).await.unwrap().unwrap();
        assert_eq!((shown.content.as_str(), shown.attachments.len()), ("look without image.jpg", 0));
        assert_eq!(store.objects_to_delete(10).await.unwrap().len(), 1);
    }

    async fn a_message_and_its_new_files_are_added_together_or_not_at_all(store: Store) {
        let conversation = chat(1);
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        let made = [picture(&conversation), picture(&conversation)];
        let message = NewMessage { attachments: ids(&made), ..NewMessage::new(conversation.clone(), session, Role::Tool, "made") };
        let id = store.add_message(&message, &made).await.unwrap();
        assert_eq!(store.message(id).await.unwrap().unwrap().attachments, ids(&made), "in order");

        let unmade = AttachmentId::new();
        let made = [picture(&conversation)];
        let wrong = NewMessage { attachments: vec![unmade], ..message };
        assert!(store.add_message(&wrong, &made).await.is_err());
        assert_eq!(store.attachment(&conversation, made[0].attachment_id).await.unwrap(), None, "neither without the other");
    }

    async fn filing_a_message_moves_its_uploads_into_the_conversation(store: Store) {
        let (uploads, conversation) = (page("uploads-100"), chat(1));
        let [sent, unused, new] = [picture(&uploads), picture(&uploads), picture(&conversation)];
        for file in [&sent, &unused] {
            store.add_attachment(file).await.unwrap();
        }
        let files = vec![moved(&sent), FiledFile::New(new.clone())];
        let filed = store.file(&filing(&conversation, vec![FiledMessage { files, ..note("1", "look") }])).await.unwrap();
        let message = store.message(filed.messages[0]).await.unwrap().unwrap();
        assert_eq!(message.attachments, [sent.attachment_id, new.attachment_id]);
        assert!(store.attachment(&conversation, sent.attachment_id).await.unwrap().is_some());
        assert_eq!(store.attachment(&uploads, sent.attachment_id).await.unwrap(), None);
        assert!(store.attachment(&uploads, unused.attachment_id).await.unwrap().is_some());
    }

    async fn a_failed_filing_does_not_move_uploads(store: Store) {
        let (uploads, conversation) = (page("uploads-100"), chat(1));
        let upload = picture(&uploads);
        store.add_attachment(&upload).await.unwrap();
        store.file(&filing(&conversation, vec![note("1", "taken")])).await.unwrap();
        let same_id = FiledMessage { files: vec![moved(&upload)], ..note("1", "again") };
        let error = store.file(&filing(&conversation, vec![same_id])).await.unwrap_err();
        assert!(matches!(error, StoreError::Broken(_)), "{error}");
        assert_eq!(store.attachment(&uploads, upload.attachment_id).await.unwrap(), Some(upload.clone()));
        assert_eq!(store.delete_unused_uploads(now() + TimeDelta::seconds(1)).await.unwrap(), 1, "and are swept");
        assert_eq!(store.attachment_of_any_conversation(upload.attachment_id).await.unwrap(), None);
    }

    async fn a_filing_is_refused_if_an_upload_is_gone(store: Store) {
        let (uploads, conversation) = (page("uploads-100"), chat(1));
        let [here, used] = [picture(&uploads), picture(&uploads)];
        for file in [&here, &used] {
            store.add_attachment(file).await.unwrap();
        }
        let elsewhere = FiledMessage { files: vec![moved(&used)], ..note("1", "first") };
        store.file(&filing(&chat(2), vec![elsewhere])).await.unwrap();
        let both = FiledMessage { files: vec![moved(&here), moved(&used)], ..note("1", "second") };
        let error = store.file(&filing(&conversation, vec![both])).await.unwrap_err();
        assert!(matches!(error, StoreError::AttachmentGone(id) if id == used.attachment_id), "{error}");
        assert_eq!(store.find_message(&conversation, "1").await.unwrap(), None);
        assert!(store.attachment(&uploads, here.attachment_id).await.unwrap().is_some());
        assert!(store.attachment(&chat(2), used.attachment_id).await.unwrap().is_some());
    }

    async fn unused_uploads_are_deleted_after_a_time(store: Store) {
        let upload = picture(&page("uploads-100"));
        store.add_attachment(&upload).await.unwrap();
        assert_eq!(store.delete_unused_uploads(long_ago()).await.unwrap(), 0);
        assert_eq!(store.delete_unused_uploads(now() + TimeDelta::seconds(1)).await.unwrap(), 1);
        assert_eq!(store.attachment_of_any_conversation(upload.attachment_id).await.unwrap(), None);
    }

    async fn messages_and_their_files_have_ids_on_the_interface(store: Store) {
        let conversation = chat(1);
        let filed = store.file(&filing(&conversation, vec![album_photo(&conversation, "7", "x")])).await.unwrap();
        let message = filed.messages[0];
        assert_eq!(store.interface_message_id(message, None).await.unwrap().as_deref(), Some("7"));
        assert_eq!(store.interface_message_id(message, Some(AttachmentId::new())).await.unwrap().as_deref(), Some("7"));
        let photo = store.message(message).await.unwrap().unwrap().attachments[0];
        assert_eq!(store.interface_message_id(message, Some(photo)).await.unwrap().as_deref(), Some("7"));
        assert_eq!(store.interface_message_id(photothread::domain::MessageId(999), None).await.unwrap(), None);
    }

    async fn the_blob_of_a_picture_deleted_during_rendering_is_listed_for_deletion(store: Store) {
        let conversation = chat(1);
        let picture = unrendered(&conversation);
        store.add_attachment(&picture).await.unwrap();
        let rendered = Attachment { content: Content::stored("made/too/late", "ab"), ..picture.clone() };
        assert!(store.store_rendered_attachment(&rendered).await.unwrap());
        assert!(store.store_rendered_attachment(&rendered).await.unwrap(), "another task stored it first");
        assert_eq!(store.objects_to_delete(9).await.unwrap(), []);
        store.delete_attachment(picture.attachment_id).await.unwrap();
        store.unlist_objects(&[picture.attachment_id]).await.unwrap();
        assert!(!store.store_rendered_attachment(&rendered).await.unwrap());
        assert_eq!(store.objects_to_delete(9).await.unwrap()[0].object_key, "made/too/late");
    }
}
