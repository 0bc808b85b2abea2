//! Questions and limits: the replies to a clause that the planner cannot turn into a tool call.

use super::text::quote;
use crate::providers::offline::parse::positions::PositionError;

pub const CROP_HOW: &str =
    "How should I crop it? Say “crop to a square”, “crop to 16:9” or “crop the left half”.";
pub const CUT_OFF_ONE_SIDE: &str = "I can cut off one side: “cut off the top third” or “trim the left 10%”.";
pub const FULL_TURN: &str = "A full turn leaves it as it is.";
pub const STRAIGHTEN_BY: &str = "By how much? I run offline, so I can't see the horizon. Say “straighten by 3 degrees” or \
                                 “straighten 2° to the left”.";
pub const RESIZE_TO: &str = "What size should it be? Say “resize to 800 px”, “800x600” or “half the size”.";
pub const NUMBER_WHAT: &str =
    "What should I number? Say “highlight the top left and the bottom right and number them”.";
pub const WHICH_EDGE: &str = "Which edge do you mean? Say “the left edge” or “the top edge”.";
pub const REDACT_WHICH: &str =
    "Which part should I hide? Say “hide the bottom right” or “black out the left third”.";
pub const WRITE_WHAT: &str = "What should I write? Say write “Hello” at the top.";
pub const WATERMARK_WHAT: &str = "What should the watermark say? Say watermark it with “© Ann”.";
pub const WATERMARK_WORDS_ONLY: &str = "I can sign with words only. Say watermark it with “© Ann”.";
pub const FIND_WHAT: &str = "What should I look for? Say find “invoice” in the file.";

pub fn too_many_steps(max_steps: usize) -> String {
    format!("I stop after {max_steps} steps; ask for the rest in a new message.")
}

/// A thing in the picture instead of a position: offline, the agent sees nothing.
pub fn cannot_see(thing: &str) -> String {
    format!(
        "I run offline, so I can't see where {} is. Tell me the place: “top left”, “the middle third” or \
         “from 100,200 to 400,500”.",
        quote(thing)
    )
}

pub fn position_error(error: PositionError) -> String {
    match error {
        PositionError::OutOfRange => {
            "I count places in thousandths of the picture, from 0 to 1000, or in percent: \
                                      “from 100,200 to 400,500” or “from 10%,20% to 40%,50%”."
                .into()
        }
        PositionError::Empty => {
            "Those numbers leave no room: the first pair is one corner, the second the opposite one.".into()
        }
    }
}
