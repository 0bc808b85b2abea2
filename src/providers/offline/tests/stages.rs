//! The trace in the header of the offline module, stage by stage.

use super::{Offline, play, reply_to_a};
use crate::providers::offline::parse::{self, intent::Intent, meaning::Meaning, meaning::Verb};
use crate::providers::offline::plan;

#[test]
fn the_trace_in_the_module_header_is_true() {
    let text = "crop to a square, then make the left half black and white";
    let grammar = Offline::new().unwrap().grammar;
    let message = parse::parse(&grammar, text);
    let intents: Vec<Intent> = message.clauses.iter().map(|clause| clause.intent).collect();
    assert_eq!(intents, [Intent::Crop, Intent::Filter]);
    let crop: Vec<Meaning> = message.clauses[0].atoms().map(|atom| atom.meaning.clone()).collect();
    assert_eq!(crop, [Meaning::Verb(Verb::Crop), Meaning::Aspect("1:1".into())]);
    let plan = plan::plan(&grammar, &message, None);
    let phrases: Vec<&str> = plan.steps.iter().map(|step| step.did.as_str()).collect();
    assert_eq!(phrases, ["cropped to a square", "turned the left half black and white"]);
    let played = play(reply_to_a(text));
    assert_eq!(played.calls, "crop a 1:1 | filter a1 [0 0 500 1000] grayscale");
    assert_eq!(played.text, "Here you go: cropped to a square and turned the left half black and white.");
}
