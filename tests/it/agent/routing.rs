//! Several agents: a command selects one, a reply stays with the agent that answered, and all else goes to the first.

use super::{Stage, said_by, tools};
use crate::harness::{BotUnderTest, MessageRef, jpeg, user};
use photothread::domain::{Message, Role};
use serde_json::{Value, json};

/// Each has a model of its own, so that a request shows its agent.
const AGENTS: &str = "{ editor: { provider: openai, model: edits }, \
     describer: { provider: openai, model: sees, command: describe, tools: [image_info, rotate_image], max_steps: 1, \
       temperature: 0.25, options: { seed: 7 } }, \
     wit: { provider: openai, model: jokes, command: joke } }";

async fn stage() -> Stage {
    Stage::set_with(&[("PHOTOTHREAD_AGENTS", AGENTS)]).await
}

impl Stage {
    /// The model of the last request, and the person's text in it.
    fn last_asked(&self) -> (String, String) {
        let request = self.last_request();
        (model(&request), said_by("user", &request).pop().unwrap_or_default())
    }

    /// Ann replies, and the model of this agent answers.
    async fn reply_goes_to(&self, to: impl Into<MessageRef>, words: &str, expected: &str) {
        self.ann.replies(to, words).await;
        self.ann.next_message().await;
        assert_eq!(self.last_asked().0, expected, "{words}");
    }
}

fn model(request: &Value) -> String {
    request["model"].as_str().unwrap_or_default().to_owned()
}

fn agents(rows: &[Message]) -> Vec<&str> {
    rows.iter().map(|row| row.agent_id.as_deref().unwrap_or("none")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_selects_its_agent_and_is_removed_from_the_text() {
    let stage = stage().await;
    for words in
        ["/describe what is this", "/describe@photothread_bot what is this", "/DESCRIBE what is this"]
    {
        stage.ann.says(words).await;
        stage.ann.next_message().await;
        let (asked, said) = stage.last_asked();
        assert_eq!(asked, "sees", "{words}");
        assert!(said.contains("what is this") && !said.to_lowercase().contains("/describe"), "{said}");
    }
    let rows = stage.rows().await;
    assert_eq!(rows[0].content, "what is this");
    assert_eq!(agents(&rows), ["describer"; 6], "people's messages know whom they were said to");

    stage.ann.says("/paint it green").await;
    stage.ann.next_message().await;
    let (asked, said) = stage.last_asked();
    assert_eq!(asked, "edits");
    assert!(said.contains("/paint it green"), "a command without an agent is ordinary text: {said}");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_works_as_a_caption_and_alone_in_a_reply() {
    let stage = stage().await;
    stage.ann.sends_photo(jpeg(64, 48), "/describe the colours").await;
    stage.ann.next_message().await;
    let (asked, said) = stage.last_asked();
    assert_eq!(asked, "sees");
    assert!(said.contains("the colours") && !said.contains("/describe"), "{said}");

    stage.ann.sends_album(&[jpeg(64, 48), jpeg(65, 48)], "/joke").await;
    stage.ann.next_message().await;
    assert_eq!(stage.last_asked().0, "jokes");
    assert_eq!(agents(&stage.rows().await[2..]), ["wit"; 3], "every photo of it");

    let photo = stage.ann.sends_photo(jpeg(66, 48), "").await;
    stage.ann.next_message().await;
    assert_eq!(stage.last_asked().0, "edits");
    stage.ann.replies(&photo, "/describe").await;
    stage.ann.next_message().await;
    let (asked, said) = stage.last_asked();
    assert_eq!(asked, "sees");
    assert!(said.starts_with("In reply to their own message") && said.contains("[Attachment ID: "), "{said}");
    assert!(!said.contains("/describe"), "{said}");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_command_of_a_batch_selects_the_agent() {
    let stage =
        Stage::set_with(&[("PHOTOTHREAD_AGENTS", AGENTS), ("PHOTOTHREAD_TELEGRAM__BATCH__QUIET_MS", "400")])
            .await;
    stage.world.hold_updates();
    for words in ["look at this", "/describe it", "/joke or tell me one"] {
        stage.ann.says(words).await;
    }
    stage.world.release_updates();
    stage.ann.next_message().await;
    let (asked, said) = stage.last_asked();
    assert_eq!((asked.as_str(), stage.model.requests().len()), ("sees", 1));
    assert!(
        said.contains("look at this") && said.contains("it") && said.contains("or tell me one"),
        "{said}"
    );
    assert!(!said.contains('/'), "{said}");
    assert_eq!(agents(&stage.rows().await), ["describer"; 4]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_in_a_group_addresses_the_bot() {
    let stage = stage().await;
    let group = stage.world.group("Holiday");
    let bob = group.member(user(1002, "Bob"));
    for words in ["/paint it", "/describe@another_bot it", "please /describe it"] {
        bob.says(words).await;
    }
    stage.settings.until_settled(&stage.world).await;
    assert_eq!(stage.model.requests().len(), 0);

    let asked = bob.says("/describe the weather").await;
    assert_eq!(bob.next_message().await.reply_to, Some(asked.message_id));
    let photo = bob.sends_photo(jpeg(64, 48), "").await;
    stage.settings.until_settled(&stage.world).await;
    let asked = bob.replies(&photo, "/joke").await;
    assert_eq!(bob.next_message().await.reply_to, Some(asked.message_id));
    let models: Vec<_> = stage.model.requests().iter().map(model).collect();
    assert_eq!(models, ["sees", "jokes"]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_goes_to_the_agent_of_the_replied_to_message() {
    let stage = stage().await;
    let album = stage.ann.sends_album(&[jpeg(64, 48), jpeg(65, 48)], "/describe compare them").await;
    let answer = stage.ann.next_message().await;
    stage.reply_goes_to(&answer, "more of that", "sees").await;
    stage.reply_goes_to(&album[1], "and this one?", "sees").await;

    let words: Vec<String> = (0..1500).map(|n| format!("word{n}")).collect();
    stage.model.next_reply(&words.join(" "));
    let question = stage.ann.says("/describe everything").await;
    let _first_piece = stage.ann.next_message().await;
    let mut piece = stage.ann.next_message().await;
    while !piece.text.contains("word1499") {
        piece = stage.ann.next_message().await;
    }
    stage.settings.until_settled(&stage.world).await;
    stage.reply_goes_to(&piece, "the last part again", "sees").await;
    stage.reply_goes_to(&question, "my own words", "sees").await;

    stage.reply_goes_to(&answer, "/joke about it", "jokes").await;
    let last = stage.ann.replies(&question, "/joke about that").await;
    stage.ann.next_message().await;
    stage.reply_goes_to(&last, "another", "jokes").await;
    stage.ann.says("and outside of a reply?").await;
    stage.ann.next_message().await;
    assert_eq!(stage.last_asked().0, "edits");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_to_a_photo_goes_to_the_agent_that_made_it() {
    let stage = stage().await;
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    stage.ann.sends_album(&[jpeg(64, 48), jpeg(65, 48)], "/describe them turned").await;
    let made = stage.ann.next_album().await;
    stage.settings.until_settled(&stage.world).await;
    stage.reply_goes_to(&made[1], "what is this?", "sees").await;
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_photo_goes_to_the_agent_of_its_album() {
    let stage = stage().await;
    stage.ann.album_piece("lake", jpeg(64, 48), "/describe them").await;
    stage.ann.album_piece("lake", jpeg(65, 48), "").await;
    stage.ann.next_message().await;
    stage.ann.album_piece("lake", jpeg(66, 48), "").await;
    stage.ann.next_message().await;
    assert_eq!(stage.last_asked().0, "sees");
    assert_eq!(agents(&stage.rows().await), ["describer"; 5]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_added_by_an_edit_counts_before_the_turn_starts() {
    let stage =
        Stage::set_with(&[("PHOTOTHREAD_AGENTS", AGENTS), ("PHOTOTHREAD_TELEGRAM__BATCH__QUIET_MS", "400")])
            .await;
    stage.world.hold_updates();
    let said = stage.ann.says("what is this").await;
    stage.ann.edits(&said, "/describe what is that").await;
    stage.world.release_updates();
    stage.ann.next_message().await;
    let (asked, words) = stage.last_asked();
    assert_eq!(asked, "sees");
    assert!(words.contains("what is that") && !words.contains("/describe"), "{words}");

    stage.ann.edits(&said, "/describe what was that").await;
    stage.settings.until_settled(&stage.world).await;
    assert_eq!(stage.rows().await[0].content, "what was that", "a later edit is stored without it as well");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_of_a_removed_agent_go_to_the_first() {
    let mut stage = stage().await;
    stage.ann.says("/describe the sea").await;
    let answer = stage.ann.next_message().await;
    stage.bot.stop().await;
    stage.settings =
        stage.settings.with("PHOTOTHREAD_AGENTS", "{ editor: { provider: openai, model: edits } }");
    stage.bot = BotUnderTest::start(&stage.settings).await;
    stage.reply_goes_to(&answer, "and the sky?", "edits").await;
    assert_eq!(agents(&stage.rows().await), ["describer", "describer", "editor", "editor"]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_commands_are_registered_and_listed_in_help() {
    let stage = stage().await;
    stage.world.wait_for_calls("setMyCommands", 1).await;
    stage.ann.says("/help").await;
    let help = stage.ann.next_message().await.text;
    assert!(help.contains("/describe asks describer") && help.contains("/joke asks wit"), "{help}");
    let commands = stage.world.commands();
    assert!(commands.ends_with(&["describe".to_owned(), "joke".to_owned()]), "{commands:?}");
    assert!(commands.contains(&"help".to_owned()));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_agent_has_its_own_tools_steps_and_settings() {
    let stage = stage().await;
    stage.model.next_call_on_all("image_info", json!({}));
    stage.ann.sends_photo(jpeg(64, 48), "/describe it").await;
    stage.ann.next_message().await;
    stage.ann.says("hello").await;
    stage.ann.next_message().await;
    let requests = stage.model.requests();
    let [first, last_word, other] = requests.as_slice() else { panic!("{} requests", requests.len()) };
    assert_eq!(tools(first), ["rotate_image", "image_info"]);
    assert_eq!((&first["temperature"], &first["seed"]), (&json!(0.25), &json!(7)));
    assert_eq!(tools(last_word), [""; 0], "one step and no more");
    assert!(tools(other).len() > 2);
    assert_eq!((&other["temperature"], &other["seed"]), (&Value::Null, &Value::Null));

    let rows = stage.rows().await;
    let roles: Vec<Role> = rows.iter().map(|row| row.role).collect();
    assert_eq!(roles[..4], [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
    assert_eq!(agents(&rows)[..4], ["describer"; 4]);
    assert_eq!(agents(&rows)[4..], ["editor"; 2]);
    stage.clear().await;
}
