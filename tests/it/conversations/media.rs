//! Files of every kind: stored unchanged, typed by their bytes, sent back on request, or refused with a reason.

use crate::harness::{
    BotUnderTest, FileKind, Received, ScriptedModel, Settings, World, attachment_ids, jpeg, png, user,
};
use image::GenericImageView as _;
use photothread::domain::{Attachment, Conversation};
use sha2::{Digest as _, Sha256};
use std::path::Path;

fn corpus(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/images").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The attachments of Ann's chat, oldest first.
async fn kept(settings: &Settings) -> Vec<Attachment> {
    let since = chrono::Utc::now() - chrono::TimeDelta::hours(1);
    let place = Conversation::telegram(1001);
    let mut kept = settings.store().await.recent_attachments(&place, since, 100).await.unwrap();
    kept.sort_by_key(|attachment| attachment.created_at);
    kept
}

fn blobs(settings: &Settings) -> usize {
    fn files(folder: &Path) -> usize {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
    }
    files(&settings.folder().join("attachments"))
}

fn dimensions(message: &Received) -> (u32, u32) {
    let bytes = message.photo.as_ref().or(message.document.as_ref().map(|(_, bytes)| bytes));
    image::load_from_memory(bytes.expect("a file")).expect("a picture").dimensions()
}

/// A few bytes that begin like an MP4, MP3 or Ogg file.
fn beginning(of: &[u8]) -> Vec<u8> {
    [of, &[0, 1, 2, 3, 0xFF, 0xFE].repeat(40)].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_file_is_stored_unchanged_with_the_type_of_its_bytes() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let photo = jpeg(1600, 1200);
    ann.sends_photo(photo.clone(), "").await;
    ann.next_message().await;
    let mut sent = vec![(photo, "image/jpeg")];

    let clip = beginning(b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41");
    let song = beginning(b"ID3\x04\0\0\0\0\0\0\xff\xfb\x90\x64");
    let voice = beginning(b"OggS\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead\x01\x01");
    let files = [
        (FileKind::Video, clip.clone(), "video/mp4"),
        (FileKind::Audio, song, "audio/mpeg"),
        (FileKind::Voice, voice, "audio/"),
        (FileKind::Animation, [clip, vec![7]].concat(), "video/mp4"),
        (FileKind::Sticker, corpus("webp_alpha.webp"), "image/webp"),
        (FileKind::VideoNote, beginning(b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom"), "video/mp4"),
    ];
    for (kind, bytes, mime) in files {
        ann.sends_file_of(kind, bytes.clone(), "").await;
        assert!(!ann.next_message().await.text.is_empty());
        sent.push((bytes, mime));
    }
    let named = [
        ("picture.txt", png(30, 20), "image/png"),
        ("page.png", b"<!DOCTYPE html><html><body>hi</body></html>".to_vec(), "text/html"),
        ("notes.csv", b"a,b\n1,2\n".to_vec(), "text/csv"),
        ("paper.jpg", b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n".to_vec(), "application/pdf"),
        ("what.bin", vec![0x00, 0x9F, 0x01, 0xEE, 0x02], "application/octet-stream"),
    ];
    for (name, bytes, mime) in named {
        ann.sends_document(name, bytes.clone(), "").await;
        ann.next_message().await;
        sent.push((bytes, mime));
    }
    let kept = kept(&settings).await;
    assert_eq!(kept.len(), sent.len());
    for (attachment, (bytes, mime)) in kept.iter().zip(&sent) {
        assert!(attachment.mime_type.starts_with(mime), "{attachment:?} should be {mime}");
        assert_eq!(attachment.sha256(), Some(sha256(bytes).as_str()), "{attachment:?}");
        assert_eq!(attachment.size, bytes.len() as i64);
    }
    assert_eq!((kept[0].width, kept[0].height), (Some(1600), Some(1200)), "the largest size of the photo");
    assert_eq!(world.refused_calls().len(), 0);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_photo_twice_is_one_blob_and_two_attachments() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let first = ann.sends_photo(jpeg(64, 48), "").await;
    ann.next_message().await;
    ann.sends_photo(jpeg(64, 48), "").await;
    ann.next_message().await;
    assert_eq!((blobs(&settings), kept(&settings).await.len()), (1, 2));

    // Telegram gives the same file id to every copy, here of both in one burst.
    world.hold_updates();
    let copies = [ann.forwards(&first).await, ann.forwards(&first).await];
    world.release_updates();
    ann.next_message().await;
    assert_eq!((blobs(&settings), kept(&settings).await.len()), (1, 4));
    for copy in copies {
        ann.replies(&copy, "rotate left").await;
        assert_eq!(dimensions(&ann.next_message().await), (48, 64));
    }
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_cannot_be_edited_are_stored_and_sent_back_unchanged() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let pdf = b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n".to_vec();
    for (name, bytes) in [("photo.avif", corpus("photo.avif")), ("paper.pdf", pdf)] {
        let sent = ann.sends_document(name, bytes.clone(), "").await;
        let greeting = ann.next_message().await;
        assert!(greeting.document.is_none() && !greeting.text.is_empty(), "{greeting:?}");
        ann.replies(&sent, "rotate left").await;
        let refusal = ann.next_message().await;
        assert!(refusal.document.is_none() && refusal.photo.is_none(), "{refusal:?}");
        let kind = name.rsplit('.').next().unwrap().to_uppercase();
        assert!(refusal.text.contains(&kind), "it says what {name} is: {}", refusal.text);
        ann.replies(&sent, "send it back").await;
        let back = ann.next_message().await;
        let (back_name, back_bytes) = back.document.expect("a document");
        assert_eq!((back_name.as_str(), back_bytes == bytes), (name, true));
    }
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_over_20_mb_is_refused_with_a_reason_and_its_caption_is_answered() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    model.next_reply("Pelicans eat fish.");
    let sent = ann.sends_huge_document("film.mov", 30 << 20, "what do pelicans eat?").await;
    let answer = ann.next_message().await;
    assert_eq!(answer.reply_to, Some(sent.message_id));
    for expected in ["film.mov", "30 MB", "20 MB", "Send a picture as a photo", "Pelicans eat fish."] {
        assert!(answer.text.contains(expected), "{}", answer.text);
    }
    assert!(model.requests()[0].to_string().contains("what do pelicans eat?"));
    assert_eq!(world.calls("getFile"), 0);

    ann.sends_huge_document("film.mov", 30 << 20, "").await;
    assert!(ann.next_message().await.text.contains("20 MB"), "without a caption the note is the answer");
    assert_eq!(model.requests().len(), 1);
    ann.sends_photo(jpeg(64, 48), "and this?").await;
    assert_eq!(ann.next_message().await.text, "Done.");
    assert_eq!(attachment_ids(&model.requests()[1]).len(), 1);
    assert_eq!(model.refusals(), [""; 0]);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_over_a_limit_is_refused_with_the_limit() {
    let world = World::start().await;
    let settings = Settings::new(&world)
        .with("PHOTOTHREAD_ATTACHMENTS__MAX_FILE_BYTES", "10000")
        .with("PHOTOTHREAD_ATTACHMENTS__MAX_PIXELS", "10000")
        .with("PHOTOTHREAD_ATTACHMENTS__MAX_CONVERSATION_BYTES", "12000");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_document("big.bin", vec![1; 20_000], "").await;
    let told = ann.next_message().await.text;
    assert!(
        told.contains("big.bin is 19.5 kB") && told.contains("9.8 kB"),
        "its name and what is allowed: {told}"
    );

    let picture = png(200, 100);
    let pixels = ann.sends_photo(picture.clone(), "rotate left").await;
    let told = ann.next_message().await;
    assert_eq!((told.reply_to, told.photo), (Some(pixels.message_id), None));
    assert!(told.text.contains("200") && told.text.contains("pixels"), "{}", told.text);

    ann.sends_document("some.bin", vec![2; 9_000], "").await;
    ann.next_message().await;
    ann.sends_document("more.bin", vec![3; 9_000], "").await;
    let told = ann.next_message().await.text;
    assert!(told.contains("11.7 kB") && told.contains("limit"), "how much may be kept: {told}");
    assert_eq!(kept(&settings).await.len(), 2);

    let small = world.private_chat(user(1002, "Bob"));
    small.sends_photo(jpeg(40, 30), "rotate left").await;
    assert_eq!(dimensions(&small.next_message().await), (30, 40), "other conversations have their own room");
    bot.stop().await;
}

/// An image of this size, or a message that contains this.
type Expected = Result<(u32, u32), &'static str>;

/// The answer to each file when it is sent with "rotate right".
const EXPECTED: [(&str, Expected); 31] = [
    ("exif_landscape_1.jpg", Ok((1200, 1800))),
    ("exif_landscape_3.jpg", Ok((1200, 1800))),
    ("exif_landscape_6.jpg", Ok((1200, 1800))),
    ("exif_landscape_8.jpg", Ok((1200, 1800))),
    ("photo_astronaut.png", Ok((512, 512))),
    ("photo_chelsea.png", Ok((300, 451))),
    ("photo_rocket.jpg", Ok((427, 640))),
    ("photo_page.png", Ok((191, 384))),
    ("photo_flower.jpg", Ok((427, 640))),
    ("png_16bit_gray_trns.png", Ok((64, 64))),
    ("png_palette8.png", Ok((150, 162))),
    ("anim.gif", Ok((245, 245))),
    ("webp_orientation_6.webp", Ok((128, 128))),
    ("webp_alpha.webp", Ok((150, 200))),
    ("jpeg_cmyk.jpg", Ok((100, 100))),
    ("jpeg_gray.jpg", Ok((128, 128))),
    ("jpeg_exif_gps.jpg", Ok((8, 8))),
    ("photo.tif", Ok((128, 128))),
    ("photo.bmp", Ok((128, 128))),
    ("wide_40MP_1bit.png", Ok((2000, 20_000))),
    ("photo.avif", Err("AVIF")),
    ("photo_arrow.heic", Ok((4032, 3024))),
    ("bad_corrupted.heic", Err("HEIC")),
    // The part that can be decoded is used.
    ("bad_truncated.jpg", Ok((100, 100))),
    ("bad_truncated.png", Err("damaged")),
    ("bad_header_size.png", Err("damaged")),
    ("bad_zero_width.gif", Err("damaged")),
    ("bomb.gif", Err("pixels")),
    ("bomb_900MP_1bit.png", Err("pixels")),
    ("bad_empty.jpg", Err("empty")),
    ("bad_html.png", Err("only pictures can be edited")),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_image_of_the_corpus_is_rotated_or_refused_with_a_reason() {
    let listed = String::from_utf8(corpus("manifest.tsv")).unwrap();
    let mut listed: Vec<&str> = listed.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    let mut known: Vec<&str> = EXPECTED.iter().map(|(name, _)| *name).collect();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);

    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let mut wrong = Vec::new();
    for (name, expected) in EXPECTED {
        let sent = ann.sends_document(name, corpus(name), "rotate right").await;
        let answer = ann.next_message().await;
        assert_eq!(answer.reply_to, Some(sent.message_id), "{name}");
        let has_file = answer.photo.is_some() || answer.document.is_some();
        let fits = match expected {
            Ok(size) => has_file && dimensions(&answer) == size,
            Err(words) => !has_file && answer.text.contains(words),
        };
        if !fits {
            wrong.push(format!("{name}: {answer:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    ann.sends_photo(jpeg(64, 48), "rotate right").await;
    assert_eq!(dimensions(&ann.next_message().await), (48, 64), "and the bot goes on");
    bot.stop().await;
    ann.has_nothing_more();
    assert_eq!(world.refused_calls().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_too_large_for_a_photo_is_sent_as_a_document() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_document("wide.png", corpus("wide_40MP_1bit.png"), "flip").await;
    let flipped = ann.next_message().await;
    assert!(flipped.photo.is_none() && flipped.document.is_some(), "{flipped:?}");
    assert_eq!(dimensions(&flipped), (20_000, 2000));
    assert_eq!(world.refused_calls().len(), 0, "Telegram was not even asked to take it as a photo");
    bot.stop().await;
}
