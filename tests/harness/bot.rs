//! The real program in the test's process, connected to the stand-ins. It can be stopped and started on the same data.

use super::{ScriptedModel, WAIT_TIMEOUT, World, panics, postgres};
use photothread::{
    app::{self, Running, TaskFailures},
    config::Config,
    domain::{Conversation, InterfaceType, Session},
    prompts::Prompts,
    providers::Vendor,
    store::{SessionFilter, Store, StoreError},
};
use std::collections::HashMap;
use tempfile::TempDir;

/// Settings of the program under test, and the temporary folder with its data.
pub struct Settings {
    variables: HashMap<String, String>,
    folder: TempDir,
}

impl Settings {
    /// A bot that admits everyone, on SQLite, with the offline agent and short quiet times.
    pub fn new(world: &World) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let variables = [
            ("TELEGRAM_BOT_TOKEN", world.token().to_owned()),
            ("PHOTOTHREAD_TELEGRAM__API_URL", world.api_url().to_string()),
            ("PHOTOTHREAD_TELEGRAM__ALLOW_EVERYONE", "true".into()),
            ("PHOTOTHREAD_TELEGRAM__BATCH__QUIET_MS", "30".into()),
            ("PHOTOTHREAD_TELEGRAM__BATCH__ALBUM_QUIET_MS", "150".into()),
            ("PHOTOTHREAD_TELEGRAM__PACING__PER_CHAT_BURST", "100".into()),
            ("PHOTOTHREAD_TELEGRAM__PACING__GROUP_PER_MINUTE", "1000".into()),
            ("PHOTOTHREAD_DATABASE__URL", format!("sqlite://{}", at("photothread.db"))),
            ("PHOTOTHREAD_ATTACHMENTS__URL", format!("file://{}", at("attachments"))),
            // The machine that runs the tests may have little space.
            ("PHOTOTHREAD_ATTACHMENTS__MIN_FREE_BYTES", "0".into()),
            // On a slow machine any turn may be long enough for a draft. Tests of drafts turn them on.
            ("PHOTOTHREAD_TELEGRAM__DRAFTS__AFTER_MS", "null".into()),
            ("PHOTOTHREAD_WEB__LISTEN", "null".into()),
            // Reactions are calls that most tests do not expect. Their own tests turn them on.
            ("PHOTOTHREAD_TELEGRAM__REACTIONS", "false".into()),
            // A request for a title would take an answer of the script.
            ("PHOTOTHREAD_HISTORY__TITLES", "message".into()),
        ];
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { variables, folder }
    }

    /// The same on a PostgreSQL database of its own.
    pub async fn on_postgres(self) -> Self {
        let url = postgres::database().await;
        self.with("PHOTOTHREAD_DATABASE__URL", url)
    }

    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// Turns on drafts: the first after `after_ms`, then one edit per `every_ms`.
    pub fn with_drafts(self, after_ms: u32, every_ms: u32) -> Self {
        self.with("PHOTOTHREAD_TELEGRAM__DRAFTS__AFTER_MS", after_ms.to_string())
            .with("PHOTOTHREAD_TELEGRAM__DRAFTS__EVERY_MS", every_ms.to_string())
    }

    /// A hosted model instead of the offline agent.
    pub fn with_model(self, base_url: &str) -> Self {
        self.with("OPENAI_API_KEY", "sk-test-key").with("PHOTOTHREAD_PROVIDERS__OPENAI__BASE_URL", base_url)
    }

    /// The same with a model of this vendor, regardless of other keys.
    pub fn with_model_of(self, vendor: Vendor, model: &ScriptedModel) -> Self {
        self.with_key_of(vendor)
            .with("PHOTOTHREAD_AGENTS__PHOTOTHREAD__PROVIDER", vendor.as_str())
            .with(&setting_of(vendor, "BASE_URL"), model.base_url_of(vendor))
    }

    pub fn with_key_of(self, vendor: Vendor) -> Self {
        self.with(&format!("{}_API_KEY", vendor.as_str().to_uppercase()), key_of(vendor))
    }

    /// Whether this vendor's answers are streamed.
    pub fn with_streaming(self, vendor: Vendor, streaming: Streaming) -> Self {
        self.with(&setting_of(vendor, "STREAM"), (streaming == Streaming::On).to_string())
    }

    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub fn variables(&self) -> &HashMap<String, String> {
        &self.variables
    }

    pub fn config(&self) -> Config {
        Config::load(None, self.variables.clone().into_iter()).expect("the test's settings")
    }

    /// A second connection to the bot's database.
    pub async fn store(&self) -> Store {
        Store::open(&self.config().database.url.to_url()).await.expect("the test's database")
    }

    /// Waits until every update is handled: commands are done, and messages wait for their batch.
    pub async fn until_looked_at(&self, world: &World) {
        self.until(world, async |store| Ok(store.unhandled_updates().await?.is_empty())).await;
    }

    /// Waits until every message is filed, every turn is finished and every send is started. Sends in flight are done
    /// when the bot has stopped, so a test of silence stops the bot first.
    pub async fn until_settled(&self, world: &World) {
        // Checked in processing order, so that no item moves on unseen between two checks.
        let settled = async |store: &Store| {
            Ok(store.unhandled_updates().await?.is_empty()
                && store.waiting_groups().await?.is_empty()
                && store.count_open_turns().await? == 0
                && store.conversations_to_send(InterfaceType::Telegram).await?.is_empty())
        };
        self.until(world, settled).await;
    }

    async fn until(&self, world: &World, so: impl AsyncFn(&Store) -> Result<bool, StoreError>) {
        world.wait_until_all_confirmed().await;
        let store = self.store().await;
        let wait = async {
            while !so(&store).await.expect("the test's database") {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(WAIT_TIMEOUT, wait).await;
        assert!(waited.is_ok(), "still busy after {WAIT_TIMEOUT:?}. Recorded calls:\n{}", world.story());
        store.close().await;
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Streaming {
    On,
    Off,
}

/// The API key that tests set for this vendor.
pub fn key_of(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Anthropic => "sk-ant-test-key",
        Vendor::OpenAi => "sk-test-key",
        Vendor::Gemini => "AIza-test-key",
    }
}

fn setting_of(vendor: Vendor, name: &str) -> String {
    format!("PHOTOTHREAD_PROVIDERS__{}__{name}", vendor.as_str().to_uppercase())
}

/// The session that a conversation is in now.
pub async fn newest_session(store: &Store, conversation: &Conversation) -> Option<Session> {
    let sessions = store.sessions(&SessionFilter::default(), i64::MAX, 0).await.unwrap().sessions;
    let of_conversation = sessions.into_iter().filter(|session| session.conversation == *conversation);
    of_conversation.max_by_key(|session| session.created_at)
}

/// The program, running in this process. A background task that fails while it runs fails the test.
pub struct BotUnderTest {
    /// None once it has been stopped.
    running: Option<Running>,
    failures: TaskFailures,
    /// How many panics there were before it started.
    panics_before: usize,
}

impl BotUnderTest {
    /// Started, connected and listening.
    pub async fn start(settings: &Settings) -> Self {
        let mut bot = Self::start_unconnected(settings).await;
        bot.running().telegram().await.expect("Telegram is connected");
        bot
    }

    /// Started, whether or not Telegram is there.
    pub async fn start_unconnected(settings: &Settings) -> Self {
        rustls::crypto::ring::default_provider().install_default().ok();
        if std::env::var_os("SHOW_LOG").is_some() {
            photothread::telemetry::start([]).ok();
        }
        panics::record();
        let panics_before = panics::recorded().len();
        let prompts = Prompts::load(None).expect("the built-in prompts");
        let running = app::start(settings.config(), prompts).await.expect("the program starts");
        Self { failures: running.task_failures(), running: Some(running), panics_before }
    }

    fn running(&mut self) -> &mut Running {
        self.running.as_mut().expect("a running bot")
    }

    pub async fn pairing_code(&mut self) -> Option<String> {
        self.running().telegram().await.and_then(|(_, code)| code)
    }

    pub fn page(&self) -> String {
        let page = self.running.as_ref().and_then(|running| running.page);
        format!("http://{}", page.expect("the page is on"))
    }

    pub async fn stop(mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await;
        }
    }
}

impl Drop for BotUnderTest {
    fn drop(&mut self) {
        // A test that fails already must not panic twice.
        if !std::thread::panicking() {
            let failures = [self.failures.list(), panics::recorded().split_off(self.panics_before)].concat();
            assert!(failures.is_empty(), "background tasks failed: {failures:#?}");
        }
    }
}
