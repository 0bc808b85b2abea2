//! Going back: every edit knows what it was made from, so undoing is showing that again. Nothing is deleted.

use super::{
    Output, Tool, ToolContext, ToolError, ToolResult,
    arguments::{self, id_list, object},
    outcome::{Failure, find_all, gather},
};
use crate::{
    attachments::{AttachmentError, Attachments},
    domain::Attachment,
    providers::ToolSpec,
};
use futures::{FutureExt as _, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;

pub(super) struct UndoEdit;

#[derive(Deserialize)]
struct Arguments {
    images: Vec<String>,
    #[serde(default)]
    to: To,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum To {
    #[default]
    Previous,
    Original,
}

impl Tool for UndoEdit {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "undo_edit",
            description: "Goes back from edited images to what they were made from: one step, or to the original.",
            parameters: object(
                json!({
                    "images": id_list("Attachment ids of the edited images."),
                    "to": {
                        "type": "string",
                        "enum": ["previous", "original"],
                        "default": "previous",
                        "description": "previous takes back the last edit, original takes back all of them.",
                    },
                }),
                &["images"],
            ),
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        async move {
            let asked: Arguments = arguments::read(&self.spec().parameters, &arguments)?;
            let ids = arguments::ids("images", &asked.images)?;
            let mut outcomes = Vec::new();
            for file in find_all(context, &ids).await? {
                outcomes.push(match file {
                    Ok(file) => back(context, file, asked.to).await,
                    Err(unknown) => Err(unknown),
                });
            }
            let done = match asked.to {
                To::Previous => "Went back to the previous version of",
                To::Original => "Went back to the original of",
            };
            let mut result = gather(done, outcomes)?;
            // Two edits of one picture lead back to one picture.
            let mut seen = HashSet::new();
            result.outputs.retain(|output| seen.insert(output.id()));
            Ok(result)
        }
        .boxed()
    }
}

async fn back(context: &ToolContext, file: Attachment, to: To) -> Result<Output, Failure> {
    let ToolContext { attachments, scope, .. } = context;
    let lost = |error: ToolError| Failure::of(&file, &error);
    let Some(mut at) = parent(attachments, scope, &file).await.map_err(lost)? else {
        let why = format!("{} is the original: it was never edited.", file.filename);
        return Err(Failure::says(&file, why));
    };
    let mut seen = HashSet::from([file.attachment_id]);
    while to == To::Original && seen.insert(at.attachment_id) {
        match parent(attachments, scope, &at).await {
            Ok(Some(earlier)) => at = earlier,
            // The oldest that is still here is as far back as one can go.
            Ok(None) | Err(ToolError::Trouble(_)) => break,
            Err(error) => return Err(lost(error)),
        }
    }
    Ok(Output::Known(at.attachment_id))
}

/// What a picture was made from; of several, the first.
async fn parent(
    attachments: &Attachments,
    scope: &crate::access::Scope,
    file: &Attachment,
) -> Result<Option<Attachment>, ToolError> {
    let Some(id) = file.parents.first() else {
        return Ok(None);
    };
    match attachments.find(scope, *id).await {
        Ok(parent) => Ok(Some(parent)),
        Err(AttachmentError::Unknown(_)) => {
            Err(ToolError::Trouble(format!("What {} was made from has been deleted.", file.filename)))
        }
        Err(error) => Err(error.into()),
    }
}
