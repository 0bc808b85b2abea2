//! The schema: every configuration key and the values it accepts. `layers` reads values against it.

use super::{
    AttachmentsUrl, DatabaseUrl,
    web::{check_auth, check_listen_address, check_network, check_origin, check_tag_group},
};
use url::Url;

/// The values that one key accepts.
pub(super) enum ValueShape {
    Section(&'static [(&'static str, ValueShape)]),
    /// Sections whose names are free, kept in file order, with a check of the name.
    Named(&'static ValueShape, fn(&str) -> Result<(), String>),
    Text(CheckText),
    OptionalText(CheckText),
    Flag,
    Whole(u64, u64),
    OptionalWhole(u64, u64),
    Number(f64, f64),
    OptionalNumber(f64, f64),
    /// A section that is passed on unchecked.
    Anything,
    Ids,
    /// `all`, or a list of names.
    Names,
    /// Files and directories.
    Paths,
    TagGroups,
    /// Addresses and networks.
    Networks,
}

/// Normalizes the value, or returns the end of the sentence "<key> must be …".
type CheckText = fn(&str) -> Result<String, String>;

use ValueShape::{
    Anything, Flag, Ids, Named, Names, Networks, Number, OptionalNumber, OptionalText, OptionalWhole, Paths,
    Section, TagGroups, Text, Whole,
};

/// Commands of the bot itself, which no agent can take.
const BUILT_IN_COMMANDS: [&str; 6] = ["start", "help", "new", "cancel", "usage", "web"];

const DAY_MS: u64 = 86_400_000;
const GIB: u64 = 1 << 30;

pub(super) static ROOT: ValueShape = Section(&[
    (
        "telegram",
        Section(&[
            ("api_url", Text(check_web_address)),
            ("mode", Text(check_telegram_mode)),
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
            ("new_opens_topic", Flag),
            ("local_server", Flag),
            ("reactions", Flag),
        ]),
    ),
    ("database", Section(&[("url", Text(check_database_url))])),
    (
        "attachments",
        Section(&[
            ("url", Text(check_attachments_url)),
            ("max_file_bytes", Whole(1, 4 * GIB)),
            ("max_pixels", Whole(1, 1_000_000_000)),
            ("max_conversation_bytes", Whole(1, 1_000_000 * GIB)),
            ("max_person_bytes", Whole(1, 1_000_000 * GIB)),
            ("min_free_bytes", Whole(0, 1_000_000 * GIB)),
            ("retention_days", OptionalWhole(1, 36_500)),
        ]),
    ),
    (
        "history",
        Section(&[
            ("max_history_messages", Whole(0, 1_000)),
            ("history_max_age_hours", Number(0.0, 87_600.0)),
            ("max_thread_tokens", Whole(100, 2_000_000)),
            ("titles", OptionalText(check_titles)),
        ]),
    ),
    (
        "web",
        Section(&[
            ("listen", OptionalText(check_listen_address)),
            ("auth", Text(check_auth)),
            ("admins", Ids),
            ("public_url", OptionalText(check_origin)),
            ("trusted_proxies", Networks),
            ("max_connections", Whole(8, 100_000)),
            ("exclusive_tags", TagGroups),
        ]),
    ),
    ("agents", Named(&AGENT, check_agent_name)),
    (
        "providers",
        Section(&[
            (
                "anthropic",
                Section(&[
                    ("base_url", Text(check_base_url)),
                    ("model", Text(check_not_empty)),
                    ("stream", Flag),
                ]),
            ),
            (
                "openai",
                Section(&[
                    ("base_url", Text(check_base_url)),
                    ("model", Text(check_not_empty)),
                    ("stream", Flag),
                    ("image_model", OptionalText(check_not_empty)),
                ]),
            ),
            (
                "gemini",
                Section(&[
                    ("base_url", Text(check_base_url)),
                    ("model", Text(check_not_empty)),
                    ("stream", Flag),
                    ("image_model", OptionalText(check_not_empty)),
                ]),
            ),
        ]),
    ),
    ("prices", Named(&PRICE, check_model_name)),
    ("images", Section(&[("fonts", Paths)])),
    ("vision", Section(&[("enabled", Flag), ("models", OptionalText(check_not_empty))])),
    (
        "limits",
        Section(&[
            ("turns_at_once", Whole(1, 10_000)),
            ("turns_per_person", Whole(1, 10_000)),
            ("tool_timeout_seconds", Number(0.1, 3_600.0)),
            ("turn_timeout_seconds", Number(0.1, 86_400.0)),
            ("edits_at_once", Whole(1, 64)),
            ("edit_memory_bytes", Whole(128 << 20, 1_024 * GIB)),
            ("edit_wait_seconds", Number(0.0, 3_600.0)),
            ("upload_bytes_at_once", Whole(2 << 20, 1_024 * GIB)),
            ("model_silence_seconds", Number(0.1, 3_600.0)),
            ("daily_budget_per_user", OptionalNumber(0.0, 1_000_000.0)),
            ("daily_budget_per_chat", OptionalNumber(0.0, 1_000_000.0)),
        ]),
    ),
]);

static AGENT: ValueShape = Section(&[
    ("provider", Text(check_provider)),
    ("model", OptionalText(check_not_empty)),
    ("prompt", Text(check_not_empty)),
    ("tools", Names),
    ("max_steps", Whole(1, 100)),
    ("temperature", OptionalNumber(0.0, 2.0)),
    ("command", OptionalText(check_command)),
    ("fallback", OptionalText(check_not_empty)),
    ("daily_budget", OptionalNumber(0.0, 1_000_000.0)),
    ("options", Anything),
]);

/// US dollars for a million tokens.
static PRICE: ValueShape = Section(&[
    ("input", Number(0.0, 100_000.0)),
    ("output", Number(0.0, 100_000.0)),
    ("cached_input", OptionalNumber(0.0, 100_000.0)),
]);

pub(super) static ID: ValueShape = Whole(1, i64::MAX as u64);
pub(super) static NAME: ValueShape = Text(check_not_empty);
pub(super) static TAG_GROUP: ValueShape = Text(check_tag_group);
pub(super) static NETWORK: ValueShape = Text(check_network);

impl ValueShape {
    /// The end of the sentence "<key> must be …".
    pub(super) fn describe(&self) -> String {
        match self {
            Section(keys) => {
                format!("a section with the keys {}", join_names(keys.iter().map(|(key, _)| *key)))
            }
            Named(..) => "a section with one entry per name".into(),
            Text(_) => "a text".into(),
            OptionalText(_) => "a text or null".into(),
            Flag => "true or false".into(),
            Whole(min, max) => format!("a whole number from {min} to {max}"),
            OptionalWhole(min, max) => format!("a whole number from {min} to {max}, or null"),
            Number(min, max) => format!("a number from {min} to {max}"),
            OptionalNumber(min, max) => format!("a number from {min} to {max}, or null"),
            Anything => "a section with keys of the model's own".into(),
            Ids => "a list of whole numbers, such as [123456789, 987654321]".into(),
            Names => "all, or a list of names such as [crop_image, rotate_image]".into(),
            Paths => "a list of files or directories, such as [fonts/NotoSansCJK-Bold.ttc]".into(),
            TagGroups => "a list of groups of tags, such as [topic, mood]".into(),
            Networks => "a list of addresses and networks, such as [\"127.0.0.1\", \"10.0.0.0/8\"]".into(),
        }
    }
}

pub(super) fn join_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn check_model_name(name: &str) -> Result<(), String> {
    if name.trim().is_empty() { Err("must be named after a model".into()) } else { Ok(()) }
}

/// Agent names are part of environment variables and of the history.
fn check_agent_name(name: &str) -> Result<(), String> {
    let legal = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if legal && (1..=32).contains(&name.len()) && !name.contains("__") {
        Ok(())
    } else {
        Err("must be named with 1 to 32 lower-case letters, digits and single _".into())
    }
}

/// Explains keys that people expect but this version does not support.
pub(super) fn explain_unsupported_key(path: &str) -> Option<&'static str> {
    match path {
        "telegram.webhook" => Some("is not supported yet; this version fetches updates by polling"),
        _ => None,
    }
}

fn check_not_empty(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("must not be empty".into()),
        text => Ok(text.into()),
    }
}

fn check_web_address(text: &str) -> Result<String, String> {
    let message = || "must be an address that starts with http:// or https://".to_string();
    let url = Url::parse(text.trim()).map_err(|_| message())?;
    if matches!(url.scheme(), "http" | "https") { Ok(text.trim().into()) } else { Err(message()) }
}

fn check_base_url(text: &str) -> Result<String, String> {
    check_web_address(text).map(|url| url.trim_end_matches('/').to_string())
}

fn check_telegram_mode(text: &str) -> Result<String, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "polling" => Ok("polling".into()),
        other => Err(format!("is {other:?}, and only polling is supported now")),
    }
}

fn check_provider(text: &str) -> Result<String, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        name @ ("auto" | "offline" | "anthropic" | "openai" | "gemini") => Ok(name.into()),
        other => Err(format!(
            "is {other:?}, which is no provider; supported are auto, offline, anthropic, openai, gemini"
        )),
    }
}

fn check_titles(text: &str) -> Result<String, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        name @ ("model" | "message") => Ok(name.into()),
        other => Err(format!("is {other:?}, but must be model, message or null")),
    }
}

/// Telegram's rules for a command; the bot's own commands are taken.
fn check_command(text: &str) -> Result<String, String> {
    let name = text.trim().trim_start_matches('/');
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.chars().all(legal) || !(1..=32).contains(&name.len()) {
        return Err("must be 1 to 32 lower-case letters, digits and _, as Telegram wants it".into());
    }
    match BUILT_IN_COMMANDS.contains(&name) {
        true => Err(format!("is {name}, which is a command of the bot itself")),
        false => Ok(name.into()),
    }
}

fn check_database_url(text: &str) -> Result<String, String> {
    text.parse::<DatabaseUrl>().map(|_| text.trim().into())
}

fn check_attachments_url(text: &str) -> Result<String, String> {
    text.parse::<AttachmentsUrl>().map(|_| text.trim().into())
}
