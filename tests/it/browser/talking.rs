//! Conversations on the page: upload, streaming answers, replies, several tabs.

use super::*;
use crate::harness::{jpeg, user};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_is_uploaded_and_the_answer_streams_in() {
    let model = ScriptedModel::start().await;
    let desk = Desk::with_model(&model).await;
    model.next_call_on_all("crop_image", json!({ "aspect": "1:1" }));
    let [first, last] = model.next_slowly(["A **square**", " cat."]);
    desk.choose(&["photo_chelsea.png"]).await;
    desk.say("make it square").await;
    desk.until("the conversation", "location.pathname.startsWith('/c/')").await;

    desk.until_there("article.theirs .shot img").await;
    desk.until_there("article.running .pill").await;
    first.reached().await;
    desk.until_there("#draft .stop").await;
    first.open();
    desk.until_text("#draft .draft-text", "A **square**").await;
    assert_eq!(desk.count("article.ours .answer").await, 0, "it is not over yet");
    last.reached().await;
    last.open();
    desk.until_answers(1).await;
    assert_eq!(desk.text("article.ours .answer").await, "A square cat.", "and now it is Markdown");
    let (width, height) = desk.last_picture().await;
    assert_eq!(width, height);
    desk.click("article.ours .hood > summary").await;
    desk.until_text(".hood[open] > summary", "2 requests").await;
    assert_eq!(desk.count(".hood[open] tbody tr").await, 2, "what each took");
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_calls_are_pills_with_arguments_duration_and_pictures() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_chelsea.png"], "crop to a square, then make it black and white").await;
    assert_eq!(desk.count("article.ours .pill:not(.hood)").await, 2);
    desk.click("article.ours .pill:nth-of-type(1) > summary").await;
    desk.until_text(".pill[open] dl", "1:1").await;
    desk.until_text(".pill[open] > summary", "ms").await;
    assert_eq!(desk.count(".pill[open] .before-after img").await, 2);
    desk.picture(".pill[open] .before-after img").await;
    desk.click("article.ours .hood > summary").await;
    desk.until_text(".hood[open] > summary", "3 requests · offline").await;
    assert_eq!(desk.count(".hood[open] .result").await, 2);
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_to_a_photo_of_an_album_selects_it() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_chelsea.png", "photo_rocket.jpg", "photo_flower.jpg"], "make them sepia").await;
    assert_eq!(desk.count("article.theirs .album .photo").await, 3);
    let chosen = "article.ours .photo:nth-child(1)";
    desk.until_there(chosen).await;
    let second = desk
        .run(
            "const photo = document.querySelectorAll('article.ours .photo')[1]; \
             photo.scrollIntoView({ block: 'center' }); photo.querySelector('.reply-one').focus(); \
             return photo.querySelector('.shot').dataset.photo",
            json!([]),
        )
        .await;
    desk.press(ENTER).await;
    desk.until_text("#replying", "photo 2 of 3").await;
    desk.until_there(&format!(".photo.chosen [data-photo=\"{}\"]", second.as_str().unwrap())).await;
    desk.say("rotate left").await;
    desk.until_answers(2).await;
    let (width, height) = desk.last_picture().await;
    assert!(
        width < height,
        "the rocket, which was the only wide one of that shape, stands: {width}×{height}"
    );
    let first_step = "article.ours:last-of-type .strip img";
    desk.until_there(first_step).await;
    assert_eq!(desk.count("article.ours:last-of-type .strip li").await, 3, "original, sepia, rotate");
    let before = desk
        .run("return document.querySelectorAll('article.ours:last-of-type .strip img')[1].src", json!([]))
        .await;
    assert!(before.as_str().unwrap().contains(second.as_str().unwrap()));
    assert_eq!(desk.count("#replying:not([hidden])").await, 0, "the next message replies to nothing");
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_keeps_everything() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_flower.jpg"], "rotate left").await;
    desk.write("#words", "half a senten").await;
    let all = "return [...document.querySelectorAll('#log > article')].map((a) => a.innerText).join('|')";
    let before = desk.run(all, json!([])).await;
    desk.reload().await;
    desk.until_answers(1).await;
    assert_eq!(desk.run(all, json!([])).await, before);
    desk.until("what was half written", "document.getElementById('words').value === 'half a senten'").await;
    desk.last_picture().await;
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tabs_see_the_same_conversation_live() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_flower.jpg"], "rotate left").await;
    let (here, there) = (desk.this_tab().await, desk.new_tab().await);
    let address = desk.address().await;
    desk.switch_to(&there).await;
    desk.go(&address).await;
    desk.until_answers(1).await;
    desk.say("what can you do?").await;
    desk.until_answers(2).await;
    desk.switch_to(&here).await;
    desk.until_answers(2).await;
    assert_eq!(desk.count("article").await, 4, "each once");
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_turn_can_be_stopped() {
    let model = ScriptedModel::start().await;
    let desk = Desk::with_model(&model).await;
    let gate = model.hold_next();
    desk.say("think hard").await;
    desk.until("the conversation", "location.pathname.startsWith('/c/')").await;
    gate.reached().await;
    desk.click("#draft .stop").await;
    desk.until("silence", "document.getElementById('draft').hidden").await;
    gate.open();
    assert_eq!(desk.count("article.ours .answer").await, 0);
    model.next_reply("At once.");
    desk.say("and now?").await;
    desk.until_text("article.ours .answer", "At once.").await;
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_telegram_chat_updates_live_and_continues_on_the_page() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let desk = Desk::at(world, settings, &[]).await;
    let ann = desk.world.private_chat(user(1001, "Ann"));
    let photo = ann.sends_photo(jpeg(64, 48), "rotate left").await;
    ann.next_message().await;
    desk.open("/").await;
    desk.until_there("article.ours .shot").await;
    desk.until_text(".goes-to", "Telegram").await;
    assert_eq!(desk.count(".badge").await, 1);

    ann.replies(&photo, "rotate right").await;
    desk.until_text("article.theirs:nth-of-type(3) .words", "rotate right").await;
    desk.until_answers(2).await;
    ann.next_message().await;
    desk.say("make it sepia").await;
    let echo = ann.next_message().await;
    assert!(echo.text.contains("make it sepia"), "{echo:?}");
    desk.until_answers(3).await;
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_written_during_an_upload_is_kept() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_flower.jpg"], "rotate left").await;
    // Uploads block until the test releases them or lets them fail.
    let hold = "const send = XMLHttpRequest.prototype.send; XMLHttpRequest.prototype.send = function (body) { \
                window.letGo = () => send.call(this, body); window.fail = () => this.onerror(); }";
    desk.run(hold, json!([])).await;
    let words = "document.getElementById('words').value";
    let idle = "!document.querySelector('#composer[aria-busy]')";

    desk.choose(&["photo_rocket.jpg"]).await;
    desk.write("#words", "make it sepia").await;
    desk.press(ENTER).await;
    desk.until("it to be on its way", "!!window.fail").await;
    desk.write("#words", "and this one").await;
    desk.choose(&["photo_chelsea.png"]).await;
    desk.click("article.ours .act[data-reply]").await;
    desk.run("window.fail()", json!([])).await;
    desk.until("both, in order", &format!("{idle} && {words} === 'make it sepia\\nand this one'")).await;
    assert_eq!(desk.count("#picked li").await, 2, "and the pictures of both");
    assert_eq!(desk.count("#replying:not([hidden])").await, 1);

    desk.run("window.letGo = null", json!([])).await;
    desk.press(ENTER).await;
    desk.until("it to be on its way again", "!!window.letGo").await;
    assert_eq!(desk.count("#picked li, #replying:not([hidden])").await, 0, "the box is free");
    desk.write("#words", "half a senten").await;
    desk.choose(&["photo_flower.jpg"]).await;
    desk.click("article.ours .act[data-reply]").await;
    desk.run("window.letGo()", json!([])).await;
    desk.until_answers(2).await;
    desk.until("what was half written", &format!("{idle} && {words} === 'half a senten'")).await;
    assert_eq!(desk.count("article:nth-last-of-type(2).theirs .shot").await, 2, "what was sent");
    assert_eq!(desk.count("#picked li").await, 1);
    assert_eq!(desk.count("#replying:not([hidden])").await, 1);
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_show_the_authors() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let desk = Desk::at(world, settings, &[]).await;
    let group = desk.world.group("Holiday");
    let (ann, bob) = (group.member(user(1001, "Ann")), group.member(user(1002, "Bob")));
    for member in [&ann, &bob] {
        member.says("@photothread_bot what can you do?").await;
        member.next_message().await;
    }
    desk.open("/").await;
    desk.until_answers(2).await;
    desk.say("what can you do?").await;
    desk.until_answers(3).await;
    let names = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent.split(',')[0])";
    for css in ["article.theirs .author", "article.theirs h2"] {
        let found = desk.run(names, json!([css])).await;
        assert_eq!(found, json!(["Person 1001", "Person 1002", "You"]), "{css}");
    }
    desk.leave().await;
}
