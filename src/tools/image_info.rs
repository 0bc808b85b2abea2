//! `image_info`: facts about pictures in words. `imaging::info` measures them.

use super::{
    Tool, ToolContext, ToolError, ToolResult,
    arguments::{self, id_list, object},
    outcome::Failure,
    sources::{find_all, side},
    wording,
};
use crate::{attachments::format_size, domain::Attachment, providers::ToolSpec};
use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream};
use imaging::{
    EditContext, EditCost,
    info::{self, AnimationInfo, Brightness, CameraInfo, Info, PixelInfo, Sharpness},
};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) struct ImageInfo;

impl Tool for ImageInfo {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "image_info",
            progress: "examining {photos}",
            description: "Tells facts about images without showing them: size, format, main colours, camera and date, \
                          whether the place is in the file, sharpness and exposure.",
            parameters: object(
                json!({"images": id_list("Attachment ids of the images to tell about.")}),
                &["images"],
            ),
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        #[derive(Deserialize)]
        struct ImageInfoArguments {
            images: Vec<String>,
        }
        async move {
            let asked: ImageInfoArguments = arguments::read(&self.spec().parameters, &arguments)?;
            let ids = arguments::ids("images", &asked.images)?;
            let files = find_all(context, &ids).await?;
            let described: Vec<_> = stream::iter(files.into_iter().map(|file| describe(context, file)))
                .buffered(context.pool().worker_count())
                .collect()
                .await;
            join(described)
        }
        .boxed()
    }
}

/// Joins the descriptions and the reasons of failures. It is an error only if every image failed.
fn join(described: Vec<Result<String, Failure>>) -> Result<ToolResult, ToolError> {
    let none = described.iter().all(Result::is_err);
    let alone = described.len() == 1;
    let parts: Vec<_> = described
        .into_iter()
        .enumerate()
        .map(|(index, described)| match described {
            Ok(text) if alone => text,
            Ok(text) => format!("Image {}: {text}", index + 1),
            Err(failure) if alone => failure.describe(),
            Err(failure) => failure.describe_at(index + 1),
        })
        .collect();
    let text = parts.join("\n\n");
    if none { Err(ToolError::Failed(text)) } else { Ok(ToolResult::text_only(text)) }
}

async fn describe(context: &ToolContext, file: Result<Attachment, Failure>) -> Result<String, Failure> {
    let file = file?;
    let measured = measure(context, &file).await;
    measured
        .map(|(info, size)| describe_info(&file.filename, size, &info))
        .map_err(|error| Failure::of(&file, &error))
}

async fn measure(context: &ToolContext, file: &Attachment) -> Result<(Info, u64), ToolError> {
    if !file.is_image() {
        return Err(ToolError::BadArgument(format!(
            "{} is {} file, not a picture. Ask get_attachment_info about it.",
            file.filename,
            wording::with_article(&file.mime_type)
        )));
    }

    let (width, height) = (side(file.width), side(file.height));
    context.pool().limits().check(width, height)?;
    let measure = |bytes: Bytes, work: &EditContext| Ok((info::info(&bytes, work)?, bytes.len() as u64));
    Ok(context.renderer.run_on_file(file, EditCost::Measure, 0, measure).await?)
}

fn describe_info(name: &str, bytes: u64, info: &Info) -> String {
    let probe = &info.probe;
    let mut lines = vec![format!("{name} ({}, {})", probe.format, format_size(bytes))];
    let megapixels = f64::from(probe.width) * f64::from(probe.height) / 1_000_000.0;
    lines.push(format!(
        "Size: {}×{} pixels ({}{})",
        probe.width,
        probe.height,
        if megapixels >= 0.1 { format!("{megapixels:.1} megapixels, ") } else { String::new() },
        describe_aspect(probe.width, probe.height)
    ));
    lines.extend(info.animation.as_ref().map(describe_animation));
    match &info.pixels {
        Some(pixels) => lines.extend(describe_pixels(pixels)),
        None => lines.push(format!(
            "Colours, sharpness and exposure: not known, because {} pictures cannot be opened here.",
            probe.format
        )),
    }
    lines.extend(info.camera.iter().flat_map(describe_camera));
    lines.join("\n")
}

fn describe_animation(motion: &AnimationInfo) -> String {
    let seconds = motion.milliseconds as f64 / 1000.0;
    format!("Animated: {} frames, {seconds:.1} s", motion.frames)
}

/// A common ratio by its name, such as "3:2"; any other as a number.
fn describe_aspect(width: u32, height: u32) -> String {
    const COMMON: [(u32, u32); 9] =
        [(1, 1), (5, 4), (4, 3), (3, 2), (16, 10), (16, 9), (2, 1), (21, 9), (3, 1)];
    let (long, short) = (f64::from(width.max(height)), f64::from(width.min(height).max(1)));
    let near =
        COMMON.iter().find(|(a, b)| (long / short * f64::from(*b) / f64::from(*a) - 1.0).abs() < 0.012);
    let shape = if width == height {
        "square"
    } else if width > height {
        "landscape"
    } else {
        "portrait"
    };
    match near {
        Some((1, 1)) => shape.to_owned(),
        Some((a, b)) if width > height => format!("{shape} {a}:{b}"),
        Some((a, b)) => format!("{shape} {b}:{a}"),
        None => format!("{shape} {:.2}:1", f64::from(width) / f64::from(height.max(1))),
    }
}

fn describe_pixels(pixels: &PixelInfo) -> Vec<String> {
    let mut kind = vec![
        if pixels.gray { "gray" } else { "colour" }.to_owned(),
        format!("{} bits per channel", pixels.depth),
    ];
    if pixels.transparent {
        kind.push("partly transparent".to_owned());
    }
    kind.extend(pixels.profile.as_ref().map(|name| format!("colour profile {name:?}")));
    let mut lines = vec![format!("Pixels: {}", kind.join(", "))];
    let colors: Vec<_> = pixels
        .palette
        .iter()
        .map(|color| format!("{} {} {:.0}%", color.name, color.color, color.share * 100.0))
        .collect();
    if !colors.is_empty() {
        lines.push(format!("Main colours: {}", colors.join(", ")));
    }
    lines.push(format!(
        "Sharpness: {}",
        match pixels.sharpness {
            Some(Sharpness::Sharp) => "sharp",
            Some(Sharpness::SlightlySoft) => "slightly soft",
            Some(Sharpness::Blurred) => "blurred",
            None => "too plain to tell",
        }
    ));
    lines.push(format!("Exposure: {}", describe_exposure(pixels)));
    lines
}

fn describe_exposure(pixels: &PixelInfo) -> String {
    let light = &pixels.exposure;
    let verdict = match light.verdict {
        Brightness::Underexposed if pixels.photo => "underexposed",
        Brightness::Overexposed if pixels.photo => "overexposed",
        Brightness::Underexposed | Brightness::Dark => "dark",
        Brightness::Overexposed | Brightness::Bright => "bright",
        Brightness::Balanced => "balanced",
    };
    let mut parts = vec![verdict.to_owned(), format!("mean brightness {:.0}%", light.mean * 100.0)];
    for (share, what) in [(light.black, "pure black"), (light.white, "pure white")] {
        if share >= 0.005 {
            parts.push(format!("{:.0}% {what}", (share * 100.0).max(1.0)));
        }
    }
    parts.join(", ")
}

fn describe_camera(camera: &CameraInfo) -> Vec<String> {
    let facts = [
        ("Camera", camera.camera.as_deref()),
        ("Lens", camera.lens.as_deref()),
        ("Taken", camera.taken.as_deref()),
        ("Settings", camera.exposure.as_deref()),
        ("Software", camera.software.as_deref()),
    ];
    let facts = facts.into_iter().filter_map(|(what, value)| Some(format!("{what}: {}", value?)));
    let turned = camera.turned.map(|how| format!("Stored {how}; shown and edited upright"));
    let position = camera.position.then(|| {
        "Warning: the place where it was taken (GPS) is in this file. Edits drop it; convert_image removes it without \
         changing the picture."
            .to_owned()
    });
    facts.chain(turned).chain(position).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_shapes_are_named() {
        for (size, name) in [
            ((4032, 3024), "landscape 4:3"),
            ((1200, 1800), "portrait 2:3"),
            ((512, 512), "square"),
            ((1920, 1080), "landscape 16:9"),
            ((20000, 2000), "landscape 10.00:1"),
        ] {
            assert_eq!(describe_aspect(size.0, size.1), name);
        }
    }
}
