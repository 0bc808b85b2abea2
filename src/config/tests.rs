//! Settings as an operator writes them: the resulting values, or the exact error message.

use super::{schema::ValueShape, *};

fn with(file: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let variables = variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    Config::from_layers(Some(("config.yaml", file)), variables)
}

fn file(text: &str) -> Config {
    with(text, &[]).unwrap()
}

fn file_error(text: &str) -> String {
    with(text, &[]).unwrap_err().to_string()
}

fn variable(name: &str, value: &str) -> Result<Config, ConfigError> {
    with("", &[(name, value)])
}

fn variable_error(name: &str, value: &str) -> String {
    variable(name, value).unwrap_err().to_string()
}

#[test]
fn built_in_defaults_apply_when_nothing_is_set() {
    let config = Config::from_layers(None, std::iter::empty()).unwrap();
    assert_eq!(config.telegram.api_url.as_str(), "https://api.telegram.org/");
    assert_eq!(
        config.telegram.batch,
        BatchSettings { quiet_ms: 300, album_quiet_ms: 1000, max_wait_ms: 10_000 }
    );
    assert_eq!(config.telegram.pacing.per_chat_burst, 5);
    assert_eq!(config.telegram.drafts, DraftSettings { after_ms: Some(1500), every_ms: 1500 });
    assert_eq!(config.database.url.to_url(), "sqlite://data/photothread.db");
    assert_eq!(config.attachments.url, AttachmentsUrl::Directory("data/attachments".into()));
    assert_eq!(config.attachments.max_conversation_bytes, 5 << 30);
    assert_eq!(config.history.max_age(), Duration::from_secs(7200));
    assert_eq!(config.web.listen, Some(([127, 0, 0, 1], 8080).into()));
    assert_eq!(
        config.agents.first(),
        Some(&AgentSettings {
            name: "photothread".into(),
            provider: ProviderChoice::Auto,
            model: None,
            prompt: "photothread".into(),
            tools: ToolChoice::All,
            max_steps: 10,
            temperature: None,
            command: None,
            fallback: None,
            daily_budget: None,
            options: Default::default(),
        })
    );
    assert_eq!(config.limits.turn_timeout(), Duration::from_secs(600));
    assert!(config.telegram.allowed_user_ids.is_empty() && !config.telegram.allow_everyone);
    config.check_prompts(&Prompts::load(None).unwrap()).unwrap();
}

#[test]
fn config_yaml_has_a_default_for_every_key() {
    fn missing(shape: &ValueShape, value: &Value, path: &str, found: &mut Vec<String>) {
        match shape {
            ValueShape::Section(keys) => {
                for (key, below) in *keys {
                    let path = format!("{path}.{key}");
                    match value.get(*key) {
                        Some(value) => missing(below, value, &path, found),
                        None => found.push(path),
                    }
                }
            }
            ValueShape::Named(each, _) => {
                let first = value.as_mapping().and_then(|named| named.values().next());
                missing(each, first.unwrap_or(&Value::Null), path, found)
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    missing(&schema::ROOT, &serde_yaml::from_str(DEFAULTS).unwrap(), "", &mut found);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_file_overrides_only_the_keys_it_names() {
    let config = file("telegram:\n  batch: { quiet_ms: 50 }\nweb:\n  listen: null\nhistory:\n  # nothing\n");
    assert_eq!(
        config.telegram.batch,
        BatchSettings { quiet_ms: 50, album_quiet_ms: 1000, max_wait_ms: 10_000 }
    );
    assert_eq!(config.web.listen, None);
    assert_eq!(config.history.max_history_messages, 10);
    assert_eq!(file("# only a comment\n").agents.len(), 1);
}

#[test]
fn an_unknown_key_is_reported_with_its_line() {
    assert_eq!(
        file_error("database:\n  url: sqlite://x.db\ntelegram:\n  mode: polling\n  alowed_user_ids: [1]\n"),
        "config.yaml line 5: unknown key telegram.alowed_user_ids; did you mean allowed_user_ids?"
    );
    assert_eq!(
        file_error("\nfrobnicate: 1\n"),
        "config.yaml line 2: unknown key frobnicate; allowed here: telegram, database, attachments, history, \
         web, agents, providers, prices, images, vision, limits"
    );
    let nested = file_error("agents:\n  helper:\n    provder: auto\n");
    assert_eq!(nested, "config.yaml line 3: unknown key agents.helper.provder; did you mean provider?");
}

#[test]
fn a_wrong_type_is_reported_with_key_line_and_expected_value() {
    let cases = [
        (
            "limits:\n  edits_at_once: many",
            "line 2: limits.edits_at_once must be a whole number from 1 to 64",
        ),
        ("limits:\n  edits_at_once: 0", "line 2: limits.edits_at_once must be a whole number from 1 to 64"),
        ("limits:\n  edits_at_once: -1", "line 2: limits.edits_at_once must be a whole number from 1 to 64"),
        ("telegram:\n  allow_everyone: yes", "line 2: telegram.allow_everyone must be true or false"),
        ("history:\n\n  history_max_age_hours: []", "line 3: history.history_max_age_hours must be a number"),
        (
            "telegram:\n  allowed_user_ids:\n  - 1\n  - bob",
            "line 4: telegram.allowed_user_ids must be a list",
        ),
        ("telegram:\n  mode:\n    fast: true", "line 3: telegram.mode must be a text"),
        ("database: sqlite://x", "line 1: database must be a section with the keys url"),
        ("database:\n  url:", "line 2: database.url must not be empty"),
        ("agents: {}", "line 1: agents must name at least one"),
        ("agents:\n  a: { tools: some }", "line 2: agents.a.tools must be all, or a list of names"),
        ("[1, 2]", "line 1: the file must be a section"),
        ("telegram: [", "not valid YAML"),
        ("web: {}\nweb: {}", "not valid YAML: duplicate entry"),
    ];
    for (text, expected) in cases {
        let message = file_error(text);
        assert!(message.starts_with("config.yaml") && message.contains(expected), "{text:?} gave: {message}");
    }
}

#[test]
fn invalid_values_are_rejected_with_a_clear_message() {
    let cases = [
        ("telegram: { api_url: api.telegram.org }", "starts with http:// or https://"),
        ("telegram: { mode: webhook }", "telegram.mode is \"webhook\", and only polling is supported now"),
        ("database: { url: 'mysql://root@db/x' }", "must start with sqlite://, postgres:// or postgresql://"),
        ("database: { url: 'sqlite::memory:' }", "must name a file"),
        ("attachments: { url: 'ftp://x' }", "must start with file://, s3://, gs://, az:// or memory://"),
        ("attachments: { url: 's3://' }", "must name a bucket, such as s3://my-bucket/photothread"),
        ("web: { listen: '8080' }", "must be an address and a port"),
        ("web: { auth: none }", "web.auth is \"none\", but must be local or required"),
        ("web: { public_url: 'https://x.org/photos' }", "with nothing after its name and port"),
        ("web: { public_url: 'photos.example.org' }", "with nothing after its name and port"),
        ("web: { exclusive_tags: ['mood:calm'] }", "must be a list of groups of tags, such as [topic, mood]"),
        ("web: { trusted_proxies: [proxy.lan] }", "must be a list of addresses and networks, such as"),
        ("web: { trusted_proxies: ['10.0.0.0/33'] }", "must be a list of addresses and networks, such as"),
        ("web: { max_connections: 0 }", "must be a whole number from 8 to 100000"),
        ("agents: { a: { provider: claude } }", "supported are auto, offline, anthropic, openai, gemini"),
        ("agents: { a: { temperature: hot } }", "must be a number from 0 to 2, or null"),
        ("history: { titles: poet }", "must be model, message or null"),
        ("agents: { My-Agent: {} }", "agents.My-Agent must be named with"),
        ("providers: { mistral: { base_url: 'https://x' } }", "allowed here: anthropic, openai, gemini"),
        ("telegram: { webhook: {} }", "telegram.webhook is not supported yet"),
        ("attachments: { retention_days: 0 }", "must be a whole number from 1 to 36500, or null"),
    ];
    for (text, expected) in cases {
        let message = file_error(text);
        assert!(
            message.starts_with("config.yaml line 1: ") && message.contains(expected),
            "{text:?}: {message}"
        );
    }
}

#[test]
fn agents_in_a_file_replace_the_built_in_agent_and_keep_their_order() {
    let config = file("agents:\n  zoe: { provider: OFFLINE, tools: [crop_image] }\n  abe: { model: 4.10 }\n");
    let names: Vec<_> = config.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["zoe", "abe"]);
    let zoe = config.agents.first().unwrap();
    assert_eq!((zoe.provider, zoe.max_steps), (ProviderChoice::Offline, 10));
    assert!(zoe.tools.includes("crop_image") && !zoe.tools.includes("flip_image"));
    assert_eq!(config.agent("abe").unwrap().model.as_deref(), Some("4.10"));
    assert!(config.agent("photothread").is_none());
}

#[test]
fn the_environment_overrides_the_file() {
    let config = with(
        "telegram: { batch: { quiet_ms: 50 } }\nagents: { zoe: {} }",
        &[
            ("PHOTOTHREAD_TELEGRAM__BATCH__QUIET_MS", "100"),
            ("PHOTOTHREAD_TELEGRAM__BATCH", "{quiet_ms: 7, max_wait_ms: 8}"),
            ("PHOTOTHREAD_AGENTS__ZOE__MODEL", "123"),
            ("PHOTOTHREAD_AGENTS__ZOE__PROMPT", "it's: [odd"),
            ("PHOTOTHREAD_WEB__LISTEN", "null"),
            ("PHOTOTHREAD_LIMITS__EDITS_AT_ONCE", ""),
            ("PHOTOTHREAD_LOG", "debug"),
            ("HOME", "/root"),
        ],
    )
    .unwrap();
    let batch = config.telegram.batch;
    assert_eq!((batch.quiet_ms, batch.album_quiet_ms, batch.max_wait_ms), (100, 1000, 8));
    let zoe = config.agents.first().unwrap();
    assert_eq!(zoe.model.as_deref(), Some("123"), "a text may look like a number");
    assert_eq!(zoe.prompt, "it's: [odd", "a text is taken as it is, not as YAML");
    assert_eq!(config.web.listen, None);
    assert_eq!(config.limits.edits_at_once, 2, "an empty variable counts as unset");
}

#[test]
fn lists_in_the_environment_need_no_brackets() {
    for text in ["[11, 22]", "11,22", " 11, 22 "] {
        let config = variable("PHOTOTHREAD_TELEGRAM__ALLOWED_USER_IDS", text).unwrap();
        assert_eq!(config.telegram.allowed_user_ids, [11, 22]);
    }
    let config = variable("PHOTOTHREAD_AGENTS__PHOTOTHREAD__TOOLS", "crop_image").unwrap();
    assert_eq!(config.agents[0].tools, ToolChoice::Only(vec!["crop_image".into()]));
}

#[test]
fn an_invalid_variable_is_named() {
    assert_eq!(
        variable_error("PHOTOTHREAD_TELEGRAM__ALOWED_USER_IDS", "[1]"),
        "PHOTOTHREAD_TELEGRAM__ALOWED_USER_IDS: unknown key telegram.alowed_user_ids; \
         did you mean allowed_user_ids?"
    );
    assert_eq!(
        variable_error("PHOTOTHREAD_TELEGRAM__BATCH__QUIET_MS", "soon"),
        "PHOTOTHREAD_TELEGRAM__BATCH__QUIET_MS: telegram.batch.quiet_ms must be a whole number \
         from 0 to 86400000"
    );
    assert_eq!(
        variable_error("PHOTOTHREAD_AGENTS__BOB__MODEL", "x"),
        "PHOTOTHREAD_AGENTS__BOB__MODEL: there is no bob in agents; there is: photothread"
    );
    let deep = variable_error("PHOTOTHREAD_DATABASE__URL__HOST", "x");
    assert!(deep.contains("database.url has no keys of its own"), "{deep}");
}

#[test]
fn secrets_come_from_the_environment_and_are_never_printed() {
    let config = with(
        "database: { url: 'postgres://me:hunter2@db/photothread' }",
        &[
            ("TELEGRAM_BOT_TOKEN", "123:secret-a"),
            ("ANTHROPIC_API_KEY", "secret-b"),
            ("OPENAI_API_KEY", "  "),
            ("GEMINI_API_KEY", "secret-c"),
        ],
    )
    .unwrap();
    let shown = format!("{config:?} {config:#?}");
    assert!(!shown.contains("secret-") && !shown.contains("hunter2"), "{shown}");
    assert!(config.secrets.openai_api_key.is_none(), "an empty variable counts as unset");
    assert_eq!(config.secrets.all().count(), 3);
    let message = file_error("database: { url: 'mysql://me:hunter2@db/photothread' }");
    assert!(!message.contains("hunter2"), "{message}");
}

#[test]
fn a_vendor_needs_its_key_unless_the_server_is_self_hosted() {
    for (name, variable) in
        [("Anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY"), ("GEMINI", "GEMINI_API_KEY")]
    {
        let agent = format!("agents: {{ a: {{ provider: {name} }} }}\n");
        let name = name.to_lowercase();
        let message = file_error(&agent);
        assert!(
            message.starts_with(&format!("agents.a.provider is {name}, but {variable} is not set")),
            "{message}"
        );
        assert!(with(&agent, &[(variable, "k")]).is_ok());
        let own =
            file(&format!("{agent}providers: {{ {name}: {{ base_url: 'http://localhost:1234/v1/' }} }}"));
        let vendor = own.vendor_of(&own.agents[0]).unwrap();
        assert_eq!(
            (vendor.as_str(), own.providers.of(vendor).base_url.as_str()),
            (name.as_str(), "http://localhost:1234/v1")
        );
    }
}

#[test]
fn auto_takes_the_first_provider_with_a_key() {
    let chosen = |keys: &[(&str, &str)]| {
        let config = with("", keys).unwrap();
        config.vendor_of(&config.agents[0]).map(|vendor| vendor.as_str())
    };
    assert_eq!(chosen(&[]), None);
    assert_eq!(chosen(&[("GEMINI_API_KEY", "k")]), Some("gemini"));
    assert_eq!(chosen(&[("GEMINI_API_KEY", "k"), ("OPENAI_API_KEY", "k")]), Some("openai"));
    assert_eq!(chosen(&[("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k")]), Some("anthropic"));
}

#[test]
fn agent_commands_and_fallbacks_are_checked() {
    let message = file_error("agents: { a: { command: Describe } }");
    assert!(message.contains("agents.a.command must be 1 to 32 lower-case letters"), "{message}");
    let message = file_error("agents: { a: { command: /cancel } }");
    assert!(message.contains("which is a command of the bot itself"), "{message}");
    let message = file_error("agents: { a: { command: look }, b: { command: /look } }");
    assert_eq!(message, "agents.b.command is \"look\", which is the command of a already");
    let message = file_error("agents: { a: { fallback: c }, b: {} }");
    assert_eq!(message, "agents.a.fallback is \"c\", which is no agent; there are a, b");
    let message = file_error("agents: { a: { fallback: a } }");
    assert!(message.ends_with("which is the agent itself"), "{message}");
}

#[test]
fn options_are_passed_on_unchanged_and_prices_extend_the_built_in_ones() {
    let config = file(
        "agents: { a: { temperature: 0.5, options: { thinking: { type: enabled, budget_tokens: 2000 } } } }\n\
         prices: { my-model: { input: 1, output: 2 } }",
    );
    assert_eq!(config.agents[0].options["thinking"]["budget_tokens"], 2000);
    assert_eq!(config.agents[0].temperature, Some(0.5));
    assert_eq!(config.prices["my-model"], PriceSettings { input: 1.0, output: 2.0, cached_input: None });
    assert!(config.prices.contains_key("gpt-5-mini"), "the built-in ones stay");
    let message = file_error("agents: { a: { options: 7 } }");
    assert!(message.contains("agents.a.options must be a section"), "{message}");
}

#[test]
fn an_unknown_prompt_is_reported_with_its_agent() {
    let message = file("agents: { a: { prompt: poet } }").check_prompts(&Prompts::load(None).unwrap());
    assert_eq!(
        message.unwrap_err().to_string(),
        "agents.a.prompt is \"poet\", which prompts.yaml does not have; it has photothread"
    );
}

#[test]
fn a_named_file_must_exist() {
    let message = Config::load(Some(Path::new("no/such.yaml")), std::iter::empty()).unwrap_err().to_string();
    assert!(message.starts_with("cannot read no/such.yaml"), "{message}");
}

#[test]
fn storage_urls_are_parsed_leniently() {
    let sqlite = |text: &str| match text.parse::<DatabaseUrl>().unwrap() {
        DatabaseUrl::Sqlite(path) => path,
        DatabaseUrl::Postgres(_) => panic!("{text} is no PostgreSQL"),
    };
    assert_eq!(sqlite("sqlite://../my%20data/x.db?mode=rwc"), PathBuf::from("../my data/x.db"));
    assert_eq!(sqlite("sqlite:///var/x.db"), PathBuf::from("/var/x.db"));
    assert_eq!(sqlite("SQLite:x 100%.db"), PathBuf::from("x 100%.db"));
    let directory = "file:///srv/files".parse::<AttachmentsUrl>().unwrap();
    assert_eq!(directory, AttachmentsUrl::Directory("/srv/files".into()));
    assert_eq!("memory://".parse(), Ok(AttachmentsUrl::Memory));
    assert!(matches!("s3://bucket/prefix".parse(), Ok(AttachmentsUrl::Bucket(_))));
    assert_eq!(file("web: { listen: 'localhost:1' }").web.listen, Some(([127, 0, 0, 1], 1).into()));
}

#[test]
fn a_page_that_others_can_reach_requires_authentication() {
    for address in ["0.0.0.0:8080", "[::]:8080", "192.168.1.2:80"] {
        let message = file_error(&format!("web: {{ listen: '{address}' }}"));
        assert!(message.contains(address) && message.contains("set web.auth to required"), "{message}");
        let guarded = file(&format!("web: {{ listen: '{address}', auth: required }}")).web;
        assert_eq!((guarded.listen, guarded.auth), (address.parse().ok(), Auth::Required));
    }
    let message = file_error("web: { public_url: 'https://photos.example.org' }");
    assert!(
        message.contains("web.public_url is set") && message.contains("web.auth to required"),
        "{message}"
    );
    assert_eq!(file("web: { listen: '[::1]:8080' }").web.auth, Auth::Local);
}

#[test]
fn web_settings_are_normalized() {
    let web = file("web: { auth: Required, public_url: 'HTTPS://Photos.Example.org:443/', admins: [7], exclusive_tags: [' Mood: ', topic] }").web;
    assert_eq!(web.public_url.unwrap().as_str(), "https://photos.example.org/");
    assert_eq!((web.admins, web.exclusive_tags), (vec![7], vec!["mood".to_owned(), "topic".to_owned()]));
    let web = variable("PHOTOTHREAD_WEB__EXCLUSIVE_TAGS", "mood, topic").unwrap().web;
    assert_eq!(web.exclusive_tags, ["mood", "topic"]);
    let web = file("web: { trusted_proxies: ['127.0.0.1', '10.1.2.3/8', '::1', 'fd00::/8'] }").web;
    let networks: Vec<String> = web.trusted_proxies.iter().map(ToString::to_string).collect();
    assert_eq!(networks, ["127.0.0.1/32", "10.0.0.0/8", "::1/128", "fd00::/8"]);
    let web = variable("PHOTOTHREAD_WEB__TRUSTED_PROXIES", "10.0.0.1, ::1").unwrap().web;
    assert_eq!(web.trusted_proxies.len(), 2);
}

#[test]
fn drafts_can_be_turned_off() {
    for config in [
        file("telegram: { drafts: { after_ms: null } }"),
        variable("PHOTOTHREAD_TELEGRAM__DRAFTS__AFTER_MS", "null").unwrap(),
    ] {
        assert_eq!(config.telegram.drafts, DraftSettings { after_ms: None, every_ms: 1500 });
    }
    let wrong = file_error("telegram:\n  drafts: { after_ms: soon }");
    assert!(wrong.ends_with("must be a whole number from 0 to 86400000, or null"), "{wrong}");
}
