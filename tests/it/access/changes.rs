//! Who may change what: in a group the author, the person who asked, and an admin; in a private conversation its person.

use super::{House, Shows};
use crate::harness::{jpeg, user};
use reqwest::{Method, StatusCode, header::IF_MATCH};
use serde_json::{Value, json};

/// A conversation on Telegram in which Ann wrote, asked for an edit and got an answer. In the group Bob wrote, too. Cleo
/// is an admin and in no chat.
struct Scene {
    house: House,
    ann: Shows,
    bob: Shows,
    cleo: Shows,
    session: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Chat {
    Group,
    Private,
}

impl Scene {
    async fn open(chat: Chat) -> Self {
        let house = House::open_with(|settings| settings.with("PHOTOTHREAD_WEB__ADMINS", "[1003]")).await;
        let alone = |id, name| house.world.private_chat(user(id, name));
        let ann = house.log_in(&alone(1001, "Ann")).await;
        let bob = house.log_in(&alone(1002, "Bob")).await;
        let cleo = house.log_in(&alone(1003, "Cleo")).await;
        let group = house.world.group("Holiday");
        let person = match chat {
            Chat::Group => group.member(user(1001, "Ann")),
            Chat::Private => alone(1001, "Ann"),
        };
        person.sends_photo(jpeg(64, 48), "@photothread_bot rotate left").await;
        person.next_message().await;
        if chat == Chat::Group {
            group.member(user(1002, "Bob")).says("nice").await;
        }
        house.settings.until_settled(&house.world).await;
        let listed: Value = house.get(&ann, "/sessions").await.json().await.unwrap();
        let session = listed["sessions"][0]["sessionId"].as_str().unwrap().to_owned();
        Self { house, ann, bob, cleo, session }
    }

    /// The ETag and the entries of the history.
    async fn history(&self) -> (String, Vec<Value>) {
        let path = format!("/sessions/{}/history?include_tools=true", self.session);
        let answer = self.house.get(&self.cleo, &path).await;
        let etag = answer.headers()["etag"].to_str().unwrap().to_owned();
        let history: Value = answer.json().await.unwrap();
        (etag, history["history"].as_array().unwrap().clone())
    }

    /// The first entry with this role, or with these words.
    async fn entry(&self, what: &str) -> Value {
        let (_, entries) = self.history().await;
        let found = entries.iter().find(|entry| entry["role"] == what || entry["content"] == what);
        found.unwrap_or_else(|| panic!("no {what} in {entries:#?}")).clone()
    }

    async fn ask(&self, shows: &Shows, method: Method, path: &str, body: Value) -> StatusCode {
        let (etag, _) = self.history().await;
        let answer =
            self.house.ask(shows, method, path).header(IF_MATCH, etag).json(&body).send().await.unwrap();
        let status = answer.status();
        if status == StatusCode::FORBIDDEN {
            let problem: Value = answer.json().await.unwrap();
            assert!(problem["detail"].as_str().unwrap().contains("group"), "a sentence says why: {problem}");
        }
        status
    }

    async fn tag(&self, shows: &Shows, what: &str) -> StatusCode {
        let id = self.entry(what).await["internalId"].clone();
        let path = format!("/sessions/{}/history/{id}", self.session);
        let refs = json!([{ "url": "https://example.org" }]);
        self.ask(shows, Method::PATCH, &path, json!({ "tags": ["seen"], "refs": refs })).await
    }

    /// Sends the history back after a change.
    async fn put(&self, shows: &Shows, change: impl FnOnce(&mut Vec<Value>)) -> StatusCode {
        let (_, mut entries) = self.history().await;
        change(&mut entries);
        let path = format!("/sessions/{}/history", self.session);
        self.ask(shows, Method::PUT, &path, json!(entries)).await
    }

    /// Sends the history back with other words in one message.
    async fn rewrite(&self, shows: &Shows, what: &str) -> StatusCode {
        let id = self.entry(what).await["internalId"].clone();
        let change = |entries: &mut Vec<Value>| {
            let entry = entries.iter_mut().find(|entry| entry["internalId"] == id).unwrap();
            entry["content"] = json!(format!("{} indeed", entry["content"].as_str().unwrap()));
        };
        self.put(shows, change).await
    }

    async fn delete(&self, shows: &Shows, path: &str) -> StatusCode {
        self.house.ask(shows, Method::DELETE, path).send().await.unwrap().status()
    }

    async fn file_of(&self, role: &str) -> String {
        let id = self.entry(role).await["attachments"][0]["attachmentId"].clone();
        format!("/attachments/{}", id.as_str().unwrap())
    }
}

const OK: StatusCode = StatusCode::OK;
const NO: StatusCode = StatusCode::FORBIDDEN;

#[tokio::test(flavor = "multi_thread")]
async fn in_a_group_each_person_annotates_their_own_messages_and_answers() {
    let scene = Scene::open(Chat::Group).await;
    let Scene { ann, bob, cleo, .. } = &scene;
    // The first user entry is Ann's photo; the answer is hers, because she asked.
    for (what, of_ann, of_bob) in
        [("user", OK, NO), ("assistant", OK, NO), ("tool", OK, NO), ("nice", NO, OK)]
    {
        assert_eq!(scene.tag(ann, what).await, of_ann, "Ann, {what}");
        assert_eq!(scene.tag(bob, what).await, of_bob, "Bob, {what}");
        assert_eq!(scene.tag(cleo, what).await, OK, "an admin, {what}");
    }
    scene.house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_group_each_person_rewrites_only_their_own_words() {
    let scene = Scene::open(Chat::Group).await;
    let Scene { ann, bob, cleo, .. } = &scene;
    assert_eq!(scene.rewrite(bob, "user").await, NO, "Ann's words");
    assert_eq!(scene.rewrite(ann, "nice").await, NO, "Bob's words");
    assert_eq!(scene.rewrite(ann, "assistant").await, NO, "the agent's words");
    assert_eq!(scene.rewrite(ann, "user").await, OK, "her own words");
    for (who, allowed) in [(bob, NO), (cleo, OK)] {
        let forged = json!({ "role": "assistant", "content": "forged" });
        assert_eq!(scene.put(who, |entries| entries.push(forged)).await, allowed, "an added entry");
    }
    assert_eq!(scene.put(bob, |entries| entries.truncate(1)).await, NO, "removed entries");
    assert_eq!(scene.put(bob, Vec::clear).await, NO, "the whole history");
    assert_eq!(scene.rewrite(cleo, "nice").await, OK, "an admin changes everything");
    assert_eq!(scene.put(cleo, Vec::clear).await, OK, "and removes it");
    scene.house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_group_only_an_admin_deletes_the_conversation_and_senders_delete_their_files() {
    let scene = Scene::open(Chat::Group).await;
    let Scene { ann, bob, cleo, session, .. } = &scene;
    let (sent, made) = (scene.file_of("user").await, scene.file_of("assistant").await);
    assert_eq!(scene.delete(bob, &sent).await, NO);
    assert_eq!(scene.delete(bob, &made).await, NO);
    assert_eq!(scene.delete(ann, &made).await, OK, "she asked for it");
    assert_eq!(scene.delete(ann, &sent).await, OK, "she sent it");
    let path = format!("/sessions/{session}");
    assert_eq!(
        scene.ask(bob, Method::PUT, &path, json!({ "title": "Our trip" })).await,
        OK,
        "a title is nobody's"
    );
    for member in [ann, bob] {
        assert_eq!(scene.delete(member, &path).await, NO);
    }
    assert_eq!(scene.delete(cleo, &path).await, OK);
    scene.house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_private_conversation_its_person_changes_everything() {
    let scene = Scene::open(Chat::Private).await;
    let Scene { ann, bob, session, .. } = &scene;
    for what in ["user", "assistant", "tool"] {
        assert_eq!(scene.tag(ann, what).await, OK, "{what}");
        assert_eq!(scene.tag(bob, what).await, StatusCode::NOT_FOUND, "{what}");
    }
    assert_eq!(scene.rewrite(ann, "assistant").await, OK);
    assert_eq!(scene.rewrite(bob, "assistant").await, StatusCode::NOT_FOUND);
    let file = scene.file_of("assistant").await;
    assert_eq!(scene.delete(ann, &file).await, OK);
    assert_eq!(scene.put(ann, Vec::clear).await, OK);
    let path = format!("/sessions/{session}");
    assert_eq!(scene.delete(ann, &path).await, OK);
    scene.house.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_offers_only_what_is_allowed() {
    let scene = Scene::open(Chat::Group).await;
    let offers = async |shows: &Shows| {
        let page = scene.house.get(shows, &format!("/c/{}", scene.session)).await.text().await.unwrap();
        let log = page.split("id=\"scroll\"").nth(1).unwrap();
        (page.matches("data-ask=\"delete\"").count(), log.matches("data-labels").count())
    };
    assert_eq!(offers(&scene.ann).await, (0, 2), "her photo and its answer");
    assert_eq!(offers(&scene.bob).await, (0, 1), "his message");
    assert_eq!(offers(&scene.cleo).await, (2, 3), "an admin, in the list and above the conversation");
    scene.house.bot.stop().await;
}
