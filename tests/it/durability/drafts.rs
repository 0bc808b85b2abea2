//! Drafts and crashes: after a kill while a draft is shown, there is one message in the end, and it is the answer.

use super::{Program, at_rest, doctor, troubled};
use crate::harness::{Person, ScriptedModel, Settings, World, user};
use photothread::domain::Conversation;

struct Scene {
    world: World,
    model: ScriptedModel,
    settings: Settings,
    ann: Person,
}

impl Scene {
    /// Drafts are sent at once and edited only after an hour, so that the next edit is the answer.
    async fn new() -> Self {
        let world = World::start().await;
        let model = ScriptedModel::start().await;
        let settings = Settings::new(&world).with_model(&model.base_url()).with_drafts(0, 600_000);
        let ann = world.private_chat(user(1001, "Ann"));
        Self { world, model, settings, ann }
    }

    async fn answer_can_be_replied_to(&self, message_id: i32) {
        let store = self.settings.store().await;
        let found = store.find_message(&Conversation::telegram(1001), &message_id.to_string()).await.unwrap();
        assert_eq!(found.unwrap().message.content, "A pelican on a pier.");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_turn_continues_in_its_draft() {
    let scene = Scene::new().await;
    let [first, _never] = scene.model.next_slowly(["A pel", "ican"]);
    scene.model.next_reply("A pelican on a pier.");
    let program = Program::start(&scene.settings);
    scene.ann.says("what is it?").await;
    first.open();
    let draft = scene.ann.next_message().await;
    assert_eq!(draft.text, "A pel …");
    let stored = "SELECT COUNT(*) FROM drafts WHERE interface_message_id IS NOT NULL";
    super::eventually("the draft to be stored", async || super::number(&scene.settings, stored).await == 1)
        .await;
    program.kill();

    let program = Program::start(&scene.settings);
    scene.world.wait_for_text(&draft, "A pelican on a pier.").await;
    at_rest(&scene.settings).await;
    assert_eq!(scene.world.sends_to(1001).len(), 1);
    assert_eq!(troubled(&scene.settings.store().await).await, []);
    scene.answer_can_be_replied_to(draft.message_id).await;
    program.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_killed_in_flight_is_unknown_and_the_answer_is_sent_complete() {
    let scene = Scene::new().await;
    let [first, _never] = scene.model.next_slowly(["A pel", "ican"]);
    scene.model.next_reply("A pelican on a pier.");
    let program = Program::start(&scene.settings);
    let wire = scene.world.next("sendMessage").waits_with_its_answer();
    let question = scene.ann.says("what is it?").await;
    first.open();
    wire.reached().await;
    program.kill();

    let program = Program::start(&scene.settings);
    assert_eq!(scene.ann.next_message().await.text, "A pel …");
    let answer = scene.ann.next_message().await;
    assert_eq!((answer.text.as_str(), answer.reply_to), ("A pelican on a pier.", Some(question.message_id)));
    at_rest(&scene.settings).await;
    assert!(matches!(&troubled(&scene.settings.store().await).await[..], [("unknown", _)]));
    scene.answer_can_be_replied_to(answer.message_id).await;
    program.kill();
    assert!(doctor(&scene.settings).contains("unknown text to"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_a_draft_into_the_answer_is_repeated_after_a_kill() {
    let scene = Scene::new().await;
    let [first, last] = scene.model.next_slowly(["A pelican", " on a pier."]);
    let program = Program::start(&scene.settings);
    scene.ann.says("what is it?").await;
    first.open();
    let draft = scene.ann.next_message().await;
    let wire = scene.world.next("editMessageText").waits_with_its_answer();
    last.open();
    wire.reached().await;
    program.kill();

    let program = Program::start(&scene.settings);
    scene.world.wait_for_calls("editMessageText", 2).await;
    at_rest(&scene.settings).await;
    assert_eq!(scene.world.texts_of(&draft), ["A pelican …", "A pelican on a pier."]);
    assert_eq!(scene.world.sends_to(1001).len(), 1);
    assert_eq!(troubled(&scene.settings.store().await).await, []);
    scene.answer_can_be_replied_to(draft.message_id).await;
    program.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_draft_of_a_turn_cancelled_before_a_kill_is_removed_after_it() {
    let scene = Scene::new().await;
    let [first, _never] = scene.model.next_slowly(["A pel", "ican"]);
    let program = Program::start(&scene.settings);
    scene.ann.says("what is it?").await;
    first.open();
    let draft = scene.ann.next_message().await;
    let wire = scene.world.next("deleteMessage").waits();
    scene.ann.says("/cancel").await;
    wire.reached().await;
    assert_eq!(scene.ann.next_message().await.text, "Stopped.");
    program.kill();
    assert_eq!(scene.world.deleted_in(1001), [0; 0]);

    let program = Program::start(&scene.settings);
    scene.world.wait_until_deleted(&draft).await;
    program.kill();
}
