//! Sentences about photo edits and the tool calls they become, one line each. Each replies to the photo `a`.

use super::{file, play, reply_to_a};
use crate::providers::Focus;

const SENTENCES: &[(&str, &str)] = &[
    // Light and colour
    ("make it brighter", "adjust a brightness=30"),
    ("brighter", "adjust a brightness=30"),
    ("brighten it up", "adjust a brightness=30"),
    ("it's too dark", "adjust a brightness=30"),
    ("make it darker", "adjust a brightness=-30"),
    ("make it a bit brighter", "adjust a brightness=15"),
    ("make it much brighter", "adjust a brightness=60"),
    ("more contrast", "adjust a contrast=30"),
    ("a bit more contrast please", "adjust a contrast=15"),
    ("increase the contrast", "adjust a contrast=30"),
    ("lower the contrast", "adjust a contrast=-30"),
    ("reduce the brightness and contrast", "adjust a brightness=-30 contrast=-30"),
    ("less saturated", "adjust a saturation=-30"),
    ("make it more vivid", "adjust a saturation=30"),
    ("warmer", "adjust a warmth=30"),
    ("make it cooler", "adjust a warmth=-30"),
    ("sharper", "adjust a sharpness=30"),
    ("softer", "adjust a sharpness=-30"),
    ("brighten the shadows", "adjust a shadows=30"),
    ("make the shadows brighter", "adjust a shadows=30"),
    ("recover the highlights", "adjust a highlights=-30"),
    ("more exposure", "adjust a exposure=30"),
    ("fix the colours", "adjust a auto_levels"),
    ("auto levels", "adjust a auto_levels"),
    ("auto-levels", "adjust a auto_levels"),
    ("enhance it", "adjust a auto_levels"),
    ("make it brighter and sharper", "adjust a brightness=30 sharpness=30"),
    ("brightness 20, contrast -10", "adjust a brightness=20 contrast=-10"),
    ("contrast +20", "adjust a contrast=20"),
    ("make it 20% brighter", "adjust a brightness=20"),
    ("make the top left brighter", "adjust a [0 0 500 500] brightness=30"),
    ("darken the left half", "adjust a [0 0 500 1000] brightness=-30"),
    ("crop to a square and make it warmer", "crop a 1:1 | adjust a1 warmth=30"),
    ("I think it would look better a bit darker", "adjust a brightness=-15"),
    ("don't make it brighter", ""),
    ("brighter days ahead", ""),
    ("the same old story", ""),
    // Filters
    ("blur it", "filter a blur"),
    ("blur it a lot", "filter a blur strength=60"),
    ("blur the top left", "filter a [0 0 500 500] blur"),
    (
        "blur the top left and the bottom right",
        "filter a [0 0 500 500] blur | filter a1 [500 500 1000 1000] blur",
    ),
    ("pixelate the middle", "filter a [250 250 750 750] pixelate"),
    ("sketch", "filter a sketch"),
    ("turn it into a pencil drawing", "filter a sketch"),
    ("add a vignette", "filter a vignette"),
    ("vignette", "filter a vignette"),
    ("posterize", "filter a posterize"),
    ("duotone", "filter a duotone"),
    ("duotone in blue and yellow", r#"filter a duotone colors=["blue","yellow"]"#),
    ("add film grain", "filter a grain"),
    ("edges", "filter a edges"),
    ("find the edges", "filter a edges"),
    ("sharpen it", "filter a sharpen"),
    ("make the left half black and white", "filter a [0 0 500 1000] grayscale"),
    (
        "make the left half black and white and the right half sepia",
        "filter a [0 0 500 1000] grayscale | filter a1 [500 0 1000 1000] sepia",
    ),
    (
        "blur everything except the middle",
        "filter a [0 0 1000 250] blur | filter a1 [0 750 1000 1000] blur | filter a2 [0 250 250 750] blur | \
         filter a3 [750 250 1000 750] blur",
    ),
    ("blur the face", ""),
    ("blur the edges", ""),
    // Redaction
    ("redact the bottom right", "redact a [500 500 1000 1000] fill"),
    ("censor the top", "redact a [0 0 1000 500] fill"),
    ("black out the left third", "redact a [0 0 333 1000] fill"),
    ("hide the left third", "redact a [0 0 333 1000] fill"),
    ("hide the top left and the bottom right", "redact a [0 0 500 500] [500 500 1000 1000] fill"),
    ("hide the middle with blur", "redact a [250 250 750 750] blur"),
    ("censor the middle pixelated", "redact a [250 250 750 750] pixelate"),
    ("cover the top in white", "redact a [0 0 1000 500] fill white"),
    ("put a black bar over the top", "redact a [0 0 1000 500] fill"),
    ("hide everything but the left half", "redact a [500 0 1000 1000] fill"),
    ("hide my face", ""),
    ("redact it", ""),
    // Text
    ("write “Hello” at the top", "annotate a [40 30 960 180 'Hello']"),
    ("add the text Hello at the bottom", "annotate a [40 820 960 970 'Hello']"),
    ("caption it “Summer”", "annotate a [40 820 960 970 'Summer']"),
    ("caption it Summer in Sweden!", "annotate a [40 820 960 970 'Summer in Sweden!']"),
    (
        "write Tom & Jerry, forever in red in the top left",
        "annotate a [30 30 500 180 left red 'Tom & Jerry, forever']",
    ),
    ("write I ❤️ NY 🎉 at the top", "annotate a [40 30 960 180 'I ❤️ NY 🎉']"),
    ("put “Hi” in the middle", "annotate a [40 350 960 650 'Hi']"),
    ("write do not enter", "annotate a [40 820 960 970 'do not enter']"),
    ("crop to a square and write “Hi”", "crop a 1:1 | annotate a1 [40 820 960 970 'Hi']"),
    ("write Hello, then rotate left", "annotate a [40 820 960 970 'Hello'] | rotate a1 270"),
    ("call it “Summer”", "annotate a [40 820 960 970 'Summer']"),
    ("title it “Summer”", "annotate a [40 820 960 970 'Summer']"),
    ("write", ""),
    ("make it sepia with the text “Hi” at the top", "filter a sepia | annotate a1 [40 30 960 180 'Hi']"),
    ("a red box around the left with the text door", "highlight a [0 0 500 1000 red 'door' rectangle]"),
    ("highlight the left with the text “door”", "highlight a [0 0 500 1000 'door']"),
    ("highlight the left and write door", "highlight a [0 0 500 1000 'door']"),
    ("highlight the left and caption it “door”", "highlight a [0 0 500 1000 'door']"),
    (
        "highlight the left and write “door” at the top",
        "highlight a [0 0 500 1000] | annotate a1 [40 30 960 180 'door']",
    ),
    ("watermark it with © Ann", "watermark a © Ann"),
    ("watermark it with © Ann in the top left", "watermark a © Ann top-left"),
    ("watermark it in the middle with “© Ann”", "watermark a © Ann center"),
    ("add a watermark saying © Ann all over", "watermark a © Ann tile"),
    ("sign it as Ann", "watermark a Ann"),
    ("remove the watermark", ""),
    ("watermark it with my logo", ""),
    ("watermark it", ""),
    (
        "highlight the top left and the bottom right and number them",
        "highlight a [0 0 500 500] [500 500 1000 1000] numbered",
    ),
    ("highlight the left, numbered", "highlight a [0 0 500 1000] numbered"),
    ("number them", ""),
    // Framing
    ("straighten by 3 degrees", "rotate a 3 straighten"),
    ("straighten it 2° to the left", "rotate a -2 straighten"),
    ("straighten it", ""),
    ("trim the borders", "crop a trim"),
    ("remove the black bars", "crop a trim"),
    ("trim white borders", "crop a trim"),
    ("trim it", "crop a trim"),
    ("trim it to a square", "crop a 1:1"),
    // Files
    ("convert to png", "convert a png"),
    ("as webp", "convert a webp"),
    ("save as jpeg", "convert a jpeg"),
    ("save it as a jpg", "convert a jpeg"),
    ("make it a png", "convert a png"),
    ("convert it to gif", "convert a gif"),
    ("convert to jpeg with quality 80", "convert a jpeg quality=80"),
    ("under 200 kB", "convert a jpeg max_kb=200"),
    ("make it smaller than 1 MB", "convert a jpeg max_kb=1000"),
    ("compress to 500kb", "convert a jpeg max_kb=500"),
    ("convert to webp below 1.5 MB", "convert a webp max_kb=1500"),
    ("crop to a square and save as png", "crop a 1:1 | convert a1 png"),
    ("crop to a square as png", "crop a 1:1 | convert a1 png"),
    ("remove the metadata", "convert a jpeg"),
    ("remove the location", "convert a jpeg"),
    ("remove gps", "convert a jpeg"),
    ("what camera was this taken with?", "image a"),
    ("when was this taken", "image a"),
    ("is there a location inside?", "image a"),
    ("what colours are in it", "image a"),
    ("info", "image a"),
    // Undo and redo
    ("redo", "redo a"),
    ("undo the last two edits", "undo a | undo a1"),
    ("redo twice", "redo a | redo a1"),
    ("back to the original", "revert a"),
];

#[test]
fn edit_requests_become_tool_calls() {
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
fn the_reply_says_what_was_done_or_asks() {
    for (said, expected) in [
        ("make it brighter", "Here you go: made it brighter."),
        ("a bit darker", "Here you go: made it a bit darker."),
        ("much more contrast", "Here you go: gave it much more contrast."),
        ("make it brighter and warmer", "Here you go: made it brighter and made it warmer."),
        ("make the left half darker", "Here you go: made the left half darker."),
        ("enhance it", "Here you go: balanced the light and colours."),
        ("blur it", "Here you go: blurred it."),
        ("blur the top left", "Here you go: blurred the top left."),
        ("blur the left and the right", "Here you go: blurred the left and the right."),
        ("invert the top", "Here you go: inverted the colours of the top."),
        ("hide the bottom right", "Here you go: hid the bottom right."),
        ("write “Hello” at the top", "Here you go: wrote “Hello” at the top."),
        ("watermark it with © Ann", "Here you go: signed it with “© Ann”."),
        ("trim the borders", "Here you go: trimmed the borders."),
        ("straighten by 3 degrees", "Here you go: straightened by 3° to the right."),
        ("convert to webp", "Here you go: converted it to WebP."),
        ("make it smaller than 1 MB", "Here you go: brought it under 1 MB."),
        ("redo", "Here is the version after."),
        ("back to the original", "Here is the original."),
        ("hide it", "Which part should I hide? Say “hide the bottom right” or “black out the left third”."),
        ("what camera was this taken with?", "Camera: Canon EOS."),
        ("when was this taken?", "Taken: 1 May 2024."),
        (
            "is there a location inside?",
            "The place where it was taken is in the file. Say “remove the metadata” and I'll take it out.",
        ),
        ("what colours?", "Main colours: red 60%, blue 40%."),
    ] {
        assert_eq!(play(reply_to_a(said)).text, expected, "{said}");
    }
    assert!(play(reply_to_a("blur my face")).text.contains("can't see where “face” is"));
    assert!(play(reply_to_a("straighten it")).text.starts_with("By how much?"));
}

#[test]
fn the_default_format_is_the_pictures_own_or_a_smaller_one() {
    let reply = |kind: &str, said: &str| {
        let replied = vec![file("a", kind)];
        play(Focus { said: said.into(), album: replied.clone(), replied, ..Focus::default() }).calls
    };
    assert_eq!(reply("image/png", "remove the metadata"), "convert a png");
    assert_eq!(reply("image/png", "under 200 kB"), "convert a webp max_kb=200");
    assert_eq!(reply("image/heic", "under 200 kB"), "convert a jpeg max_kb=200");
    assert_eq!(reply("image/gif", "under 200 kB"), "convert a gif max_kb=200");
}

#[test]
fn facts_of_pictures_and_other_files_come_from_different_tools() {
    let reply = |replied: Vec<_>, said: &str| Focus { said: said.into(), replied, ..Focus::default() };
    assert_eq!(play(reply(vec![file("t", "text/plain")], "info")).calls, "get t");
    let both = vec![file("a", "image/png"), file("t", "text/plain")];
    assert_eq!(play(reply(both, "info")).calls, "image a | get t");
    let info = play(reply_to_a("info")).text;
    assert!(info.contains("- Camera: Canon EOS") && !info.contains("convert_image"), "{info}");
}
