//! Send a photo, reply to edit it, get grouped images back.

use crate::harness::{BotUnderTest, Settings, World, jpeg, jpeg_of, user};
use image::GenericImageView as _;

fn picture(bytes: &[u8]) -> image::DynamicImage {
    image::load_from_memory(bytes).expect("a picture came back")
}

fn is_gray(picture: &image::DynamicImage) -> bool {
    picture.to_rgb8().pixels().all(|p| p[0].abs_diff(p[1]) < 6 && p[1].abs_diff(p[2]) < 6)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_with_look_gets_an_answer() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let photo = ann.sends_photo(jpeg(640, 480), "look").await;
    let answer = ann.next_message().await;
    assert!(answer.text.contains("640"), "{}", answer.text);
    assert_eq!(answer.reply_to, Some(photo.message_id));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_edits_the_photo_and_a_reply_to_the_result_edits_the_result() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let photo = ann.sends_photo(jpeg_of(640, 480, [40, 90, 160]), "look").await;
    ann.next_message().await;

    let request = ann.replies(&photo, "highlight the top left in red, call it eagle").await;
    let highlighted = ann.next_message().await;
    assert_eq!(highlighted.reply_to, Some(request.message_id));
    let first = picture(highlighted.photo.as_ref().expect("a photo"));
    assert_eq!(first.dimensions(), (640, 480));
    let red = first
        .to_rgb8()
        .enumerate_pixels()
        .filter(|(x, y, p)| *x < 340 && *y < 260 && p[0] > 180 && p[1] < 90)
        .count();
    assert!(red > 500, "the top left is framed in red, {red} red pixels");

    ann.replies(&highlighted, "rotate left").await;
    let rotated = ann.next_message().await;
    let second = picture(rotated.photo.as_ref().expect("a photo"));
    assert_eq!(second.dimensions(), (480, 640), "the highlighted photo, turned");
    let red = second
        .to_rgb8()
        .enumerate_pixels()
        .filter(|(x, y, p)| *x < 260 && *y > 300 && p[0] > 180 && p[1] < 90)
        .count();
    assert!(red > 500, "the top left went to the bottom left, {red} red pixels");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_album_is_one_turn_and_a_reply_to_its_second_photo_edits_that_photo() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let colours = [[200, 40, 40], [40, 200, 40], [40, 40, 200]];
    let photos: Vec<Vec<u8>> = (0..3).map(|i| jpeg_of(300 + 50 * i, 200, colours[i as usize])).collect();
    ann.sends_album(&photos, "make them black and white").await;
    let album = ann.next_album().await;
    assert_eq!(album.len(), 3);
    let widths: Vec<u32> = album.iter().map(|m| picture(m.photo.as_ref().unwrap()).width()).collect();
    assert_eq!(widths, [300, 350, 400], "in the order they were sent");
    assert!(album.iter().all(|m| is_gray(&picture(m.photo.as_ref().unwrap()))));

    ann.replies(&album[1], "crop to a square").await;
    let cropped = ann.next_message().await;
    assert_eq!(picture(cropped.photo.as_ref().unwrap()).dimensions(), (200, 200));
    assert!(is_gray(&picture(cropped.photo.as_ref().unwrap())));
    ann.replies(&cropped, "undo").await;
    let undone = ann.next_message().await;
    assert_eq!(
        picture(undone.photo.as_ref().unwrap()).dimensions(),
        (350, 200),
        "the second of the album again"
    );
    ann.has_nothing_more();
    let store = settings.store().await;
    assert_eq!(store.undelivered_sends(10).await.unwrap(), []);
    bot.stop().await;
}
