//! Fixture: a conversation with files, and tools called through the registry as the agent calls them.

mod adjustments;
mod annotate;
mod bad_arguments;
mod combine;
mod conversions;
mod corpus;
mod edit_chains;
mod edit_history;
mod edits;
mod files;
mod generate_image;
mod geometry;
mod look_at_image;
mod memory;
mod read_text;
mod redact;
mod registry;
mod vision;
mod waiting;
mod watermark;

use super::{Called, Output, Registry, ToolContext, read_recipe};
use crate::{
    access::Scope,
    attachments::{Attachments, FileLimits, NewFile, Objects},
    domain::{
        Attachment, AttachmentId, AttachmentSource, Conversation, InterfaceType, NewMessage, Recipe, Role,
        UserId,
    },
    providers::{ImageGenerator, Vendor, http_client},
    rendering::{PoolLimits, RenderPool, Renderer},
    store::{Quota, Store},
};
use bytes::Bytes;
use secrecy::SecretString;
use serde_json::Value;
use std::{path::PathBuf, sync::Arc, time::Duration};

pub const TOOL_TIMEOUT: Duration = Duration::from_secs(60);

pub struct World {
    pub context: ToolContext,
    pub registry: Registry,
    pub objects: Objects,
    _folder: tempfile::TempDir,
}

pub fn image_file(name: &str) -> Bytes {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/images").join(name);
    std::fs::read(path).unwrap().into()
}

/// An image generation service for tests that send no request to it.
pub fn image_service() -> Arc<ImageGenerator> {
    rustls::crypto::ring::default_provider().install_default().ok();
    let (key, client) = (SecretString::from(""), http_client().unwrap());
    let service =
        ImageGenerator::new(Vendor::OpenAi, "http://localhost", &key, "model".into(), TOOL_TIMEOUT, client);
    Arc::new(service.unwrap())
}

impl World {
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("test.db").display());
        let store = Store::open(&url).await.unwrap();
        let limits = FileLimits { max_file_bytes: 50 << 20, quota: Quota::default(), min_free_bytes: 0 };
        let objects = Objects::open("memory://").unwrap();
        let attachments = Attachments::new(store.clone(), objects.clone(), limits);
        let pool =
            RenderPool::new(PoolLimits::default(), imaging::Limits::default(), imaging::Fonts::default());
        let scope = Scope::local(Conversation::new(InterfaceType::Web, "c1"));
        let context = ToolContext::new(scope, &Renderer::new(store, attachments, pool, read_recipe));
        Self { context, registry: Registry::new(), objects, _folder: folder }
    }

    /// The same files and database, with other limits on work.
    pub fn with_pool(mut self, limits: PoolLimits) -> Self {
        let pool = RenderPool::new(limits, imaging::Limits::default(), imaging::Fonts::default());
        let Renderer { store, attachments, .. } = self.context.renderer.clone();
        let renderer = Renderer::new(store, attachments, pool, read_recipe);
        self.context = ToolContext::new(self.context.scope.clone(), &renderer);
        self
    }

    /// The same files and database, seen from another conversation.
    pub fn elsewhere(&self) -> ToolContext {
        ToolContext {
            scope: Scope::local(Conversation::new(InterfaceType::Web, "c2")),
            ..self.context.clone()
        }
    }

    pub async fn sends(&self, name: &str, bytes: impl Into<Bytes>) -> AttachmentId {
        let file = NewFile::from_person(bytes.into(), Some(name.to_owned()));
        self.add(file).await
    }

    pub async fn sends_image(&self, name: &str) -> AttachmentId {
        self.sends(name, image_file(name)).await
    }

    /// A file made by a tool from these parents, which need not exist.
    pub async fn made_from(&self, name: &str, parents: Vec<AttachmentId>) -> AttachmentId {
        self.add(NewFile {
            source: AttachmentSource::Tool,
            parents,
            recipe: Some(Recipe { tool: "some_tool".into(), arguments: Value::Null }),
            ..NewFile::from_person(image_file("jpeg_gray.jpg"), Some(name.to_owned()))
        })
        .await
    }

    async fn add(&self, file: NewFile) -> AttachmentId {
        let kept = self.context.renderer.attachments.store_file(&self.context.scope, file).await.unwrap();
        let id = kept.attachment_id;
        self.add_message(Role::User, &[kept]).await;
        id
    }

    async fn add_message(&self, role: Role, made: &[Attachment]) {
        let conversation = self.context.scope.conversation();
        let user = UserId("local".into());
        let session = self.context.renderer.store.start_session(conversation, &user).await.unwrap();
        let message = NewMessage {
            attachments: made.iter().map(|file| file.attachment_id).collect(),
            ..NewMessage::new(conversation.clone(), session, role, "")
        };
        self.context.renderer.store.add_message(&message, made).await.unwrap();
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> Called {
        let text = arguments.to_string();
        self.registry.call(&self.context, tool, &text, TOOL_TIMEOUT).await
    }

    /// The text of a call that must fail.
    pub async fn refused(&self, tool: &str, arguments: Value) -> String {
        let called = self.call(tool, arguments).await;
        assert!(called.failed && called.outputs.is_empty(), "{called:?}");
        called.text.strip_prefix("Error: ").expect(&called.text).to_owned()
    }

    /// The outputs of a call that must succeed, stored with a message as the agent does it.
    pub async fn makes(&self, tool: &str, arguments: Value) -> Vec<Attachment> {
        let called = self.call(tool, arguments).await;
        self.store_outputs(called).await
    }

    pub async fn store_outputs(&self, called: Called) -> Vec<Attachment> {
        assert!(!called.failed, "{}", called.text);
        let made: Vec<_> = called
            .outputs
            .into_iter()
            .filter_map(|output| match output {
                Output::Made(file) => Some(file),
                Output::Known(_) => None,
            })
            .collect();
        self.add_message(Role::Tool, &made).await;
        made
    }

    pub async fn picture(&self, file: &Attachment) -> imaging::Picture {
        let bytes = self.context.bytes(file).await.unwrap();
        imaging::decode(&bytes, &imaging::EditContext::default()).unwrap()
    }

    pub async fn found(&self, id: AttachmentId) -> Attachment {
        self.context.renderer.attachments.find(&self.context.scope, id).await.unwrap()
    }
}
