//! Adding pictures, the lightbox, and selecting a region.

use super::*;
use serde_json::json;

/// Dispatches an event with a file, as if it came from the desktop or the clipboard.
const BRING: &str = "
    const [kind, name, data] = arguments;
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name, { type: 'image/png' }));
    const options = { bubbles: true, cancelable: true };
    if (kind === 'paste') {
      document.getElementById('words').dispatchEvent(new ClipboardEvent('paste', { ...options, clipboardData: transfer }));
    } else {
      for (const step of ['dragenter', 'dragover', 'drop']) {
        document.body.dispatchEvent(new DragEvent(step, { ...options, dataTransfer: transfer }));
      }
    }";

fn data() -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(crate::harness::png(50, 30))
}

#[tokio::test(flavor = "multi_thread")]
async fn photos_can_be_dropped_and_pasted() {
    let desk = Desk::sit_down().await;
    desk.run(BRING, json!(["drop", "dropped.png", data()])).await;
    desk.run(BRING, json!(["paste", "pasted.png", data()])).await;
    desk.until("two previews", "document.querySelectorAll('#picked img').length === 2").await;
    desk.until(
        "that they can be seen",
        "[...document.querySelectorAll('#picked img')].every((i) => i.naturalWidth === 50)",
    )
    .await;
    desk.choose(&["photo_flower.jpg"]).await;
    desk.click("#picked li:nth-child(1) button").await;
    desk.until("one less", "document.querySelectorAll('#picked li').length === 2").await;
    desk.say("make them sepia").await;
    desk.until("the conversation", "location.pathname.startsWith('/c/')").await;
    desk.until_answers(1).await;
    assert_eq!(desk.count("article.theirs .shot").await, 2);
    assert_eq!(desk.count("article.ours .shot").await, 2);
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn albums_reserve_their_space_before_pictures_load() {
    let desk = Desk::sit_down().await;
    let photos = ["photo_chelsea.png", "photo_rocket.jpg", "photo_flower.jpg", "photo_astronaut.png"];
    desk.edit(&photos, "make them sepia").await;
    let heights = "return [...document.querySelectorAll('.album')].map((a) => Math.round(a.getBoundingClientRect().height))";
    let before = desk.run(heights, json!([])).await;
    desk.picture("article.theirs .shot img").await;
    desk.picture("article.ours .shot img").await;
    assert_eq!(desk.run(heights, json!([])).await, before);
    let overlapping = "const boxes = [...document.querySelectorAll('article.ours .photo')].map((p) => p.getBoundingClientRect()); \
        return boxes.every((b) => b.width > 60 && b.height > 60)";
    assert_eq!(desk.run(overlapping, json!([])).await, json!(true));
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lightbox_navigates_zooms_and_restores_the_focus() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_chelsea.png", "photo_rocket.jpg"], "make them sepia").await;
    desk.click("article.theirs .shot").await;
    desk.until_there("#lightbox[open]").await;
    desk.until_text("#lb-about", "1 of 4").await;
    desk.until_text("#lb-about", "photo_chelsea.png").await;
    desk.press(RIGHT).await;
    desk.until_text("#lb-about", "photo_rocket.jpg").await;
    desk.press(LEFT).await;
    desk.press(LEFT).await;
    desk.until_text("#lb-about", "4 of 4").await;
    desk.until_text("#lb-strip", "original").await;
    desk.until("the picture", "document.getElementById('lb-image').naturalWidth >= 300").await;
    let width = "document.getElementById('lb-image').getBoundingClientRect().width";
    let before = desk.run(&format!("return {width}"), json!([])).await.as_f64().unwrap();
    desk.press("+").await;
    desk.until("it to be larger", &format!("{width} > {before} * 1.3")).await;
    desk.press("0").await;
    desk.until("it to be whole again", &format!("Math.abs({width} - {before}) < 2")).await;
    desk.press(ESCAPE).await;
    desk.until("it to be closed", "!document.querySelector('#lightbox[open]')").await;
    desk.until("the focus on a picture", "document.activeElement.matches('.shot')").await;
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drawn_box_selects_a_region() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_chelsea.png"], "rotate left").await;
    desk.click("article.ours .shot").await;
    desk.until("the picture", "document.getElementById('lb-image').naturalWidth >= 300").await;
    desk.click("[data-lb=mark]").await;
    desk.until_there("#lightbox.marking").await;
    let rect = desk
        .run("const r = document.getElementById('lb-image').getBoundingClientRect(); return [r.left, r.top, r.width, r.height]", json!([]))
        .await;
    let part = |at: usize, of: usize, thousandths: f64| {
        (rect[at].as_f64().unwrap() + rect[of].as_f64().unwrap() * thousandths / 1000.0).round() as i64
    };
    let from = (part(0, 2, 250.0), part(1, 3, 500.0));
    desk.drag(from, (part(0, 2, 750.0), part(1, 3, 900.0))).await;
    desk.until("the words", "document.getElementById('words').value.includes('from 2')").await;
    desk.until_there("#replying:not([hidden]) img").await;
    desk.until("the focus in the message box", "document.activeElement.id === 'words'").await;
    desk.press("highlight in red").await;
    let said = desk.run("return document.getElementById('words').value", json!([])).await;
    let said = said.as_str().unwrap().to_owned();
    assert!(said.starts_with("highlight in red from 2"), "{said}");
    desk.press(ENTER).await;
    desk.until_answers(2).await;
    let answer = desk
        .run("return [...document.querySelectorAll('article.ours .answer')].at(-1).textContent", json!([]))
        .await;
    assert!(answer.as_str().unwrap().contains("highlighted the area from 2"), "{answer}");
    desk.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_step_of_an_edit_can_be_replied_to() {
    let desk = Desk::sit_down().await;
    desk.edit(&["photo_chelsea.png"], "crop to a square, then make it black and white").await;
    assert_eq!(desk.count(".strip li").await, 3);
    desk.click(".strip li:nth-child(2) a").await;
    desk.until_there("#replying:not([hidden]) img").await;
    desk.say("rotate left").await;
    desk.until_answers(2).await;
    let names = "return [...document.querySelectorAll('article.ours:last-of-type .strip li')].map((li) => li.innerText.trim())";
    assert_eq!(desk.run(names, json!([])).await, json!(["original", "crop", "rotate"]));
    desk.leave().await;
}
