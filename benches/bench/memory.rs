//! Memory of the program while it edits large photos, and ten seconds after the last edit.

use super::{
    program::Settings,
    report::{Section, Unit},
    telegram::Telegram,
};
use anyhow::{Context as _, ensure};
use reqwest::{
    Client,
    multipart::{Form, Part},
};
use serde_json::{Value, json};
use std::{net::TcpListener, time::Duration};

const SETTLED: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const SIZE: (u32, u32) = (4000, 3000);
/// One edit of each kind, in conversations of their own.
const EDITS: [&str; 6] = [
    "highlight the middle in red",
    "rotate by 12 degrees",
    "make it half the size",
    "crop to a square, then make it brighter",
    "make it black and white",
    "convert to png",
];

pub async fn measure() -> anyhow::Result<Section> {
    let about = format!(
        "A photo of 12 megapixels is sent to {} conversations over HTTP with the words of one edit each: first one after \
         the other, then all at once, and then 16-bit PNGs of the same size, whose edits take the most. Offline agent, \
         default limits.",
        EDITS.len()
    );
    let mut section = Section::new("Memory of edits", about);
    let (telegram, _sent) = Telegram::start().await?;
    let folder = tempfile::tempdir()?;
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let program =
        Settings::new(&telegram, folder.path()).with("WEB__LISTEN", &address).start(&telegram).await?;
    // reqwest needs a TLS provider, although nothing here is encrypted.
    rustls::crypto::ring::default_provider().install_default().ok();
    let site = Site { client: Client::new(), url: format!("http://{address}") };
    let memory = |field| program.memory("status", field).context("no /proc");

    section.note("before the first edit (VmRSS)", Unit::Megabytes, memory("VmRSS")?);
    let photo = photo(image::ImageFormat::Jpeg)?;
    for words in EDITS {
        site.edit(&photo, "photo.jpg", words).await?;
    }
    section.note("peak, one edit after the other (VmHWM)", Unit::Megabytes, memory("VmHWM")?);
    tokio::time::sleep(SETTLED).await;
    section.at_most("ten seconds after them (VmRSS)", Unit::Megabytes, 80.0, memory("VmRSS")?);
    futures::future::try_join_all(EDITS.map(|words| site.edit(&photo, "photo.jpg", words))).await?;
    section.note("peak, all at once (VmHWM)", Unit::Megabytes, memory("VmHWM")?);
    let deep = self::photo(image::ImageFormat::Png)?;
    futures::future::try_join_all(EDITS.map(|words| site.edit(&deep, "deep.png", words))).await?;
    let limit = 768.0 * 1.048_576;
    section.at_most("peak, 16-bit PNGs all at once (VmHWM)", Unit::Megabytes, limit, memory("VmHWM")?);
    tokio::time::sleep(SETTLED).await;
    section.at_most("ten seconds after the last edit (VmRSS)", Unit::Megabytes, 80.0, memory("VmRSS")?);
    Ok(section)
}

/// A gradient with a little noise.
fn photo(format: image::ImageFormat) -> anyhow::Result<Vec<u8>> {
    let (width, height) = SIZE;
    let pixels = image::RgbImage::from_fn(width, height, |x, y| {
        let noise = (x.wrapping_mul(7919) ^ y.wrapping_mul(104_729)) as u8 / 32;
        image::Rgb([(x / 16) as u8, (y / 12) as u8, (x ^ y) as u8 / 2 + noise])
    });
    let mut file = std::io::Cursor::new(Vec::new());
    match format {
        image::ImageFormat::Png => {
            image::DynamicImage::from(pixels).to_rgba16().write_to(&mut file, format)?;
        }
        _ => pixels.write_to(&mut file, format)?,
    }
    Ok(file.into_inner())
}

struct Site {
    client: Client,
    url: String,
}

impl Site {
    /// Sends the photo with the words and waits for the edited file.
    async fn edit(&self, photo: &[u8], name: &'static str, words: &'static str) -> anyhow::Result<()> {
        let begun = self.client.post(format!("{}/sessions", self.url)).json(&json!({})).send().await?;
        let begun: Value = begun.error_for_status()?.json().await?;
        let session = begun["session"]["sessionId"].as_str().context("no session")?.to_owned();
        let part = Part::bytes(photo.to_vec()).file_name(name);
        let form = Form::new().text("content", words).part("files", part);
        let messages = format!("{}/sessions/{session}/messages", self.url);
        self.client.post(messages).multipart(form).send().await?.error_for_status()?;
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let history = self.client.get(format!("{}/sessions/{session}/history", self.url)).send().await?;
            let history = history.error_for_status()?.text().await?;
            if history.contains("\"assistant\"") {
                let files = history.matches("\"attachmentId\"").count();
                ensure!(files > 1, "no edit came of {words:?}: {history}");
                return Ok(());
            }
        }
    }
}
