//! All tools by name, and the only way to call them. Every call gives a result that the model can act on, also after a
//! time-out or a panic.

use super::{
    Output, PaidRequest, Tool, ToolContext, ToolError, ToolResult, UsageLog, combine, edit_history, edits,
    files, generate_image, image_info, look_at_image, progress, read_text, vision, wording,
};
use crate::{
    domain::ToolCall,
    providers::{ImageGenerator, ToolSpec, Usage},
    rendering::RenderError,
};
use futures::FutureExt as _;
use serde_json::Value;
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

pub struct Registry {
    tools: Vec<Box<dyn Tool>>,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// What the model reads, markers included. Starts with `Error: ` when nothing worked.
    pub text: String,
    pub outputs: Vec<Output>,
    pub failed: bool,
    /// What services charged, whether or not the call succeeded.
    pub usage: Vec<Usage>,
}

impl Called {
    /// The result of a call that was not made.
    pub fn refused(reason: &dyn std::fmt::Display) -> Self {
        Self { text: format!("Error: {reason}."), outputs: Vec::new(), failed: true, usage: Vec::new() }
    }
}

impl Registry {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let mut tools = edits::tools();
        tools.extend(combine::tools());
        tools.extend(edit_history::tools());
        tools.push(Box::new(look_at_image::LookAtImage));
        tools.push(Box::new(image_info::ImageInfo));
        tools.extend(files::tools());
        tools.push(Box::new(read_text::ReadTextAttachment::default()));
        Self::of(tools)
    }

    /// Adds the tools that need the on-device models.
    pub fn with_vision(mut self) -> Self {
        self.tools.extend(vision::tools());
        self.tools.extend(edits::seeing_tools());
        self
    }

    /// Adds the tools that need an image generation service.
    pub fn with_image_generator(mut self, generator: &Arc<ImageGenerator>) -> Self {
        self.tools.extend(generate_image::tools(generator));
        self
    }

    pub(super) fn of(tools: Vec<Box<dyn Tool>>) -> Self {
        Self { tools }
    }

    /// Removes the tools that an agent may not use: it can neither see nor call them.
    pub fn only(mut self, allowed: impl Fn(&str) -> bool) -> Self {
        self.tools.retain(|tool| allowed(tool.spec().name));
        self
    }

    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec()).collect()
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.tools.iter().map(|tool| tool.spec().name).collect()
    }

    /// What a call asks of a service that costs money, if it does.
    pub fn paid_request(&self, call: &ToolCall) -> Option<PaidRequest<'_>> {
        let arguments = parse(&call.arguments).ok()?;
        self.find(&call.name).ok()?.paid_request(&arguments)
    }

    /// One line for the person who waits, about the calls of one step: "cropping 3 photos and turning the photo…".
    pub fn describe_progress(&self, calls: &[ToolCall]) -> String {
        progress::describe(&self.specs(), calls)
    }

    /// Runs a tool. `arguments` is the text the model wrote.
    pub async fn call(
        &self,
        context: &ToolContext,
        name: &str,
        arguments: &str,
        timeout: Duration,
    ) -> Called {
        let context = ToolContext { usage: UsageLog::default(), ..context.clone() };
        let result = match self.find(name) {
            Ok(tool) => match parse(arguments) {
                Ok(arguments) => {
                    let timeout = tool.timeout().map_or(timeout, |own| own.max(timeout));
                    run(tool, &context, arguments, name, timeout).await
                }
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        let usage = context.usage.take();
        match result {
            Ok(result) => Called { text: result.rendered(), outputs: result.outputs, failed: false, usage },
            Err(error) => {
                let text = format!("Error: {}", error.describe());
                Called { text, outputs: Vec::new(), failed: true, usage }
            }
        }
    }

    fn find(&self, name: &str) -> Result<&dyn Tool, ToolError> {
        let found = self.tools.iter().find(|tool| tool.spec().name == name.trim());
        found.map(|tool| &**tool).ok_or_else(|| {
            let names = self.names();
            let meant = wording::nearest(name, names.iter().copied())
                .map(|near| format!(" Did you mean {near}?"))
                .unwrap_or_default();
            let asked = wording::shortened(name, 60);
            ToolError::BadArgument(format!(
                "There is no tool {asked:?}.{meant} The tools are: {}.",
                names.join(", ")
            ))
        })
    }
}

fn parse(arguments: &str) -> Result<Value, ToolError> {
    let text = arguments.trim();
    if text.is_empty() {
        return Ok(Value::Object(Default::default()));
    }
    let value: Value = serde_json::from_str(text).map_err(|error| {
        ToolError::BadArgument(format!("The arguments are not JSON: {error}. Send one complete JSON object."))
    })?;
    match value {
        Value::Null => Ok(Value::Object(Default::default())),
        Value::Object(_) => Ok(value),
        other => Err(ToolError::BadArgument(format!(
            "The arguments are {}, but must be one JSON object with the arguments by name.",
            super::arguments::kind(&other)
        ))),
    }
}

/// Runs the tool with a time-out, and turns a panic into an error.
async fn run(
    tool: &dyn Tool,
    context: &ToolContext,
    arguments: Value,
    name: &str,
    timeout: Duration,
) -> Result<ToolResult, ToolError> {
    let running = AssertUnwindSafe(async { tool.run(context, arguments).await }).catch_unwind();
    let mut running = std::pin::pin!(running);
    match tokio::time::timeout(timeout, &mut running).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => {
            let detail = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());

            tracing::error!(op = "run_tool", tool = name, detail, "tool panicked");
            Err(ToolError::Failed(format!(
                "{name} broke off: a fault on our side, not of the arguments. Try another way, or say that it did \
                 not work."
            )))
        }
        Err(_) if context.pool().has_waiting_edits(context.scope.conversation()) => {
            Err(RenderError::Busy { kind: "edits" }.into())
        }
        Err(_) => Err(ToolError::Failed(format!(
            "{name} took longer than {timeout:?} and was given up. Try it with fewer or smaller files."
        ))),
    }
}
