//! A look at a picture: all of it or a part, with a grid if that is wanted. The result only says what is seen; the
//! pixels are shown to the model beside it, and nothing is made or sent.

use super::{
    Tool, ToolContext, ToolError, ToolResult,
    arguments::{self, object, refused},
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

/// What a call asks to see.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    pub id: AttachmentId,
    pub region: Option<Region>,
    pub grid: bool,
}

/// The look that a call with these arguments, as the model wrote them, asked for; `None` if they were refused.
pub fn look_of(arguments: &str) -> Option<Look> {
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
    struct Arguments {
        image: String,
        region: Option<Corners>,
        grid: Option<bool>,
    }
    let asked: Arguments = arguments::read(&parameters(), arguments)?;
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
                return Err(refused(unseen(&file)));
            };
            let view = View { longest: MAX_LOOK_SIDE, region: look.region, grid: look.grid };
            // Made here already, so that what cannot be opened is told now; the prompt then finds it made.
            context.renderer.view(&file, &view).await.map_err(|error| match error {
                RenderError::Imaging(ImagingError::NotEditableYet { .. }) => refused(unseen(&file)),
                other => other.into(),
            })?;
            Ok(ToolResult::says(in_words(&file, (width, height), &look)))
        }
        .boxed()
    }
}

fn unseen(file: &Attachment) -> String {
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

fn in_words(file: &Attachment, (width, height): (i64, i64), look: &Look) -> String {
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
