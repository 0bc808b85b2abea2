//! The same conversations with every vendor's API, streamed and not: the real program with the Telegram stand-in and a
//! scripted model. This file has the fixture; the tests are in the files below.

mod broken_responses;
mod histories;
mod switching;
mod turns;

use crate::harness::{BotUnderTest, Person, ScriptedModel, Settings, Streaming, World, newest_session, user};
use futures::{FutureExt as _, future::join_all};
use photothread::{
    domain::{Conversation, Message},
    providers::Vendor,
};
use serde_json::Value;
use std::panic::AssertUnwindSafe;

/// The vendors that every test runs with.
pub const VENDORS: &[Vendor] = &[Vendor::Anthropic, Vendor::OpenAi, Vendor::Gemini];

/// A vendor, and whether its answers are streamed.
#[derive(Clone, Copy, Debug)]
struct VendorCase {
    vendor: Vendor,
    streaming: Streaming,
}

/// Runs the test with every vendor, streamed and not, concurrently. Reports the cases that failed.
async fn with_every_model<F: AsyncFn(VendorCase)>(scenario: F) {
    let models = VENDORS.iter().flat_map(|vendor| {
        [Streaming::On, Streaming::Off].map(|streaming| VendorCase { vendor: *vendor, streaming })
    });
    let plays = models.map(async |case| {
        let played = AssertUnwindSafe(scenario(case)).catch_unwind().await;
        played.err().map(|_| case)
    });
    // Each panic was printed already.
    let failed: Vec<VendorCase> = join_all(plays).await.into_iter().flatten().collect();
    assert!(failed.is_empty(), "with {failed:?}");
}

/// Ann, the bot and its model.
struct Stage {
    /// Runs as long as the fixture.
    _world: World,
    case: VendorCase,
    model: ScriptedModel,
    settings: Settings,
    bot: BotUnderTest,
    ann: Person,
}

impl Stage {
    async fn set(case: VendorCase) -> Stage {
        Stage::set_with(case, &[]).await
    }

    async fn set_with(case: VendorCase, variables: &[(&str, &str)]) -> Stage {
        let world = World::start().await;
        let model = ScriptedModel::start().await;
        // A title would be one more request to count.
        let mut settings = Settings::new(&world)
            .with("PHOTOTHREAD_HISTORY__TITLES", "message")
            .with_model_of(case.vendor, &model)
            .with_streaming(case.vendor, case.streaming);
        for (name, value) in variables {
            settings = settings.with(name, *value);
        }
        let bot = BotUnderTest::start(&settings).await;
        let ann = world.private_chat(user(1001, "Ann"));
        Stage { _world: world, case, model, settings, bot, ann }
    }

    /// Restarts the bot on the same data with changed settings.
    async fn restarted_with(mut self, change: impl FnOnce(Settings) -> Settings) -> Stage {
        self.bot.stop().await;
        self.settings = change(self.settings);
        self.bot = BotUnderTest::start(&self.settings).await;
        self
    }

    fn last_request(&self) -> Value {
        self.model.requests().pop().expect("the model was asked")
    }

    /// Everything in Ann's chat, oldest first.
    async fn rows(&self) -> Vec<Message> {
        let store = self.settings.store().await;
        let place = Conversation::telegram(self.ann.chat_id);
        let session = newest_session(&store, &place).await.expect("a session");
        store
            .messages_of_session(session.session_id, None, None, photothread::store::Detail::WithTools)
            .await
            .unwrap()
    }

    /// Asserts that no request was refused and that no other vendor was asked, and stops the bot.
    async fn clear(self) {
        assert_eq!(self.model.refusals(), [""; 0]);
        let other = self.model.vendors_asked().into_iter().find(|vendor| *vendor != self.case.vendor);
        assert_eq!(other, None);
        self.bot.stop().await;
    }
}
