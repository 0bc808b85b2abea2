//! Requests about things in the picture, with a fake detector: the calls they become and the replies.

use super::{PlayedTurn, fake_tool, id, photos, play, play_with, prompt, reply_to_a};
use crate::domain::ToolCall;
use crate::providers::{Focus, ToolSpec};
use serde_json::Value;

/// The picture `a` has two birds, three faces and a car; other pictures have one bird.
fn detector(call: &ToolCall) -> String {
    if call.name == "read_image_text" {
        return "Text in a.jpg, 1 line:\n- 98% {\"left\":0,\"top\":0,\"right\":9,\"bottom\":9} Hello there"
            .into();
    }
    if call.name != "find_in_image" {
        return fake_tool(call);
    }
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    let thing = |label: &str, left: u32, side: u32| {
        format!(
            "- {label} 90% {{\"left\":{left},\"top\":100,\"right\":{},\"bottom\":{}}}",
            left + side,
            100 + side
        )
    };
    let first = arguments["image"].as_str() == Some(id("a").to_string().as_str());
    let found = match arguments["what"].as_str().unwrap() {
        "bird" if first => vec![thing("bird", 100, 100), thing("bird", 600, 200)],
        "bird" => vec![thing("bird", 300, 100)],
        "faces" if first => vec![thing("face", 10, 50), thing("face", 400, 40), thing("face", 800, 60)],
        "car" if first => vec![thing("car", 500, 300)],
        "objects" => vec![thing("bird", 100, 100), thing("bird", 600, 200), thing("car", 500, 300)],
        "sheep" => Vec::new(),
        _ => vec![thing("thing", 100, 100)],
    };
    if found.is_empty() {
        return "Found no such thing in a.jpg.".into();
    }
    format!("Found {} in a.jpg:\n{}", found.len(), found.join("\n"))
}

pub(super) fn play_seeing(focus: Focus) -> PlayedTurn {
    let mut prompt = prompt(focus);
    for name in ["find_in_image", "cut_out_image", "erase_from_image", "read_image_text", "upscale_image"] {
        prompt.tools.push(ToolSpec { name, description: "", progress: "", parameters: Value::Null });
    }
    play_with(prompt, detector)
}

const SENTENCES: &[(&str, &str)] = &[
    ("can you highlight the eagle?", "find a bird | highlight a [100 100 200 200] [600 100 800 300]"),
    ("highlight the bird on the left", "find a bird | highlight a [100 100 200 200]"),
    ("highlight the biggest bird", "find a bird | highlight a [600 100 800 300]"),
    ("highlight the second duck", "find a bird | highlight a [600 100 800 300]"),
    ("highlight the last bird in green", "find a bird | highlight a [600 100 800 300 green]"),
    ("circle the car in blue", "find a car | highlight a [500 100 800 400 blue ellipse]"),
    (
        "put a box around the hawks",
        "find a bird | highlight a [100 100 200 200 rectangle] [600 100 800 300 rectangle]",
    ),
    ("highlight the taxi and call it cab", "find a car | highlight a [500 100 800 400 'cab']"),
    ("crop to the car", "find a car | crop a [500 100 800 400]"),
    ("crop to the birds", "find a bird | crop a [100 100 800 300]"),
    ("blur the car on the left", "find a car | redact a [500 100 800 400] blur"),
    ("blur the faces", "find a faces | redact a [10 100 60 150] [400 100 440 140] [800 100 860 160] blur"),
    (
        "hide everyone's face",
        "find a faces | redact a [10 100 60 150] [400 100 440 140] [800 100 860 160] fill",
    ),
    ("pixelate the face on the right", "find a faces | redact a [800 100 860 160] pixelate"),
    ("hide the faces on the left", "find a faces | redact a [10 100 60 150] [400 100 440 140] fill"),
    ("what is in this picture?", "find a objects"),
    ("how many birds?", "find a bird"),
    ("where is the car?", "find a car"),
    ("remove the background", "cut a"),
    ("cut out the car", "find a car | cut a [500 100 800 400]"),
    ("make the background white", "cut a white"),
    ("blur the background", "cut a blur"),
    ("remove the car", "find a car | erase a [500 100 800 400]"),
    ("erase the bird on the left", "find a bird | erase a [100 100 200 200]"),
    ("erase from 100,200 to 400,500", "erase a [100 200 400 500]"),
    ("what does it say?", "read a"),
    ("copy the text", "read a"),
    ("black out all the text", "find a text | redact a [100 100 200 200] fill"),
    ("hide the phone number", "find a phone numbers | redact a [100 100 200 200] fill"),
    ("hide the qr code", "find a codes | redact a [100 100 200 200] fill"),
    ("make it twice as large", "upscale a factor=2"),
    ("make it 50% smaller", "resize a percent=50"),
    // Nothing is edited on a guess.
    ("highlight the red car", ""),
    ("blur the red mug", ""),
    ("highlight the eagle's wing", ""),
    ("highlight the man with the hat", ""),
    ("blur the frobnicator", ""),
    ("who is this?", ""),
    ("highlight the sheep", "find a sheep"),
    ("crop to the bird", "find a bird"),
    ("highlight the fourth bird", "find a bird"),
    // What needs no eyes works as before.
    ("highlight the top left", "highlight a [0 0 500 500]"),
    ("blur the top left", "filter a [0 0 500 500] blur"),
    ("blur it", "filter a blur"),
    ("highlight the left in red, call it eagle", "highlight a [0 0 500 1000 red 'eagle']"),
];

#[test]
fn things_are_looked_for_and_then_edited() {
    let wrong: Vec<String> = SENTENCES
        .iter()
        .filter_map(|(said, expected)| {
            let played = play_seeing(reply_to_a(said));
            (played.calls != *expected)
                .then(|| format!("{said:?}\n  is  {}\n  not {expected}\n  {}", played.calls, played.text))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn replies_say_what_was_found() {
    for (said, reply) in [
        ("highlight the eagle", "Here you go: highlighted 2 of “eagle”."),
        ("circle the left bird", "Here you go: circled the left bird."),
        ("crop to the car", "Here you go: cropped to the car."),
        (
            "blur the faces",
            "Here you go: blurred 3 faces. Small, hidden or turned-away faces can slip through, so please check.",
        ),
        ("how many birds are there?", "I see 2; I'm 90% sure of the least clear one."),
        ("where is the car?", "I see “car” at the top (90% sure)."),
        ("what is in this picture?", "I see 2 × bird (up to 90%) and a car (90%)."),
        ("what does it say?", "```\nHello there\n```"),
        ("remove the car", "Here you go: removed the car and made up what is behind."),
        ("who is this?", "I find faces, but I never recognise whose they are."),
        ("highlight the fourth bird", "I found only 2 there, and not the one you mean."),
        (
            "crop to the bird",
            "I found 2 of “bird”. Which one? Say “the left one”, “the biggest” or “the second”, or “all of them”.",
        ),
    ] {
        assert_eq!(play_seeing(reply_to_a(said)).text, reply, "{said}");
    }
    let red = play_seeing(reply_to_a("highlight the red car")).text;
    assert!(red.contains("can't tell “red car” apart") && red.contains("connect a model"), "{red}");
    let none = play_seeing(reply_to_a("highlight the sheep")).text;
    assert!(none.contains("couldn't find “sheep”") && none.contains("left it as it was"), "{none}");
}

#[test]
fn every_photo_of_an_album_is_looked_at() {
    let focus = Focus {
        said: "highlight the birds in all photos".into(),
        replied: photos("a"),
        album: photos("a b"),
        ..Focus::default()
    };
    let played = play_seeing(focus);
    assert_eq!(
        played.calls,
        "find a bird | find b bird | highlight a [100 100 200 200] [600 100 800 300] | highlight b [300 100 400 200]"
    );
}

#[test]
fn things_are_found_in_the_result_of_the_step_before() {
    let played = play_seeing(reply_to_a("crop to a square, then highlight the eagle"));
    assert_eq!(played.calls, "crop a 1:1 | find a1 bird | highlight a1 [300 100 400 200]");
}

#[test]
fn without_the_detector_the_agent_asks_for_the_place() {
    let played = play(reply_to_a("highlight the eagle"));
    assert_eq!(played.calls, "");
    assert!(played.text.contains("can't see where “eagle” is"), "{}", played.text);
}
