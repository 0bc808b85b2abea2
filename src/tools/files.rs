//! `attach_to_response`, `list_attachments` and `get_attachment_info`: choose what is sent, and describe files.

use super::{
    Output, Tool, ToolContext, ToolError, ToolResult,
    arguments::{self, bad_argument, id_list, object},
    wording,
};
use crate::{
    attachments::{AttachmentError, format_age, format_size},
    domain::{Attachment, AttachmentSource},
    providers::{ToolSpec, fence},
};
use chrono::{DateTime, Utc};
use futures::{FutureExt as _, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};

const DEFAULT_LISTED: u32 = 20;
const MAX_LISTED: u32 = 50;
const MAX_RECIPE_CHARS: usize = 600;
/// And longer descriptions.
const MAX_DESCRIPTION_CHARS: usize = 600;

pub(super) fn tools() -> Vec<Box<dyn Tool>> {
    vec![Box::new(AttachToResponse), Box::new(ListAttachments), Box::new(GetAttachmentInfo)]
}

struct AttachToResponse;

impl Tool for AttachToResponse {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "attach_to_response",
            progress: "choosing what to send",
            description: "Chooses which files go out with the answer, in this order, instead of what was just made. \
                          Not needed for new images: those are sent by themselves. The last call counts.",
            parameters: object(
                json!({"attachment_ids": id_list("Attachment ids of this conversation, in the order to send them.")}),
                &["attachment_ids"],
            ),
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        #[derive(Deserialize)]
        struct AttachArguments {
            attachment_ids: Vec<String>,
        }
        async move {
            let asked: AttachArguments = arguments::read(&self.spec().parameters, &arguments)?;
            let mut ids = Vec::new();
            for id in arguments::ids("attachment_ids", &asked.attachment_ids)? {
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
            let conversation = context.scope.conversation();
            let known = context.renderer.store.attachments(conversation, &ids).await;
            let known: Vec<_> = known
                .map_err(AttachmentError::from)?
                .iter()
                .map(|file| file.attachment_id)
                .collect();
            let unknown: Vec<_> = ids
                .iter()
                .filter(|id| !known.contains(id))
                .map(ToString::to_string)
                .collect();
            if !unknown.is_empty() {
                return Err(bad_argument(format!(
                    "Nothing was chosen, because this conversation has no attachment {}. Use ids exactly as markers \
                     show them, or ask list_attachments.",
                    unknown.join(", ")
                )));
            }
            Ok(ToolResult {
                text: format!("{} will be sent with the answer.", wording::count(ids.len(), "file")),
                outputs: ids.into_iter().map(Output::Known).collect(),
            })
        }
        .boxed()
    }
}

struct ListAttachments;

impl Tool for ListAttachments {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "list_attachments",
            progress: "looking through the files",
            description: "Lists the newest files of this conversation with their ids.",
            parameters: object(
                json!({
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MAX_LISTED,
                        "default": DEFAULT_LISTED,
                        "description": "How many, newest first.",
                    },
                }),
                &[],
            ),
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        #[derive(Deserialize)]
        struct ListArguments {
            limit: Option<f64>,
        }
        async move {
            let asked: ListArguments = arguments::read(&self.spec().parameters, &arguments)?;
            let limit = asked.limit.map_or(DEFAULT_LISTED, |limit| limit as u32);
            let conversation = context.scope.conversation();
            let files = context
                .renderer
                .store
                .recent_attachments(conversation, DateTime::UNIX_EPOCH, limit.into())
                .await
                .map_err(AttachmentError::from)?;
            if files.is_empty() {
                return Ok(ToolResult::text_only("There are no files in this conversation yet."));
            }
            let now = Utc::now();
            let mut lines =
                vec![format!("The newest {} of this conversation:", wording::count(files.len(), "file"))];
            lines.extend(files.iter().map(|file| describe_in_one_line(file, now)));
            Ok(ToolResult::text_only(lines.join("\n")))
        }
        .boxed()
    }
}

fn describe_in_one_line(file: &Attachment, now: DateTime<Utc>) -> String {
    let mut facts = vec![file.mime_type.clone()];
    facts.extend(dimensions(file));
    facts.extend(file.is_stored().then(|| format_size(file.size.unsigned_abs())));
    let source = match file.source {
        AttachmentSource::User => "sent by the person",
        AttachmentSource::Tool => "made here",
    };
    let age = format_age(now - file.created_at);
    format!("- [{}] {} ({}) - {age}, {source}", file.attachment_id, file.filename, facts.join(", "))
}

fn dimensions(file: &Attachment) -> Option<String> {
    Some(format!("{}×{}", file.width?, file.height?))
}

struct GetAttachmentInfo;

impl Tool for GetAttachmentInfo {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "get_attachment_info",
            progress: "looking through the files",
            description: "Tells what is known of a file: name, type, size, age, where it came from and how it was made.",
            parameters: object(
                json!({"attachment_id": {"type": "string", "description": "An attachment id of this conversation."}}),
                &["attachment_id"],
            ),
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        #[derive(Deserialize)]
        struct InfoArguments {
            attachment_id: String,
        }
        async move {
            let asked: InfoArguments = arguments::read(&self.spec().parameters, &arguments)?;
            let id = arguments::id("attachment_id", &asked.attachment_id)?;
            let file = context.renderer.attachments.find(&context.scope, id).await?;
            let conversation = context.scope.conversation();
            let parents = context.renderer.store.attachments(conversation, &file.parents).await;
            let parents = parents.map_err(AttachmentError::from)?;
            Ok(ToolResult::text_only(describe(&file, &parents, Utc::now())))
        }
        .boxed()
    }
}

fn describe(file: &Attachment, parents: &[Attachment], now: DateTime<Utc>) -> String {
    let mut lines = vec![
        format!("id: {}", file.attachment_id),
        format!("file name: {}", file.filename),
        format!("type: {}", file.mime_type),
    ];
    lines.extend(dimensions(file).map(|dimensions| format!("dimensions: {dimensions}")));
    lines.extend(file.is_stored().then(|| format!("size: {}", format_size(file.size.unsigned_abs()))));
    lines.push(format!(
        "added: {} UTC ({})",
        file.created_at.format("%Y-%m-%d %H:%M"),
        format_age(now - file.created_at)
    ));
    lines.push(match (file.source, file.recipe()) {
        (AttachmentSource::User, _) => "came from: the person".to_owned(),
        (AttachmentSource::Tool, Some(recipe)) => format!("came from: {}", recipe.tool),
        (AttachmentSource::Tool, None) => "came from: a tool".to_owned(),
    });
    lines.extend(file.description.as_ref().map(|text| {
        // A description, like the arguments of a recipe, may come from an import.
        let text = wording::shortened(text, MAX_DESCRIPTION_CHARS);
        format!("description: {}", fence::fenced_inline(&text))
    }));
    for id in &file.parents {
        let parent = parents.iter().find(|parent| parent.attachment_id == *id);
        let name = parent.map_or("deleted since", |parent| parent.filename.as_str());
        lines.push(format!("made from: [{id}] {name}"));
    }
    if let Some(recipe) = file.recipe() {
        let with = wording::shortened(&recipe.arguments.to_string(), MAX_RECIPE_CHARS);
        lines.push(format!("made with: {} {}", recipe.tool, fence::fenced_inline(&with)));
    }
    lines.join("\n")
}
