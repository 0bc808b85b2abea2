//! Topics of the world: what messages in them carry, and which requests about them are refused.

use super::{bot, call, refusal};
use crate::harness::{World, user};
use serde_json::json;
use teloxide::{
    prelude::*,
    types::{MessageId, ReplyParameters, ThreadId, UpdateKind},
};

#[tokio::test]
async fn a_message_in_a_topic_carries_the_message_that_opened_it() {
    let world = World::start().await;
    let group = world.group("Trip").with_topics();
    let ann = group.member(user(1001, "Ann"));
    let food = ann.opens_topic("Food");
    let said = food.says("soup?").await;
    food.replies(&said, "or salad").await;
    ann.says("in General").await;
    let seen = bot(&world).get_updates().await.unwrap();
    let messages: Vec<Message> = seen
        .into_iter()
        .map(|update| match update.kind {
            UpdateKind::Message(message) => message,
            other => panic!("{other:?}"),
        })
        .collect();
    let topic = ThreadId(MessageId(food.topic.unwrap()));
    assert_eq!((messages[1].thread_id, messages[1].is_topic_message), (Some(topic), true));
    assert_eq!(messages[1].reply_to_message().unwrap().id, topic.0);
    assert!(messages[1].reply_to_message().unwrap().forum_topic_created().is_some());
    assert_eq!(messages[2].reply_to_message().unwrap().id.0, said.message_id);
    assert_eq!((messages[3].thread_id, messages[3].reply_to_message().is_none()), (None, true));
}

#[tokio::test]
async fn sends_reach_their_topic_and_are_refused_where_there_is_none() {
    let world = World::start().await;
    let group = world.group("Trip").with_topics();
    let ann = group.member(user(1001, "Ann"));
    let (food, route) = (ann.opens_topic("Food"), ann.opens_topic("Route"));
    let soup = food.says("soup?").await;
    let bot = bot(&world);
    let topic = |id: i32| ThreadId(MessageId(id));
    let chat = ChatId(group.chat_id);
    bot.send_message(chat, "yes").message_thread_id(topic(food.topic.unwrap())).await.unwrap();
    bot.send_message(chat, "to all").await.unwrap();
    assert_eq!(food.next_message().await.text, "yes");
    assert_eq!(ann.next_message().await.text, "to all");
    route.has_nothing_more();

    let elsewhere = bot
        .send_message(chat, "here?")
        .message_thread_id(topic(route.topic.unwrap()))
        .reply_parameters(ReplyParameters::new(MessageId(soup.message_id)));
    assert!(elsewhere.await.is_err(), "a message of another topic cannot be replied to");
    let send =
        |topic: Option<i32>| json!({ "chat_id": group.chat_id, "text": "x", "message_thread_id": topic });
    let unknown = refusal(&world, "sendMessage", send(Some(9999))).await;
    assert_eq!(unknown, "Bad Request: message thread not found");
    group.closes_topic(food.topic.unwrap());
    assert_eq!(refusal(&world, "sendMessage", send(food.topic)).await, "Bad Request: TOPIC_CLOSED");
    group.deletes_topic(route.topic.unwrap());
    let action = json!({ "chat_id": group.chat_id, "action": "typing", "message_thread_id": route.topic });
    let deleted = refusal(&world, "sendChatAction", action).await;
    assert_eq!(deleted, "Bad Request: message thread not found");
}

#[tokio::test]
async fn a_bot_opens_topics_only_where_there_are_topics() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let open = json!({ "chat_id": 1001, "name": "Birds" });
    let refused = refusal(&world, "createForumTopic", open.clone()).await;
    assert_eq!(refused, "Bad Request: the chat is not a forum");
    ann.turns_on_topics();
    let (status, opened) = call(&world, "createForumTopic", open).await;
    assert_eq!((status, &opened["result"]["name"]), (200, &json!("Birds")));
    assert_eq!(ann.topic_named("Birds").topic.map(i64::from), opened["result"]["message_thread_id"].as_i64());
    let nameless = json!({ "chat_id": 1001, "name": "" });
    assert!(refusal(&world, "createForumTopic", nameless).await.contains("TOPIC_TITLE_INVALID"));
}
