//! What was found is stored with the file, so that a model looks once.

use crate::{
    domain::{Attachment, Findings},
    tools::{ToolContext, ToolError},
};
use imaging::Region;
use serde::{Deserialize, Serialize};
use vision::{Finding, object_kinds};

/// Increased when a model or what is made of its output changes: older findings are looked for again.
const VERSION: i64 = 1;

#[derive(Serialize, Deserialize)]
struct StoredFinding {
    label: String,
    score: f32,
    region: Region,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    text: Option<String>,
}

/// The stored findings of this kind, else what `look` finds.
pub(super) async fn stored_or(
    context: &ToolContext,
    file: &Attachment,
    kind: &'static str,
    look: impl Future<Output = Result<Vec<Finding>, ToolError>>,
) -> Result<Vec<Finding>, ToolError> {
    let store = &context.renderer.store;
    let known = match store.findings_of(file.attachment_id).await {
        Ok(known) => known,
        Err(error) => {
            tracing::warn!(%error, op = "read_findings", "looking again");
            Vec::new()
        }
    };
    let known = known.into_iter().find(|known| known.kind == kind && known.version == VERSION);
    if let Some(found) = known.and_then(|known| read(&known)) {
        return Ok(found);
    }
    let found = look.await?;
    // A picture of this turn is stored later: it is looked at again then.
    if let Err(error) = store.save_findings(&findings(file, kind, &found)).await {
        tracing::warn!(%error, op = "save_findings", "findings are not stored");
    }
    Ok(found)
}

fn findings(file: &Attachment, kind: &'static str, found: &[Finding]) -> Findings {
    let stored = |finding: &Finding| StoredFinding {
        label: finding.label.to_owned(),
        score: finding.score,
        region: finding.region,
        text: finding.text.clone(),
    };
    let stored: Vec<StoredFinding> = found.iter().map(stored).collect();
    let mut words: Vec<String> = Vec::new();
    for finding in found {
        let said = finding.text.as_deref().unwrap_or(finding.label).to_lowercase();
        if !words.contains(&said) {
            words.push(said);
        }
    }
    Findings {
        attachment_id: file.attachment_id,
        kind: kind.to_owned(),
        model: model_of(kind).to_owned(),
        version: VERSION,
        found: serde_json::to_value(stored).unwrap_or_default(),
        words: words.join("\n"),
    }
}

fn read(known: &Findings) -> Option<Vec<Finding>> {
    let stored: Vec<StoredFinding> = serde_json::from_value(known.found.clone()).ok()?;
    let labels =
        || [Finding::FACE, Finding::PERSON, Finding::TEXT, Finding::CODE].into_iter().chain(object_kinds());
    let finding = |stored: StoredFinding| {
        let label = labels().find(|label| *label == stored.label)?;
        Some(Finding { label, score: stored.score, region: stored.region, text: stored.text })
    };
    stored.into_iter().map(finding).collect()
}

fn model_of(kind: &str) -> &'static str {
    match kind {
        "faces" => "centerface, yunet",
        "people" => "coco_ssd300, centerface, yunet",
        "text" => "ppocrv6_tiny",
        "codes" => "rqrr",
        _ => "coco_ssd300",
    }
}
