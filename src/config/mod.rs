//! Configuration: read once at start-up and checked before anything else runs. Opens no database, socket or store.

mod drafts;
mod fonts;
mod image_generation;
mod layers;
mod schema;
mod secrets;
mod storage_urls;
mod telegram_features;
#[cfg(test)]
mod tests;
mod web;

pub use drafts::DraftSettings;
pub use secrets::{Secrets, VENDORS, key_variable};
pub use storage_urls::{AttachmentsUrl, DatabaseUrl};
pub use telegram_features::TelegramFeatures;
pub use web::{Auth, WebSettings};

use crate::{prompts::Prompts, providers::Vendor};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_yaml::{Mapping, Value};
use std::{collections::HashMap, fmt, io, net::SocketAddr, path::Path, path::PathBuf, time::Duration};
use url::Url;

/// The repository's config.yaml is the only list of defaults.
const DEFAULTS: &str = include_str!("../../config.yaml");
const DEFAULT_FILE: &str = "config.yaml";

#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    pub telegram: TelegramSettings,
    pub database: DatabaseSettings,
    pub attachments: AttachmentSettings,
    pub history: HistorySettings,
    pub web: WebSettings,
    /// Never empty, in file order. The first is the default agent.
    pub agents: Vec<AgentSettings>,
    pub providers: Providers,
    /// Prices by model name.
    pub prices: HashMap<String, PriceSettings>,
    pub images: ImageSettings,
    pub vision: VisionSettings,
    pub limits: LimitSettings,
    /// From the environment only, never from a file.
    #[serde(skip)]
    pub secrets: Secrets,
}

#[derive(Debug, Clone, Deserialize)]
pub struct TelegramSettings {
    #[serde(deserialize_with = "deserialize_url")]
    pub api_url: Url,
    pub mode: TelegramMode,
    pub allowed_user_ids: Vec<i64>,
    pub allow_everyone: bool,
    pub batch: BatchSettings,
    pub pacing: PacingSettings,
    pub drafts: DraftSettings,
    #[serde(flatten)]
    pub features: TelegramFeatures,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TelegramMode {
    Polling,
}

/// How long to wait for the rest of an album or a burst.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct BatchSettings {
    pub quiet_ms: u64,
    pub album_quiet_ms: u64,
    pub max_wait_ms: u64,
}

impl BatchSettings {
    pub fn quiet(&self) -> Duration {
        Duration::from_millis(self.quiet_ms)
    }
    pub fn album_quiet(&self) -> Duration {
        Duration::from_millis(self.album_quiet_ms)
    }
    pub fn max_wait(&self) -> Duration {
        Duration::from_millis(self.max_wait_ms)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct PacingSettings {
    pub per_chat_per_second: f64,
    pub per_chat_burst: u32,
    pub group_per_minute: f64,
    pub overall_per_second: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct DatabaseSettings {
    pub url: DatabaseUrl,
}

#[derive(Debug, Clone, Deserialize)]
pub struct AttachmentSettings {
    pub url: AttachmentsUrl,
    pub max_file_bytes: u64,
    pub max_pixels: u64,
    pub max_conversation_bytes: u64,
    pub max_person_bytes: u64,
    pub min_free_bytes: u64,
    pub retention_days: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct HistorySettings {
    pub max_history_messages: u32,
    pub history_max_age_hours: f64,
    pub max_thread_tokens: usize,
    /// `None`: the model writes them if there is one.
    pub titles: Option<TitleSource>,
}

/// Where a conversation's title comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TitleSource {
    Model,
    Message,
}

impl HistorySettings {
    pub fn max_age(&self) -> Duration {
        Duration::from_secs_f64(self.history_max_age_hours * 3600.0)
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AgentSettings {
    pub name: String,
    pub provider: ProviderChoice,
    /// `None` takes the provider's default.
    pub model: Option<String>,
    pub prompt: String,
    pub tools: ToolChoice,
    pub max_steps: u32,
    /// `None` takes the vendor's default.
    pub temperature: Option<f64>,
    /// A slash command that goes to this agent, without the slash.
    pub command: Option<String>,
    /// The agent that takes over when this agent's model is unavailable.
    pub fallback: Option<String>,
    /// US dollars a day, for all people together.
    pub daily_budget: Option<f64>,
    /// Merged unchanged into the model's request.
    pub options: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderChoice {
    /// The first provider with a key, else offline.
    Auto,
    Offline,
    Anthropic,
    OpenAi,
    Gemini,
}

impl ProviderChoice {
    /// The vendor whose API it uses. `None` for `Auto`, which depends on the keys, and for `Offline`.
    pub fn vendor(self) -> Option<Vendor> {
        match self {
            Self::Auto | Self::Offline => None,
            Self::Anthropic => Some(Vendor::Anthropic),
            Self::OpenAi => Some(Vendor::OpenAi),
            Self::Gemini => Some(Vendor::Gemini),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    All,
    Only(Vec<String>),
}

impl ToolChoice {
    pub fn includes(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|name| name == tool),
        }
    }
}

impl<'de> Deserialize<'de> for ToolChoice {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        // `all` is the only text that the schema accepts.
        match Value::deserialize(source)? {
            Value::String(_) => Ok(Self::All),
            list => serde_yaml::from_value(list).map(Self::Only).map_err(D::Error::custom),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Providers {
    pub anthropic: ProviderSettings,
    pub openai: ProviderSettings,
    pub gemini: ProviderSettings,
}

impl Providers {
    pub fn of(&self, vendor: Vendor) -> &ProviderSettings {
        match vendor {
            Vendor::Anthropic => &self.anthropic,
            Vendor::OpenAi => &self.openai,
            Vendor::Gemini => &self.gemini,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ProviderSettings {
    /// Without a trailing slash.
    pub base_url: String,
    /// Used when the agent names no model.
    pub model: String,
    /// Whether answers are streamed.
    pub stream: bool,
    /// The model that generates images. `auto` is the vendor's default at its own service, and none elsewhere.
    #[serde(default)]
    pub image_model: Option<String>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct PriceSettings {
    pub input: f64,
    pub output: f64,
    /// Price of cached input tokens; `None` means the price of `input`.
    #[serde(default)]
    pub cached_input: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ImageSettings {
    /// Font files and directories, searched after the bundled font.
    pub fonts: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct VisionSettings {
    pub enabled: bool,
    /// The directory of the weights. `None` takes those built into the program.
    pub models: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct LimitSettings {
    pub turns_at_once: usize,
    pub turns_per_person: i64,
    pub tool_timeout_seconds: f64,
    pub turn_timeout_seconds: f64,
    pub edits_at_once: usize,
    pub edit_memory_bytes: u64,
    pub edit_wait_seconds: f64,
    pub upload_bytes_at_once: u64,
    pub model_silence_seconds: f64,
    /// US dollars a day.
    pub daily_budget_per_user: Option<f64>,
    pub daily_budget_per_chat: Option<f64>,
}

impl LimitSettings {
    pub fn tool_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.tool_timeout_seconds)
    }
    /// How long an edit may wait for a worker and for memory.
    pub fn edit_wait(&self) -> Duration {
        Duration::from_secs_f64(self.edit_wait_seconds)
    }
    /// How long a model may send nothing before the request is given up.
    pub fn model_silence(&self) -> Duration {
        Duration::from_secs_f64(self.model_silence_seconds)
    }
    pub fn turn_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.turn_timeout_seconds)
    }
}

/// Where a setting comes from, for error messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    File { name: String, line: Option<usize> },
    Variable(String),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, line: Some(line) } => write!(f, "{name} line {line}"),
            Self::File { name, line: None } => f.write_str(name),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

/// Each of these ends the start-up. The text is for the operator who wrote the setting.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{origin}: {message}")]
    Refused { origin: SettingOrigin, message: String },
    #[error("agents.{agent}.prompt is {prompt:?}, which prompts.yaml does not have; it has {known}")]
    NoSuchPrompt { agent: String, prompt: String, known: String },
    #[error(
        "agents.{agent}.provider is {vendor}, but {variable} is not set; set it, \
         or point providers.{vendor}.base_url at a server that needs no key"
    )]
    NoKey { agent: String, vendor: Vendor, variable: String },
    #[error("agents.{agent}.{key} is {value:?}, {why}")]
    Agent { agent: String, key: &'static str, value: String, why: String },
    #[error("images.fonts names {}, which {why}", path.display())]
    Font { path: PathBuf, why: String },
    #[error(
        "web.listen is {0}, which other machines can reach, but web.auth is local, which lets everybody in: \
         set web.auth to required, so that people log in with a link from the bot, or listen on 127.0.0.1"
    )]
    Unguarded(SocketAddr),
    #[error(
        "web.public_url is set, so others will come, but web.auth is local, which lets everybody in: \
         set web.auth to required, or web.public_url to null"
    )]
    PublicButLocal,
    #[error(
        "limits.upload_bytes_at_once is {budget}, of which one person gets half, but attachments.max_file_bytes is \
         {file}: set the former to {} or more", file.saturating_mul(2)
    )]
    UploadBudget { budget: u64, file: u64 },
    /// A value passed the schema but does not fit its type: a bug, not a mistake of the operator.
    #[error("the configuration could not be put together: {0}")]
    Inconsistent(#[from] serde_yaml::Error),
}

impl Config {
    /// A file given as `path` must exist. Without one, `./config.yaml` is read if it exists.
    pub fn load(
        path: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let named = path.unwrap_or(Path::new(DEFAULT_FILE));
        let text = match std::fs::read_to_string(named) {
            Ok(text) => Some(text),
            Err(error) if path.is_none() && error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => {
                return Err(ConfigError::Unreadable { path: named.into(), source });
            }
        };
        let name = named.display().to_string();
        Self::from_layers(text.as_deref().map(|text| (name.as_str(), text)), environment)
    }

    fn from_layers(
        file: Option<(&str, &str)>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let variables: HashMap<String, String> = environment.collect();
        let mut settings = layers::parse_file("the built-in config.yaml", DEFAULTS)?;
        let agent_defaults = default_agent_settings(&settings);
        if let Some((name, text)) = file {
            layers::merge(&mut settings, layers::parse_file(name, text)?);
        }
        layers::merge_environment(&mut settings, variables.clone().into_iter())?;
        list_agents(&mut settings, &agent_defaults);

        let mut config: Self = serde_yaml::from_value(Value::Mapping(settings))?;
        config.secrets = Secrets::from_variables(&variables);
        config.check_keys()?;
        config.check_agents()?;
        config.check_web()?;
        config.check_upload_budget()?;
        Ok(config)
    }

    /// An agent at a vendor's own service needs a key. A self-hosted server may need none.
    fn check_keys(&self) -> Result<(), ConfigError> {
        for agent in &self.agents {
            let Some(vendor) = agent.provider.vendor() else { continue };
            let official = vendor.is_official(&self.providers.of(vendor).base_url);
            if official && self.secrets.key(vendor).is_none() {
                let variable = key_variable(vendor);
                return Err(ConfigError::NoKey { agent: agent.name.clone(), vendor, variable });
            }
        }
        Ok(())
    }

    /// Commands must be unique, and a fallback must be another agent that exists.
    fn check_agents(&self) -> Result<(), ConfigError> {
        let error = |agent: &AgentSettings, key, value: &str, why: String| ConfigError::Agent {
            agent: agent.name.clone(),
            key,
            value: value.to_owned(),
            why,
        };
        for (at, agent) in self.agents.iter().enumerate() {
            if let Some(command) = &agent.command
                && let Some(other) = self.agents[..at].iter().find(|a| a.command.as_ref() == Some(command))
            {
                let why = format!("which is the command of {} already", other.name);
                return Err(error(agent, "command", command, why));
            }
            let Some(fallback) = &agent.fallback else { continue };
            if *fallback == agent.name {
                return Err(error(agent, "fallback", fallback, "which is the agent itself".into()));
            }
            if self.agent(fallback).is_none() {
                let names: Vec<&str> = self.agents.iter().map(|agent| agent.name.as_str()).collect();
                let why = format!("which is no agent; there are {}", names.join(", "));
                return Err(error(agent, "fallback", fallback, why));
            }
        }
        Ok(())
    }

    /// One file of the maximal size must fit into one person's half.
    fn check_upload_budget(&self) -> Result<(), ConfigError> {
        let (budget, file) = (self.limits.upload_bytes_at_once, self.attachments.max_file_bytes);
        if budget / 2 < file { Err(ConfigError::UploadBudget { budget, file }) } else { Ok(()) }
    }

    /// The vendor whose model an agent uses; `None` for the offline agent.
    pub fn vendor_of(&self, agent: &AgentSettings) -> Option<Vendor> {
        match agent.provider {
            ProviderChoice::Auto => VENDORS.into_iter().find(|vendor| self.secrets.key(*vendor).is_some()),
            chosen => chosen.vendor(),
        }
    }

    pub fn check_prompts(&self, prompts: &Prompts) -> Result<(), ConfigError> {
        match self.agents.iter().find(|agent| !prompts.is_system_prompt(&agent.prompt)) {
            None => Ok(()),
            Some(agent) => Err(ConfigError::NoSuchPrompt {
                agent: agent.name.clone(),
                prompt: agent.prompt.clone(),
                known: prompts.system_prompts().collect::<Vec<_>>().join(", "),
            }),
        }
    }

    pub fn agent(&self, name: &str) -> Option<&AgentSettings> {
        self.agents.iter().find(|agent| agent.name == name)
    }
}

/// The process environment without variables that are not UTF-8, on which `std::env::vars` panics.
pub fn process_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The settings of the built-in agent: defaults for keys that an agent does not name.
fn default_agent_settings(settings: &Mapping) -> Mapping {
    let agents = settings.get("agents").and_then(Value::as_mapping);
    agents.and_then(|agents| agents.values().next()).and_then(Value::as_mapping).cloned().unwrap_or_default()
}

/// Turns the map of agents into a list. Each item gets its name, and the defaults for missing keys.
fn list_agents(settings: &mut Mapping, defaults: &Mapping) {
    let Some(Value::Mapping(agents)) = settings.remove("agents") else {
        return;
    };
    let complete = agents.into_iter().map(|(name, own)| {
        let mut agent = defaults.clone();
        if let Value::Mapping(own) = own {
            layers::merge(&mut agent, own);
        }
        agent.insert("name".into(), name);
        Value::Mapping(agent)
    });
    settings.insert("agents".into(), Value::Sequence(complete.collect()));
}

fn deserialize_url<'de, D: Deserializer<'de>>(source: D) -> Result<Url, D::Error> {
    String::deserialize(source)?.parse().map_err(D::Error::custom)
}
