//! The same conversations with every vendor's model, whole and in pieces: the real program between the Telegram world
//! and a scripted model that speaks all their languages. Here is the stage; the promises are in the files below.

mod broken_responses;
mod histories;
mod switching;
mod turns;

use crate::harness::{BotUnderTest, Person, ScriptedModel, Settings, Speech, World, user};
use futures::{FutureExt as _, future::join_all};
use photothread::{
    domain::{Conversation, Message},
    providers::Vendor,
};
use serde_json::Value;
use std::panic::AssertUnwindSafe;

/// Whose models every scenario is played with.
pub const VENDORS: &[Vendor] = &[Vendor::Anthropic, Vendor::OpenAi, Vendor::Gemini];

/// A model and how its answers come.
#[derive(Clone, Copy, Debug)]
struct Spoken {
    vendor: Vendor,
    speech: Speech,
}

/// Plays the scenario with every model, side by side, and says with which ones it failed.
async fn with_every_model<F: AsyncFn(Spoken)>(scenario: F) {
    let models = VENDORS.iter().flat_map(|vendor| {
        [Speech::InPieces, Speech::Whole].map(|speech| Spoken { vendor: *vendor, speech })
    });
    let plays = models.map(async |spoken| {
        let played = AssertUnwindSafe(scenario(spoken)).catch_unwind().await;
        played.err().map(|_| spoken)
    });
    // What went wrong, each panic has told already.
    let failed: Vec<Spoken> = join_all(plays).await.into_iter().flatten().collect();
    assert!(failed.is_empty(), "with {failed:?}");
}

/// Ann, the bot and its model.
struct Stage {
    /// Kept alive as long as somebody is in it.
    _world: World,
    spoken: Spoken,
    model: ScriptedModel,
    settings: Settings,
    bot: BotUnderTest,
    ann: Person,
}

impl Stage {
    async fn set(spoken: Spoken) -> Stage {
        Stage::set_with(spoken, &[]).await
    }

    async fn set_with(spoken: Spoken, variables: &[(&str, &str)]) -> Stage {
        let world = World::start().await;
        let model = ScriptedModel::start().await;
        // A title would be one more request to count.
        let mut settings = Settings::new(&world)
            .with("PHOTOTHREAD_HISTORY__TITLES", "message")
            .with_model_of(spoken.vendor, &model)
            .with_speech(spoken.vendor, spoken.speech);
        for (name, value) in variables {
            settings = settings.with(name, *value);
        }
        let bot = BotUnderTest::start(&settings).await;
        let ann = world.private_chat(user(1001, "Ann"));
        Stage { _world: world, spoken, model, settings, bot, ann }
    }

    /// Stops the bot and starts it again on the same data, with what has changed in its settings.
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
        let session = store.current_session(&place).await.unwrap().expect("a session");
        store
            .messages_of_session(session.session_id, None, None, photothread::store::Detail::WithTools)
            .await
            .unwrap()
    }

    /// Nothing the model was sent was against its rules, and nobody else was asked.
    async fn clear(self) {
        assert_eq!(self.model.refusals(), [""; 0]);
        let strangers = self.model.vendors_asked().into_iter().find(|vendor| *vendor != self.spoken.vendor);
        assert_eq!(strangers, None);
        self.bot.stop().await;
    }
}
