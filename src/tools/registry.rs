//! All tools by name, and the one way to call them: whatever happens, the model gets a result it can act on.

use super::{
    Output, Tally, Tool, ToolContext, ToolError, ToolResult, combine, edits, files, generate, history, info,
    look, read_text, words,
};
use crate::providers::{Painter, ToolSpec, Usage};
use futures::FutureExt as _;
use serde_json::Value;
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

pub struct Registry {
    tools: Vec<Box<dyn Tool>>,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// What the model reads, markers included. Starts with `Error: ` when nothing worked.
    pub text: String,
    pub outputs: Vec<Output>,
    pub failed: bool,
    /// What services were asked for on the way, to be charged for whatever came of it.
    pub usage: Vec<Usage>,
}

impl Registry {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let mut tools = edits::tools();
        tools.extend(combine::tools());
        tools.extend(history::tools());
        tools.push(Box::new(look::LookAtImage));
        tools.push(Box::new(info::ImageInfo));
        tools.extend(files::tools());
        tools.push(Box::new(read_text::ReadTextAttachment));
        Self::of(tools)
    }

    /// With the tools that a service does the work of.
    pub fn with_painter(mut self, painter: &Arc<Painter>) -> Self {
        self.tools.extend(generate::tools(painter));
        self
    }

    pub(super) fn of(tools: Vec<Box<dyn Tool>>) -> Self {
        Self { tools }
    }

    /// Without the tools that an agent may not use: it can neither see nor call them.
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

    /// `arguments` is the text the model wrote.
    pub async fn call(
        &self,
        context: &ToolContext,
        name: &str,
        arguments: &str,
        timeout: Duration,
    ) -> Called {
        let context = ToolContext { tally: Tally::default(), ..context.clone() };
        let result = match self.find(name) {
            Ok(tool) => match read(arguments) {
                Ok(arguments) => {
                    let timeout = tool.patience().map_or(timeout, |patience| patience.max(timeout));
                    attempt(tool, &context, arguments, name, timeout).await
                }
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        let usage = context.tally.take();
        match result {
            Ok(result) => Called { text: result.rendered(), outputs: result.outputs, failed: false, usage },
            Err(error) => {
                let text = format!("Error: {}", error.told());
                Called { text, outputs: Vec::new(), failed: true, usage }
            }
        }
    }

    fn find(&self, name: &str) -> Result<&dyn Tool, ToolError> {
        let found = self.tools.iter().find(|tool| tool.spec().name == name.trim());
        found.map(|tool| &**tool).ok_or_else(|| {
            let names = self.names();
            let meant = words::nearest(name, names.iter().copied())
                .map(|near| format!(" Did you mean {near}?"))
                .unwrap_or_default();
            let asked = words::shortened(name, 60);
            ToolError::BadArgument(format!(
                "There is no tool {asked:?}.{meant} The tools are: {}.",
                names.join(", ")
            ))
        })
    }
}

fn read(arguments: &str) -> Result<Value, ToolError> {
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

async fn attempt(
    tool: &dyn Tool,
    context: &ToolContext,
    arguments: Value,
    name: &str,
    timeout: Duration,
) -> Result<ToolResult, ToolError> {
    let run = AssertUnwindSafe(async { tool.run(context, arguments).await }).catch_unwind();
    match tokio::time::timeout(timeout, run).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => {
            let detail = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied());
            tracing::error!(tool = name, detail, "a tool panicked");
            Err(ToolError::Trouble(format!(
                "{name} broke off: a fault on our side, not of the arguments. Try another way, or say that it did \
                 not work."
            )))
        }
        Err(_) => Err(ToolError::Trouble(format!(
            "{name} took longer than {timeout:?} and was given up. Try it with fewer or smaller files."
        ))),
    }
}
