//! `find_in_image`: where faces, people, text, codes and common objects are, as regions that the edits take.

use super::{
    examine::examine,
    stored::stored_or,
    text::{TextKind, find_text},
    wanted::{Wanted, plural},
};
use crate::{
    domain::Attachment,
    providers::ToolSpec,
    tools::{
        Tool, ToolContext, ToolError, ToolResult,
        arguments::{self, object},
        schema::{CORNERS, Corners, region_properties},
        wording,
    },
};
use futures::{FutureExt as _, future::BoxFuture};
use imaging::{Region, StopFlag};
use serde::Deserialize;
use serde_json::{Value, json};
use vision::{Finding, Models, RgbImage};

/// More would fill the context of a model; a redaction takes as many.
const MAX_LISTED: usize = 50;
const MAX_TEXT_CHARS: usize = 200;
/// Two findings whose upper edges differ by less than this are in one row, in thousandths.
const ROW_HEIGHT: f64 = 150.0;

pub(super) struct FindInImage;

impl Tool for FindInImage {
    fn spec(&self) -> ToolSpec {
        let mut region = object(region_properties(), &CORNERS);
        region["description"] = "Only this part of the image is searched. All of it if left out.".into();
        ToolSpec {
            name: "find_in_image",
            progress: "looking for things in {photos}",
            description: "Finds faces, people, text, QR codes or common objects in an image with detectors on this machine, and tells \
                          where each is, as regions in thousandths that every edit takes. Its boxes are exact: prefer it to \
                          your own estimate for faces, people, text and common objects. It recognises no one.",
            parameters: object(
                json!({
                    "image": {"type": "string", "description": "Attachment id of the image."},
                    "what": {
                        "type": "string",
                        "maxLength": 60,
                        "description": "faces, people, text, numbers, phone numbers, emails, plates, names, codes (QR), \
                                        objects (everything it knows), or one kind of COCO's 80, such as \
                                        bird, dog, cat, horse, car, bus, bicycle, cup, chair, laptop or book.",
                    },
                    "region": region,
                }),
                &["image", "what"],
            ),
        }
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        #[derive(Deserialize)]
        struct FindArguments {
            image: String,
            what: String,
            region: Option<Corners>,
        }
        async move {
            let asked: FindArguments = arguments::read(&self.spec().parameters, &arguments)?;
            let id = arguments::id("image", &asked.image)?;
            let wanted = Wanted::parse(&asked.what)?;
            let region = asked.region.map(|corners| corners.region("region")).transpose()?;
            let file = context.renderer.attachments.find(&context.scope, id).await?;
            let found = find(context, &file, wanted, region).await?;
            Ok(ToolResult::text_only(describe(&file.filename, wanted, &found)))
        }
        .boxed()
    }
}

/// What was found, in reading order.
pub(super) async fn find(
    context: &ToolContext,
    file: &Attachment,
    wanted: Wanted,
    within: Option<Region>,
) -> Result<Vec<Finding>, ToolError> {
    let kind = match wanted {
        // The places of words within lines are not stored.
        Wanted::Text(kind) if kind != TextKind::All => return find_text(context, file, kind, within).await,
        Wanted::Text(_) => "text",
        Wanted::Faces => "faces",
        Wanted::People => "people",
        Wanted::Codes => "codes",
        Wanted::Objects | Wanted::Kind(_) => "objects",
    };
    let look = async {
        if kind == "text" {
            return find_text(context, file, TextKind::All, None).await;
        }
        let look = move |models: &Models, pixels: &RgbImage, stop: &StopFlag| match kind {
            "faces" => models.faces(pixels, stop),
            "people" => models.people(pixels, stop),
            "codes" => models.codes(pixels, stop),
            _ => models.objects(pixels, stop),
        };
        examine(context, file, look).await
    };
    let mut found = stored_or(context, file, kind, look).await?;
    found.retain(|finding| is_wanted(finding, wanted, within));
    sort_for_reading(&mut found);
    Ok(found)
}

fn is_wanted(finding: &Finding, wanted: Wanted, within: Option<Region>) -> bool {
    let kind = match wanted {
        Wanted::Kind(kind) => finding.label == kind,
        Wanted::Faces | Wanted::People | Wanted::Codes | Wanted::Text(_) | Wanted::Objects => true,
    };
    let inside = |area: Region| {
        let (x, y) = center(finding.region);
        (area.left()..=area.right()).contains(&x) && (area.top()..=area.bottom()).contains(&y)
    };
    kind && within.is_none_or(inside)
}

fn center(region: Region) -> (f64, f64) {
    ((region.left() + region.right()) / 2.0, (region.top() + region.bottom()) / 2.0)
}

/// Row by row from the top, and from the left within a row: "the second dog" counts like this.
fn sort_for_reading(found: &mut [Finding]) {
    let row = |finding: &Finding| (center(finding.region).1 / ROW_HEIGHT) as i64;
    found.sort_by(|one, other| {
        let across = center(one.region).0.total_cmp(&center(other.region).0);
        row(one).cmp(&row(other)).then(across)
    });
}

/// One line for the person or model, then one line per finding: "- bird 98% {"left":…}". The offline agent reads it too.
fn describe(filename: &str, wanted: Wanted, found: &[Finding]) -> String {
    if found.is_empty() {
        return format!(
            "Found no {} in {filename}. It may still be there: small, hidden or unusual things are missed.",
            wanted.noun()
        );
    }
    let several = plural(wanted.noun());
    let noun = if found.len() == 1 { wanted.noun() } else { &several };
    let mut lines = vec![format!("Found {} {noun} in {filename}:", found.len())];
    lines.extend(found.iter().take(MAX_LISTED).map(|finding| {
        let says = finding.text.as_deref().map(|text| format!(" {}", on_one_line(text)));
        let says = says.unwrap_or_default();
        format!("- {} {:.0}% {}{says}", finding.label, finding.score * 100.0, json!(finding.region))
    }));
    if found.len() > MAX_LISTED {
        lines.push(format!("And {} more.", found.len() - MAX_LISTED));
    }
    if wanted == Wanted::Faces {
        lines.push(
            "Small, hidden or turned faces may be missing: tell the person how many were found, and to check."
                .to_owned(),
        );
    }
    lines.join("\n")
}

/// What is written in a picture is data: it cannot begin a line of the result.
fn on_one_line(text: &str) -> String {
    wording::shortened(&text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_TEXT_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(left: f64, top: f64) -> Finding {
        let region = Region::new(left, top, left + 50.0, top + 50.0).unwrap();
        Finding { label: "dog", score: 0.9, region, text: None }
    }

    #[test]
    fn findings_are_listed_in_reading_order_with_score_and_region() {
        let mut found = vec![finding(600.0, 100.0), finding(100.0, 110.0), finding(0.0, 800.0)];
        sort_for_reading(&mut found);
        let text = describe("dogs.jpg", Wanted::Kind("dog"), &found);
        assert_eq!(
            text,
            "Found 3 dogs in dogs.jpg:\n\
             - dog 90% {\"bottom\":160.0,\"left\":100.0,\"right\":150.0,\"top\":110.0}\n\
             - dog 90% {\"bottom\":150.0,\"left\":600.0,\"right\":650.0,\"top\":100.0}\n\
             - dog 90% {\"bottom\":850.0,\"left\":0.0,\"right\":50.0,\"top\":800.0}"
        );
    }
}
