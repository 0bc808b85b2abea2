//! The page without scripts and without login: upload, edit, reply.

use crate::harness::{BotUnderTest, Settings, World, jpeg, png};
use image::GenericImageView as _;
use photothread::{domain::Message, store::Detail};
use reqwest::{
    Client, Response, StatusCode,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE, HOST, LOCATION, ORIGIN},
    multipart::{Form, Part},
    redirect::Policy,
};
use std::sync::Mutex;

struct Page {
    client: Client,
    url: String,
    bot: BotUnderTest,
    settings: Settings,
    /// The path of the conversation, once it exists.
    place: Mutex<String>,
}

impl Page {
    async fn open() -> Self {
        Self::open_with(|settings| settings).await
    }

    async fn open_with(change: impl FnOnce(Settings) -> Settings) -> Self {
        let world = World::start().await;
        let settings = Settings::new(&world)
            .with("TELEGRAM_BOT_TOKEN", "")
            .with("PHOTOTHREAD_WEB__LISTEN", "127.0.0.1:0");
        let settings = change(settings);
        let bot = BotUnderTest::start_unconnected(&settings).await;
        let client = Client::builder().redirect(Policy::none()).build().unwrap();
        Self { client, url: bot.page(), bot, settings, place: Mutex::new("/new".into()) }
    }

    async fn get(&self, path: &str) -> Response {
        self.client.get(format!("{}{path}", self.url)).send().await.unwrap()
    }

    async fn text(&self) -> String {
        let place = self.place.lock().unwrap().clone();
        self.get(&place).await.text().await.unwrap()
    }

    /// Submits the form like a browser without scripts and follows the redirect.
    async fn send(&self, form: Form) -> StatusCode {
        let place = self.place.lock().unwrap().clone();
        let answer = self.client.post(format!("{}{place}", self.url)).multipart(form).send().await.unwrap();
        if let Some(to) = answer.headers().get(LOCATION) {
            let to = to.to_str().unwrap().trim_end_matches("#end").to_owned();
            *self.place.lock().unwrap() = to;
        }
        answer.status()
    }

    /// The entries of the page, oldest first.
    async fn rows(&self) -> Vec<Message> {
        let store = self.settings.store().await;
        let session = self.place.lock().unwrap().trim_start_matches("/c/").parse().unwrap();
        store.messages_of_session(session, None, None, Detail::WithTools).await.unwrap()
    }

    async fn picture(&self, id: &str) -> image::DynamicImage {
        let answer = self.get(&format!("/attachments/{id}")).await;
        assert!(answer.headers()[CONTENT_TYPE].to_str().unwrap().starts_with("image/"));
        image::load_from_memory(&answer.bytes().await.unwrap()).unwrap()
    }
}

fn file(name: &str, bytes: Vec<u8>) -> Part {
    Part::bytes(bytes).file_name(name.to_owned())
}

/// The `reply` links of a page in order: message and attachment ids.
fn replies(page: &str) -> Vec<(String, String)> {
    let links = page.split("class=\"icon reply-one\" href=\"").chain(page.split("<a class=\"icon\" href=\""));
    let targets = links.filter_map(|link| {
        let (_, rest) = link.split('"').next()?.split_once("?reply=")?;
        let (message, file) = rest.split_once("&amp;file=")?;
        Some((message.to_owned(), file.chars().take(36).collect()))
    });
    targets.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_is_edited_and_the_result_can_be_replied_to() {
    let page = Page::open().await;
    assert!(page.text().await.contains("crop to a square"), "an empty page says what to try");
    assert_eq!(page.get("/").await.status(), StatusCode::OK, "nothing is begun by looking");
    let form = Form::new().text("content", "rotate left").part("files", file("a.jpg", jpeg(64, 48)));
    assert_eq!(page.send(form).await, StatusCode::SEE_OTHER);
    let shown = replies(&page.text().await);
    let (message, rotated) = shown.last().expect("the answer has a picture").clone();
    assert_eq!(page.picture(&rotated).await.dimensions(), (48, 64));

    let form = Form::new()
        .text("content", "crop to a square")
        .text("reply_to", message)
        .text("reply_attachment", rotated.clone());
    assert_eq!(page.send(form).await, StatusCode::SEE_OTHER);
    let (_, cropped) = replies(&page.text().await).last().unwrap().clone();
    assert_ne!(cropped, rotated);
    assert_eq!(page.picture(&cropped).await.dimensions(), (48, 48), "the rotated one, cropped");
    page.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_files_are_one_album_with_one_answer() {
    let page = Page::open().await;
    let form = Form::new()
        .text("content", "make them black and white")
        .part("files", file("a.jpg", jpeg(40, 30)))
        .part("files", file("b.png", png(50, 30)));
    page.send(form).await;
    let shown = replies(&page.text().await);
    let widths = [page.picture(&shown[2].1).await.width(), page.picture(&shown[3].1).await.width()];
    assert_eq!((shown.len(), widths), (4, [40, 50]), "two came, two went, in order");
    assert_eq!(shown[2].0, shown[3].0, "in one message");
    page.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cross_site_posts_and_hostile_files_are_refused() {
    let page = Page::open().await;
    let elsewhere = page.client.get(&page.url).header(HOST, "evil.example").send().await.unwrap();
    assert_eq!(elsewhere.status(), StatusCode::FORBIDDEN);
    let forged = page.client.post(format!("{}/new", page.url)).header(ORIGIN, "https://evil.example");
    let forged = forged.multipart(Form::new().text("content", "hi")).send().await.unwrap();
    assert_eq!(forged.status(), StatusCode::FORBIDDEN);

    let script = b"<html><script>alert(1)</script></html>".to_vec();
    let form = Form::new().text("content", "<b>look</b>").part("files", file("page.png", script));
    page.send(form).await;
    let text = page.text().await;
    assert!(!text.contains("<b>look</b>"), "words are shown, not run");
    let (_, id) = replies(&text)[0].clone();
    let served = page.get(&format!("/attachments/{id}")).await;
    assert_eq!(served.headers()[CONTENT_TYPE], "application/octet-stream");
    assert!(served.headers()[CONTENT_DISPOSITION].to_str().unwrap().starts_with("attachment"));
    page.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_chooses_the_agent_and_replies_stay_with_it() {
    let agents = "{ editor: { provider: offline }, spare: { provider: offline, command: spare } }";
    let page = Page::open_with(|settings| settings.with("PHOTOTHREAD_AGENTS", agents)).await;
    page.send(Form::new().text("content", "/spare hello")).await;
    page.send(Form::new().text("content", "hello")).await;
    let rows = page.rows().await;
    assert_eq!(rows[0].content, "hello", "without the command");
    let reply = |to: &Message, words: &'static str| {
        Form::new().text("content", words).text("reply_to", to.internal_id.0.to_string())
    };
    page.send(reply(&rows[1], "thanks")).await;
    page.send(reply(&rows[2], "thanks")).await;
    page.send(reply(&rows[2], "/spare and you?")).await;
    let whose: Vec<_> =
        page.rows().await.iter().map(|row| row.agent_id.clone().unwrap_or_default()).collect();
    let [first, second, to_answer, to_words, commanded] = ["spare", "editor", "spare", "editor", "spare"];
    let pairs = [first, second, to_answer, to_words, commanded].map(|agent| [agent, agent]);
    assert_eq!(whose, pairs.concat());
    page.bot.stop().await;
}
