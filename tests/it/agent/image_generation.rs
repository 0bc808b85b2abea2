//! Image generation: the model requests pictures from a service; they are stored and marked as generated.

use super::{Stage, said_by, tools};
use crate::harness::{
    Answer, BotUnderTest, GENERATED_COLOR, ImageService, ImageServiceAnswer, Received, ScriptedModel, Server,
    Settings, World, attachment_ids, jpeg, user,
};
use image::{GenericImageView as _, ImageFormat, Rgb, RgbImage};
use photothread::domain::{Attachment, Conversation};
use serde_json::{Value, json};
use std::{io::Cursor, path::PathBuf};

const BY_GPT: &str = "Generated with gpt-image-1";

/// The vendor of the image service.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ImageVendor {
    /// At the same address as the model.
    OpenAi,
    Gemini,
}

const BOTH: [ImageVendor; 2] = [ImageVendor::OpenAi, ImageVendor::Gemini];

impl ImageVendor {
    fn model(self) -> &'static str {
        match self {
            Self::OpenAi => "gpt-image-1",
            Self::Gemini => "gemini-2.5-flash-image",
        }
    }
}

/// Ann, the bot, its model and an image service.
struct Fixture {
    stage: Stage,
    service: ImageService,
    _server: Option<Server>,
}

impl Fixture {
    async fn with(vendor: ImageVendor) -> Self {
        let (world, service) = (World::start().await, ImageService::default());
        let (model, server) = match vendor {
            ImageVendor::OpenAi => (ScriptedModel::start_beside(service.router()).await, None),
            ImageVendor::Gemini => (ScriptedModel::start().await, Some(service.serve())),
        };
        let settings = Settings::new(&world).with_model(&model.base_url());
        let settings = match &server {
            None => settings.with("PHOTOTHREAD_PROVIDERS__OPENAI__IMAGE_MODEL", vendor.model()),
            Some(server) => settings
                .with("GEMINI_API_KEY", "g-test-key")
                .with("PHOTOTHREAD_PROVIDERS__GEMINI__BASE_URL", server.url())
                .with("PHOTOTHREAD_PROVIDERS__GEMINI__IMAGE_MODEL", vendor.model()),
        };
        let bot = BotUnderTest::start(&settings).await;
        let ann = world.private_chat(user(1001, "Ann"));
        Self { stage: Stage { world, model, settings, bot, ann }, service, _server: server }
    }

    /// Restarts the program on the same data.
    async fn restarted(mut self) -> Self {
        self.stage.bot.stop().await;
        self.stage.bot = BotUnderTest::start(&self.stage.settings).await;
        self
    }

    /// All files of Ann's chat, oldest first.
    async fn files(&self) -> Vec<Attachment> {
        let store = self.stage.settings.store().await;
        let mut ids = Vec::new();
        // The answer links the same attachments as the tool results.
        for id in self.stage.rows().await.into_iter().flat_map(|row| row.body.attachments) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let mut files =
            store.attachments(&Conversation::telegram(self.stage.ann.chat_id), &ids).await.unwrap();
        files.sort_by_key(|file| ids.iter().position(|id| *id == file.attachment_id));
        files
    }

    fn last_result(&self) -> String {
        said_by("tool", &self.stage.last_request()).pop().expect("a tool result")
    }

    async fn clear(self) {
        assert_eq!(self.service.refusals(), [""; 0]);
        self.stage.clear().await;
    }
}

fn photo(message: &Received) -> image::DynamicImage {
    image::load_from_memory(message.photo.as_ref().expect("a photo")).expect("a picture")
}

/// A PNG in which every pixel differs from its neighbours, and none is the service's colour.
fn woven(width: u32, height: u32) -> Vec<u8> {
    let pixel = |x: u32, y: u32| Rgb([(x * 7 % 120) as u8, (y * 5 % 250) as u8, ((x + y) * 3 % 90) as u8]);
    let mut bytes = Cursor::new(Vec::new());
    RgbImage::from_fn(width, height, pixel).write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// One call on the newest attachment that the request names.
fn on_newest(tool: &'static str, arguments: Value) -> impl FnOnce(&Value) -> Answer {
    move |request| {
        let mut arguments = arguments;
        arguments["images"] = json!([attachment_ids(request).pop().expect("an attachment")]);
        Answer::Calls(vec![(tool.into(), arguments)])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_picture_is_sent_with_a_provenance_line() {
    for vendor in BOTH {
        let fixture = Fixture::with(vendor).await;
        let Fixture { stage, service, .. } = &fixture;
        stage.model.next_calls([("generate_image", json!({ "prompt": "a red kite", "size": "landscape" }))]);
        stage.model.next_reply("Here is your kite.");
        stage.ann.says("paint me a red kite").await;
        let answer = stage.ann.next_message().await;
        let line = format!("Generated with {} from words.", vendor.model());
        assert_eq!(answer.caption, format!("Here is your kite.\n\n{line}"));
        let picture = photo(&answer);
        assert!(picture.width() > picture.height());
        assert_eq!(picture.to_rgb8().get_pixel(9, 9).0, GENERATED_COLOR);

        assert!(tools(&stage.model.requests()[0]).contains(&"generate_image"));
        assert!(
            fixture.last_result().starts_with("Generated 1 image.\nMade by"),
            "{}",
            fixture.last_result()
        );
        assert!(service.requests()[0].fields.to_string().contains("a red kite"));
        let files = fixture.files().await;
        let [file] = files.as_slice() else { panic!("{files:?}") };
        assert!(file.is_stored() && file.parents.is_empty() && file.mime_type == "image/png");
        let recipe = file.recipe().cloned().expect("a recipe");
        assert_eq!(recipe.tool, "generate_image");
        let made = json!({ "prompt": "a red kite", "size": "landscape", "model": vendor.model() });
        assert_eq!(recipe.arguments, made);
        fixture.clear().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_generated_pictures_are_sent_as_an_album() {
    for vendor in BOTH {
        let fixture = Fixture::with(vendor).await;
        let stage = &fixture.stage;
        stage.model.next_calls([("generate_image", json!({ "prompt": "kites", "count": 3 }))]);
        stage.ann.says("three kites please").await;
        let album = stage.ann.next_album().await;
        assert_eq!(album.len(), 3);
        assert!(album[0].caption.ends_with(" from words."), "{album:?}");
        let requests = fixture.service.requests().len();
        assert_eq!(requests, if vendor == ImageVendor::OpenAi { 1 } else { 3 });
        fixture.clear().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pixels_outside_the_masked_region_stay_unchanged() {
    for vendor in BOTH {
        let fixture = Fixture::with(vendor).await;
        let Fixture { stage, service, .. } = &fixture;
        let region = json!({ "left": 200, "top": 250, "right": 600, "bottom": 750 });
        let arguments = json!({ "instruction": "add a hat", "mask_region": region });
        stage.model.next_call_on_all("transform_image", arguments);
        stage.model.next_reply("A hat it is.");
        let original = woven(640, 400);
        stage.ann.sends_document("photo.png", original.clone(), "add a hat").await;
        let answer = stage.ann.next_message().await;
        let line = "inside the chosen part; the rest is the original.";
        assert_eq!(answer.caption, format!("A hat it is.\n\nGenerated with {} {line}", vendor.model()));

        let (before, after) =
            (image::load_from_memory(&original).unwrap().to_rgb8(), photo(&answer).to_rgb8());
        assert_eq!(after.dimensions(), before.dimensions());
        let inside = |x: u32, y: u32| (128..384).contains(&x) && (100..300).contains(&y);
        for (x, y, pixel) in before.enumerate_pixels().filter(|(x, y, _)| !inside(*x, *y)) {
            assert_eq!(after.get_pixel(x, y), pixel, "{vendor:?} at {x} {y}");
        }
        assert_eq!(after.get_pixel(256, 200).0, GENERATED_COLOR, "{vendor:?}");

        let request = service.requests().remove(0);
        let words = request.fields.to_string();
        assert!(words.contains("add a hat") && words.contains("from 20% to 60% of its width"), "{words}");
        let sent = image::load_from_memory(&request.picture.unwrap()).unwrap();
        assert_eq!(sent.dimensions(), (1536, 1024), "a shape that the service knows");
        assert_eq!(request.mask.is_some(), vendor == ImageVendor::OpenAi);
        if let Some(mask) = request.mask {
            let mask = image::load_from_memory(&mask).unwrap();
            assert_eq!(mask.get_pixel(600, 512).0[3], 0, "may change");
            assert_eq!(mask.get_pixel(1200, 512).0[3], 255, "must not");
        }
        fixture.clear().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_is_sent_to_the_service_scaled_down_and_without_metadata() {
    for vendor in BOTH {
        let fixture = Fixture::with(vendor).await;
        let stage = &fixture.stage;
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/images/jpeg_exif_gps.jpg");
        let photo = std::fs::read(path).unwrap();
        assert!(photo.windows(4).any(|bytes| bytes == b"Exif"));
        stage.model.next_call_on_all("transform_image", json!({ "instruction": "make it night" }));
        stage.ann.sends_document("photo.jpg", photo, "make it night").await;
        stage.ann.next_message().await;
        stage.model.next_with(on_newest("transform_image", json!({ "instruction": "make it night" })));
        stage.ann.sends_document("large.jpg", jpeg(3000, 300), "and this one").await;
        stage.ann.next_message().await;
        let sent: Vec<_> = fixture.service.requests().into_iter().filter_map(|c| c.picture).collect();
        assert!(!sent[0].windows(4).any(|bytes| bytes == b"Exif"));
        assert_eq!(image::load_from_memory(&sent[1]).unwrap().dimensions(), (1536, 154));
        fixture.clear().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transformed_picture_can_be_undone() {
    let fixture = Fixture::with(ImageVendor::OpenAi).await;
    let stage = &fixture.stage;
    stage.model.next_call_on_all("transform_image", json!({ "instruction": "make it night" }));
    stage.model.next_reply("Good night.");
    stage.ann.sends_photo(jpeg(320, 240), "make it night").await;
    let night = stage.ann.next_message().await;
    let line = format!("{BY_GPT}: details may differ from the original.");
    assert_eq!(night.caption, format!("Good night.\n\n{line}"));
    assert!(fixture.last_result().contains("details may differ"), "{}", fixture.last_result());
    let files = fixture.files().await;
    let [original, made] = files.as_slice() else { panic!("{files:?}") };
    assert_eq!(
        (&made.parents, made.filename.as_str()),
        (&vec![original.attachment_id], "image-transformed.png")
    );
    let recipe = json!({ "instruction": "make it night", "model": "gpt-image-1" });
    assert_eq!(made.recipe().unwrap().arguments, recipe);

    let (made, original) = (made.attachment_id, original.attachment_id);
    stage.model.next_calls([("undo_edit", json!({ "images": [made] }))]);
    stage.model.next_reply("Day again.");
    stage.ann.replies(&night, "undo").await;
    let day = stage.ann.next_message().await;
    assert_eq!((day.caption.as_str(), photo(&day).dimensions()), ("Day again.", (320, 240)));

    stage.model.next_calls([("redo_edit", json!({ "images": [original] }))]);
    stage.model.next_reply("");
    stage.ann.replies(&day, "redo").await;
    let again = stage.ann.next_message().await;
    assert_eq!((again.caption, again.photo), (line, night.photo.clone()));

    stage.model.next_calls([("repeat_edits", json!({ "from": made, "images": [original] }))]);
    stage.ann.replies(&night, "do the same to the other").await;
    stage.ann.next_message().await;
    let told = fixture.last_result();
    assert!(told.contains("cannot be repeated exactly") && told.contains("Call transform_image"), "{told}");
    assert!(told.contains("make it night"), "{told}");
    fixture.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_a_generated_picture_keeps_its_provenance_after_a_restart() {
    let fixture = Fixture::with(ImageVendor::OpenAi).await;
    let stage = &fixture.stage;
    stage.model.next_calls([("generate_image", json!({ "prompt": "a red kite" }))]);
    stage.model.next_with(on_newest("crop_image", json!({ "aspect": "16:9" })));
    stage.model.next_with(on_newest("rotate_image", json!({ "degrees": 90 })));
    stage.model.next_reply("Turned.");
    stage.ann.says("a kite, cropped and turned").await;
    let turned = stage.ann.next_message().await;
    assert_eq!(turned.caption, format!("Turned.\n\n{BY_GPT} from words."));
    assert_eq!(photo(&turned).dimensions(), (576, 1024));

    let fixture = fixture.restarted().await;
    let stage = &fixture.stage;
    let [painted, _, last] = fixture.files().await.try_into().unwrap();
    stage.model.next_calls([("undo_edit", json!({ "images": [last.attachment_id] }))]);
    stage.model.next_reply("Lying down.");
    stage.ann.replies(&turned, "undo").await;
    let cropped = stage.ann.next_message().await;
    assert_eq!(photo(&cropped).dimensions(), (1024, 576), "made again from the generated file");
    assert!(cropped.caption.contains(BY_GPT), "{}", cropped.caption);

    stage.model.next_calls([("revert_to_original", json!({ "images": [last.attachment_id] }))]);
    stage.ann.replies(&turned, "the original").await;
    let first = stage.ann.next_message().await;
    assert_eq!(photo(&first).dimensions(), (1024, 1024));
    assert!(painted.is_stored());
    assert_eq!(fixture.service.requests().len(), 1, "nothing was generated twice");
    fixture.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_provenance_line_names_the_generated_pictures_of_an_album() {
    let fixture = Fixture::with(ImageVendor::OpenAi).await;
    let stage = &fixture.stage;
    stage.model.next_with(|request| {
        let images = attachment_ids(request);
        Answer::Calls(vec![
            ("flip_image".into(), json!({ "images": images, "direction": "horizontal" })),
            ("transform_image".into(), json!({ "images": images, "instruction": "make it night" })),
        ])
    });
    stage.model.next_reply("Both.");
    stage.ann.sends_photo(jpeg(64, 48), "flip it, and make it night").await;
    let album = stage.ann.next_album().await;
    let line = format!("{BY_GPT} (picture 2): details may differ from the original.");
    assert_eq!(album[0].caption, format!("Both.\n\n{line}"));
    fixture.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_transformed_are_reported_and_the_rest_is_done() {
    let fixture = Fixture::with(ImageVendor::Gemini).await;
    let stage = &fixture.stage;
    stage.ann.sends_document("notes.txt", "no picture".as_bytes().to_vec(), "my notes").await;
    stage.ann.next_message().await;
    stage.model.next_call_on_all("transform_image", json!({ "instruction": "make it night" }));
    stage.model.next_reply("One of them.");
    stage.ann.sends_photo(jpeg(64, 48), "make all of it night").await;
    assert!(stage.ann.next_message().await.photo.is_some());
    let told = fixture.last_result();
    assert!(
        told.starts_with("Transformed 1 of 2 images.\nImage 1 failed: notes.txt is a text/plain file"),
        "{told}"
    );
    fixture.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_the_service_become_tool_results() {
    let openai_blocks = json!({ "error": { "message": "Your request was rejected by the safety system. sk-test-key",
        "type": "image_generation_user_error", "param": null, "code": "moderation_blocked" } });
    let gemini_blocks = json!({ "candidates": [{ "finishReason": "IMAGE_SAFETY", "index": 0 }] });
    for vendor in BOTH {
        let fixture = Fixture::with(vendor).await;
        let Fixture { stage, service, .. } = &fixture;
        let blocked = match vendor {
            ImageVendor::OpenAi => ImageServiceAnswer::Raw(400, openai_blocks.to_string()),
            ImageVendor::Gemini => ImageServiceAnswer::Raw(200, gemini_blocks.to_string()),
        };
        let mut half = woven(90, 90);
        half.truncate(half.len() / 2);
        let cases = [
            (blocked, "declined this by its content rules"),
            (
                ImageServiceAnswer::Busy { retry_after_seconds: 36 },
                "rate-limited; it takes new requests in about 36 seconds",
            ),
            (ImageServiceAnswer::Bytes(b"<html>not today</html>".to_vec()), "not a usable picture"),
            (ImageServiceAnswer::Bytes(half), "not a usable picture"),
            (ImageServiceAnswer::Raw(200, "<html></html>".into()), "not a usable picture"),
            (ImageServiceAnswer::Raw(401, "{}".into()), "not set up right"),
            (ImageServiceAnswer::Raw(500, "{}".into()), "cannot be reached"),
        ];
        for (canvas, expected) in cases {
            service.next(canvas);
            stage.model.next_calls([("generate_image", json!({ "prompt": "a red kite" }))]);
            stage.model.next_reply("That did not work.");
            stage.ann.says("paint a kite").await;
            let answer = stage.ann.next_message().await;
            assert_eq!((answer.text.as_str(), answer.photo), ("That did not work.", None));
            let told = fixture.last_result();
            assert!(told.starts_with("Error: The image service") && told.contains(expected), "{told}");
            assert!(!told.contains("test-key") && !told.contains("127.0.0.1"), "{told}");
        }
        assert!(fixture.files().await.is_empty());
        fixture.clear().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_arguments_send_no_request() {
    let fixture = Fixture::with(ImageVendor::OpenAi).await;
    let stage = &fixture.stage;
    let region = json!({ "left": 500, "top": 0, "right": 400, "bottom": 10 });
    let unknown = "0191f3a0-0000-7000-8000-000000000001";
    let cases = [
        ("generate_image", json!({ "prompt": " " }), "prompt is empty"),
        ("generate_image", json!({ "prompt": "x".repeat(4001) }), "text of 1 to 4000 characters"),
        ("generate_image", json!({ "prompt": "x", "count": 5 }), "a whole number from 1 to 4"),
        ("generate_image", json!({ "prompt": "x", "size": "huge" }), "one of: square, landscape, portrait"),
        ("transform_image", json!({ "images": [], "instruction": "x" }), "a list of 1 to 4 items"),
        ("transform_image", json!({ "images": [unknown], "instruction": "x" }), "There is no attachment"),
        (
            "transform_image",
            json!({ "images": [unknown], "instruction": "x", "mask_region": region }),
            "right (400) must be greater than left (500)",
        ),
    ];
    for (tool, arguments, expected) in cases {
        stage.model.next_calls([(tool, arguments)]);
        stage.ann.says("go on").await;
        stage.ann.next_message().await;
        let told = fixture.last_result();
        assert!(told.starts_with("Error: ") && told.contains(expected), "{told}");
    }
    assert!(fixture.service.requests().is_empty());
    fixture.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_image_service_there_are_no_generative_tools() {
    let only = ("PHOTOTHREAD_AGENTS__PHOTOTHREAD__TOOLS", "[crop_image, generate_image]");
    for (variables, expected) in [(&[][..], None), (&[only][..], Some(["crop_image"]))] {
        let stage = Stage::set_with(variables).await;
        stage.ann.says("paint me a kite").await;
        stage.ann.next_message().await;
        let request = stage.last_request();
        let offered = tools(&request);
        assert!(!offered.contains(&"generate_image") && !offered.contains(&"transform_image"), "{offered:?}");
        assert!(expected.is_none_or(|expected| offered == expected), "{offered:?}");
        stage.clear().await;
    }
}
