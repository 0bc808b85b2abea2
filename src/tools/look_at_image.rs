//! `look_at_image`: shows the model a picture or a part of it, with a grid if asked for. The result is text only; the
//! agent adds the pixels to the next request. Nothing is stored or sent.

use super::{
    Tool, ToolContext, ToolError, ToolResult,
    arguments::{self, bad_argument, object},
    schema::{CORNERS, Corners, region_properties},
    wording,
};
use crate::{
    domain::{Attachment, AttachmentId},
    providers::{MAX_LOOK_SIDE, ToolSpec},
    rendering::RenderError,
};
use futures::{FutureExt as _, future::BoxFuture};
use imaging::Region;
use imaging::{ImagingError, View, grid_steps};
use serde::Deserialize;
use serde_json::{Value, json};

pub const NAME: &str = "look_at_image";

pub(super) struct LookAtImage;

/// The arguments of a call, validated.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    pub id: AttachmentId,
    pub region: Option<Region>,
    pub grid: bool,
}

/// Reads the arguments as the model wrote them; `None` if the call was bad_argument.
pub fn parse_look(arguments: &str) -> Option<Look> {
    read(&serde_json::from_str(arguments).ok()?).ok()
}

fn parameters() -> Value {
    let mut region = object(region_properties(), &CORNERS);
    region["description"] =
        "The part to see larger, in thousandths (0-1000) of the upright image. All of it if left out.".into();
    object(
        json!({
            "image": {"type": "string", "description": "Attachment id of the image."},
            "region": region,
            "grid": {
                "type": "boolean",
                "description": "true draws numbered lines in thousandths of the whole image, to read a place off.",
            },
        }),
        &["image"],
    )
}

fn read(arguments: &Value) -> Result<Look, ToolError> {
    #[derive(Deserialize)]
    struct LookArguments {
        image: String,
        region: Option<Corners>,
        grid: Option<bool>,
    }
    let asked: LookArguments = arguments::read(&parameters(), arguments)?;
    let id = arguments::id("image", &asked.image)?;
    let region = asked.region.map(|corners| corners.region("region")).transpose()?;
    Ok(Look { id, region, grid: asked.grid == Some(true) })
}

impl Tool for LookAtImage {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME,
            progress: "looking closer",
            description: "Shows you an image, or a part of it larger, for this turn. With grid, numbered lines help to \
                          place a region exactly. Makes nothing, and the person does not see it.",
            parameters: parameters(),
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        async move {
            let look = read(&arguments)?;
            let file = context.renderer.attachments.find(&context.scope, look.id).await?;
            let (Some(width), Some(height)) = (file.width, file.height) else {
                return Err(bad_argument(why_unseen(&file)));
            };
            let view = View { longest: MAX_LOOK_SIDE, region: look.region, grid: look.grid };
            // Rendered now, so that a file that cannot be opened is reported in this result. The prompt takes the view
            // from the cache.
            context.renderer.view(&file, &view).await.map_err(|error| match error {
                RenderError::Imaging(ImagingError::NotEditableYet { .. }) => bad_argument(why_unseen(&file)),
                other => other.into(),
            })?;
            Ok(ToolResult::text_only(describe(&file, (width, height), &look)))
        }
        .boxed()
    }
}

fn why_unseen(file: &Attachment) -> String {
    let (name, kind) = (&file.filename, wording::with_article(&file.mime_type));
    if file.is_image() {
        return format!(
            "{name} is {kind} file that is damaged or of a kind that cannot be opened here. Ask the person to send it \
             as a photo, or as JPEG or PNG."
        );
    }
    format!(
        "{name} is {kind} file, not a picture. Ask get_attachment_info about it, or read_text_attachment if it is text."
    )
}

fn describe(file: &Attachment, (width, height): (i64, i64), look: &Look) -> String {
    let part = match look.region {
        Some(r) => format!(
            "the part from {} to {} across and {} to {} down",
            r.left(),
            r.right(),
            r.top(),
            r.bottom()
        ),
        None => "all of it".to_owned(),
    };
    let mut text = format!("{}, {width}×{height} pixels: you see {part} until you answer.", file.filename);
    if look.grid {
        let (across, down) = grid_steps(&look.region.unwrap_or(Region::FULL));
        let each = if across == down {
            format!("every {across}")
        } else {
            format!("every {across} across and {down} down")
        };
        text += &format!(
            " The lines are {each}, in thousandths of the whole picture: numbers along the top are for left and \
             right, numbers along the left edge for top and bottom. They are only in this view."
        );
    } else if look.region.is_some() {
        text += " Regions you name are still in thousandths of the whole picture; grid: true shows them.";
    }
    if file.mime_type == "image/gif" {
        text += " If it is animated, this is its first frame.";
    }
    text
}
