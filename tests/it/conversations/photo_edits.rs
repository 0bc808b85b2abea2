//! Photo edits asked for in plain words, with the offline provider.

use crate::harness::{BotUnderTest, Person, Received, Settings, World, jpeg, jpeg_of, user};
use image::{DynamicImage, GenericImageView as _, ImageFormat};

/// The program and a person who talks to it.
struct EditScene {
    _world: World,
    _settings: Settings,
    bot: BotUnderTest,
    ann: Person,
}

impl EditScene {
    async fn open() -> Self {
        let world = World::start().await;
        let settings = Settings::new(&world);
        let bot = BotUnderTest::start(&settings).await;
        let ann = world.private_chat(user(1001, "Ann"));
        Self { _world: world, _settings: settings, bot, ann }
    }

    /// Sends a photo with a request. Returns the answer.
    async fn makes(&self, photo: Vec<u8>, said: &str) -> Received {
        self.ann.sends_photo(photo, said).await;
        self.ann.next_message().await
    }

    async fn close(self) {
        self.ann.has_nothing_more();
        self.bot.stop().await;
    }
}

fn words(message: &Received) -> String {
    format!("{}{}", message.text, message.caption)
}

fn picture(message: &Received) -> DynamicImage {
    let photo = message.photo.as_ref().unwrap_or_else(|| panic!("no photo in {message:?}"));
    image::load_from_memory(photo).expect("a picture came back")
}

fn file(message: &Received) -> (&str, &[u8]) {
    let (name, bytes) = message.document.as_ref().unwrap_or_else(|| panic!("no file in {message:?}"));
    (name, bytes)
}

fn original(bytes: &[u8]) -> DynamicImage {
    image::load_from_memory(bytes).expect("a picture")
}

/// The mean of each channel in a region, given in thousandths.
fn mean(picture: &DynamicImage, [left, top, right, bottom]: [u32; 4]) -> [f64; 3] {
    let (width, height) = picture.dimensions();
    let (x, y) = (left * width / 1000, top * height / 1000);
    let part = picture.crop_imm(x, y, right * width / 1000 - x, bottom * height / 1000 - y).to_rgb8();
    let count = f64::from(part.width() * part.height());
    let mut sums = [0.0; 3];
    for pixel in part.pixels() {
        (0..3).for_each(|channel| sums[channel] += f64::from(pixel[channel]));
    }
    sums.map(|sum| sum / count)
}

const ALL: [u32; 4] = [0, 0, 1000, 1000];

/// The mean difference of two images of one size in a region.
fn difference(one: &DynamicImage, other: &DynamicImage, part: [u32; 4]) -> f64 {
    assert_eq!(one.dimensions(), other.dimensions());
    let (mut one, mut other) = (one.to_rgb8(), other.to_rgb8());
    let [left, top, right, bottom] = part;
    let (width, height) = one.dimensions();
    let (x, y) = (left * width / 1000, top * height / 1000);
    let (w, h) = (right * width / 1000 - x, bottom * height / 1000 - y);
    let one = image::imageops::crop(&mut one, x, y, w, h).to_image();
    let other = image::imageops::crop(&mut other, x, y, w, h).to_image();
    let sum: u64 = one.iter().zip(other.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / one.len() as f64
}

#[tokio::test(flavor = "multi_thread")]
async fn brightness_and_colour_are_adjusted_as_asked() {
    let room = EditScene::open().await;
    let gray = || jpeg_of(64, 48, [110, 110, 110]);
    let brighter = room.makes(gray(), "make it brighter").await;
    assert_eq!(words(&brighter), "Here you go: made it brighter.");
    let much = mean(&picture(&room.makes(gray(), "make it much brighter").await), ALL)[0];
    let some = mean(&picture(&brighter), ALL)[0];
    let less = mean(&picture(&room.makes(gray(), "a bit brighter").await), ALL)[0];
    assert!(much > some && some > less && less > 112.0, "{less} {some} {much}");
    assert!(mean(&picture(&room.makes(gray(), "make it darker").await), ALL)[0] < 100.0);
    let [red, _, blue] = mean(&picture(&room.makes(gray(), "warmer").await), ALL);
    assert!(red > blue + 4.0, "{red} {blue}");
    let [red, _, blue] = mean(&picture(&room.makes(gray(), "cooler").await), ALL);
    assert!(blue > red + 4.0, "{red} {blue}");
    let dull = room.makes(jpeg_of(64, 48, [160, 100, 100]), "less saturated").await;
    let [red, green, _] = mean(&picture(&dull), ALL);
    assert!(red - green < 55.0, "{red} {green}");
    for said in [
        "more contrast",
        "sharper",
        "softer",
        "brighten the shadows",
        "fix the colours",
        "auto levels",
        "enhance it",
    ] {
        let photo = jpeg(64, 48);
        let answer = room.makes(photo.clone(), said).await;
        assert!(words(&answer).starts_with("Here you go: "), "{said}: {}", words(&answer));
        assert_eq!(picture(&answer).dimensions(), (64, 48), "{said}");
    }
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_named_part_is_blurred() {
    let room = EditScene::open().await;
    let photo = std::fs::read("tests/images/photo_flower.jpg").unwrap();
    let before = original(&photo);
    let answer = room.makes(photo, "blur the top left").await;
    assert_eq!(words(&answer), "Here you go: blurred the top left.");
    let after = picture(&answer);
    let (inside, outside) =
        (difference(&before, &after, [50, 50, 450, 450]), difference(&before, &after, [550, 550, 950, 950]));
    assert!(inside > 2.0 * outside && outside < 3.0, "{inside} {outside}");
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_filter_can_be_asked_for_by_name() {
    let room = EditScene::open().await;
    for said in [
        "pixelate the middle",
        "sketch",
        "vignette",
        "posterize",
        "duotone",
        "add film grain",
        "edges",
        "sharpen it",
    ] {
        let photo = jpeg(96, 64);
        let before = original(&photo);
        let answer = room.makes(photo, said).await;
        assert!(words(&answer).starts_with("Here you go: "), "{said}: {}", words(&answer));
        assert!(difference(&before, &picture(&answer), ALL) > 0.1, "{said} changes something");
    }
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redacted_region_is_unrecognisable() {
    let room = EditScene::open().await;
    let answer = room.makes(jpeg_of(200, 100, [240, 240, 240]), "hide the bottom right").await;
    assert_eq!(words(&answer), "Here you go: hid the bottom right.");
    let after = picture(&answer);
    assert!(mean(&after, [520, 540, 1000, 1000])[0] < 8.0);
    assert!(mean(&after, [0, 0, 450, 450])[0] > 230.0);
    let third = picture(&room.makes(jpeg_of(300, 100, [240, 240, 240]), "black out the left third").await);
    assert!(mean(&third, [0, 0, 330, 1000])[0] < 8.0 && mean(&third, [400, 0, 1000, 1000])[0] > 230.0);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_is_written_at_the_named_position() {
    let room = EditScene::open().await;
    let photo = || jpeg_of(400, 300, [60, 60, 120]);
    let before = original(&photo());
    let (top, bottom) = ([0, 0, 1000, 250], [0, 750, 1000, 1000]);
    for (said, written, blank) in [
        ("write “Hello” at the top", top, bottom),
        ("add the text Hello at the bottom", bottom, top),
        ("caption it “Summer”", bottom, top),
    ] {
        let after = picture(&room.makes(photo(), said).await);
        assert!(difference(&before, &after, written) > 1.0, "{said}");
        assert!(difference(&before, &after, blank) < 1.0, "{said}");
    }
    let signed = room.makes(photo(), "watermark it with © Ann").await;
    assert_eq!(words(&signed), "Here you go: signed it with “© Ann”.");
    let signed = picture(&signed);
    assert!(difference(&before, &signed, [500, 700, 1000, 1000]) > 0.5);
    assert!(difference(&before, &signed, [0, 0, 500, 500]) < 1.0);
    let numbered = room.makes(photo(), "highlight the top left and the bottom right and number them").await;
    assert!(words(&numbered).contains("numbered"), "{}", words(&numbered));
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_album_becomes_a_collage_and_the_collage_can_be_edited() {
    let room = EditScene::open().await;
    let photos: Vec<Vec<u8>> =
        (0..3).map(|i| jpeg_of(200 + 40 * i, 200, [60 * (i as u8 + 1), 40, 40])).collect();
    let album = room.ann.sends_album(&photos, "make a collage").await;
    let collage = room.ann.next_message().await;
    assert_eq!(words(&collage), "Here you go: put 3 photos in a collage.");
    assert!(picture(&collage).width() > 240);
    room.ann.replies(&collage, "rotate left").await;
    let (width, height) = picture(&collage).dimensions();
    assert_eq!(picture(&room.ann.next_message().await).dimensions(), (height, width));

    room.ann.replies(&album[1], "put them side by side").await;
    let (width, height) = picture(&room.ann.next_message().await).dimensions();
    assert!(width > 2 * height, "{width} × {height}");
    room.ann.replies(&album[1], "put the first and the second in a column").await;
    let (width, height) = picture(&room.ann.next_message().await).dimensions();
    assert!(height > width, "{width} × {height}");
    room.ann.replies(&album[0], "contact sheet").await;
    assert!(words(&room.ann.next_message().await).contains("3 photos on a contact sheet"));
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collage_of_one_photo_is_refused_with_a_reason() {
    let room = EditScene::open().await;
    let answer = room.makes(jpeg(64, 48), "make a collage").await;
    assert!(words(&answer).contains("at least two pictures"), "{}", words(&answer));
    assert_eq!(answer.photo, None);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn before_and_after_are_compared() {
    let room = EditScene::open().await;
    let edited = room.makes(jpeg(200, 100), "make it black and white").await;
    room.ann.replies(&edited, "show before and after").await;
    let both = room.ann.next_message().await;
    assert_eq!(words(&both), "Here you go: put before and after side by side.");
    let [red, _, blue] = mean(&picture(&both), [550, 200, 950, 800]);
    assert!((red - blue).abs() < 12.0, "gray on the right: {red} {blue}");

    room.ann.replies(&edited, "compare it with the original").await;
    let compared = room.ann.next_album().await;
    assert_eq!(compared.len(), 2, "side by side and the difference");
    let told: String = compared.iter().map(words).collect();
    assert!(told.contains("Similarity") && !told.contains('{'), "{told}");
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_photos_become_a_gif() {
    let room = EditScene::open().await;
    let photos: Vec<Vec<u8>> = (0..3).map(|i| jpeg_of(120, 80, [80 * i as u8, 40, 40])).collect();
    room.ann.sends_album(&photos, "make a gif of them").await;
    let answer = room.ann.next_message().await;
    assert_eq!(words(&answer), "Here you go: made an animation of 3 photos.");
    let (name, bytes) = file(&answer);
    assert!(name.ends_with(".gif") && bytes.starts_with(b"GIF8"), "{name}");
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_converted_to_formats_and_sizes() {
    let room = EditScene::open().await;
    for (said, format) in [
        ("convert to png", ImageFormat::Png),
        ("as webp", ImageFormat::WebP),
        ("save as jpeg", ImageFormat::Jpeg),
    ] {
        let answer = room.makes(jpeg(64, 48), said).await;
        assert_eq!(image::guess_format(file(&answer).1).unwrap(), format, "{said}");
    }
    let photo = std::fs::read("tests/images/photo_flower.jpg").unwrap();
    assert!(photo.len() > 20_000);
    let small = room.makes(photo, "make it smaller than 20 kB").await;
    assert_eq!(words(&small), "Here you go: brought it under 20 kB.");
    assert!(file(&small).1.len() <= 20_000);
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn camera_and_location_are_reported_and_can_be_removed() {
    let room = EditScene::open().await;
    let photo = std::fs::read("tests/images/jpeg_exif_gps.jpg").unwrap();
    let sent = room.ann.sends_document("holiday.jpg", photo, "is there a location inside?").await;
    let told = words(&room.ann.next_message().await);
    assert!(told.contains("The place where it was taken is in the file"), "{told}");
    room.ann.replies(&sent, "what camera was this taken with?").await;
    let told = words(&room.ann.next_message().await);
    assert!(told.contains("Camera: "), "{told}");
    room.ann.replies(&sent, "what colours are in it?").await;
    let told = words(&room.ann.next_message().await);
    assert!(told.starts_with("Main colours: "), "{told}");
    room.ann.replies(&sent, "remove the metadata").await;
    let clean = room.ann.next_message().await;
    assert!(!file(&clean).1.windows(4).any(|four| four == b"Exif"));
    room.ann.replies(&clean, "is there a location inside?").await;
    assert_eq!(words(&room.ann.next_message().await), "There is no location in the file.");
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn photos_are_straightened_and_trimmed() {
    let room = EditScene::open().await;
    let straight = picture(&room.makes(jpeg(400, 300), "straighten by 3 degrees").await);
    let (width, height) = straight.dimensions();
    assert!(width < 400 && width > 300 && height < 300, "no empty corners: {width} × {height}");
    let mut framed = image::RgbImage::from_pixel(300, 200, image::Rgb([255, 255, 255]));
    image::imageops::replace(&mut framed, &original(&jpeg(200, 100)).to_rgb8(), 50, 50);
    let mut bytes = std::io::Cursor::new(Vec::new());
    framed.write_to(&mut bytes, ImageFormat::Png).unwrap();
    let (width, height) = picture(&room.makes(bytes.into_inner(), "trim the borders").await).dimensions();
    assert!((196..=204).contains(&width) && (96..=104).contains(&height), "{width} × {height}");
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_can_be_undone_redone_and_reset_to_the_original() {
    let room = EditScene::open().await;
    let cropped = room.makes(jpeg(400, 300), "crop to a square, then rotate left").await;
    room.ann.replies(&cropped, "undo twice").await;
    let undone = room.ann.next_message().await;
    assert_eq!(picture(&undone).dimensions(), (400, 300));
    room.ann.replies(&undone, "redo").await;
    let redone = room.ann.next_message().await;
    assert_eq!(
        (words(&redone).as_str(), picture(&redone).dimensions()),
        ("Here is the version after.", (300, 300))
    );
    room.ann.replies(&cropped, "back to the original").await;
    let original = room.ann.next_message().await;
    assert_eq!(
        (words(&original).as_str(), picture(&original).dimensions()),
        ("Here is the original.", (400, 300))
    );
    room.ann.says("redo").await;
    assert_eq!(picture(&room.ann.next_message().await).dimensions(), (300, 300), "from what was shown last");
    room.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_repeated_on_the_other_photos() {
    let room = EditScene::open().await;
    let photos: Vec<Vec<u8>> = (0..3).map(|i| jpeg_of(300 + 50 * i, 200, [200, 90, 40])).collect();
    let album = room.ann.sends_album(&photos, "").await;
    room.ann.next_message().await;
    room.ann.replies(&album[1], "crop to a square and make it black and white").await;
    let edited = room.ann.next_message().await;
    let squares = |album: &[Received]| {
        let all = album.iter().map(picture);
        all.map(|picture| {
            let [red, _, blue] = mean(&picture, ALL);
            (picture.dimensions(), (red - blue).abs() < 6.0)
        })
        .collect::<Vec<_>>()
    };
    room.ann.replies(&edited, "do the same to the others").await;
    let others = room.ann.next_album().await;
    assert_eq!(squares(&others), [((200, 200), true), ((200, 200), true)]);
    room.ann.replies(&album[2], "do the same here").await;
    assert_eq!(squares(&[room.ann.next_message().await]), [((200, 200), true)]);
    let new = room.makes(jpeg_of(500, 250, [200, 90, 40]), "do the same to this one").await;
    assert_eq!(squares(&[new]), [((250, 250), true)]);
    room.close().await;
}
