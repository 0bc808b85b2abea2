//! Edits that need the on-device models: cut out, erase, enlarge.

mod cut_out;
mod erase;
mod upscale;

use super::execute::{EditPlan, execute};
use crate::{
    providers::ToolSpec,
    tools::{
        Tool, ToolContext, ToolError, ToolResult, arguments,
        on_device::{MODEL_MEMORY, models},
        sources::find_all,
    },
};
use futures::{FutureExt as _, future::BoxFuture};
use imaging::EditCost;
use serde_json::Value;
use std::sync::Arc;
use vision::Models;

pub(super) struct SeeingEdit {
    pub spec: fn() -> ToolSpec,
    pub plan: fn(&ToolSpec, &Value, &Arc<Models>) -> Result<EditPlan, ToolError>,
}

pub(super) fn edits() -> Vec<SeeingEdit> {
    vec![
        SeeingEdit { spec: cut_out::spec, plan: cut_out::plan },
        SeeingEdit { spec: erase::spec, plan: erase::plan },
        SeeingEdit { spec: upscale::spec, plan: upscale::plan },
    ]
}

/// What these edits take beside the picture.
const COST: EditCost = EditCost::Model { bytes: MODEL_MEMORY };

impl Tool for SeeingEdit {
    fn spec(&self) -> ToolSpec {
        (self.spec)()
    }

    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        async move {
            let spec = self.spec();
            let plan = (self.plan)(&spec, &arguments, &models(context)?)?;
            let ids = arguments::ids("images", &plan.images)?;
            let files = find_all(context, &ids).await?;
            execute(context, plan, arguments::to_recipe(spec.name, &arguments), files).await
        }
        .boxed()
    }
}
