//! Group members see the conversation of their group while they are members.

use super::{House, Shows};
use crate::harness::user;
use serde_json::Value;

/// The number of visible sessions.
async fn seen(house: &House, shows: &Shows) -> i64 {
    let listed = house.get(shows, "/sessions").await;
    listed.json::<Value>().await.unwrap()["totalCount"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn group_members_see_the_conversation_while_they_are_members() {
    let house = House::open().await;
    let group = house.world.group("Holiday");
    let (ann, bob) = (group.member(user(1001, "Ann")), group.member(user(1002, "Bob")));
    let browser = house.log_in(&house.world.private_chat(user(1002, "Bob"))).await;
    ann.says("we meet at the lighthouse").await;
    house.settings.until_settled(&house.world).await;
    assert_eq!(seen(&house, &browser).await, 0, "the bot does not know yet that Bob is there");
    bob.says("fine").await;
    house.settings.until_settled(&house.world).await;
    assert_eq!(seen(&house, &browser).await, 1);
    bob.leaves().await;
    house.settings.until_settled(&house.world).await;
    assert_eq!(seen(&house, &browser).await, 0);
    bob.joins().await;
    house.settings.until_settled(&house.world).await;
    assert_eq!(seen(&house, &browser).await, 1, "even before he says something");
    bob.vanishes().await;
    house.settings.until_settled(&house.world).await;
    assert_eq!(seen(&house, &browser).await, 0, "an administrator is told, too");
    house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_message_of_a_former_member_does_not_restore_access() {
    let house = House::open().await;
    let group = house.world.group("Holiday");
    let (ann, bob) = (group.member(user(1001, "Ann")), group.member(user(1002, "Bob")));
    let of_ann = house.log_in(&house.world.private_chat(user(1001, "Ann"))).await;
    let of_bob = house.log_in(&house.world.private_chat(user(1002, "Bob"))).await;
    ann.says("stay!").await;
    house.world.hold_updates();
    bob.says("farewell").await;
    bob.leaves().await;
    house.world.release_updates();
    house.settings.until_settled(&house.world).await;
    assert_eq!((seen(&house, &of_ann).await, seen(&house, &of_bob).await), (1, 0));
    let session = house.get(&of_ann, "/sessions").await.json::<Value>().await.unwrap();
    let id = session["sessions"][0]["sessionId"].as_str().unwrap();
    let history = house.get(&of_ann, &format!("/sessions/{id}/history")).await.text().await.unwrap();
    assert!(history.contains("farewell"), "what he said is kept: {history}");
    house.bot.stop().await;
}
