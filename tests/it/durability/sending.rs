//! Delivery: a send is repeated only if it was certainly not delivered, is listed if that is unknown, and keeps the order
//! of its chat.

use super::{Program, at_rest, doctor, eventually, number, troubled};
use crate::harness::{BotUnderTest, RateLimits, ScriptedModel, Settings, World, jpeg, user};
use photothread::domain::Conversation;
use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Command, Stdio},
    time::Duration,
};
use tokio::{net::TcpListener, task::JoinSet};

#[tokio::test(flavor = "multi_thread")]
async fn a_send_whose_response_was_lost_is_unknown_and_never_repeated() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    world.next("sendMessage").loses_its_answer();
    let first = ann.says("hello").await;
    assert_eq!(ann.next_message().await.reply_to, Some(first.message_id), "it did arrive");
    let second = ann.says("hello again").await;
    assert_eq!(ann.next_message().await.reply_to, Some(second.message_id), "and nothing in between");
    at_rest(&settings).await;
    ann.has_nothing_more();
    let store = settings.store().await;
    assert!(matches!(&troubled(&store).await[..], [("unknown", _)]));
    bot.stop().await;
    // Nor after a restart.
    let bot = BotUnderTest::start(&settings).await;
    let third = ann.says("hello once more").await;
    assert_eq!(ann.next_message().await.reply_to, Some(third.message_id));
    assert_eq!(world.calls("sendMessage"), 3);
    bot.stop().await;
    let listed = doctor(&settings);
    assert!(listed.contains("unknown text to"), "{listed}");
    assert!(listed.contains("1001"), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_with_a_server_error_is_unknown_and_later_sends_are_delivered() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    world.next("sendMessage").answers(502);
    ann.says("hello").await;
    world.wait_for_calls("sendMessage", 1).await;
    let second = ann.says("hello again").await;
    assert_eq!(ann.next_message().await.reply_to, Some(second.message_id));
    at_rest(&settings).await;
    assert!(matches!(&troubled(&settings.store().await).await[..], [("unknown", _)]));
    assert_eq!(world.calls("sendMessage"), 2);
    bot.stop().await;
}

/// A TCP relay between the bot and the world. It can refuse connections.
struct Relay {
    at: SocketAddr,
    to: String,
    open: Option<tokio::task::JoinHandle<()>>,
}

impl Relay {
    async fn open(world: &World) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let mut relay = Self { at, to: world.api_url().trim_start_matches("http://").to_owned(), open: None };
        relay.serve(listener);
        relay
    }

    fn url(&self) -> String {
        format!("http://{}", self.at)
    }

    fn serve(&mut self, listener: TcpListener) {
        let to = self.to.clone();
        self.open = Some(tokio::spawn(async move {
            // Dropping the task closes all connections.
            let mut lines = JoinSet::new();
            while let Ok((mut near, _)) = listener.accept().await {
                let to = to.clone();
                lines.spawn(async move {
                    let mut far = tokio::net::TcpStream::connect(to).await?;
                    tokio::io::copy_bidirectional(&mut near, &mut far).await
                });
            }
        }));
    }

    async fn goes_down(&mut self) {
        let task = self.open.take().expect("it is up");
        task.abort();
        let _ = task.await;
    }

    async fn comes_back(&mut self) {
        let listener = TcpListener::bind(self.at).await.unwrap();
        self.serve(listener);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_send_without_a_connection_is_retried_and_arrives_once() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let mut relay = Relay::open(&world).await;
    let settings = Settings::new(&world)
        .with("PHOTOTHREAD_TELEGRAM__API_URL", relay.url())
        .with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let held = model.hold_next();
    let hello = ann.says("hello").await;
    held.reached().await;
    relay.goes_down().await;
    held.open();
    let store = settings.store().await;
    let place = Conversation::telegram(1001);
    eventually("the send to have failed", async || {
        let send = store.next_send(&place).await.unwrap();
        send.is_some_and(|send| send.attempts > 0 && send.error.is_some())
    })
    .await;
    relay.comes_back().await;
    assert_eq!(ann.next_message().await.reply_to, Some(hello.message_id));
    let second = ann.says("and now?").await;
    assert_eq!(ann.next_message().await.reply_to, Some(second.message_id));
    at_rest(&settings).await;
    assert_eq!(troubled(&store).await, []);
    assert_eq!(world.calls("sendMessage"), 2);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_delays_only_its_own_chat_and_keeps_the_order() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bob = world.private_chat(user(1002, "Bob"));
    world.next_send().in_chat(1001).meets_flood(2);
    let first = ann.says("hello").await;
    world.wait_for_calls("sendMessage", 1).await;
    let second = ann.says("hello again").await;
    for _ in 0..2 {
        let hello = bob.says("hello").await;
        assert_eq!(bob.next_message().await.reply_to, Some(hello.message_id));
    }
    ann.has_nothing_more();
    assert_eq!(ann.next_message().await.reply_to, Some(first.message_id));
    assert_eq!(ann.next_message().await.reply_to, Some(second.message_id));
    at_rest(&settings).await;
    let calls = world.all_calls();
    let tries: Vec<_> =
        calls.iter().filter(|call| call.method == "sendMessage" && call.chat_id == Some(1001)).collect();
    assert_eq!(tries.len(), 3);
    assert!(tries[1].at - tries[0].at >= Duration::from_secs(2), "it waited as it was told");
    assert_eq!(troubled(&settings.store().await).await, []);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_that_telegram_refuses_is_sent_as_a_document() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    world.next("sendPhoto").answers(400);
    let request = ann.sends_photo(jpeg(300, 200), "rotate left").await;
    let answer = ann.next_message().await;
    assert_eq!(answer.reply_to, Some(request.message_id));
    let (_, bytes) = answer.document.expect("a document");
    assert_eq!(image::load_from_memory(&bytes).unwrap().width(), 200);
    // Refused as a document too, it ends as a text.
    world.next("sendPhoto").answers(400);
    world.next("sendDocument").answers(400);
    ann.replies(&request, "rotate right").await;
    assert!(!ann.next_message().await.text.is_empty());
    at_rest(&settings).await;
    assert_eq!(troubled(&settings.store().await).await, []);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sends_to_a_closed_chat_fail_and_other_chats_are_not_affected() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bob = world.private_chat(user(1002, "Bob"));
    let held = model.hold_next();
    ann.says("hello").await;
    held.reached().await;
    ann.blocks_bot();
    held.open();
    world.wait_for_calls("sendMessage", 1).await;
    bob.says("hello").await;
    bob.next_message().await;
    at_rest(&settings).await;
    assert!(matches!(&troubled(&settings.store().await).await[..], [("failed", _)]));
    ann.has_nothing_more();
    ann.unblocks_bot();
    let back = ann.says("hello").await;
    assert_eq!(ann.next_message().await.reply_to, Some(back.message_id));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_waits_for_the_send_in_flight() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let mut program = Program::spawn(&settings, Program::command(&settings).stdout(Stdio::piped()));
    let mut said = BufReader::new(program.stdout.take().unwrap()).lines();
    let ann = world.private_chat(user(1001, "Ann"));
    let on_the_wire = world.next("sendMessage").waits_with_its_answer();
    ann.says("hello").await;
    on_the_wire.reached().await;
    let asked = Command::new("kill").args(["-TERM", &program.id().to_string()]).status().unwrap();
    assert!(asked.success());
    let heard = tokio::task::spawn_blocking(move || said.any(|line| line.unwrap().contains("Stopping")));
    assert!(heard.await.unwrap(), "it heard that it shall stop");
    assert!(program.try_wait().unwrap().is_none(), "it still waits for the answer");
    on_the_wire.open();
    let ended = tokio::task::spawn_blocking(move || program.wait()).await.unwrap().unwrap();
    assert!(ended.success());
    assert_eq!(number(&settings, "SELECT COUNT(*) FROM outbox WHERE state = 'sent'").await, 1);
    assert_eq!(number(&settings, "SELECT COUNT(*) FROM outbox WHERE state <> 'sent'").await, 0);
    assert_eq!(world.sends_to(1001).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn bursts_to_several_chats_are_paced() {
    let world = World::start().await;
    let settings = Settings::new(&world)
        .with("PHOTOTHREAD_TELEGRAM__PACING__PER_CHAT_BURST", "5")
        .with("PHOTOTHREAD_TELEGRAM__PACING__GROUP_PER_MINUTE", "20");
    let bot = BotUnderTest::start(&settings).await;
    let group = world.group("Family");
    let people = [
        world.private_chat(user(1001, "Ann")),
        world.private_chat(user(1002, "Bob")),
        group.member(user(1003, "Cid")),
    ];
    // Each command is answered on its own, without a turn.
    let command = format!("/help@{}", world.bot_name());
    for _ in 0..9 {
        for person in &people {
            person.says(&command).await;
        }
    }
    for person in &people {
        for _ in 0..9 {
            person.next_message().await;
        }
    }
    // A burst is sent at once, then one message a second.
    let limits = RateLimits { chat_per_second: 6, ..RateLimits::default() };
    assert_eq!(world.rate_violations(limits), Vec::<String>::new());
    let calls = world.all_calls();
    for person in &people {
        let mut sends =
            calls.iter().filter(|call| call.method == "sendMessage" && call.chat_id == Some(person.chat_id));
        let (first, last) = (sends.next().unwrap().at, sends.next_back().unwrap().at);
        assert!(last - first > Duration::from_secs(3), "nine are not sent at once: {:?}", last - first);
    }
    bot.stop().await;
}
