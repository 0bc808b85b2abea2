//! A conversation continues with another model: the text stays, and signed data of the first model is not sent.

use super::{Stage, VENDORS, VendorCase, with_every_model};
use crate::harness::{
    Answer, BotUnderTest, Said, jpeg,
    reading::{attachment_ids, results},
};
use photothread::providers::Vendor;
use serde_json::json;

const SIGNATURE: &str = "c2lnbmVkIGJ5IHRoZSBmaXJzdA==";
const THOUGHT: &str = "a thought of the first model";

/// Switches to every vendor, and to another model of the same vendor.
async fn to_every_other(case: VendorCase) {
    for vendor in VENDORS {
        to_another(case, *vendor).await;
    }
}

async fn to_another(case: VendorCase, other: Vendor) {
    let stage = Stage::set(case).await;
    stage.model.next_with(|request| {
        let arguments = json!({ "images": attachment_ids(request), "degrees": 90 }).to_string();
        let said =
            Said::text("One moment.").and_call("rotate_image", &arguments).and_call("list_attachments", "{}");
        Answer::All(said.after_thinking(THOUGHT, SIGNATURE))
    });
    stage.model.next(Answer::All(Said::text("Turned.").after_thinking(THOUGHT, SIGNATURE)));
    stage.ann.sends_photo(jpeg(64, 48), "turn it").await;
    let turned = stage.ann.next_message().await;
    assert_eq!(turned.caption, "Turned.");

    stage.bot.stop().await;
    let settings = stage
        .settings
        .with_model_of(other, &stage.model)
        .with_streaming(other, case.streaming)
        .with("PHOTOTHREAD_AGENTS__PHOTOTHREAD__MODEL", "another-model");
    let bot = BotUnderTest::start(&settings).await;
    let so_far = stage.model.requests().len();
    stage.model.next_with(|request| {
        let newest = attachment_ids(request).pop();
        Answer::Calls(vec![("filter_image".into(), json!({ "images": [newest], "filter": "sepia" }))])
    });
    stage.model.next_reply("And sepia.");
    stage.ann.replies(&turned, "and now sepia").await;
    let answer = stage.ann.next_message().await;
    assert!(answer.photo.is_some() && answer.caption == "And sepia.", "{answer:?}");

    assert_eq!(stage.model.refusals(), [""; 0], "from {case:?} to {other}");
    assert_eq!(stage.model.vendors_asked()[so_far..], [other, other]);
    for request in &stage.model.requests()[so_far..] {
        let text = request.to_string();
        assert!(!text.contains(SIGNATURE) && !text.contains(THOUGHT), "{text}");
        assert!(text.contains("One moment."), "{text}");
        assert!(results(request)[0].starts_with("Rotated 1 image"), "{text}");
    }
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_continues_with_another_model() {
    with_every_model(to_every_other).await;
}
