//! People: what they send, and what the bot sends them.

use super::{
    files::Kind,
    messages::{bot_user, embedded, now, set_typed},
    received::{Button, Received},
    state::{Chat, Shared, State},
    text::utf16_len,
    topics::set_topic,
};
use bytes::Bytes;
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct User {
    pub id: i64,
    /// First name and, after a space, last name.
    pub name: String,
}

pub fn user(id: i64, name: &str) -> User {
    User { id, name: name.into() }
}

impl User {
    pub(super) fn json(&self) -> Value {
        let (first_name, last_name) = match self.name.split_once(' ') {
            Some((first, last)) => (first, Some(last)),
            None => (self.name.as_str(), None),
        };
        let mut json =
            json!({ "id": self.id, "is_bot": false, "first_name": first_name, "language_code": "en" });
        json["username"] = first_name.to_lowercase().into();
        if let Some(last_name) = last_name {
            json["last_name"] = last_name.into();
        }
        json
    }
}

/// The position of a message of a person or of the bot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageRef {
    pub chat_id: i64,
    pub message_id: i32,
    /// The update that carries it, for messages of people.
    pub update_id: Option<i64>,
}

impl From<&MessageRef> for MessageRef {
    fn from(message: &MessageRef) -> MessageRef {
        *message
    }
}

/// Kinds of files other than photos and documents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FileKind {
    Video,
    Audio,
    Voice,
    Animation,
    Sticker,
    VideoNote,
}

impl From<FileKind> for Kind {
    fn from(kind: FileKind) -> Kind {
        match kind {
            FileKind::Video => Kind::Video,
            FileKind::Audio => Kind::Audio,
            FileKind::Voice => Kind::Voice,
            FileKind::Animation => Kind::Animation,
            FileKind::Sticker => Kind::Sticker,
            FileKind::VideoNote => Kind::VideoNote,
        }
    }
}

/// A group with the bot in it.
#[derive(Clone)]
pub struct Group {
    pub(super) shared: Arc<Shared>,
    pub chat_id: i64,
}

impl Group {
    pub(super) fn new(shared: Arc<Shared>, title: &str) -> Group {
        let chat_id = shared.change(|state| {
            let id = -1_001_000_000_000 - state.fresh_number() as i64;
            state.chats.insert(id, Chat::new(json!({ "id": id, "type": "supergroup", "title": title })));
            id
        });
        Group { shared, chat_id }
    }

    pub fn member(&self, user: User) -> Person {
        self.shared.change(|state| state.chat(self.chat_id).members.insert(user.id, user.json()));
        Person { shared: self.shared.clone(), chat_id: self.chat_id, topic: None, user }
    }

    pub fn removes_bot(&self) {
        let closed = Some("Forbidden: bot was kicked from the supergroup chat");
        self.shared.change(|state| state.chat(self.chat_id).closed = closed);
    }
}

/// A person in a private chat with the bot, or in a group.
#[derive(Clone)]
pub struct Person {
    pub(super) shared: Arc<Shared>,
    pub chat_id: i64,
    /// Where this person writes and reads; none outside topics.
    pub topic: Option<i32>,
    pub user: User,
}

impl Person {
    pub(super) fn in_private(shared: Arc<Shared>, user: User) -> Person {
        let mut info = user.json();
        info["type"] = "private".into();
        shared.change(|state| {
            let chat = state.chats.entry(user.id).or_insert_with(|| Chat::new(info));
            chat.members.insert(user.id, user.json());
        });
        Person { shared, chat_id: user.id, topic: None, user }
    }

    pub async fn says(&self, text: &str) -> MessageRef {
        self.posts(|_, message| set_typed(message, "text", text))
    }

    pub async fn replies(&self, to: impl Into<MessageRef>, text: &str) -> MessageRef {
        let to = to.into();
        self.posts(|state, message| {
            set_reply(state, message, to);
            set_typed(message, "text", text);
        })
    }

    /// A reply that quotes a part of the text or caption of the message.
    pub async fn replies_quoting(&self, to: impl Into<MessageRef>, quote: &str, text: &str) -> MessageRef {
        let to = to.into();
        self.posts(|state, message| {
            set_reply(state, message, to);
            let original = &message["reply_to_message"];
            let words = original["text"].as_str().or(original["caption"].as_str()).unwrap_or_default();
            let start = words.find(quote).unwrap_or_else(|| panic!("{quote:?} is not part of {words:?}"));
            let position = utf16_len(&words[..start]);
            message["quote"] = json!({ "text": quote, "position": position, "is_manual": true });
            set_typed(message, "text", text);
        })
    }

    pub async fn sends_photo(&self, photo: impl Into<Bytes>, caption: &str) -> MessageRef {
        self.sends(Kind::Photo, "photo.jpg", photo.into(), caption, |_, _| {})
    }

    pub async fn replies_with_photo(
        &self,
        to: impl Into<MessageRef>,
        photo: impl Into<Bytes>,
        caption: &str,
    ) -> MessageRef {
        let to = to.into();
        self.sends(Kind::Photo, "photo.jpg", photo.into(), caption, |state, message| {
            set_reply(state, message, to)
        })
    }

    pub async fn sends_document(&self, name: &str, content: impl Into<Bytes>, caption: &str) -> MessageRef {
        self.sends(Kind::Document, name, content.into(), caption, |_, _| {})
    }

    /// A document with this stated size. Telegram refuses to download more than 20 MB.
    pub async fn sends_huge_document(&self, name: &str, claimed_size: u64, caption: &str) -> MessageRef {
        self.posts(|state, message| {
            let file = state.store_file(Kind::Document, name, Bytes::from_static(b"huge"), claimed_size);
            state.set_file(message, &file);
            set_typed(message, "caption", caption);
        })
    }

    pub async fn sends_file_of(
        &self,
        kind: FileKind,
        content: impl Into<Bytes>,
        caption: &str,
    ) -> MessageRef {
        let name = match kind {
            FileKind::Video | FileKind::VideoNote | FileKind::Animation => "clip.mp4",
            FileKind::Audio => "song.mp3",
            FileKind::Voice => "voice.ogg",
            FileKind::Sticker => "sticker.webp",
        };
        self.sends(kind.into(), name, content.into(), caption, |_, _| {})
    }

    /// One update per photo. The first has the caption, as in Telegram's apps.
    pub async fn sends_album<P: AsRef<[u8]>>(&self, photos: &[P], caption: &str) -> Vec<MessageRef> {
        self.posts_album(photos, caption, |_, _| {})
    }

    /// One photo of an album. The test sends the others itself.
    pub async fn album_piece(&self, group: &str, photo: impl Into<Bytes>, caption: &str) -> MessageRef {
        let set_group = |_: &mut State, message: &mut Value| message["media_group_id"] = group.into();
        self.sends(Kind::Photo, "photo.jpg", photo.into(), caption, set_group)
    }

    /// As `sends_album`, as a reply: every photo of it is a reply.
    pub async fn replies_with_album<P: AsRef<[u8]>>(
        &self,
        to: impl Into<MessageRef>,
        photos: &[P],
        caption: &str,
    ) -> Vec<MessageRef> {
        let to = to.into();
        self.posts_album(photos, caption, |state, message| set_reply(state, message, to))
    }

    /// Edits the text of an own message, or its caption if it has a file.
    pub async fn edits(&self, message: impl Into<MessageRef>, words: &str) -> MessageRef {
        let MessageRef { chat_id, message_id, .. } = message.into();
        self.shared.change(|state| {
            let found = state.find_message(chat_id, message_id.into()).cloned();
            let mut edited = found.expect("a message to edit");
            assert_eq!(edited["from"]["id"], self.user.id, "people edit only their own messages");
            let field = if edited["text"].is_null() { "caption" } else { "text" };
            set_typed(&mut edited, field, words);
            edited["edit_date"] = now().into();
            state.keep_message(&edited);
            let update_id = Some(state.publish("edited_message", edited));
            MessageRef { chat_id, message_id, update_id }
        })
    }

    /// Forwards a message of any chat to this one.
    pub async fn forwards(&self, message: impl Into<MessageRef>) -> MessageRef {
        let original = message.into();
        self.posts(|state, message| copy_forwarded(state, message, original))
    }

    /// Presses a button under a message of the bot. Returns the id the bot must answer.
    pub async fn presses(&self, message: &Received, button: &Button) -> String {
        self.shared.change(|state| {
            let id = format!("callback-{}", state.fresh_number());
            let found = state.find_message(message.chat_id, message.message_id.into()).cloned();
            let query = json!({ "id": id, "from": self.user.json(), "message": found, "chat_instance": "1",
                "data": button.data });
            state.open_callbacks.insert(id.clone());
            state.publish("callback_query", query);
            id
        })
    }

    /// Leaves the group, with a service message.
    pub async fn leaves(&self) -> MessageRef {
        self.in_topic(None).posts(|state, message| {
            state.chat(self.chat_id).members.remove(&self.user.id);
            message["left_chat_member"] = self.user.json();
        })
    }

    /// Joins the group (again), with a service message.
    pub async fn joins(&self) -> MessageRef {
        self.in_topic(None).posts(|state, message| {
            state.chat(self.chat_id).members.insert(self.user.id, self.user.json());
            message["new_chat_members"] = json!([self.user.json()]);
        })
    }

    /// Leaves the group without a service message. Only a bot that is an administrator is notified.
    pub async fn vanishes(&self) {
        self.shared.change(|state| {
            let chat = state.chat(self.chat_id).info.clone();
            state.chat(self.chat_id).members.remove(&self.user.id);
            let member = |status: &str| json!({ "status": status, "user": self.user.json() });
            let change = json!({ "chat": chat, "from": self.user.json(), "date": now(),
                "old_chat_member": member("member"), "new_chat_member": member("left") });
            state.publish("chat_member", change);
        });
    }

    /// Blocks the bot: its sends to this chat fail from now on.
    pub fn blocks_bot(&self) {
        self.shared.change(|state| {
            state.chat(self.chat_id).closed = Some("Forbidden: bot was blocked by the user");
            self.publish_membership(state, "member", "kicked");
        });
    }

    pub fn unblocks_bot(&self) {
        self.shared.change(|state| {
            state.chat(self.chat_id).closed = None;
            self.publish_membership(state, "kicked", "member");
        });
    }

    fn publish_membership(&self, state: &mut State, old: &str, new: &str) {
        let member = |status: &str| match status {
            "kicked" => json!({ "status": status, "user": bot_user(), "until_date": 0 }),
            _ => json!({ "status": status, "user": bot_user() }),
        };
        let chat = state.chat(self.chat_id).info.clone();
        let change = json!({ "chat": chat, "from": self.user.json(), "date": now(),
            "old_chat_member": member(old), "new_chat_member": member(new) });
        state.publish("my_chat_member", change);
    }

    /// The next message of the bot in this chat; each is returned once. Fails on an album: use `next_album`.
    pub async fn next_message(&self) -> Received {
        let mut delivery = self.next_delivery("the next message").await;
        assert_eq!(delivery.len(), 1, "expected a single message, got an album: {delivery:?}");
        delivery.remove(0)
    }

    /// The next send of the bot in this chat, which must be an album.
    pub async fn next_album(&self) -> Vec<Received> {
        let delivery = self.next_delivery("the next album").await;
        assert!(delivery.len() > 1, "expected an album, got a single message: {delivery:?}");
        delivery
    }

    async fn next_delivery(&self, what: &str) -> Vec<Received> {
        let what = format!("{what} to {} in chat {}", self.user.name, self.chat_id);
        self.shared.wait(&what, |state| state.chat(self.chat_id).read_delivery(self.topic)).await
    }

    /// The next edit of a message of the bot in this chat.
    pub async fn next_edit(&self) -> Received {
        let what = format!("the next edit in chat {}", self.chat_id);
        self.shared.wait(&what, |state| state.chat(self.chat_id).read_edit(self.topic)).await
    }

    /// Fails if there is anything unread now. Call it after an event that must come later, such as an answer to a later
    /// message; otherwise it proves nothing.
    #[track_caller]
    pub fn has_nothing_more(&self) {
        let mut state = self.shared.look();
        let unread = state.chat(self.chat_id).unread(self.topic);
        if !unread.is_empty() {
            let unread = format!("{unread:?}");
            panic!(
                "expected silence in chat {}, got {unread}. What the world saw:\n{}",
                self.chat_id,
                state.story()
            );
        }
    }

    /// A text message in the form of a future Bot API.
    pub async fn says_in_a_new_form(&self, text: &str, change: impl FnOnce(&mut Value)) -> MessageRef {
        self.posts(|_, message| {
            set_typed(message, "text", text);
            change(message);
        })
    }

    /// A photo in the form of a future Bot API.
    pub async fn sends_photo_in_a_new_form(
        &self,
        photo: impl Into<Bytes>,
        caption: &str,
        change: impl FnOnce(&mut Value),
    ) -> MessageRef {
        self.sends(Kind::Photo, "photo.jpg", photo.into(), caption, |_, message| change(message))
    }

    fn sends(
        &self,
        kind: Kind,
        name: &str,
        bytes: Bytes,
        caption: &str,
        more: impl FnOnce(&mut State, &mut Value),
    ) -> MessageRef {
        self.posts(|state, message| {
            put_file(state, message, (kind, name, bytes), caption);
            more(state, message);
        })
    }

    /// Posts all photos in one change, so that one poll gets them: on a busy machine this thread may rest between two
    /// changes for longer than the bot waits for the rest of an album.
    fn posts_album<P: AsRef<[u8]>>(
        &self,
        photos: &[P],
        caption: &str,
        more: impl Fn(&mut State, &mut Value),
    ) -> Vec<MessageRef> {
        self.shared.change(|state| {
            let group = state.fresh_number().to_string();
            let piece = |(index, photo): (usize, &P)| {
                let caption = if index == 0 { caption } else { "" };
                let bytes = Bytes::from(photo.as_ref().to_vec());
                self.post(state, |state, message| {
                    put_file(state, message, (Kind::Photo, "photo.jpg", bytes), caption);
                    message["media_group_id"] = group.clone().into();
                    more(state, message);
                })
            };
            photos.iter().enumerate().map(piece).collect()
        })
    }

    pub(super) fn posts(&self, fill: impl FnOnce(&mut State, &mut Value)) -> MessageRef {
        self.shared.change(|state| self.post(state, fill))
    }

    fn post(&self, state: &mut State, fill: impl FnOnce(&mut State, &mut Value)) -> MessageRef {
        let mut message = state.blank_message(self.chat_id, self.user.json());
        fill(state, &mut message);
        set_topic(state, &mut message, self.topic);
        state.keep_message(&message);
        let message_id = message["message_id"].as_i64().unwrap_or_default() as i32;
        let update_id = Some(state.publish("message", message));
        MessageRef { chat_id: self.chat_id, message_id, update_id }
    }
}

fn put_file(state: &mut State, message: &mut Value, (kind, name, bytes): (Kind, &str, Bytes), caption: &str) {
    let size = bytes.len() as u64;
    let file = state.store_file(kind, name, bytes, size);
    state.set_file(message, &file);
    set_typed(message, "caption", caption);
}

fn set_reply(state: &State, message: &mut Value, to: MessageRef) {
    let original = state.find_message(to.chat_id, to.message_id.into()).expect("a message to reply to");
    message["reply_to_message"] = embedded(original);
}

/// Makes a message a forward of another one.
pub(super) fn copy_forwarded(state: &State, message: &mut Value, original: MessageRef) {
    let found = state.find_message(original.chat_id, original.message_id.into()).cloned();
    let source = embedded(&found.expect("a message to forward"));
    message["forward_origin"] =
        json!({ "type": "user", "sender_user": source["from"], "date": source["date"] });
    let own = [
        "message_id",
        "date",
        "chat",
        "from",
        "media_group_id",
        "reply_markup",
        "edit_date",
        "message_thread_id",
        "is_topic_message",
    ];
    for (field, value) in source.as_object().into_iter().flatten() {
        if !own.contains(&field.as_str()) {
            message[field] = value.clone();
        }
    }
}
