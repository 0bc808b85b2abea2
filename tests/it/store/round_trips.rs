//! Every field, unusual characters, JSON and times are read back as they were written, on both databases.

use super::*;
use photothread::{
    domain::{Message, MessageId, Recipe, Reference, ReplyTo, ToolCall, TurnId},
    store::StoreError,
};
use serde_json::Value;

const ODD: &str =
    "naïve 👩‍👩‍👧‍👦 e\u{301} \u{202e}rtl\u{200b} '; DROP TABLE turns; -- \"$1\" %_ \\u0000 \r\n\t\u{7f}\u{10ffff}";

fn odd_json() -> Value {
    json!({ "": null, "text": ODD, "numbers": [0, -1, 0.1, i64::MAX, u64::MAX, 1.5e-9], "nested": { "a": [[], {}] }, "yes": true })
}

on_both! {
    async fn every_field_of_a_message_is_read_back(store: Store) {
        let conversation = page("desk ☕");
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        let picture = picture(&conversation);
        let root = store.add_message(&said(&conversation, session, "root"), std::slice::from_ref(&picture)).await.unwrap();
        let new = NewMessage {
            conversation: conversation.clone(),
            session_id: session,
            interface_message_id: Some("m-1".into()),
            turn_id: Some(TurnId::new()),
            thread_root_id: Some(root),
            timestamp: "2026-11-16T15:04:05.123456Z".parse().unwrap(),
            role: Role::Assistant,
            content: ODD.into(),
            tool_calls: vec![
                ToolCall { id: "1".into(), name: "crop_image".into(), arguments: odd_json().to_string() },
                ToolCall { id: "2".into(), name: "crop_image".into(), arguments: "{not json".into() },
            ],
            tool_call_id: Some("call".into()),
            tool_name: Some("crop_image".into()),
            agent_id: Some("photothread".into()),
            user_id: Some(ann()),
            user_name: Some("Ann Lee".into()),
            reasoning_info: Some(odd_json()),
            provider_metadata: Some(json!([odd_json()])),
            error: Some(ODD.into()),
            reply: Some(ReplyTo {
                message: Some(root),
                attachment: Some(picture.attachment_id),
                quote: Some(ODD.into()),
            }),
            refs: vec![Reference { url: ODD.into(), title: Some(ODD.into()), bonus: Some(true), ..Reference::default() }],
            tags: vec![ODD.into()],
            album_id: Some("album".into()),
            attachments: vec![picture.attachment_id],
        };
        let id = store.add_message(&new, &[]).await.unwrap();
        let stored = Message { internal_id: id, body: new };
        assert_eq!(store.message(id).await.unwrap(), Some(stored));
        assert_eq!(store.message(MessageId(i64::MAX)).await.unwrap(), None);
    }

    async fn a_message_without_optional_fields_is_read_back(store: Store) {
        let session = store.start_session(&chat(1), &ann()).await.unwrap();
        let id = store.add_message(&said(&chat(1), session, ""), &[]).await.unwrap();
        let m = store.message(id).await.unwrap().unwrap();
        assert!(m.interface_message_id.is_none() && m.turn_id.is_none() && m.thread_root_id.is_none());
        assert!(m.reasoning_info.is_none() && m.provider_metadata.is_none() && m.reply.is_none() && m.error.is_none());
        assert!(m.tool_calls.is_empty() && m.attachments.is_empty() && m.content.is_empty());
    }

    async fn every_field_of_an_attachment_is_read_back(store: Store) {
        let conversation = chat(-1001234567890);
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        let parent = picture(&conversation);
        let child = Attachment {
            source: AttachmentSource::Tool,
            filename: ODD.into(),
            description: Some(ODD.into()),
            size: i64::MAX,
            width: None,
            height: None,
            created_at: "1999-12-31T23:59:59.999999Z".parse().unwrap(),
            parents: vec![parent.attachment_id, AttachmentId::new()],
            content: stored_by(Recipe { tool: "crop_image".into(), arguments: odd_json() }),
            ..picture(&conversation)
        };
        let both = [parent, child];
        store.add_message(&said(&conversation, session, ""), &both).await.unwrap();
        assert_eq!(store.attachments(&conversation, &both.clone().map(|a| a.attachment_id)).await.unwrap(), both);
    }

    async fn a_planned_send_is_read_back(store: Store) {
        let mut send = album_send(&[AttachmentId::new(), AttachmentId::new()]);
        send.payload = odd_json();
        store.answer_update(&[], &chat(1), Some("5"), std::slice::from_ref(&send)).await.unwrap();
        let row = store.next_send(&chat(1)).await.unwrap().unwrap();
        assert_eq!((row.kind, row.payload, row.items, row.attachments), (send.kind, send.payload, 2, send.attachments));
        assert_eq!((row.conversation, row.reply_to.as_deref()), (chat(1), Some("5")));
    }

    async fn nul_characters_are_removed(store: Store) {
        let conversation = chat(1);
        let session = store.start_session(&conversation, &ann()).await.unwrap();
        let file = Attachment {
            filename: "a\0b.jpg".into(),
            description: Some("c\0d".into()),
            content: stored_by(Recipe { tool: "crop_image".into(), arguments: json!({ "k\0": ["v\0w"] }) }),
            ..picture(&conversation)
        };
        let new = NewMessage {
            interface_message_id: Some("1".into()),
            tool_calls: vec![ToolCall { id: "1".into(), name: "annotate_image".into(), arguments: "x\0y".into() }],
            provider_metadata: Some(json!({ "thought": "\0" })),
            reasoning_info: Some(json!("\0")),
            error: Some("bad\0ly".into()),
            user_name: Some("A\0nn".into()),
            reply: Some(ReplyTo { quote: Some("\0q".into()), ..ReplyTo::default() }),
            ..said(&conversation, session, "be\0fore \\u0000 after\0")
        };
        let id = store.add_message(&new, std::slice::from_ref(&file)).await.unwrap();
        let m = store.message(id).await.unwrap().unwrap().body;
        assert_eq!(m.content, "before \\u0000 after");
        assert_eq!(m.tool_calls[0].arguments, "xy");
        assert_eq!(m.user_name.as_deref(), Some("Ann"));
        assert_eq!((m.provider_metadata, m.reasoning_info), (Some(json!({ "thought": "" })), Some(json!(""))));
        assert_eq!((m.error.as_deref(), m.reply.unwrap().quote.as_deref()), (Some("badly"), Some("q")));
        let kept = store.attachment(&conversation, file.attachment_id).await.unwrap().unwrap();
        assert_eq!((kept.filename.as_str(), kept.description.as_deref()), ("ab.jpg", Some("cd")));
        assert_eq!(kept.recipe().unwrap().arguments, json!({ "k": ["vw"] }));

        store.add_message(&said(&conversation, session, "pre\0view"), &[]).await.unwrap();
        assert_eq!(newest_session(&store, &conversation).await.unwrap().first_message_preview, "preview");
        assert!(store.edit_message(&conversation, "1", "ed\0ited").await.unwrap());
        assert_eq!(store.message(id).await.unwrap().unwrap().content, "edited");
    }

    async fn nul_characters_do_not_stop_updates_and_sends(store: Store) {
        let strange = NewUpdate { key: "1".into(), raw: "{\0}".into(), conversation_id: None };
        let row = store.receive_updates(&[strange, update("2")]).await.unwrap().remove(0);
        assert_eq!(row.raw, "{}");
        store.skip_update(row.inbox_id, "a\0b").await.unwrap();

        let conversation = chat(1);
        store.answer_update(&[], &conversation, None, &[text_send("a\0b")]).await.unwrap();
        let send = store.next_send(&conversation).await.unwrap().unwrap();
        assert_eq!(send.payload, json!({ "text": "ab" }));
        store.requeue_send(send.outbox_id, now(), "c\0d").await.unwrap();
        store.replace_send(send.outbox_id, &text_send("e\0f"), None, "g\0h").await.unwrap();
        store.mark_send_failed(send.outbox_id, "i\0j").await.unwrap();
        let failed = store.undelivered_sends(1).await.unwrap().remove(0);
        assert_eq!((failed.payload, failed.error.as_deref()), (json!({ "text": "ef" }), Some("ij")));
    }

    async fn times_are_exact_to_the_microsecond(store: Store) {
        let session = store.start_session(&chat(1), &ann()).await.unwrap();
        for moment in ["1970-01-01T00:00:00Z", "2026-02-28T23:59:59.000001Z", "2026-03-29T01:30:00.1Z", "2999-01-01T00:00:00.999999Z"] {
            let timestamp: DateTime<Utc> = moment.parse().unwrap();
            let id = store.add_message(&NewMessage { timestamp, ..said(&chat(1), session, "") }, &[]).await.unwrap();
            assert_eq!(store.message(id).await.unwrap().unwrap().timestamp, timestamp);
        }
    }

    async fn unusual_ids_of_users_and_conversations_are_read_back(store: Store) {
        let (conversation, person) = (page(ODD), UserId(ODD.into()));
        let id = store.start_session(&conversation, &person).await.unwrap();
        let listed = store.sessions(&started_by(&person), 10, 0).await.unwrap().sessions;
        assert_eq!((listed[0].session_id, &listed[0].conversation, &listed[0].user_id), (id, &conversation, &person));
    }
}

#[tokio::test]
async fn an_invalid_url_is_refused_with_the_valid_schemes() {
    for url in ["mysql://localhost/x", "data/photothread.db", ""] {
        let Err(StoreError::Unusable(text)) = Store::open(url).await else { panic!("{url:?} was opened") };
        assert!(text.contains("sqlite://") && text.contains("postgres://"), "{text}");
    }
}
