//! The page in a real browser. This file sets up browser, program and Telegram; the tests are in the files below.

mod accessibility;
mod conversations;
mod login;
mod notes;
mod pictures;
mod talking;

use crate::harness::{BotUnderTest, Browser, ScriptedModel, Settings, World, installed};
use std::{
    ops::Deref,
    path::{Path, PathBuf},
};

/// Keys as WebDriver names them.
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
const LEFT: &str = "\u{e012}";
const RIGHT: &str = "\u{e014}";

/// A browser with the page open, the program, and Telegram.
struct Desk {
    browser: Browser,
    bot: BotUnderTest,
    settings: Settings,
    world: World,
    url: String,
}

impl Deref for Desk {
    type Target = Browser;
    fn deref(&self) -> &Browser {
        &self.browser
    }
}

impl Desk {
    /// The offline agent, without Telegram.
    async fn sit_down() -> Desk {
        let world = World::start().await;
        let settings = Settings::new(&world).with("TELEGRAM_BOT_TOKEN", "");
        Self::at(world, settings, &[]).await
    }

    /// With a scripted model.
    async fn with_model(model: &ScriptedModel) -> Desk {
        let world = World::start().await;
        let settings = Settings::new(&world).with("TELEGRAM_BOT_TOKEN", "").with_model(&model.base_url());
        Self::at(world, settings, &[]).await
    }

    async fn at(world: World, settings: Settings, flags: &[&str]) -> Desk {
        let settings = settings.with("PHOTOTHREAD_WEB__LISTEN", "127.0.0.1:0");
        let bot = BotUnderTest::start_unconnected(&settings).await;
        let browser = Browser::start_with(flags).await;
        let desk = Desk { url: bot.page(), browser, bot, settings, world };
        desk.open("/").await;
        desk
    }

    async fn open(&self, path: &str) {
        self.go(&format!("{}{path}", self.url)).await;
    }

    /// Chooses files as with the file dialog.
    async fn choose(&self, files: &[&str]) {
        let before = self.count("#picked li").await;
        let paths: Vec<String> = files.iter().map(|name| image(name).display().to_string()).collect();
        self.write("#files", &paths.join("\n")).await;
        let all = before + files.len() as u64;
        self.until("previews", &format!("document.querySelectorAll('#picked li').length === {all}")).await;
    }

    /// Writes a message and sends it.
    async fn say(&self, words: &str) {
        self.write("#words", words).await;
        self.press(ENTER).await;
        let sent = "document.getElementById('words').value === '' && !document.querySelector('#composer[aria-busy]')";
        self.until("the message to be sent", sent).await;
    }

    /// Waits until there are this many answers and no turn runs.
    async fn until_answers(&self, count: usize) {
        let settled = format!(
            "document.querySelectorAll('article.ours:not(.running)').length === {count} \
             && document.getElementById('draft').hidden"
        );
        self.until(&format!("{count} answers"), &settled).await;
    }

    /// A new conversation with one photo and an answer.
    async fn edit(&self, photos: &[&str], words: &str) {
        self.open("/new").await;
        self.choose(photos).await;
        self.say(words).await;
        self.until("the conversation", "location.pathname.startsWith('/c/')").await;
        self.until_answers(1).await;
    }

    /// Width and height of the loaded picture of the last answer.
    async fn last_picture(&self) -> (u64, u64) {
        self.picture("article.ours:last-of-type .shot img").await
    }

    async fn picture(&self, css: &str) -> (u64, u64) {
        // Pictures load lazily: scroll to it.
        let expression = format!(
            "(() => {{ const all = document.querySelectorAll({css:?}); const last = all[all.length - 1]; \
             if (!last) return; last.loading = 'eager'; \
             return last.complete && last.naturalWidth && [last.naturalWidth, last.naturalHeight]; }})()"
        );
        let shape = self.until(&format!("the picture {css}"), &expression).await;
        (shape[0].as_u64().unwrap(), shape[1].as_u64().unwrap())
    }

    /// Expects this line in the console of the browser.
    async fn forgive(&self, what: &str) {
        let said = self.complaints().await;
        assert!(said.iter().all(|line| line.contains(what)), "{said:?}");
    }

    /// Stops everything and asserts that the console has no errors and no policy violations.
    async fn leave(self) {
        assert_eq!(self.browser.complaints().await, Vec::<String>::new());
        drop(self.browser);
        self.bot.stop().await;
    }
}

fn image(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/images").join(name)
}
