//! One result for a call over several images: outputs that worked, and a line per image that failed, by position and name.

use super::{Output, ToolError, ToolResult, wording};
use crate::{
    attachments::AttachmentError,
    domain::{Attachment, AttachmentId},
};

/// Why one image of a call gave nothing.
#[derive(Debug)]
pub(super) struct Failure {
    filename: Option<String>,
    why: String,
}

impl Failure {
    pub(super) fn of(file: &Attachment, error: &ToolError) -> Self {
        Self::with_reason(file, error.describe())
    }

    pub(super) fn with_reason(file: &Attachment, why: String) -> Self {
        Self { filename: Some(file.filename.clone()), why }
    }

    /// A failure before there was a file.
    pub(super) fn without_file(why: String) -> Self {
        Self { filename: None, why }
    }

    pub(super) fn unknown(id: AttachmentId) -> Self {
        Self { filename: None, why: ToolError::from(AttachmentError::Unknown(id)).describe() }
    }

    /// The name, unless the reason contains it already.
    fn name(&self) -> Option<&str> {
        let name = self.filename.as_deref();
        name.filter(|name| !self.why.contains(name))
    }

    /// For a call with one image.
    pub(super) fn describe(&self) -> String {
        match self.name() {
            Some(name) => format!("{name}: {}", self.why),
            None => self.why.clone(),
        }
    }

    /// For a call with several images; positions count from 1.
    pub(super) fn describe_at(&self, position: usize) -> String {
        match self.name() {
            Some(name) => format!("Image {position} ({name}) failed: {}", self.why),
            None => format!("Image {position} failed: {}", self.why),
        }
    }
}

/// Joins the outcomes of a call. `done` is how the text starts: "Cropped" gives "Cropped 2 images."
pub(super) fn gather(done: &str, outcomes: Vec<Result<Output, Failure>>) -> Result<ToolResult, ToolError> {
    let all = outcomes.len();
    let mut outputs = Vec::new();
    let mut failures = Vec::new();
    for (index, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(output) => outputs.push(output),
            Err(failure) => failures.push((index + 1, failure)),
        }
    }
    if outputs.is_empty()
        && let [(_, only)] = failures.as_slice()
    {
        return Err(ToolError::Failed(only.describe()));
    }
    let reasons: Vec<_> = failures.iter().map(|(position, failure)| failure.describe_at(*position)).collect();
    if outputs.is_empty() {
        return Err(ToolError::Failed(reasons.join("\n")));
    }
    let mut text = if failures.is_empty() {
        format!("{done} {}.", wording::count(all, "image"))
    } else {
        format!("{done} {} of {all} images.", outputs.len())
    };
    for line in reasons {
        text.push('\n');
        text.push_str(&line);
    }
    Ok(ToolResult { text, outputs })
}
