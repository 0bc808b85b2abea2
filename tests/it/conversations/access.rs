//! Who may use the bot: the owner who pairs, the people on the list, and not strangers.

use crate::harness::{BotUnderTest, ScriptedModel, Settings, World, jpeg, user};

fn private(world: &World) -> Settings {
    Settings::new(world).with("PHOTOTHREAD_TELEGRAM__ALLOW_EVERYONE", "false")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_person_who_sends_the_printed_code_becomes_the_owner() {
    let world = World::start().await;
    let settings = private(&world);
    let mut bot = BotUnderTest::start(&settings).await;
    let code = bot.pairing_code().await.expect("without an owner, a code is printed");
    let ann = world.private_chat(user(1001, "Ann"));
    let bob = world.private_chat(user(1002, "Bob"));

    ann.says("/start NOTTHECODE").await;
    assert!(ann.next_message().await.text.contains("code isn't right"));

    ann.says(&format!("/start {code}")).await;
    let welcome = ann.next_message().await;
    assert!(welcome.text.contains("yours now"), "{}", welcome.text);

    bob.says(&format!("/start {code}")).await;
    let refusal = bob.next_message().await;
    assert!(refusal.text.contains("private") && refusal.text.contains("1002"), "{}", refusal.text);

    ann.sends_photo(jpeg(64, 48), "rotate left").await;
    assert!(ann.next_message().await.photo.is_some(), "the owner is served");
    bot.stop().await;

    let mut bot = BotUnderTest::start(&settings).await;
    assert_eq!(bot.pairing_code().await, None, "there is an owner, so no code is printed");
    ann.sends_photo(jpeg(64, 48), "rotate left").await;
    assert!(ann.next_message().await.photo.is_some(), "the owner is still in");
    bob.says("/start").await;
    bob.says(&format!("/start {code}")).await;
    ann.says("/help").await;
    ann.next_message().await;
    bot.stop().await;
    assert_eq!(world.sends_to(1002).len(), 1, "Bob has heard once that this is private");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pairing_code_is_case_insensitive() {
    let world = World::start().await;
    let settings = private(&world);
    let mut bot = BotUnderTest::start(&settings).await;
    let code = bot.pairing_code().await.unwrap().to_lowercase();
    let ann = world.private_chat(user(1001, "Ann"));
    ann.says(&format!("/start  {code} ")).await;
    assert!(ann.next_message().await.text.contains("yours now"));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_pairing_codes_are_answered_a_few_times_and_then_ignored() {
    let world = World::start().await;
    let settings = private(&world);
    let mut bot = BotUnderTest::start(&settings).await;
    let code = bot.pairing_code().await.unwrap();
    let ann = world.private_chat(user(1001, "Ann"));
    for guess in 0..10 {
        ann.says(&format!("/start GUESS{guess:03}")).await;
    }
    ann.says(&format!("/start {code}")).await;
    for _ in 0..3 {
        assert!(ann.next_message().await.text.contains("code isn't right"));
    }
    assert!(ann.next_message().await.text.contains("yours now"), "the right code is always taken");
    bot.stop().await;
    assert_eq!(world.sends_to(1001).len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn people_on_the_list_may_use_the_bot_and_no_code_is_printed() {
    let world = World::start().await;
    let settings = private(&world).with("PHOTOTHREAD_TELEGRAM__ALLOWED_USER_IDS", "[1001]");
    let mut bot = BotUnderTest::start(&settings).await;
    assert_eq!(bot.pairing_code().await, None);
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_photo(jpeg(64, 48), "flip").await;
    assert!(ann.next_message().await.photo.is_some());
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_get_one_message_and_cause_neither_a_model_request_nor_a_download() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = private(&world)
        .with_model(&model.base_url())
        .with("PHOTOTHREAD_TELEGRAM__ALLOWED_USER_IDS", "[1001]");
    let bot = BotUnderTest::start(&settings).await;
    let eve = world.private_chat(user(6666, "Eve"));
    let mallory = world.private_chat(user(7777, "Mallory"));
    eve.sends_album(&[jpeg(64, 48), jpeg(48, 64), jpeg(64, 64)], "make them sepia").await;
    let line = eve.next_message().await;
    assert!(line.text.contains("6666") && line.text.contains("private"), "{}", line.text);
    for words in ["hello?", "hello", "anybody?", "/help", "/cancel"] {
        eve.says(words).await;
    }
    mallory.says("/start").await;
    let line = mallory.next_message().await;
    assert!(line.text.contains("7777"), "{}", line.text);
    for words in ["one", "two", "/new", "four", "five"] {
        mallory.says(words).await;
    }
    settings.until_settled(&world).await;
    assert_eq!(model.requests().len(), 0, "no stranger reaches the model");

    let ann = world.private_chat(user(1001, "Ann"));
    ann.says("hello").await;
    assert_eq!(ann.next_message().await.text, "Done.");
    bot.stop().await;
    assert_eq!(world.sends_to(6666).len(), 1, "an album and five messages: one line");
    assert_eq!(world.sends_to(7777).len(), 1, "six messages: one line");
    assert_eq!(world.calls("getFile") + world.calls("download"), 0, "no stranger causes a download");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_in_a_group_gets_no_message_until_they_address_the_bot() {
    let world = World::start().await;
    let settings = private(&world).with("PHOTOTHREAD_TELEGRAM__ALLOWED_USER_IDS", "[1001]");
    let bot = BotUnderTest::start(&settings).await;
    let group = world.group("Holiday");
    let (ann, eve) = (group.member(user(1001, "Ann")), group.member(user(6666, "Eve")));
    eve.says("what a day").await;
    eve.sends_photo(jpeg(64, 48), "look at this").await;
    settings.until_settled(&world).await;
    assert_eq!(world.calls("getFile"), 0, "photos of strangers are not fetched");

    ann.says("/help@photothread_bot").await;
    assert!(ann.next_message().await.text.contains("/cancel"), "Ann's help is the first thing said here");
    eve.says("@photothread_bot rotate it").await;
    let line = eve.next_message().await;
    assert!(line.text.contains("6666"), "addressed for the first time: {}", line.text);
    eve.says("@photothread_bot please").await;
    settings.until_settled(&world).await;
    ann.says("/help@photothread_bot").await;
    assert!(ann.next_message().await.text.contains("/cancel"), "Eve was told once");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_strangers_wrote_is_kept() {
    use sqlx::{Connection as _, Row as _};
    let world = World::start().await;
    let settings = private(&world).with("PHOTOTHREAD_TELEGRAM__ALLOWED_USER_IDS", "[1001]");
    let bot = BotUnderTest::start(&settings).await;
    let group = world.group("Strangers");
    let (eve, mallory) = (group.member(user(6666, "Eve")), world.private_chat(user(7777, "Mallory")));
    eve.joins().await;
    let said = eve.says("a whispered remark").await;
    eve.edits(&said, "a whispered correction").await;
    eve.sends_photo(jpeg(64, 48), "a whispered caption").await;
    eve.says("/help@photothread_bot a whispered wish").await;
    mallory.says("whispered words").await;
    mallory.next_message().await;
    settings.until_settled(&world).await;
    bot.stop().await;

    let mut conn = sqlx::SqliteConnection::connect(&settings.config().database.url.to_url()).await.unwrap();
    let rows = sqlx::query("SELECT update_key, state, raw FROM inbox").fetch_all(&mut conn).await.unwrap();
    assert!(rows.len() >= 6, "repeated deliveries are still recognised");
    for row in rows {
        let (state, raw): (String, String) = (row.get("state"), row.get("raw"));
        assert_eq!((state.as_str(), raw.as_str()), ("done", ""), "{}", row.get::<String, _>("update_key"));
    }
    let members = sqlx::query("SELECT * FROM members").fetch_all(&mut conn).await.unwrap();
    assert_eq!(members.len(), 0, "nobody here may look");
    conn.close().await.unwrap();
    for entry in std::fs::read_dir(settings.folder()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let found = bytes.windows(9).any(|window| window == b"whispered");
        assert!(!found, "{} holds what strangers wrote", path.display());
    }
}
