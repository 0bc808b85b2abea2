//! Sentences and the tool calls they become, one line each. Add a line for every sentence that was misunderstood.

use super::{Offline, complete, photos, play, prompt, reply_to_a};
use crate::providers::offline::parse::{grammar::Grammar, things::Things};
use crate::providers::{Focus, Provider};
use futures::executor::block_on;

/// Each sentence replies to the photo `a`. An empty right side means: no call.
const SENTENCES: &[(&str, &str)] = &[
    // Highlights
    ("highlight the top left in red, call it eagle", "highlight a [0 0 500 500 red 'eagle']"),
    ("Highlight the top left. Call it Eagle please!", "highlight a [0 0 500 500 'Eagle']"),
    ("circle the middle in blue", "highlight a [250 250 750 750 blue ellipse]"),
    (
        "put a yellow box around the right half labelled 'door'",
        "highlight a [500 0 1000 1000 yellow 'door' rectangle]",
    ),
    ("put a red square around the bottom right", "highlight a [500 500 1000 1000 red rectangle]"),
    ("spotlight the centre", "highlight a [250 250 750 750 spotlight]"),
    ("mark the bottom third", "highlight a [0 667 1000 1000]"),
    ("mark the top left third in green", "highlight a [0 0 333 333 green]"),
    ("pls highlight the centre third", "highlight a [333 333 667 667]"),
    ("highlight the upper right", "highlight a [500 0 1000 500]"),
    ("highlight the top-right quarter", "highlight a [500 0 1000 500]"),
    ("highlight the left quarter", "highlight a [0 0 250 1000]"),
    ("highlight the left side", "highlight a [0 0 500 1000]"),
    ("highlight the bottom edge in pink", "highlight a [0 850 1000 1000 pink]"),
    ("highlight the top middle", "highlight a [250 0 750 500]"),
    ("highlight everything", "highlight a [0 0 1000 1000]"),
    ("highlight it in red", "highlight a [0 0 1000 1000 red]"),
    ("highlight the top 20% in cyan", "highlight a [0 0 1000 200 cyan]"),
    ("highlight the left half of the top third", "highlight a [0 0 500 333]"),
    ("highlight the left two thirds", "highlight a [0 0 667 1000]"),
    ("highlight from 100,200 to 400,500", "highlight a [100 200 400 500]"),
    // What the web page sends when a person draws a box.
    ("highlight here from 120,80 to 540,610", "highlight a [120 80 540 610]"),
    ("highlight this in red, call it nest from 120,0 to 1000,610", "highlight a [120 0 1000 610 red 'nest']"),
    ("circle this from 0,0 to 1000,1000", "highlight a [0 0 1000 1000 ellipse]"),
    ("crop from 120,80 to 540,610", "crop a [120 80 540 610]"),
    ("crop to this from 120,80 to 540,610", "crop a [120 80 540 610]"),
    ("blur this from 120,80 to 540,610", "filter a [120 80 540 610] blur"),
    ("hide it from 120,80 to 540,610", "redact a [120 80 540 610] fill"),
    ("write “Summer” from 120,80 to 540,610", "annotate a [120 80 540 610 'Summer']"),
    ("highlight from 10%, 20% to 40%, 50% in #FF8800", "highlight a [100 200 400 500 #ff8800]"),
    (
        "highlight the top left and the bottom right in green",
        "highlight a [0 0 500 500 green] [500 500 1000 1000 green]",
    ),
    (
        "highlight the top left in red and the bottom right in blue",
        "highlight a [0 0 500 500 red] [500 500 1000 1000 blue]",
    ),
    (
        "highlight the top left, call it eagle, and the bottom right, call it nest",
        "highlight a [0 0 500 500 'eagle'] [500 500 1000 1000 'nest']",
    ),
    (
        "a red box around the top left and a blue circle around the bottom right",
        "highlight a [0 0 500 500 red rectangle] [500 500 1000 1000 blue ellipse]",
    ),
    (
        "circle the left in red and name it “salt and pepper”",
        "highlight a [0 0 500 1000 red 'salt and pepper' ellipse]",
    ),
    ("highlight the left and call it salt and pepper", "highlight a [0 0 500 1000 'salt and pepper']"),
    ("highlight the left as bald eagle in red", "highlight a [0 0 500 1000 red 'bald eagle']"),
    ("highlight the left, call it top gun", "highlight a [0 0 500 1000 'top gun']"),
    ("label the top left as nest", "highlight a [0 0 500 500 'nest']"),
    ("highlight the left and make it red", "highlight a [0 0 500 1000 red]"),
    ("highlight the eagle in the top left", "highlight a [0 0 500 500]"),
    ("could you higlight the midle in grey", "highlight a [250 250 750 750 gray]"),
    ("highlight the upper left and lower right corners", "highlight a [0 0 500 500] [500 500 1000 1000]"),
    ("circle the left and label it as my dog", "highlight a [0 0 500 1000 'my dog' ellipse]"),
    ("highlight the eagle", ""),
    ("highlight from 100,200 to 4000,5000", ""),
    // Crops
    ("crop to a square", "crop a 1:1"),
    ("make it square", "crop a 1:1"),
    ("CROP TO 16:9!!!", "crop a 16:9"),
    ("crop to 4 by 3", "crop a 4:3"),
    ("crop the left half", "crop a [0 0 500 1000]"),
    ("cut out the middle third", "crop a [333 333 667 667]"),
    ("crop the left half to a square", "crop a [0 0 500 1000] | crop a1 1:1"),
    ("crop to 800x600", "crop a 4:3 | resize a1 width=800 height=600"),
    ("cut off the top third", "crop a [0 333 1000 1000]"),
    ("trim the left 10%", "crop a [100 0 1000 1000]"),
    ("cut 10% off the top", "crop a [0 100 1000 1000]"),
    ("cut the bottom off", "crop a [0 0 1000 500]"),
    ("remove the man on the left", ""),
    ("crop it", ""),
    // Turns
    ("rotate left", "rotate a 270"),
    ("rotate right please", "rotate a 90"),
    ("rotate", "rotate a 90"),
    ("turn it upside down", "rotate a 180"),
    ("turn it to the left", "rotate a 270"),
    ("rotate 30 degrees counterclockwise", "rotate a 330"),
    ("rotate by 12.5° clockwise", "rotate a 12.5"),
    ("rotate -90", "rotate a 270"),
    ("rotate left twice", "rotate a 180"),
    ("rotate left, then right", "rotate a 270 | rotate a1 90"),
    ("rotate 360 degrees", ""),
    ("flip", "flip a horizontal"),
    ("mirror it", "flip a horizontal"),
    ("flip vertically", "flip a vertical"),
    ("flip it upside down", "flip a vertical"),
    ("flip it horizontally and vertically", "flip a horizontal | flip a1 vertical"),
    // Filters
    ("make it black and white", "filter a grayscale"),
    ("b&w", "filter a grayscale"),
    ("B/W pls", "filter a grayscale"),
    ("can you turn this into black & white?", "filter a grayscale"),
    ("greyscale", "filter a grayscale"),
    ("make it grey", "filter a grayscale"),
    ("sepia", "filter a sepia"),
    ("make it look old", "filter a sepia"),
    ("invert the colours", "filter a invert"),
    ("I'd like a negative", "filter a invert"),
    // Sizes
    ("resize to 800 px", "resize a longest=800"),
    ("resize to 1,000 px", "resize a longest=1000"),
    ("resize to 800x600", "resize a width=800 height=600"),
    ("make it 800 × 600", "resize a width=800 height=600"),
    ("make it 800px wide", "resize a width=800"),
    ("resize to height 600", "resize a height=600"),
    ("resize to 800 wide and 600 high", "resize a width=800 height=600"),
    ("make it half the size", "resize a percent=50"),
    ("50%", "resize a percent=50"),
    ("twice as big", "resize a percent=200"),
    ("smaller", "resize a percent=50"),
    ("make it 20% smaller", "resize a percent=80"),
    ("shrink by a third", "resize a percent=67"),
    ("enlarge to 150 percent", "resize a percent=150"),
    ("make it 3x bigger", "resize a percent=300"),
    ("scale by 2", "resize a percent=200"),
    ("width 500", "resize a width=500"),
    ("resize it", ""),
    // Chains
    (
        "crop to a square, then make it black and white and rotate right",
        "crop a 1:1 | filter a1 grayscale | rotate a2 90",
    ),
    ("crop to a square in sepia", "crop a 1:1 | filter a1 sepia"),
    ("sepia and smaller", "filter a sepia | resize a1 percent=50"),
    ("crop to a square rotate left", "crop a 1:1 | rotate a1 270"),
    (
        "circle the left, then crop the left half; and flip it",
        "highlight a [0 0 500 1000 ellipse] | crop a1 [0 0 500 1000] | flip a2 horizontal",
    ),
    ("“crop to a square”", "crop a 1:1"),
    ("first crop to a square, second rotate left", "crop a 1:1 | rotate a1 270"),
    ("1. crop to a square\n2. rotate left", "crop a 1:1 | rotate a1 270"),
    ("I think it would look better in sepia", "filter a sepia"),
    ("thanks! now rotate left", "rotate a 270"),
    ("hi, can you please help me crop this to a square", "crop a 1:1"),
    ("crop to a square and make it prettier", "crop a 1:1"),
    ("crop to a square and add a hat on the left", "crop a 1:1"),
    ("crop to a square and send it back", "crop a 1:1"),
    ("rotate left but don't crop it", "rotate a 270"),
    // Undo
    ("undo", "undo a"),
    ("undo that please", "undo a"),
    ("go back", "undo a"),
    ("undo twice", "undo a | undo a1"),
    ("undo the black and white", "undo a"),
    ("undo everything", "revert a"),
    ("send the original", "revert a"),
    ("revert", "revert a"),
    ("original please", "revert a"),
    ("go back to the original", "revert a"),
    ("undo, then rotate left", "undo a | rotate a1 270"),
    ("crop the original to a square", "revert a | crop a1 1:1"),
    // Files
    ("send me the file", "send a"),
    ("send it again", "send a"),
    ("what files do we have?", "list"),
    ("list", "list"),
    ("what is this", "image a"),
    ("look", "image a"),
    ("how big is it?", "image a"),
    ("describe this photo", "image a"),
    // Nothing to do
    ("hello", ""),
    ("thank you!", ""),
    ("help", ""),
    ("don't rotate it", ""),
    ("make it prettier", ""),
    ("a vintage portrait of my grandmother", ""),
    ("my left foot and the second world war", ""),
    ("🦅🦅🦅", ""),
    ("[Attachment ID: 00000000-0000-0000-0000-000000000000]", ""),
];

#[test]
fn sentences_become_tool_calls() {
    let mut wrong = String::new();
    for (said, expected) in SENTENCES {
        let played = play(reply_to_a(said));
        if played.calls != *expected {
            wrong += &format!(
                "\n{said:?}\n  expected {expected:?}\n  got      {:?} and {:?}",
                played.calls, played.text
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_example_in_the_replies_works() {
    let offline = Offline::new().unwrap();
    let grammar = &offline.grammar;
    assert!((4..=9).contains(&grammar.examples.len()));
    for example in grammar.examples.iter().chain(&grammar.suggestions) {
        let album = Focus { album: photos("a b"), ..reply_to_a(example) };
        assert_ne!(play(album).calls, "", "{example}");
    }
}

#[test]
fn a_word_added_to_the_grammar_is_understood() {
    let yaml = include_str!("../parse/grammar.yaml");
    let with_word = yaml.replace("crop: [crop,", "crop: [stutzen, crop,");
    let offline =
        Offline { grammar: Grammar::from_yaml(&with_word).unwrap(), things: Things::built_in().unwrap() };
    let asked = prompt(reply_to_a("stutzen to a square"));
    assert_eq!(block_on(offline.complete(&asked, &|_| {})).unwrap().tool_calls[0].name, "crop_image");
    assert!(complete(&asked).tool_calls.is_empty(), "only the new word makes it a crop");
}

#[test]
fn a_phrase_with_two_meanings_is_a_load_error() {
    let twice = include_str!("../parse/grammar.yaml").replace("crop: [crop,", "crop: [crop, flip,");
    assert!(Grammar::from_yaml(&twice).err().unwrap().to_string().contains("flip"));
}
