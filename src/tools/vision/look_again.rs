//! Repeats an edit of things that were found: looks for the same things in another picture. The recipe of such an edit
//! notes beside its regions what was looked for.

use super::{find::find, wanted::Wanted};
use crate::{
    domain::{Attachment, Recipe},
    tools::{ToolContext, ToolError},
};
use imaging::Region;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vision::{Number, Which, choose};

const LOOKED_FOR: &str = "looked_for";

/// The argument `looked_for` of an edit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LookedFor {
    what: String,
    which: Option<String>,
    #[serde(default)]
    all: bool,
}

/// Edits after which the places of things are others.
const MOVING_EDITS: [&str; 4] = ["crop_image", "rotate_image", "flip_image", "scan_document"];

pub(in crate::tools) fn looks(recipes: &[Recipe]) -> bool {
    recipes.iter().any(|recipe| recipe.arguments.get(LOOKED_FOR).is_some())
}

/// The same recipes with the regions of this picture.
pub(in crate::tools) async fn look_again(
    context: &ToolContext,
    recipes: &[Recipe],
    file: &Attachment,
) -> Result<Vec<Recipe>, ToolError> {
    let mut again = Vec::new();
    let mut moved = false;
    for recipe in recipes {
        let Some(noted) = recipe.arguments.get(LOOKED_FOR) else {
            moved |= MOVING_EDITS.contains(&recipe.tool.as_str());
            again.push(recipe.clone());
            continue;
        };
        let noted: LookedFor = serde_json::from_value(noted.clone())
            .map_err(|error| ToolError::BadArgument(format!("looked_for: {error}")))?;
        if moved {
            return Err(ToolError::Failed(format!(
                "{} was looked for after a crop or a turn: repeat the edits one by one instead.",
                noted.what
            )));
        }
        let regions = regions_of(context, &noted, file).await?;
        again.push(with_regions(recipe, &regions));
        moved |= MOVING_EDITS.contains(&recipe.tool.as_str());
    }
    Ok(again)
}

async fn regions_of(
    context: &ToolContext,
    noted: &LookedFor,
    file: &Attachment,
) -> Result<Vec<Region>, ToolError> {
    let wanted = Wanted::parse(&noted.what)?;
    let which: Which = match &noted.which {
        Some(which) => {
            which.parse().map_err(|error| ToolError::BadArgument(format!("looked_for: {error}")))?
        }
        None => Which::Any,
    };
    let found = find(context, file, wanted, None).await?;
    let all: Vec<Region> = found.iter().map(|finding| finding.region).collect();
    let number = if noted.all { Number::Several } else { Number::One };
    let regions: Vec<Region> = choose(&all, which, number).into_iter().map(|index| all[index]).collect();
    if regions.is_empty() {
        return Err(ToolError::Failed(format!("found no {} in it.", noted.what)));
    }
    Ok(regions)
}

/// Replaces `regions`, each with the details of the first one before, or `region`.
fn with_regions(recipe: &Recipe, regions: &[Region]) -> Recipe {
    let mut arguments = recipe.arguments.clone();
    if let Some(details) = arguments["regions"].as_array().and_then(|list| list.first()).cloned() {
        let placed = |region: &Region| {
            let mut placed = details.clone();
            if let (Some(placed), Value::Object(corners)) = (placed.as_object_mut(), json!(region)) {
                placed.extend(corners);
            }
            placed
        };
        arguments["regions"] = regions.iter().map(placed).collect();
    } else {
        let side = |side: fn(&Region) -> f64, choose: fn(f64, f64) -> f64, start: f64| {
            regions.iter().map(side).fold(start, choose)
        };
        arguments["region"] = json!({
            "left": side(Region::left, f64::min, 1000.0),
            "top": side(Region::top, f64::min, 1000.0),
            "right": side(Region::right, f64::max, 0.0),
            "bottom": side(Region::bottom, f64::max, 0.0),
        });
    }
    Recipe { tool: recipe.tool.clone(), arguments }
}
