//! Signs of life: a reaction within moments of a message, and an answer that grows while it is written.

use crate::harness::{BotUnderTest, Program, ScriptedModel, Settings, World, jpeg, user};

fn with_reactions(world: &World, model: &ScriptedModel) -> Settings {
    Settings::new(world).with_model(&model.base_url()).with("PHOTOTHREAD_TELEGRAM__REACTIONS", "true")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reaction_shows_that_a_message_has_arrived_until_its_answer_is_there() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = with_reactions(&world, &model).with("PHOTOTHREAD_TELEGRAM__BATCH__QUIET_MS", "1000");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let held = model.hold_next();
    let said = ann.says("hello").await;
    world.wait_for_reaction(&said, Some("👀")).await;
    assert_eq!(model.requests().len(), 0, "before the batch is complete");
    held.reached().await;
    assert_eq!(world.reactions(1001), [said.message_id], "while the model thinks");
    let wire = world.next("sendMessage").waits();
    held.open();
    wire.reached().await;
    assert_eq!(world.reactions(1001), [said.message_id], "until the answer is sent");
    wire.open();
    ann.next_message().await;
    world.wait_for_reaction(&said, None).await;

    let album = ann.sends_album(&[jpeg(64, 48), jpeg(64, 48), jpeg(64, 48)], "look").await;
    ann.next_message().await;
    world.wait_for_reaction(&album[0], None).await;
    assert_eq!(world.reactions_seen(1001), [said.message_id, album[0].message_id], "an album has one");
    ann.says("/help").await;
    ann.next_message().await;
    bot.stop().await;
    assert_eq!(world.reactions_seen(1001).len(), 2, "a command is answered at once");
    assert_eq!(world.refused_calls().len(), 0, "{}", world.story());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reaction_does_not_outlive_a_kill_or_a_cancelled_message() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = with_reactions(&world, &model);
    let ann = world.private_chat(user(1001, "Ann"));
    let held = model.hold_next();
    let program = Program::start(&settings);
    let said = ann.says("hello").await;
    world.wait_for_reaction(&said, Some("👀")).await;
    program.kill();
    let program = Program::start(&settings);
    // Whichever of the two asked the model first.
    held.open();
    ann.next_message().await;
    world.wait_for_reaction(&said, None).await;

    let _held = model.hold_next();
    let said = ann.says("think hard").await;
    world.wait_for_reaction(&said, Some("👀")).await;
    ann.says("/cancel").await;
    world.wait_for_reaction(&said, None).await;
    program.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_messages_for_the_bot_get_a_reaction_and_only_where_it_is_allowed() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = with_reactions(&world, &model)
        .with("PHOTOTHREAD_TELEGRAM__ALLOW_EVERYONE", "false")
        .with("PHOTOTHREAD_TELEGRAM__ALLOWED_USER_IDS", "[1001]");
    let bot = BotUnderTest::start(&settings).await;
    let group = world.group("Holiday");
    let (ann, eve) = (group.member(user(1001, "Ann")), group.member(user(1002, "Eve")));
    ann.says("nobody mentions a bot here").await;
    eve.says("@photothread_bot hello").await;
    eve.next_message().await;
    let said = ann.says("@photothread_bot hello").await;
    ann.next_message().await;
    world.wait_for_reaction(&said, None).await;
    assert_eq!(world.reactions_seen(group.chat_id), [said.message_id]);

    let strict = world.group("Office");
    strict.forbids_reactions();
    let ann = strict.member(user(1001, "Ann"));
    for _ in 0..3 {
        ann.says("@photothread_bot hello").await;
        ann.next_message().await;
        settings.until_settled(&world).await;
    }
    bot.stop().await;
    let calls = world.all_calls();
    let asked = calls.iter().filter(|call| {
        call.method == "setMessageReaction"
            && call.chat_id == Some(strict.chat_id)
            && call.params["reaction"].as_array().is_some_and(|shown| !shown.is_empty())
    });
    assert_eq!(asked.count(), 1, "a chat that refuses is not asked again");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_grows_in_a_native_draft_where_the_server_has_them() {
    let world = World::start().await;
    world.streams_drafts();
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url()).with_drafts(0, 100);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.turns_on_topics();
    let birds = ann.opens_topic("Birds");
    let [first, second, last] = model.next_slowly(["A **pelican**", " on a", " pier."]);
    let question = birds.says("what is it?").await;
    first.open();
    world.wait_for_draft(1001, "A pelican …").await;
    second.open();
    world.wait_for_draft(1001, "A pelican on a …").await;
    birds.has_nothing_more();
    last.open();
    let answer = birds.next_message().await;
    assert_eq!((answer.text.as_str(), answer.reply_to), ("A pelican on a pier.", Some(question.message_id)));
    let drafts = world.drafts(1001);
    assert!(drafts.iter().all(|(topic, id, _)| *topic == birds.topic && *id == drafts[0].1), "{drafts:?}");
    bot.stop().await;
    assert_eq!((world.calls("editMessageText"), world.deleted_in(1001).len()), (0, 0));
    assert_eq!(world.refused_calls().len(), 0, "{}", world.story());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_native_drafts_is_asked_once_and_a_group_never() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url()).with_drafts(0, 100);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let group = world.group("Holiday").member(user(1001, "Ann"));
    for person in [&group, &ann, &ann] {
        let [first, last] = model.next_slowly(["A pelican", " on a pier."]);
        person.says("@photothread_bot what is it?").await;
        first.open();
        let draft = person.next_message().await;
        assert_eq!(draft.text, "A pelican …");
        last.open();
        world.wait_for_text(&draft, "A pelican on a pier.").await;
    }
    bot.stop().await;
    assert_eq!(world.calls("sendMessageDraft"), 1);
}
