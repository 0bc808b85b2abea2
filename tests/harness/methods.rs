//! What each Bot API method changes and refuses. `files` and `text` have their own rules.

use super::{
    api::{Outcome, Refusal},
    files::Kind,
    messages::{bot_user, embedded, field_of, now, set_words},
    state::{BOT_ID, Chat, State},
    text::Words,
    topics::{set_topic, topic_of},
    uploads::Params,
};
use serde_json::{Value, json};

pub fn run(state: &mut State, method: &str, params: &Params) -> Outcome {
    match method.to_ascii_lowercase().as_str() {
        "getme" => Ok(me()),
        "deletewebhook" => {
            if params.flag("drop_pending_updates") {
                state.updates.clear();
            }
            Ok(true.into())
        }
        "getwebhookinfo" => {
            let pending = state.updates.len();
            Ok(json!({ "url": "", "has_custom_certificate": false, "pending_update_count": pending }))
        }
        "setmycommands" => set_commands(state, params),
        "getmycommands" => {
            Ok(state.commands.get(&command_scope(params)).cloned().unwrap_or_else(|| json!([])))
        }
        "sendmessage" => send_message(state, params),
        "sendphoto" => send_file(state, params, Kind::Photo),
        "senddocument" => send_file(state, params, Kind::Document),
        "sendmediagroup" => send_group(state, params),
        "sendchataction" => send_action(state, params),
        "editmessagetext" => edit_text(state, params),
        "deletemessage" => delete_message(state, params),
        "createforumtopic" => state.create_topic(params),
        "setmessagereaction" => {
            let (chat_id, _) = open_chat(state, params)?;
            state.set_reaction(chat_id, params)
        }
        "sendmessagedraft" if state.streams_drafts => {
            let (chat_id, _) = open_chat(state, params)?;
            state.show_draft(chat_id, params)
        }
        "getfile" => state.get_file(params),
        "answercallbackquery" => {
            let id = params.text("callback_query_id").unwrap_or_default();
            match state.open_callbacks.remove(&id) {
                true => Ok(true.into()),
                false => {
                    Err(Refusal::bad("query is too old and response timeout expired or query ID is invalid"))
                }
            }
        }
        "getchat" => {
            let mut info = open_chat(state, params)?.1.info.clone();
            info["accent_color_id"] = 0.into();
            info["max_reaction_count"] = 11.into();
            info["accepted_gift_types"] = json!({ "unlimited_gifts": false, "limited_gifts": false,
                "unique_gifts": false, "premium_subscription": false, "gifts_from_channels": false });
            Ok(info)
        }
        "getchatmember" => chat_member(state, params),
        _ => Err(Refusal::new(404, "Not Found")),
    }
}

fn me() -> Value {
    let mut me = bot_user();
    for ability in ["can_join_groups", "can_read_all_group_messages"] {
        me[ability] = true.into();
    }
    for inability in ["supports_inline_queries", "can_connect_to_business", "has_main_web_app"] {
        me[inability] = false.into();
    }
    me
}

/// The chat a request is about, if the bot may still act in it.
fn open_chat<'s>(state: &'s mut State, params: &Params) -> Result<(i64, &'s mut Chat), Refusal> {
    if params.text("chat_id").is_none_or(|id| id.is_empty()) {
        return Err(Refusal::bad("chat_id is empty"));
    }
    let found = params.number("chat_id").and_then(|id| Some((id, state.chats.get_mut(&id)?)));
    let (id, chat) = found.ok_or_else(|| Refusal::bad("chat not found"))?;
    match (chat.closed, chat.migrated_to) {
        (Some(why), _) => Err(Refusal::new(403, why)),
        (_, Some(new)) => Err(Refusal::migrated(new)),
        (None, None) => Ok((id, chat)),
    }
}

/// A message of the bot without content. It gets an id only after all other checks.
struct Draft {
    chat_id: i64,
    topic: Option<i32>,
    reply_to: Option<Value>,
    quote: Option<Value>,
    reply_markup: Option<Value>,
}

impl Draft {
    fn new(state: &mut State, params: &Params) -> Result<Draft, Refusal> {
        let (chat_id, chat) = open_chat(state, params)?;
        let topic = chat.topic_of_request(params)?;
        let mut draft =
            Draft { chat_id, topic, reply_to: None, quote: None, reply_markup: keyboard(params)? };
        let (message_id, optional, quote) = match params.json("reply_parameters")? {
            Some(reply) => {
                let elsewhere = reply["chat_id"].as_i64().is_some_and(|other| other != chat_id);
                if elsewhere {
                    return Err(Refusal::bad("replies to other chats are not part of this world"));
                }
                let optional = reply["allow_sending_without_reply"].as_bool().unwrap_or(false);
                (reply["message_id"].as_i64(), optional, reply["quote"].as_str().map(str::to_owned))
            }
            None => (params.number("reply_to_message_id"), params.flag("allow_sending_without_reply"), None),
        };
        let Some(message_id) = message_id else {
            return Ok(draft);
        };
        // A message of another topic cannot be replied to here.
        match state.find_message(chat_id, message_id).filter(|message| topic_of(message) == topic) {
            Some(message) => {
                if let Some(quote) = quote {
                    let words = message["text"].as_str().or(message["caption"].as_str()).unwrap_or_default();
                    let position = words.find(&quote).ok_or_else(|| Refusal::bad("QUOTE_TEXT_INVALID"))?;
                    draft.quote =
                        Some(json!({ "text": quote, "position": words[..position].encode_utf16().count() }));
                }
                draft.reply_to = Some(embedded(message));
            }
            None if optional => {}
            None => return Err(Refusal::bad("message to be replied not found")),
        }
        Ok(draft)
    }

    fn message(&self, state: &mut State) -> Value {
        let mut message = state.blank_message(self.chat_id, bot_user());
        let parts = [
            ("reply_to_message", &self.reply_to),
            ("quote", &self.quote),
            ("reply_markup", &self.reply_markup),
        ];
        for (field, part) in parts {
            if let Some(part) = part {
                message[field] = part.clone();
            }
        }
        set_topic(state, &mut message, self.topic);
        message
    }
}

/// Only inline keyboards are kept with a message; others are accepted and ignored.
fn keyboard(params: &Params) -> Result<Option<Value>, Refusal> {
    let Some(markup) = params.json("reply_markup")? else {
        return Ok(None);
    };
    if markup["inline_keyboard"].is_null() {
        return Ok(None);
    }
    let rows = markup["inline_keyboard"].as_array().into_iter().flatten();
    for key in rows.filter_map(Value::as_array).flatten() {
        let data = key["callback_data"].as_str();
        if key["text"].as_str().unwrap_or_default().is_empty() {
            return Err(Refusal::bad("can't parse inline keyboard button: Field \"text\" must be non-empty"));
        }
        if data.is_none() && key["url"].is_null() {
            return Err(Refusal::bad(
                "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
            ));
        }
        if data.is_some_and(|data| data.is_empty() || data.len() > 64) {
            return Err(Refusal::bad("BUTTON_DATA_INVALID"));
        }
    }
    Ok(Some(markup))
}

fn send_message(state: &mut State, params: &Params) -> Outcome {
    let draft = Draft::new(state, params)?;
    let words = Words::of_message(params)?;
    let receiver = state.receiver_of_request(draft.chat_id, params)?;
    let mut message = draft.message(state);
    set_words(&mut message, "text", &words.text, words.entities);
    if let Some(receiver) = receiver {
        message["receiver_user"] = json!({ "id": receiver });
        message["ephemeral_message_id"] = message["message_id"].clone();
    }
    state.deliver(draft.chat_id, std::slice::from_ref(&message));
    Ok(message)
}

fn send_file(state: &mut State, params: &Params, kind: Kind) -> Outcome {
    let draft = Draft::new(state, params)?;
    let words = Words::of_caption(params)?;
    let file = state.file_to_send(params, field_of(kind), kind)?;
    let mut message = draft.message(state);
    state.set_file(&mut message, &file);
    if !words.text.is_empty() {
        set_words(&mut message, "caption", &words.text, words.entities);
    }
    state.deliver(draft.chat_id, std::slice::from_ref(&message));
    Ok(message)
}

/// All or nothing: no item of an album appears if one of them is refused.
fn send_group(state: &mut State, params: &Params) -> Outcome {
    let draft = Draft::new(state, params)?;
    let items = params.list("media")?;
    match items.len() {
        0 => return Err(Refusal::bad("there are no messages to send")),
        // Telegram accepts an album of one, against its own documentation. Bots must not rely on it.
        1 => return Err(Refusal::bad("too few messages to send as an album")),
        2..=10 => {}
        _ => return Err(Refusal::bad("too many messages to send as an album")),
    }
    let mut kinds = Vec::new();
    for item in &items {
        kinds.push(match item["type"].as_str().unwrap_or_default() {
            "photo" => Kind::Photo,
            "document" => Kind::Document,
            "video" => Kind::Video,
            "audio" => Kind::Audio,
            other => {
                let why = format!("can't parse InputMedia: type \"{other}\" can't be used in sendMediaGroup");
                return Err(Refusal::bad(why));
            }
        });
    }
    for (kind, name) in [(Kind::Document, "document"), (Kind::Audio, "audio")] {
        if kinds.contains(&kind) && kinds.iter().any(|other| *other != kind) {
            return Err(Refusal::bad(format!("{name} can't be mixed with other media types")));
        }
    }
    let mut contents = Vec::new();
    for (index, (item, kind)) in items.iter().zip(&kinds).enumerate() {
        let item = params.nested(item);
        let words = Words::of_caption(&item)?;
        let file = state.file_to_send(&item, "media", *kind).map_err(|refusal| match refusal.status {
            400 => {
                let why = refusal.description.trim_start_matches("Bad Request: ");
                Refusal::bad(format!(
                    "failed to send message #{} with the error message \"{why}\"",
                    index + 1
                ))
            }
            _ => refusal,
        })?;
        contents.push((words, file));
    }
    let group = state.fresh_number().to_string();
    let mut messages = Vec::new();
    for (words, file) in contents {
        let mut message = draft.message(state);
        message["media_group_id"] = group.clone().into();
        state.set_file(&mut message, &file);
        if !words.text.is_empty() {
            set_words(&mut message, "caption", &words.text, words.entities);
        }
        messages.push(message);
    }
    state.deliver(draft.chat_id, &messages);
    Ok(messages.into())
}

fn send_action(state: &mut State, params: &Params) -> Outcome {
    const ACTIONS: [&str; 11] = [
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    ];
    let action = params.text("action").unwrap_or_default();
    let (_, chat) = open_chat(state, params)?;
    let topic = chat.topic_of_request(params)?;
    if !ACTIONS.contains(&action.as_str()) {
        return Err(Refusal::bad("wrong parameter action in request"));
    }
    chat.actions.push(action);
    chat.action_topics.push(topic);
    Ok(true.into())
}

fn edit_text(state: &mut State, params: &Params) -> Outcome {
    let (chat_id, _) = open_chat(state, params)?;
    // Telegram words this error differently for an edit.
    let too_long = |refusal: Refusal| match refusal.description.ends_with("message is too long") {
        true => Refusal::bad("MESSAGE_TOO_LONG"),
        false => refusal,
    };
    let words = Words::of_message(params).map_err(too_long)?;
    let markup = keyboard(params)?;
    let message_id =
        params.number("message_id").ok_or_else(|| Refusal::bad("message identifier is not specified"))?;
    let found = state.find_message(chat_id, message_id).cloned();
    let mut message = found.ok_or_else(|| Refusal::bad("message to edit not found"))?;
    if message["from"]["id"] != BOT_ID {
        return Err(Refusal::bad("message can't be edited"));
    }
    if message["text"].is_null() {
        return Err(Refusal::bad("there is no text in the message to edit"));
    }
    let before = message.clone();
    set_words(&mut message, "text", &words.text, words.entities);
    if let Some(fields) = message.as_object_mut() {
        fields.remove("reply_markup");
        fields.extend(markup.map(|markup| ("reply_markup".to_owned(), markup)));
    }
    if message == before {
        return Err(Refusal::bad(
            "message is not modified: specified new message content and reply markup are exactly the same as a \
             current content and reply markup of the message",
        ));
    }
    message["edit_date"] = now().into();
    state.keep_message(&message);
    let edit = state.received(&message);
    state.chat(chat_id).edits.push(edit);
    Ok(message)
}

fn delete_message(state: &mut State, params: &Params) -> Outcome {
    let (_, chat) = open_chat(state, params)?;
    let id = params.number("message_id").and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
    match chat.messages.remove(&id) {
        Some(_) => {
            chat.deleted.push(id);
            Ok(true.into())
        }
        None => Err(Refusal::bad("message to delete not found")),
    }
}

fn command_scope(params: &Params) -> String {
    let scope = params.json("scope").ok().flatten().unwrap_or_else(|| json!({ "type": "default" }));
    format!("{scope} {}", params.text("language_code").unwrap_or_default())
}

fn set_commands(state: &mut State, params: &Params) -> Outcome {
    let commands = params.list("commands")?;
    if commands.len() > 100 {
        return Err(Refusal::bad("BOT_COMMANDS_TOO_MUCH"));
    }
    for command in &commands {
        let name = command["command"].as_str().unwrap_or_default().trim_start_matches('/');
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || name.len() > 32 || !name.chars().all(plain) {
            return Err(Refusal::bad("BOT_COMMAND_INVALID"));
        }
        let description = command["description"].as_str().unwrap_or_default().chars().count();
        if !(1..=256).contains(&description) {
            return Err(Refusal::bad("BOT_COMMAND_DESCRIPTION_INVALID"));
        }
    }
    state.commands.insert(command_scope(params), commands.into());
    Ok(true.into())
}

fn chat_member(state: &mut State, params: &Params) -> Outcome {
    let (_, chat) = open_chat(state, params)?;
    let id = params.number("user_id").unwrap_or_default();
    if id == BOT_ID {
        return Ok(json!({ "status": "member", "user": bot_user() }));
    }
    match chat.members.get(&id) {
        Some(user) => Ok(json!({ "status": "member", "user": user })),
        None => Err(Refusal::bad("PARTICIPANT_ID_INVALID")),
    }
}
