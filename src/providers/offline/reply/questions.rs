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
pub const CANNOT_CUT_OUT: &str =
    "I can't tell the subject from the background here: that needs the on-device models.";
pub const CANNOT_ERASE: &str =
    "I can't remove things from pictures here. I can hide a place: “hide the bottom right”.";
pub const ERASE_WHAT: &str = "What should I remove? Say “remove the dog” or “erase the person on the left”.";
pub const BACKDROP_WHAT: &str = "What should the background be? Say “make the background white”, “blur the background” or “remove the \
                                 background”.";
pub const KNOWS_NO_FACES: &str = "I find faces, but I never recognise whose they are.";
pub const LOOK_FOR_WHAT: &str = "What should I look for? Say “how many people?” or “where is the dog?”.";
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

/// A thing in words that the detectors do not know.
pub fn cannot_tell(thing: &str) -> String {
    format!(
        "I can't tell {} apart by myself: I know people, faces, animals, vehicles and common things, and “the left one” or \
         “the biggest”. Tell me the place (“top left”, “from 100,200 to 400,500”), or connect a model that sees.",
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
