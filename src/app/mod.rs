//! Wires the modules together, starts their tasks and stops them in order.

mod supervisor;
mod vision_models;

pub use supervisor::TaskFailures;

use crate::{
    access::{Access, Logins, PageAccess, REPLACED_LOGIN_LIFETIME},
    agent::{
        self, Agent, Engine, ModelMedia, Route, Routes, Titles, TurnLimits, Turns,
        budgets::{BudgetRules, Budgets, DailyLimits, Micros, Models, Price, Prices},
    },
    attachments::{self, Attachments, Objects},
    config::{self, Config},
    context::HistoryBounds,
    domain::{InterfaceType, UserId},
    private_files,
    prompts::Prompts,
    providers::{Hosted, ImageGenerator, ModelSettings, Provider, http_client, offline::Offline},
    rendering::{PoolLimits, RenderPool, Renderer, Vision},
    store::{Quota, Store},
    telegram::{self, Connected},
    tools::{GENERATIVE_TOOLS, Registry, read_recipe},
    web,
};
use anyhow::{Context as _, anyhow, bail};
use chrono::{TimeDelta, Utc};
use secrecy::SecretString;
use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};
use supervisor::Supervisor;
use tokio::sync::watch;
use tracing::{error, info, warn};
use vision_models::{drop_unused_models, open_vision};

/// Longer than Telegram could deliver an update again.
const INBOX_RETENTION: TimeDelta = TimeDelta::days(7);
/// How long an uploaded file waits for the message that uses it.
const UPLOAD_RETENTION: TimeDelta = TimeDelta::days(1);
/// How long a stop waits for sends in flight.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(15);
const UPKEEP_INTERVAL: Duration = Duration::from_secs(3600);

/// The started program.
pub struct Running {
    tasks: Supervisor,
    store: Store,
    telegram: watch::Receiver<Option<Connected>>,
    /// The address of the web interface.
    pub page: Option<SocketAddr>,
    /// Provider and model of the default agent.
    pub provider: &'static str,
    pub model: String,
}

impl Running {
    /// Stops in order: no new sends, wait for the sends in flight, end all tasks, close the store.
    pub async fn stop(mut self) {
        let connected = self.telegram.borrow().clone();
        if let Some(connected) = connected {
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, connected.close()).await;
        }
        self.tasks.shutdown().await;
        self.store.close().await;
    }

    /// Tasks that panicked or ended since the start.
    pub fn task_failures(&self) -> TaskFailures {
        self.tasks.failures().clone()
    }

    /// Waits until Telegram is connected. Returns the bot's name and, if the bot has no owner yet, the pairing code.
    pub async fn telegram(&mut self) -> Option<(String, Option<String>)> {
        let connected = self.telegram.wait_for(Option::is_some).await.ok()?;
        connected.as_ref().map(|c| (c.identity().username.clone(), c.pairing_code()))
    }
}

/// Opens the database and the object store. Every subcommand needs both.
pub async fn open_storage(config: &Config) -> anyhow::Result<(Store, Objects)> {
    let store = Store::open(&config.database.url.to_url()).await.context("the database")?;
    let objects = Objects::open(&config.attachments.url.to_url())?;
    Ok((store.with_quota(quota(config)), objects))
}

/// Storage and rendering without any running task, for subcommands that only read.
pub async fn open_renderer(config: &Config) -> anyhow::Result<Renderer> {
    let (store, objects) = open_storage(config).await?;
    let attachments = attachments(config, &store, objects);
    let renderer = Renderer::new(store, attachments, render_pool(config)?, read_recipe);
    Ok(renderer.with_vision(open_vision(config)?))
}

fn quota(config: &Config) -> Quota {
    Quota {
        max_conversation_bytes: config.attachments.max_conversation_bytes,
        max_person_bytes: config.attachments.max_person_bytes,
    }
}

fn attachments(config: &Config, store: &Store, objects: Objects) -> Attachments {
    let limits = attachments::FileLimits {
        max_file_bytes: config.attachments.max_file_bytes,
        quota: quota(config),
        min_free_bytes: config.attachments.min_free_bytes,
    };
    let uploads = attachments::UploadBudget::new(config.limits.upload_bytes_at_once);
    Attachments::new(store.clone(), objects, limits).with_upload_budget(uploads)
}

/// Starts every part that the configuration turns on.
pub async fn start(config: Config, prompts: Prompts) -> anyhow::Result<Running> {
    let (store, objects) = open_storage(&config).await?;
    recover(&store).await?;
    let attachments = attachments(&config, &store, objects);
    let turns = Arc::new(Turns::new(store.clone()));
    let pool = render_pool(&config)?;
    let renderer = Renderer::new(store.clone(), attachments.clone(), pool, read_recipe);
    let renderer = renderer.with_vision(open_vision(&config)?);
    let budgets = budgets(&config, &store);
    let engine = Arc::new(engine(&config, prompts, &renderer, &turns, &budgets)?);
    let Some(default_agent) = engine.agents.first() else { bail!("no agent is configured") };
    let provider = default_agent.provider.name();
    let model = default_agent.provider.model().to_owned();
    let route =
        |agent: &config::AgentSettings| Route { agent: agent.name.clone(), command: agent.command.clone() };
    let routes = Routes::new(config.agents.iter().map(route));

    let mut tasks = Supervisor::new(TaskFailures::default());
    make_files_private(&config);
    tasks.keep_running("agent", move || agent::run(engine.clone()));
    let for_upkeep = renderer.clone();
    let retention_days = config.attachments.retention_days;
    let vision = renderer.vision.clone();
    tasks.keep_running("drop_unused_models", move || drop_unused_models(vision.clone()));
    tasks.keep_running("upkeep", move || upkeep(for_upkeep.clone(), retention_days));
    tasks.run_once("audit_files", audit_files(attachments.clone()));

    let access = Arc::new(open_access(&config, &store).await?);
    let bound = match config.web.listen {
        Some(address) => Some(web::bind(address).await?),
        None => None,
    };
    let page = bound.as_ref().map(|bound| bound.address);
    let logins = Arc::new(logins(&config, &store, &access, page));
    if let Some(bound) = bound {
        let proxies = web::TrustedProxies::new(config.web.trusted_proxies.clone());
        let limits = server_limits(&config, &proxies);
        let site = web::Site {
            store: store.clone(),
            attachments: attachments.clone(),
            turns: turns.clone(),
            renderer: renderer.clone(),
            routes: routes.clone(),
            echo_planners: [(InterfaceType::Telegram, telegram::plan_echo as crate::agent::Planner)].into(),
            logins: logins.clone(),
            public_url: config.web.public_url.clone(),
            failed_attempts: web::FailedAttempts::new(proxies.clone()),
            event_streams: web::EventStreams::within(limits.max_connections),
            exclusive_tags: config.web.exclusive_tags.clone(),
        };
        tasks.run_once("web", bound.serve(site, limits));
    }

    let (connected, telegram) = watch::channel(None);
    if let Some(token) = config.secrets.telegram_bot_token.clone() {
        let parts = telegram::Parts {
            access,
            logins,
            store: store.clone(),
            attachments,
            turns,
            budgets,
            batch: config.telegram.batch,
            pacing: config.telegram.pacing,
            drafts: config.telegram.drafts,
            features: config.telegram.features,
            routes,
        };
        let bot = telegram::bot(&token, &config.telegram.api_url, config.telegram.features)?;
        let failures = tasks.failures().clone();
        tasks.run_once("telegram", async move {
            match telegram::connect(bot, parts).await {
                Ok(ready) => {
                    connected.send_replace(Some(ready.clone()));
                    serve_telegram(ready, failures).await;
                }
                Err(error) => error!(%error, op = "connect_telegram", "Telegram is off"),
            }
        });
    }
    Ok(Running { tasks, store, telegram, page, provider, model })
}

/// Makes files that an older version left readable for everyone private, beside the start: there may be many.
fn make_files_private(config: &Config) {
    let config = config.clone();
    tokio::task::spawn_blocking(move || match private_files::make_private(&config) {
        Ok(0) => {}
        Ok(changed) => info!(op = "make_private", changed, "files and folders are private now"),
        Err(error) => warn!(%error, op = "make_private", "other users of this machine may read some files"),
    });
}

/// Recovers from a crash: sends in flight become `unknown`, running turns become pending and resume at their last step,
/// and requests to models are charged as estimated, so that no later request waits for what they held of a budget.
async fn recover(store: &Store) -> anyhow::Result<()> {
    let (sends, turns) = (store.mark_interrupted_sends().await?, store.requeue_running_turns().await?);
    let requests = store.charge_open_reservations().await?;
    if sends > 0 || turns > 0 || requests > 0 {
        info!(
            op = "recover",
            sends,
            turns,
            requests,
            "recovered from an unexpected stop; unsure sends are listed by `photothread doctor`"
        );
    }
    Ok(())
}

pub async fn open_access(config: &Config, store: &Store) -> anyhow::Result<Access> {
    let allowed = config.telegram.allowed_user_ids.iter().map(|id| UserId(id.to_string()));
    Ok(Access::open(store.clone(), allowed, config.telegram.allow_everyone).await?)
}

/// Logins for the page at this address. Warns of settings with which login links cannot work.
fn logins(config: &Config, store: &Store, access: &Arc<Access>, page: Option<SocketAddr>) -> Logins {
    let page_access = match (page, config.web.auth) {
        (None, _) => PageAccess::Closed,
        (Some(at), config::Auth::Local) => PageAccess::Local(format!("http://{at}")),
        (Some(at), config::Auth::Required) => PageAccess::Login(match &config.web.public_url {
            Some(url) => url.origin().ascii_serialization(),
            None => format!("http://{at}"),
        }),
    };
    if let (PageAccess::Login(base), Some(at)) = (&page_access, page) {
        if config.secrets.telegram_bot_token.is_none() {
            warn!(
                op = "open_web",
                "web.auth is required, but without TELEGRAM_BOT_TOKEN there is no bot that gives login links"
            );
        }
        if config.web.public_url.is_none() && at.ip().is_unspecified() {
            warn!(
                op = "open_web",
                base, "login links will begin like this, which leads nowhere: set web.public_url"
            );
        }
    }
    let admins = config.web.admins.iter().map(|id| UserId(id.to_string()));
    Logins::new(store.clone(), access.clone(), page_access, admins)
}

/// A page without login is for this machine alone: all its connections have one address, so only the total counts.
fn server_limits(config: &Config, proxies: &web::TrustedProxies) -> web::ServerLimits {
    let limits = web::ServerLimits::new(config.web.max_connections);
    let (connections, wanted) = (limits.max_connections, config.web.max_connections);
    if connections < wanted {
        info!(connections, wanted, "the page takes fewer connections: the limit on open files is low");
    }
    match config.web.auth {
        config::Auth::Local => limits,
        config::Auth::Required => limits.shared_between_addresses(proxies.clone()),
    }
}

/// One pool for edits, thumbnails of the page and views for models.
fn render_pool(config: &Config) -> anyhow::Result<RenderPool> {
    let limits = imaging::Limits { max_pixels: config.attachments.max_pixels, ..imaging::Limits::default() };
    let fonts = imaging::Fonts::with_files(config.images.read_fonts()?)
        .map_err(|error| anyhow!("images.fonts: {error}"))?;
    let pool = PoolLimits {
        edits_at_once: config.limits.edits_at_once,
        memory_bytes: config.limits.edit_memory_bytes,
        max_wait: config.limits.edit_wait(),
    };
    Ok(RenderPool::new(pool, limits, fonts))
}

fn engine(
    config: &Config,
    prompts: Prompts,
    renderer: &Renderer,
    turns: &Arc<Turns>,
    budgets: &Budgets,
) -> anyhow::Result<Engine> {
    let media = Arc::new(ModelMedia(renderer.clone()));
    let mut agents = Vec::new();
    for agent in &config.agents {
        let tools = tools(config, agent, &renderer.vision)?;
        agents.push(Agent {
            name: agent.name.clone(),
            provider: provider(config, agent, &media)?,
            prompt: agent.prompt.clone(),
            max_steps: agent.max_steps,
            tools,
            fallback: agent.fallback.clone(),
        });
    }
    let planners: HashMap<_, _> =
        [(InterfaceType::Telegram, telegram::plan_answer as crate::agent::Planner)].into();
    Ok(Engine {
        store: renderer.store.clone(),
        renderer: renderer.clone(),
        turns: turns.clone(),
        prompts,
        bounds: HistoryBounds {
            max_messages: i64::from(config.history.max_history_messages),
            max_age: TimeDelta::from_std(config.history.max_age())
                .context("history.history_max_age_hours")?,
            max_thread_tokens: config.history.max_thread_tokens,
        },
        agents,
        planners,
        tool_timeout: config.limits.tool_timeout(),
        turn_timeout: config.limits.turn_timeout(),
        limits: TurnLimits {
            turns_at_once: config.limits.turns_at_once,
            turns_per_person: config.limits.turns_per_person,
        },
        budgets: budgets.clone(),
        titles: match config.history.titles {
            Some(config::TitleSource::Message) => Titles::Message,
            Some(config::TitleSource::Model) | None => Titles::Model,
        },
    })
}

/// Prices and budgets as configured. Warns of a budget that cannot be enforced because a price is missing.
fn budgets(config: &Config, store: &Store) -> Budgets {
    let price = |price: &config::PriceSettings| Price {
        input: price.input,
        output: price.output,
        cached_input: price.cached_input,
    };
    let prices = Prices::new(config.prices.iter().map(|(model, its)| (model.clone(), price(its))));
    let agents = &config.agents;
    let per_agent = agents.iter().filter_map(|agent| Some((agent.name.clone(), agent.daily_budget?)));
    let limits = DailyLimits {
        per_user: config.limits.daily_budget_per_user.map(Micros::of_dollars),
        per_chat: config.limits.daily_budget_per_chat.map(Micros::of_dollars),
        per_agent: per_agent.map(|(name, dollars)| (name, Micros::of_dollars(dollars))).collect(),
    };
    for agent in agents {
        let Some(vendor) = config.vendor_of(agent) else { continue };
        let model = agent.model.as_ref().unwrap_or(&config.providers.of(vendor).model);
        if limits.apply_to(&agent.name) && !prices.knows(model) {
            let agent = &agent.name;
            warn!(
                op = "load_budgets",
                agent, model, "there is a daily budget, but it cannot stop this model: add it to `prices`"
            );
        }
    }
    let unlimited =
        agents.iter().find(|agent| config.vendor_of(agent).is_some() && !limits.apply_to(&agent.name));
    if let Some(agent) = unlimited.filter(|_| config.telegram.allow_everyone) {
        let agent = &agent.name;
        warn!(
            op = "load_budgets",
            agent,
            "telegram.allow_everyone lets anyone who finds the bot spend without limit on your model key: \
             set limits.daily_budget_per_user and agents.{agent}.daily_budget, or turn allow_everyone off"
        );
    }
    let offline = |agent: &&config::AgentSettings| config.vendor_of(agent).is_none();
    let free_commands = agents.iter().filter(offline).filter_map(|agent| agent.command.clone());
    let models =
        if agents.iter().all(|agent| offline(&agent)) { Models::OnlyOffline } else { Models::Hosted };
    let rules = BudgetRules { prices, limits, free_commands: free_commands.collect(), models };
    Budgets::new(store.clone(), rules)
}

fn provider(
    config: &Config,
    agent: &config::AgentSettings,
    media: &Arc<ModelMedia>,
) -> anyhow::Result<Arc<dyn Provider>> {
    let Some(vendor) = config.vendor_of(agent) else { return Ok(Arc::new(Offline::new()?)) };
    let settings = config.providers.of(vendor);
    // A self-hosted server may need no key.
    let no_key = SecretString::from("");
    let key = config.secrets.key(vendor).unwrap_or(&no_key);
    let model = ModelSettings {
        model: agent.model.clone().unwrap_or_else(|| settings.model.clone()),
        temperature: agent.temperature,
        options: agent.options.clone(),
        stream: settings.stream,
    };
    let client = http_client().context("the HTTP client")?;
    let silence = config.limits.model_silence();
    Ok(Arc::new(Hosted::new(vendor, &settings.base_url, key, model, silence, client, media.clone())))
}

/// The tools an agent may use. The generative ones are only included if an image generation service is configured.
fn tools(config: &Config, agent: &config::AgentSettings, vision: &Vision) -> anyhow::Result<Registry> {
    let generator = image_generator(config, agent)?;
    if let config::ToolChoice::Only(names) = &agent.tools {
        let known = [Registry::new().with_vision().names(), GENERATIVE_TOOLS.to_vec()].concat();
        if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
            bail!("agents.{}.tools: there is no tool {unknown}; there are {}", agent.name, known.join(", "));
        }
        if generator.is_none()
            && let Some(name) = names.iter().find(|name| GENERATIVE_TOOLS.contains(&name.as_str()))
        {
            let why = config.explain_missing_image_generator(agent);
            warn!(op = "load_tools", "agents.{}.tools names {name}, but it goes without: {why}", agent.name);
        }
    }
    let mut tools = Registry::new();
    if vision.models().is_some() {
        tools = tools.with_vision();
    }
    if let Some(generator) = &generator {
        tools = tools.with_image_generator(generator);
    }
    Ok(tools.only(|tool| agent.tools.includes(tool)))
}

fn image_generator(
    config: &Config,
    agent: &config::AgentSettings,
) -> anyhow::Result<Option<Arc<ImageGenerator>>> {
    let Some((vendor, model)) = config.image_generator_of(agent) else { return Ok(None) };
    let no_key = SecretString::from("");
    let key = config.secrets.key(vendor).unwrap_or(&no_key);
    let client = http_client().context("the HTTP client")?;
    let base_url = &config.providers.of(vendor).base_url;
    let generator = ImageGenerator::new(vendor, base_url, key, model, config.limits.model_silence(), client);
    Ok(generator.map(Arc::new))
}

async fn serve_telegram(ready: Connected, failures: TaskFailures) {
    let mut tasks = Supervisor::new(failures);
    tasks.run_once("register_commands", ready.clone().register_commands());
    let connected = ready.clone();
    tasks.keep_running("send", move || connected.clone().send());
    let connected = ready.clone();
    tasks.keep_running("typing", move || connected.clone().show_typing());
    let connected = ready.clone();
    tasks.keep_running("drafts", move || connected.clone().show_drafts());
    let connected = ready.clone();
    tasks.keep_running("reactions", move || connected.clone().show_reactions());
    let connected = ready.clone();
    tasks.keep_running("file_batches", move || connected.clone().file_batches());
    tasks.keep_running("receive", move || ready.clone().receive());
    tasks.join().await;
}

/// Reports, once after the start, blobs without a row and rows without a blob.
async fn audit_files(attachments: Attachments) {
    match attachments.audit().await {
        Ok(audit) if audit.is_clean() => {}
        Ok(audit) => warn!(
            op = "audit_files",
            orphaned = audit.orphaned.len(),
            unfinished = audit.unfinished.len(),
            missing = audit.missing.len(),
            "files and database do not fit together; `photothread doctor` tells more"
        ),
        Err(error) => warn!(%error, op = "audit_files", "files could not be compared with the database"),
    }
}

/// Deletes what is past its retention, once an hour.
async fn upkeep(renderer: Renderer, retention_days: Option<u32>) {
    loop {
        if let Some(days) = retention_days {
            match renderer.attachments.expire(days).await {
                Ok(0) => {}
                Ok(files) => info!(op = "expire_files", files, days, "old files deleted"),
                Err(error) => error!(%error, op = "expire_files", "upkeep failed; trying again in an hour"),
            }
        }
        if let Err(error) = renderer.store.delete_unused_uploads(Utc::now() - UPLOAD_RETENTION).await {
            error!(%error, op = "delete_unused_uploads", "upkeep failed; trying again in an hour");
        }
        if let Err(error) = renderer.sweep().await {
            error!(%error, op = "sweep", "upkeep failed; trying again in an hour");
        }
        if let Err(error) = renderer.store.prune_inbox(Utc::now() - INBOX_RETENTION).await {
            error!(%error, op = "prune_inbox", "upkeep failed; trying again in an hour");
        }
        let now = Utc::now();
        if let Err(error) = renderer.store.charge_expired_reservations(now).await {
            error!(%error, op = "charge_expired_reservations", "upkeep failed; trying again in an hour");
        }
        if let Err(error) = renderer.store.delete_expired_logins(now, now - REPLACED_LOGIN_LIFETIME).await {
            error!(%error, op = "delete_expired_logins", "upkeep failed; trying again in an hour");
        }
        renderer.store.truncate_wal().await;
        tokio::time::sleep(UPKEEP_INTERVAL).await;
    }
}
