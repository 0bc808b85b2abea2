//! What one person asks for must not keep another waiting.

use crate::harness::{BotUnderTest, Settings, World, jpeg, user};
use image::GenericImageView as _;

/// The letters a and b without a pattern in them, which is the slowest text for a pattern of these two letters.
fn random_letters(count: usize) -> String {
    let mut state = 1u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    };
    std::iter::repeat_with(next).take(count).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_for_words_that_look_like_a_pattern_is_literal_and_keeps_no_edit_waiting() {
    let world = World::start().await;
    let settings = Settings::new(&world).with("PHOTOTHREAD_LIMITS__EDITS_AT_ONCE", "1");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bob = world.private_chat(user(1002, "Bob"));
    let photo = bob.sends_photo(jpeg(640, 480), "look").await;
    bob.next_message().await;
    let pattern = "(?:a|b)*a(?:a|b){900}[^ab]";
    let text = format!("{}\nlast {pattern} line\n", random_letters(16 << 20));
    let log = ann.sends_document("big.log", text.into_bytes(), "").await;
    ann.next_message().await;

    ann.replies(&log, &format!("search for “{pattern}”")).await;
    bob.replies(&photo, "crop to a square").await;
    let cropped = bob.next_message().await;
    let cropped = image::load_from_memory(cropped.photo.as_ref().expect("a photo")).unwrap();
    assert_eq!(cropped.dimensions(), (480, 480));
    let found = ann.next_message().await;
    assert!(found.text.contains(&format!("2: last {pattern} line")), "{}", found.text);
    bot.stop().await;
}
