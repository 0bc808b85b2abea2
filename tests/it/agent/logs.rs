//! The log of the real program, at its most verbose level, holds no secret and nothing that people or the model said.

use crate::{
    harness::{Answer, Program, ScriptedModel, Settings, World, jpeg, key_of, user},
    vendors::VENDORS,
};
use photothread::providers::Vendor;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn the_trace_log_holds_no_secrets_and_nothing_people_wrote() {
    for vendor in VENDORS {
        with_a_model_of(*vendor).await;
    }
}

async fn with_a_model_of(vendor: Vendor) {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let mut settings = Settings::new(&world).with_model_of(vendor, &model);
    for other in VENDORS {
        settings = settings.with_key_of(*other);
    }
    let settings = settings.with("PHOTOTHREAD_HISTORY__TITLES", "message");
    let ann = world.private_chat(user(1001, "Ann"));
    let mut command = Program::command(&settings);
    command.env_clear().envs(settings.variables()).env("PHOTOTHREAD_LOG", "trace");
    let program = Program::spawn(&settings, &mut command);

    // Each of these is a way in which a secret or a person's words could get into the log.
    world.next("download").gets_lost();
    model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    model.next_reply("a whispered answer");
    ann.sends_photo(jpeg(64, 48), "a whispered caption").await;
    assert_eq!(ann.next_message().await.caption, "a whispered answer");
    let echo = format!("Incorrect API key provided: {}", key_of(vendor));
    model.next(Answer::Error(401, echo.clone()));
    model.next(Answer::Error(500, echo));
    ann.says("whispered words").await;
    ann.next_message().await;
    world.next_send().loses_its_answer();
    ann.says("more whispered words").await;
    model.wait_for_requests(4).await;
    world.wait_for_calls("sendMessage", 2).await;

    let log = program.kill();
    assert!(log.contains("photothread"), "there is a log");
    let keys = VENDORS.iter().map(|vendor| key_of(*vendor));
    for secret in keys.chain([world.token(), "the-token-of-the-test-world", "whispered"]) {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is in the log with {vendor}");
    }
}
