//! Restarts during a turn: it continues from its stored steps and is answered once.

use super::{Program, at_rest, number, troubled};
use crate::harness::{BotUnderTest, Person, ScriptedModel, Settings, World, jpeg, user};
use image::GenericImageView as _;
use serde_json::json;

struct Scene {
    world: World,
    model: ScriptedModel,
    settings: Settings,
    ann: Person,
}

impl Scene {
    async fn new() -> Self {
        let world = World::start().await;
        let model = ScriptedModel::start().await;
        let settings = Settings::new(&world).with_model(&model.base_url());
        let ann = world.private_chat(user(1001, "Ann"));
        Self { world, model, settings, ann }
    }

    /// The model rotates the photo. Its second request gets no response before the restart.
    async fn turned_photo_stuck_at_the_second_request(&self) -> i32 {
        self.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
        self.model.next_reply("said to nobody");
        self.model.next_reply("Turned.");
        let first = self.model.hold_next();
        let second = self.model.hold_next();
        first.open();
        let request = self.ann.sends_photo(jpeg(300, 200), "turn it").await;
        second.reached().await;
        request.message_id
    }

    async fn goes_on_where_it_was(&self, request: i32) {
        let answer = self.ann.next_message().await;
        assert_eq!((answer.caption.as_str(), answer.reply_to), ("Turned.", Some(request)));
        let picture = image::load_from_memory(answer.photo.as_ref().expect("a photo")).unwrap();
        assert_eq!(picture.dimensions(), (200, 300), "turned once");
        at_rest(&self.settings).await;
        self.ann.has_nothing_more();
        let requests = self.model.requests();
        assert_eq!(requests.len(), 3, "asked once more");
        assert_eq!(requests[2]["messages"], requests[1]["messages"], "with exactly what was stored");
        let last = requests[2]["messages"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["role"], "tool", "{last}");
        let made = "SELECT COUNT(*) FROM attachment_metadata WHERE source = 'tool'";
        assert_eq!(number(&self.settings, made).await, 1, "the edit was not made again");
        assert_eq!(self.model.refusals(), Vec::<String>::new());
        assert_eq!(troubled(&self.settings.store().await).await, []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_turn_continues_from_its_stored_steps() {
    let scene = Scene::new().await;
    let program = Program::start(&scene.settings);
    let request = scene.turned_photo_stuck_at_the_second_request().await;
    program.kill();
    let program = Program::start(&scene.settings);
    scene.goes_on_where_it_was(request).await;
    program.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_turn_continues_from_its_stored_steps() {
    let scene = Scene::new().await;
    let bot = BotUnderTest::start(&scene.settings).await;
    let request = scene.turned_photo_stuck_at_the_second_request().await;
    bot.stop().await;
    let bot = BotUnderTest::start(&scene.settings).await;
    scene.goes_on_where_it_was(request).await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_send_is_unknown_and_the_sends_after_it_are_delivered() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let ann = world.private_chat(user(1001, "Ann"));
    let program = Program::start(&settings);
    let wire = world.next("sendMessage").waits_with_its_answer();
    let first = ann.says("/help").await;
    wire.reached().await;
    let second = ann.says("/start").await;
    world.wait_for_confirmed(second.update_id.unwrap()).await;
    let queued = "SELECT COUNT(*) FROM outbox WHERE state = 'queued'";
    super::eventually("the second to be planned", async || number(&settings, queued).await == 1).await;
    program.kill();
    assert_eq!(world.sends_to(1001).len(), 1, "{first:?} was answered, but the program does not know");

    let program = Program::start(&settings);
    ann.next_message().await;
    ann.next_message().await;
    at_rest(&settings).await;
    ann.has_nothing_more();
    assert!(matches!(&troubled(&settings.store().await).await[..], [("unknown", _)]));
    program.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_killed_repeatedly_ends_with_an_apology() {
    let scene = Scene::new().await;
    let hello = scene.ann.says("hello").await;
    for _ in 0..3 {
        let held = scene.model.hold_next();
        let program = Program::start(&scene.settings);
        held.reached().await;
        program.kill();
    }
    let program = Program::start(&scene.settings);
    let answer = scene.ann.next_message().await;
    assert!(answer.text.contains("Sorry"), "{answer:?}");
    assert_eq!(answer.reply_to, Some(hello.message_id), "an apology says what it is about");
    assert_eq!(scene.model.requests().len(), 3);
    let next = scene.ann.says("hello").await;
    assert_eq!(scene.ann.next_message().await.reply_to, Some(next.message_id));
    assert_eq!(scene.world.sends_to(1001).len(), 2);
    program.kill();
}
