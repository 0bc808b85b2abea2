//! Every key a person may set and what it may hold. Where values come from is `layers`' business.

use super::{
    AttachmentsUrl, DatabaseUrl,
    web::{auth, listen_address, origin, tag_group},
};
use url::Url;

/// What one key may hold.
pub(super) enum Shape {
    Section(&'static [(&'static str, Shape)]),
    /// Sections named by the person, in the order they wrote them, and which names will do.
    Named(&'static Shape, fn(&str) -> Result<(), String>),
    Text(Check),
    OptionalText(Check),
    Flag,
    Whole(u64, u64),
    OptionalWhole(u64, u64),
    Number(f64, f64),
    OptionalNumber(f64, f64),
    /// A section that is passed on as it is.
    Anything,
    Ids,
    /// `all`, or a list of names.
    Names,
    /// Files and directories.
    Paths,
    TagGroups,
}

/// Gives the value in its one spelling, or says what is wrong with it ("must be …").
type Check = fn(&str) -> Result<String, String>;

use Shape::{
    Anything, Flag, Ids, Named, Names, Number, OptionalNumber, OptionalText, OptionalWhole, Paths, Section,
    TagGroups, Text, Whole,
};

/// Commands that no agent can have.
const OWN_COMMANDS: [&str; 6] = ["start", "help", "new", "cancel", "usage", "web"];

const DAY_MS: u64 = 86_400_000;
const GIB: u64 = 1 << 30;

pub(super) static ROOT: Shape = Section(&[
    (
        "telegram",
        Section(&[
            ("api_url", Text(web_address)),
            ("mode", Text(telegram_mode)),
            ("allowed_user_ids", Ids),
            ("allow_everyone", Flag),
            (
                "batch",
                Section(&[
                    ("quiet_ms", Whole(0, DAY_MS)),
                    ("album_quiet_ms", Whole(0, DAY_MS)),
                    ("max_wait_ms", Whole(0, DAY_MS)),
                ]),
            ),
            (
                "pacing",
                Section(&[
                    ("per_chat_per_second", Number(0.01, 10_000.0)),
                    ("per_chat_burst", Whole(1, 10_000)),
                    ("group_per_minute", Number(0.1, 100_000.0)),
                    ("overall_per_second", Number(0.1, 10_000.0)),
                ]),
            ),
            ("drafts", Section(&[("after_ms", OptionalWhole(0, DAY_MS)), ("every_ms", Whole(100, DAY_MS))])),
        ]),
    ),
    ("database", Section(&[("url", Text(database_url))])),
    (
        "attachments",
        Section(&[
            ("url", Text(attachments_url)),
            ("max_file_bytes", Whole(1, 4 * GIB)),
            ("max_pixels", Whole(1, 1_000_000_000)),
            ("max_conversation_bytes", Whole(1, 1_000_000 * GIB)),
        ]),
    ),
    (
        "history",
        Section(&[
            ("max_history_messages", Whole(0, 1_000)),
            ("history_max_age_hours", Number(0.0, 87_600.0)),
            ("max_thread_tokens", Whole(100, 2_000_000)),
            ("titles", OptionalText(titles)),
        ]),
    ),
    (
        "web",
        Section(&[
            ("listen", OptionalText(listen_address)),
            ("auth", Text(auth)),
            ("admins", Ids),
            ("public_url", OptionalText(origin)),
            ("exclusive_tags", TagGroups),
        ]),
    ),
    ("agents", Named(&AGENT, agent_name)),
    (
        "providers",
        Section(&[
            (
                "anthropic",
                Section(&[("base_url", Text(base_url)), ("model", Text(not_empty)), ("stream", Flag)]),
            ),
            (
                "openai",
                Section(&[
                    ("base_url", Text(base_url)),
                    ("model", Text(not_empty)),
                    ("stream", Flag),
                    ("image_model", OptionalText(not_empty)),
                ]),
            ),
            (
                "gemini",
                Section(&[
                    ("base_url", Text(base_url)),
                    ("model", Text(not_empty)),
                    ("stream", Flag),
                    ("image_model", OptionalText(not_empty)),
                ]),
            ),
        ]),
    ),
    ("prices", Named(&PRICE, model_name)),
    ("images", Section(&[("fonts", Paths)])),
    (
        "limits",
        Section(&[
            ("tool_timeout_seconds", Number(0.1, 3_600.0)),
            ("turn_timeout_seconds", Number(0.1, 86_400.0)),
            ("edits_at_once", Whole(1, 64)),
            ("edit_memory_bytes", Whole(16 << 20, 1_024 * GIB)),
            ("model_silence_seconds", Number(0.1, 3_600.0)),
            ("daily_budget_per_user", OptionalNumber(0.0, 1_000_000.0)),
            ("daily_budget_per_chat", OptionalNumber(0.0, 1_000_000.0)),
        ]),
    ),
]);

static AGENT: Shape = Section(&[
    ("provider", Text(provider)),
    ("model", OptionalText(not_empty)),
    ("prompt", Text(not_empty)),
    ("tools", Names),
    ("max_steps", Whole(1, 100)),
    ("temperature", OptionalNumber(0.0, 2.0)),
    ("command", OptionalText(command)),
    ("fallback", OptionalText(not_empty)),
    ("daily_budget", OptionalNumber(0.0, 1_000_000.0)),
    ("options", Anything),
]);

/// US dollars for a million tokens.
static PRICE: Shape = Section(&[
    ("input", Number(0.0, 100_000.0)),
    ("output", Number(0.0, 100_000.0)),
    ("cached_input", OptionalNumber(0.0, 100_000.0)),
]);

pub(super) static ID: Shape = Whole(1, i64::MAX as u64);
pub(super) static NAME: Shape = Text(not_empty);
pub(super) static TAG_GROUP: Shape = Text(tag_group);

impl Shape {
    /// Finishes the sentence "<key> must be …".
    pub(super) fn expected(&self) -> String {
        match self {
            Section(keys) => format!("a section with the keys {}", listed(keys.iter().map(|(key, _)| *key))),
            Named(..) => "a section with one entry per name".into(),
            Text(_) => "a text".into(),
            OptionalText(_) => "a text or null".into(),
            Flag => "true or false".into(),
            Whole(least, most) => format!("a whole number from {least} to {most}"),
            OptionalWhole(least, most) => format!("a whole number from {least} to {most}, or null"),
            Number(least, most) => format!("a number from {least} to {most}"),
            OptionalNumber(least, most) => format!("a number from {least} to {most}, or null"),
            Anything => "a section with keys of the model's own".into(),
            Ids => "a list of whole numbers, such as [123456789, 987654321]".into(),
            Names => "all, or a list of names such as [crop_image, rotate_image]".into(),
            Paths => "a list of files or directories, such as [fonts/NotoSansCJK-Bold.ttc]".into(),
            TagGroups => "a list of groups of tags, such as [topic, mood]".into(),
        }
    }
}

pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn model_name(name: &str) -> Result<(), String> {
    if name.trim().is_empty() { Err("must be named after a model".into()) } else { Ok(()) }
}

/// Names are part of variables and of the history.
fn agent_name(name: &str) -> Result<(), String> {
    let letters = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if letters && (1..=32).contains(&name.len()) && !name.contains("__") {
        Ok(())
    } else {
        Err("must be named with 1 to 32 lower-case letters, digits and single _".into())
    }
}

/// A sentence for keys that people will look for and that this version does not have.
pub(super) fn not_yet(path: &str) -> Option<&'static str> {
    match path {
        "telegram.webhook" => Some("is not supported yet; this version fetches updates by polling"),
        "attachments.retention_days" => Some("is not supported yet; this version keeps files until deleted"),
        _ => None,
    }
}

fn not_empty(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("must not be empty".into()),
        text => Ok(text.into()),
    }
}

fn web_address(text: &str) -> Result<String, String> {
    let wrong = || "must be an address that starts with http:// or https://".to_string();
    let url = Url::parse(text.trim()).map_err(|_| wrong())?;
    if matches!(url.scheme(), "http" | "https") { Ok(text.trim().into()) } else { Err(wrong()) }
}

fn base_url(text: &str) -> Result<String, String> {
    web_address(text).map(|url| url.trim_end_matches('/').to_string())
}

fn telegram_mode(text: &str) -> Result<String, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "polling" => Ok("polling".into()),
        other => Err(format!("is {other:?}, and only polling is supported now")),
    }
}

fn provider(text: &str) -> Result<String, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        name @ ("auto" | "offline" | "anthropic" | "openai" | "gemini") => Ok(name.into()),
        other => Err(format!(
            "is {other:?}, which is no provider; supported are auto, offline, anthropic, openai, gemini"
        )),
    }
}

fn titles(text: &str) -> Result<String, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        name @ ("model" | "message") => Ok(name.into()),
        other => Err(format!("is {other:?}, but must be model, message or null")),
    }
}

/// Telegram's rules for a command, and not one that the bot itself has.
fn command(text: &str) -> Result<String, String> {
    let name = text.trim().trim_start_matches('/');
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.chars().all(legal) || !(1..=32).contains(&name.len()) {
        return Err("must be 1 to 32 lower-case letters, digits and _, as Telegram wants it".into());
    }
    match OWN_COMMANDS.contains(&name) {
        true => Err(format!("is {name}, which is a command of the bot itself")),
        false => Ok(name.into()),
    }
}

fn database_url(text: &str) -> Result<String, String> {
    text.parse::<DatabaseUrl>().map(|_| text.trim().into())
}

fn attachments_url(text: &str) -> Result<String, String> {
    text.parse::<AttachmentsUrl>().map(|_| text.trim().into())
}
