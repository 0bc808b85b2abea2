//! What a turn stores: every message when it happens, with its turn id, and every output with its parents.

use super::{Stage, said_by};
use crate::harness::{BotUnderTest, Person, Settings, attachment_ids, jpeg};
use photothread::{
    domain::{Conversation, Message, Role, UserId},
    store::{Filing, WantsTurn},
};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn every_message_of_a_turn_is_stored_with_its_turn_id() {
    let stage = Stage::set().await;
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    stage.model.next_reply("Turned.");
    let photo = stage.ann.sends_photo(jpeg(64, 48), "turn it").await;
    let answer = stage.ann.next_message().await;

    let (store, rows) = stage.at_rest().await;
    let roles: Vec<Role> = rows.iter().map(|row| row.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
    let [asked, request, result, last] = rows.as_slice() else { unreachable!() };
    assert_eq!((asked.turn_id, asked.thread_root_id), (None, None));
    assert_eq!(asked.agent_id.as_deref(), Some("photothread"), "whom it was said to");
    assert_eq!(asked.user_id, Some(UserId("1001".into())));
    assert_eq!(asked.interface_message_id, Some(photo.message_id.to_string()));
    assert_eq!(asked.content, format!("turn it\n[Attachment ID: {}]", asked.attachments[0]));

    let turn = request.turn_id.expect("a turn");
    for row in [request, result, last] {
        assert_eq!(row.turn_id, Some(turn));
        assert_eq!(row.thread_root_id, Some(asked.internal_id));
        assert_eq!(row.agent_id.as_deref(), Some("photothread"));
        assert_eq!((&row.user_id, &row.error), (&None, &None));
    }
    assert_eq!(request.tool_calls[0].name, "rotate_image");
    assert_eq!(request.reasoning_info.as_ref().unwrap()["input_tokens"], 100);
    assert_eq!(result.tool_call_id.as_deref(), Some(request.tool_calls[0].id.as_str()));
    assert_eq!(result.tool_name.as_deref(), Some("rotate_image"));
    assert!(result.content.ends_with(&format!("\n[Attachment ID: {}]", result.attachments[0])));
    assert_eq!((last.content.as_str(), &last.attachments), ("Turned.", &result.attachments));
    assert_eq!(last.interface_message_id, Some(answer.message_id.to_string()));

    let made = store.attachment(&asked.conversation, result.attachments[0]).await.unwrap().unwrap();
    assert_eq!(made.parents, asked.attachments);
    let recipe = made.recipe().expect("a recipe");
    assert_eq!((recipe.tool.as_str(), &recipe.arguments), ("rotate_image", &json!({ "degrees": 90 })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_is_stored_before_the_next_request() {
    let stage = Stage::set().await;
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    let (first, second) = (stage.model.hold_next(), stage.model.hold_next());
    stage.ann.sends_photo(jpeg(64, 48), "turn it").await;
    first.open();
    second.reached().await;
    let roles: Vec<Role> = stage.rows().await.iter().map(|row| row.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool]);
    second.open();
    stage.ann.next_message().await;
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_and_their_turns_share_the_root_of_the_thread() {
    let stage = Stage::set().await;
    stage.ann.sends_photo(jpeg(64, 48), "look").await;
    let answer = stage.ann.next_message().await;
    stage.ann.replies(&answer, "and?").await;
    let second = stage.ann.next_message().await;
    stage.ann.replies(&second, "and more?").await;
    stage.ann.next_message().await;
    let rows = stage.rows().await;
    let root = rows[0].internal_id;
    assert_eq!(rows.len(), 6);
    assert!(rows[1..].iter().all(|row| row.thread_root_id == Some(root)), "{rows:#?}");
    assert!(rows.iter().all(|row| (row.role == Role::User) == row.turn_id.is_none()));
    stage.clear().await;
}

/// A turn without inputs, for an agent that is no longer configured.
async fn file_a_strange_turn(settings: &Settings, person: &Person, root: Message) {
    let filing = Filing {
        conversation: Conversation::telegram(person.chat_id),
        user_id: UserId("1001".into()),
        agent_id: "long_gone".into(),
        inbox_ids: Vec::new(),
        messages: Vec::new(),
        thread_root: Some(root),
        session: None,
        echo: None,
        wants_turn: WantsTurn::Yes,
    };
    settings.store().await.file(&filing).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_without_messages_and_with_a_removed_agent_still_ends() {
    let mut stage = Stage::set().await;
    stage.ann.sends_photo(jpeg(64, 48), "look").await;
    stage.ann.next_message().await;
    let root = stage.rows().await.remove(0);
    stage.bot.stop().await;
    file_a_strange_turn(&stage.settings, &stage.ann, root).await;
    stage.bot = BotUnderTest::start(&stage.settings).await;
    assert_eq!(stage.ann.next_message().await.text, "Done.");
    let last = stage.rows().await.pop().unwrap();
    assert_eq!((last.agent_id.as_deref(), last.error.as_deref()), (Some("photothread"), None));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_file_is_reported_and_the_turn_continues() {
    let mut stage = Stage::set().await;
    let photo = stage.ann.sends_photo(jpeg(64, 48), "look").await;
    stage.ann.next_message().await;
    // The view cache is empty after a restart.
    stage.bot.stop().await;
    std::fs::remove_dir_all(stage.settings.folder().join("attachments/sha256")).unwrap();
    stage.bot = BotUnderTest::start(&stage.settings).await;
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    stage.model.next_reply("Your photo is gone. Could you send it again?");
    stage.ann.replies(&photo, "turn it").await;
    assert_eq!(stage.ann.next_message().await.text, "Your photo is gone. Could you send it again?");
    let request = stage.last_request();
    let result = said_by("tool", &request).pop().unwrap();
    assert!(result.starts_with("Error: ") && result.contains("gone"), "{result}");
    assert!(!request.to_string().contains("image_url"), "there are no pixels to show");
    assert_eq!(attachment_ids(&request).len(), 1);
    stage.clear().await;
}
