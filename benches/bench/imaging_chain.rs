//! Time of five edits in one turn, run by the agent's tools, compared with one edit of the same photo. Both include
//! rendering the file that is sent.

use super::imaging::processor_millis;
use anyhow::{Context as _, bail};
use bytes::Bytes;
use photothread::{
    access::{Scope, Viewer},
    attachments::{Attachments, FileLimits, NewFile, Objects},
    domain::{Attachment, AttachmentId, NewMessage, Role, UserId},
    rendering::{PoolLimits, RenderPool, Renderer},
    store::{Quota, Store},
    tools::{Output, Registry, ToolContext, read_recipe},
};
use serde_json::{Value, json};
use std::time::Duration;

const TOOL_TIMEOUT: Duration = Duration::from_secs(60);

/// Edits of one picture, in an order that a person might ask for.
fn edits() -> [(&'static str, Value); 5] {
    let middle = json!({"left": 250, "top": 250, "right": 750, "bottom": 750});
    [
        ("highlight_image", json!({"regions": [middle]})),
        (
            "filter_image",
            json!({"filter": "blur", "region": {"left": 425, "top": 433, "right": 575, "bottom": 567}}),
        ),
        ("rotate_image", json!({"degrees": 90})),
        ("crop_image", json!({"region": middle})),
        ("resize_image", json!({"longest": 1280})),
    ]
}

/// A conversation with one photo in it.
pub struct Thread {
    store: Store,
    renderer: Renderer,
    scope: Scope,
    photo: AttachmentId,
    registry: Registry,
    _folder: tempfile::TempDir,
}

impl Thread {
    pub async fn open(photo: Vec<u8>) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let store = Store::open(&format!("sqlite://{}", folder.path().join("bench.db").display())).await?;
        let limits = FileLimits { max_file_bytes: 50 << 20, quota: Quota::default(), min_free_bytes: 0 };
        let attachments = Attachments::new(store.clone(), Objects::open("memory://")?, limits);
        let render_pool =
            RenderPool::new(PoolLimits::default(), imaging::Limits::default(), imaging::Fonts::default());
        let renderer = Renderer::new(store.clone(), attachments, render_pool, read_recipe);
        let scope = Viewer::local().uploads();
        let photo = NewFile::from_person(Bytes::from(photo), Some("photo.jpg".to_owned()));
        let photo = renderer.attachments.store_file(&scope, photo).await?;
        let thread = Self {
            store,
            renderer,
            scope,
            photo: photo.attachment_id,
            registry: Registry::new(),
            _folder: folder,
        };
        thread.add(Role::User, photo).await?;
        Ok(thread)
    }

    /// Processor time in milliseconds of the first `count` edits, including rendering the last one to a file.
    pub async fn turn(&self, count: usize) -> anyhow::Result<f64> {
        let since = processor_millis();
        let tools = ToolContext::new(self.scope.clone(), &self.renderer);
        let mut at = self.photo;
        let mut last = None;
        for (tool, mut arguments) in edits().into_iter().take(count) {
            arguments["images"] = json!([at]);
            let called = self.registry.call(&tools, tool, &arguments.to_string(), TOOL_TIMEOUT).await;
            let Some(Output::Made(made)) = called.outputs.into_iter().next() else {
                bail!("{tool}: {}", called.text);
            };
            at = made.attachment_id;
            self.add(Role::Tool, made.clone()).await?;
            last = Some(made);
        }
        tools.ensure_stored(&last.context("no edit")?).await?;
        Ok(processor_millis() - since)
    }

    async fn add(&self, role: Role, file: Attachment) -> anyhow::Result<()> {
        let place = self.scope.conversation();
        let session = self.store.start_session(place, &UserId("local".into())).await?;
        let message = NewMessage {
            attachments: vec![file.attachment_id],
            ..NewMessage::new(place.clone(), session, role, "")
        };
        self.store.add_message(&message, &[file]).await?;
        Ok(())
    }
}
