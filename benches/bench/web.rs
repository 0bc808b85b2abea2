//! Time of the page and the API on a large history, over HTTP on one connection, compared with an empty request.

use super::{
    fill::{Filled, PER_CONVERSATION, filled},
    program::Settings,
    report::{Section, Unit, median, millis, quantile},
    telegram::Telegram,
};
use anyhow::ensure;
use rand::RngExt as _;
use reqwest::Client;
use std::{net::TcpListener, time::Instant};

const REQUESTS: usize = 300;
const WARM_UP: usize = 30;
const THUMBNAILS: usize = 20;

pub async fn measure() -> anyhow::Result<Section> {
    let about = format!(
        "The program on SQLite with a million messages of 2000 conversations, asked over HTTP, {REQUESTS} times each, \
         random conversations. The floor is `/healthz` on the same connection in the same run."
    );
    let mut section = Section::new("The page and the API", about);
    let filled = filled(2000).await?;
    let (telegram, _sent) = Telegram::start().await?;
    let folder = tempfile::tempdir()?;
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let settings = Settings::new(&telegram, folder.path());
    let settings = settings.with("WEB__LISTEN", &address).with("DATABASE__URL", &filled.url);
    let _program = settings.start(&telegram).await?;
    // reqwest needs a TLS provider, although nothing here is encrypted.
    rustls::crypto::ring::default_provider().install_default().ok();
    let site = Site { client: Client::new(), url: format!("http://{address}") };

    let floor = site.times(|| "/healthz".to_owned()).await?;
    section.note("floor, p50", Unit::Milliseconds, floor.p50);
    let session = || session_of(&filled);
    let of_500 = format!("history of {PER_CONVERSATION} messages");
    for (what, goal, path) in [
        (
            "session list (50 of 2000)",
            Some(10.0),
            Box::new(|| "/sessions".to_owned()) as Box<dyn Fn() -> String>,
        ),
        (
            &of_500,
            Some(10.0),
            Box::new(move || format!("/sessions/{}/history?include_tools=true", session())),
        ),
        ("first paint of the page", None, Box::new(move || format!("/c/{}", session()))),
        ("search, all words everywhere", None, Box::new(|| "/sessions?q=frame+person".to_owned())),
        ("search, nothing found", None, Box::new(|| "/sessions?q=zebra".to_owned())),
    ] {
        let times = site.times(path).await?;
        match goal {
            Some(goal) => {
                section.at_most(format!("{what}, p50"), Unit::Milliseconds, goal, times.p50);
                section.at_most(format!("{what}, p99"), Unit::Milliseconds, goal, times.p99);
            }
            None => section.note(format!("{what}, p50"), Unit::Milliseconds, times.p50),
        }
        section.note(format!("{what}, p50 ÷ floor"), Unit::Times, times.p50 / floor.p50);
    }
    let (first, later) = site.thumbnails().await?;
    section.note("thumbnail of a 12-megapixel photo, the first time, p50", Unit::Milliseconds, first);
    section.note("the same again, p50", Unit::Milliseconds, later);
    section.note("again ÷ floor", Unit::Times, later / floor.p50);
    Ok(section)
}

fn session_of(filled: &Filled) -> String {
    format!("00000000-0000-4000-9000-{:012x}", rand::rng().random_range(0..filled.conversations))
}

struct Times {
    p50: f64,
    p99: f64,
}

struct Site {
    client: Client,
    url: String,
}

impl Site {
    async fn time(&self, path: &str) -> anyhow::Result<f64> {
        let since = Instant::now();
        let answer = self.client.get(format!("{}{path}", self.url)).send().await?;
        ensure!(answer.status().is_success(), "{path} answered {}", answer.status());
        answer.bytes().await?;
        Ok(millis(since.elapsed()))
    }

    async fn times(&self, path: impl Fn() -> String) -> anyhow::Result<Times> {
        let mut times = Vec::new();
        for _ in 0..WARM_UP + REQUESTS {
            times.push(self.time(&path()).await?);
        }
        let mut times = times.split_off(WARM_UP);
        Ok(Times { p50: quantile(&mut times, 0.5), p99: quantile(&mut times, 0.99) })
    }

    /// Time of the first thumbnail of a photo, and of the next ones.
    async fn thumbnails(&self) -> anyhow::Result<(f64, f64)> {
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for number in 0..THUMBNAILS {
            let part =
                reqwest::multipart::Part::bytes(super::imaging::photo_of(number)?).file_name("photo.jpg");
            let form = reqwest::multipart::Form::new().part("file", part);
            let kept = self.client.post(format!("{}/attachments", self.url)).multipart(form).send().await?;
            let kept: serde_json::Value = serde_json::from_slice(&kept.error_for_status()?.bytes().await?)?;
            let path = format!("{}?size=320", kept["attachment"]["url"].as_str().unwrap_or_default());
            first.push(self.time(&path).await?);
            later.push(self.time(&path).await?);
        }
        Ok((median(&mut first), median(&mut later)))
    }
}
