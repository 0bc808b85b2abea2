//! Routes committed updates with teloxide's dispatcher: commands are answered, messages are parked for their batch,
//! edits and membership changes are applied. Handlers are short and never run a turn, so no chat waits for another.

mod commands;
mod committed_updates;
mod handlers;

pub use commands::register_commands;

use super::{Telegram, error_text::describe, file};
use crate::{
    retry::while_unavailable,
    store::{InboxRow, StoreError},
};
use commands::SlashCommand;
use committed_updates::CommittedUpdates;
use futures::FutureExt as _;
use std::{convert::Infallible, panic::AssertUnwindSafe, sync::Arc};
use teloxide::{
    Bot,
    adaptors::CacheMe,
    dispatching::{Dispatcher, UpdateFilterExt as _, UpdateHandler},
    dptree,
    error_handlers::LoggingErrorHandler,
    types::{ChatMemberUpdated, Message, Update},
    utils::command::BotCommands as _,
};
use tokio::sync::mpsc;
use tracing::{Instrument as _, error, info_span};

/// Routes until `rows` ends. The cache of `bot` must hold its identity, or the dispatcher would ask for it.
pub async fn dispatch(telegram: Arc<Telegram>, bot: CacheMe<Bot>, rows: mpsc::Receiver<InboxRow>) {
    let listener = CommittedUpdates::new(telegram.clone(), rows);
    let mut dispatcher = Dispatcher::builder(bot, handler_tree())
        .dependencies(dptree::deps![telegram])
        .default_handler(|_| async {})
        .build();
    let error_handler = LoggingErrorHandler::with_custom_text("the update listener");
    if let Err(error) = dispatcher.try_dispatch_with_listener(listener, error_handler).await {
        error!(error = describe(&error), op = "dispatch", "the dispatcher could not start");
    }
}

fn handler_tree() -> UpdateHandler<Infallible> {
    let commands = dptree::filter_map(|telegram: Arc<Telegram>, message: Message| {
        SlashCommand::parse(message.text()?, &telegram.identity.username).ok()
    })
    .endpoint(
        |telegram: Arc<Telegram>, update: Update, message: Message, command: SlashCommand| async move {
            let id = inbox_id(&update);
            let answer = || commands::answer(&telegram, id, &message, &command);
            contain(&telegram, "answer_command", id, answer).await
        },
    );
    let messages = dptree::endpoint(|telegram: Arc<Telegram>, update: Update, message: Message| async move {
        let id = inbox_id(&update);
        contain(&telegram, "park_message", id, || handlers::park_message(&telegram, id, &message)).await
    });
    let edits = dptree::endpoint(|telegram: Arc<Telegram>, update: Update, message: Message| async move {
        let id = inbox_id(&update);
        contain(&telegram, "apply_edit", id, || handlers::apply_edit(&telegram, id, &message)).await
    });
    let members =
        dptree::endpoint(|telegram: Arc<Telegram>, update: Update, change: ChatMemberUpdated| async move {
            let id = inbox_id(&update);
            contain(&telegram, "note_member", id, || file::note_member_update(&telegram, id, &change)).await
        });
    let others = dptree::endpoint(|telegram: Arc<Telegram>, update: Update| async move {
        let id = inbox_id(&update);
        contain(&telegram, "close_update", id, || telegram.store.close_update(id)).await
    });
    dptree::entry()
        .branch(Update::filter_message().branch(commands).branch(messages))
        .branch(Update::filter_edited_message().branch(edits))
        .branch(Update::filter_chat_member().branch(members))
        .branch(others)
}

/// `CommittedUpdates` gives every update the id of its inbox row.
fn inbox_id(update: &Update) -> i64 {
    i64::from(update.id.0)
}

/// Runs a handler. Waits while the database is away. After a panic or another error only this update is skipped; its
/// row is kept.
async fn contain<F, W>(
    telegram: &Telegram,
    op: &'static str,
    inbox_id: i64,
    handler: F,
) -> Result<(), Infallible>
where
    F: FnMut() -> W,
    W: Future<Output = Result<(), StoreError>>,
{
    let contained = async {
        let reason = match AssertUnwindSafe(while_unavailable(op, handler)).catch_unwind().await {
            Ok(Ok(())) => return,
            // The row is closed already, and stays so.
            Ok(Err(StoreError::AlreadyDone)) => "it could not be handled",
            Ok(Err(error)) => {
                error!(%error, op, "store error; skipping the update");
                "it could not be handled"
            }
            Err(_) => {
                error!(op, "the handler panicked; skipping the update");
                "its handler panicked"
            }
        };
        skip_update(telegram, inbox_id, reason).await;
    };
    contained.instrument(info_span!("update", inbox_id)).await;
    Ok(())
}

/// Keeps the row for a week, with the reason, and passes it over.
async fn skip_update(telegram: &Telegram, inbox_id: i64, reason: &str) {
    let skipped = while_unavailable("skip_update", || telegram.store.skip_update(inbox_id, reason));
    if let Err(error) = skipped.await {
        error!(%error, op = "skip_update", inbox_id, "store error; the row stays unhandled until the next start");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        access::{Access, Logins, PageAccess},
        agent::{Routes, Turns, budgets::Budgets},
        attachments::{Attachments, FileLimits, Objects},
        config::{BatchSettings, DraftSettings, PacingSettings, TelegramFeatures},
        store::{NewUpdate, Quota, Store},
        telegram::{BotIdentity, Parts},
    };

    async fn telegram(store: Store) -> Telegram {
        rustls::crypto::ring::default_provider().install_default().ok();
        let limits = FileLimits { max_file_bytes: 1, quota: Quota::default(), min_free_bytes: 0 };
        let access = Arc::new(Access::open(store.clone(), [], true).await.unwrap());
        let parts = Parts {
            attachments: Attachments::new(store.clone(), Objects::open("memory://").unwrap(), limits),
            logins: Arc::new(Logins::new(store.clone(), access.clone(), PageAccess::Closed, [])),
            access,
            turns: Arc::new(Turns::new(store.clone())),
            budgets: Budgets::new(store.clone(), Default::default()),
            store,
            routes: Routes::default(),
            batch: BatchSettings { quiet_ms: 1, album_quiet_ms: 1, max_wait_ms: 1 },
            pacing: PacingSettings {
                per_chat_per_second: 1.0,
                per_chat_burst: 1,
                group_per_minute: 1.0,
                overall_per_second: 1.0,
            },
            drafts: DraftSettings { after_ms: None, every_ms: 1 },
            features: TelegramFeatures { new_opens_topic: false, local_server: false, reactions: false },
        };
        let api_url = "http://127.0.0.1:9".parse().unwrap();
        let bot = crate::telegram::bot(&"1:token".to_owned().into(), &api_url, parts.features).unwrap();
        Telegram::new(bot, BotIdentity { user_id: 1, username: "bot".into() }, parts)
    }

    #[tokio::test]
    async fn a_handler_that_panics_skips_only_its_own_update() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("test.db").display());
        let telegram = telegram(Store::open(&url).await.unwrap()).await;
        let new =
            ["1", "2"].map(|key| NewUpdate { key: key.into(), raw: "{}".into(), conversation_id: None });
        let rows = telegram.store.receive_updates(&new).await.unwrap();
        let [panics, works] = [rows[0].inbox_id, rows[1].inbox_id];
        contain(&telegram, "test", panics, || async { panic!("on purpose") }).await.unwrap();
        assert_eq!(telegram.store.unhandled_updates().await.unwrap(), rows[1..]);
        contain(&telegram, "test", works, || telegram.store.close_update(works)).await.unwrap();
        assert_eq!(telegram.store.unhandled_updates().await.unwrap(), []);
        let closed = telegram.store.close_update(panics).await;
        assert!(
            matches!(closed, Err(StoreError::AlreadyDone)),
            "the row that panicked is skipped, not forgotten"
        );
    }
}
