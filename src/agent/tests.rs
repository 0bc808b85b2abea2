//! A panic fails one turn, which apologises; other turns go on.

use super::{Agent, Engine, Titles, TurnEvent, TurnLimits, Turns, budgets::Budgets, run};
use crate::{
    attachments::{Attachments, FileLimits, Objects},
    context::HistoryBounds,
    domain::{Answer, Conversation, InterfaceType, PlannedSend, Role, SendKind, TurnId, TurnState, UserId},
    prompts::Prompts,
    providers::{Completion, Listener, Prompt, Provider, ProviderError},
    rendering::{PoolLimits, RenderPool, Renderer},
    store::{FiledMessage, Filing, Quota, Store, WantsTurn},
    tools::{Registry, read_recipe},
};
use chrono::TimeDelta;
use futures::future::BoxFuture;
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// Panics when the text asks for it.
struct PanickingProvider;

impl Provider for PanickingProvider {
    fn name(&self) -> &'static str {
        "moody"
    }

    fn model(&self) -> &str {
        "moody"
    }

    fn max_output_tokens(&self) -> u64 {
        0
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
        _: Listener<'a>,
    ) -> BoxFuture<'a, Result<Completion, ProviderError>> {
        Box::pin(async {
            assert!(!prompt.focus.said.contains("panic"), "as asked");
            Ok(Completion { text: "All is well.".into(), ..Completion::default() })
        })
    }
}

fn plan(answer: &Answer) -> Vec<PlannedSend> {
    vec![PlannedSend { kind: SendKind::Text, payload: json!(answer.text), items: 1, attachments: Vec::new() }]
}

fn engine(store: &Store) -> Arc<Engine> {
    let limits = FileLimits { max_file_bytes: 1 << 20, quota: Quota::default(), min_free_bytes: 0 };
    let attachments = Attachments::new(store.clone(), Objects::open("memory://").unwrap(), limits);
    let pool = RenderPool::new(
        PoolLimits { edits_at_once: 1, memory_bytes: 1 << 20, ..PoolLimits::default() },
        imaging::Limits::default(),
        imaging::Fonts::default(),
    );
    let renderer = Renderer::new(store.clone(), attachments, pool, read_recipe);
    let agent = Agent {
        name: "moody".into(),
        provider: Arc::new(PanickingProvider),
        prompt: "photothread".into(),
        max_steps: 3,
        tools: Registry::new(),
        fallback: None,
    };
    Arc::new(Engine {
        store: store.clone(),
        renderer,
        turns: Arc::new(Turns::new(store.clone())),
        prompts: Prompts::load(None).unwrap(),
        bounds: HistoryBounds { max_messages: 10, max_age: TimeDelta::hours(1), max_thread_tokens: 1000 },
        agents: vec![agent],
        planners: [(InterfaceType::Telegram, plan as super::Planner)].into(),
        tool_timeout: Duration::from_secs(60),
        turn_timeout: Duration::from_secs(60),
        limits: TurnLimits { turns_at_once: 16, turns_per_person: 3 },
        budgets: Budgets::new(store.clone(), Default::default()),
        titles: Titles::Message,
    })
}

async fn file_message(store: &Store, place: &Conversation, shown_id: &str, text: &str) -> TurnId {
    let message =
        FiledMessage { interface_message_id: Some(shown_id.into()), ..FiledMessage::new(Role::User, text) };
    let filing = Filing {
        conversation: place.clone(),
        user_id: UserId("100".into()),
        agent_id: "moody".into(),
        inbox_ids: Vec::new(),
        messages: vec![message],
        thread_root: None,
        session: None,
        echo: None,
        wants_turn: WantsTurn::Yes,
    };
    store.file(&filing).await.unwrap().turn.unwrap()
}

#[tokio::test]
async fn a_panic_fails_one_turn_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("test.db").display());
    let store = Store::open(&url).await.unwrap();
    let (ann, bob) = (Conversation::telegram(1), Conversation::telegram(2));
    let lost = file_message(&store, &ann, "10", "please panic").await;
    let kept =
        [file_message(&store, &bob, "10", "hello").await, file_message(&store, &ann, "11", "hello").await];

    let engine = engine(&store);
    let mut events = engine.turns.events();
    let worker = tokio::spawn(run(engine.clone()));
    for _ in 0..3 {
        while !matches!(events.recv().await.unwrap(), TurnEvent::Ended { .. }) {}
    }
    assert!(!worker.is_finished());
    worker.abort();
    let state = async |id| store.turn(id).await.unwrap().unwrap().state;
    assert_eq!(state(lost).await, TurnState::Failed);
    for id in kept {
        assert_eq!(state(id).await, TurnState::Done);
    }
    let apology = store.next_send(&ann).await.unwrap().unwrap();
    assert_eq!((apology.turn_id, apology.reply_to.as_deref()), (Some(lost), Some("10")));
    assert_eq!(apology.payload, json!(super::messages::apology()));
    let answer = store.next_send(&bob).await.unwrap().unwrap();
    assert_eq!(answer.payload, json!("All is well."));
}
