//! `CommittedUpdates`: teloxide's update listener over the inbox. It yields only updates that are committed.

use super::skip_update;
use crate::{
    store::InboxRow,
    telegram::{
        Telegram,
        parse::{self, ParsedUpdate, Reading},
    },
};
use futures::{Stream, StreamExt as _};
use std::{convert::Infallible, pin::Pin, sync::Arc};
use teloxide::{
    stop::{StopFlag, StopToken, mk_stop_token},
    types::{Update, UpdateId},
    update_listeners::{AsUpdateStream, UpdateListener},
};
use tokio::sync::mpsc;
use tracing::{debug, warn};

/// Every update gets the id of its inbox row instead of Telegram's: handlers close the row, and Telegram's ids may
/// repeat.
pub struct CommittedUpdates {
    telegram: Arc<Telegram>,
    rows: mpsc::Receiver<InboxRow>,
    token: StopToken,
    flag: StopFlag,
}

impl CommittedUpdates {
    pub fn new(telegram: Arc<Telegram>, rows: mpsc::Receiver<InboxRow>) -> Self {
        let (token, flag) = mk_stop_token();
        Self { telegram, rows, token, flag }
    }
}

impl UpdateListener for CommittedUpdates {
    type Err = Infallible;

    fn stop_token(&mut self) -> StopToken {
        self.token.clone()
    }
}

impl<'a> AsUpdateStream<'a> for CommittedUpdates {
    type StreamErr = Infallible;
    type Stream = Pin<Box<dyn Stream<Item = Result<Update, Infallible>> + Send + 'a>>;

    fn as_stream(&'a mut self) -> Self::Stream {
        let Self { telegram, rows, flag, .. } = self;
        let rows = futures::stream::poll_fn(move |context| rows.poll_recv(context));
        let updates = rows.filter_map(move |row| parse_or_skip(telegram.clone(), row)).map(Ok);
        Box::pin(updates.take_until(flag.clone()))
    }
}

/// Parses the update of a row. A row that cannot be parsed is skipped.
async fn parse_or_skip(telegram: Arc<Telegram>, row: InboxRow) -> Option<Update> {
    let inbox_id = row.inbox_id;
    match parse::parse_update(&row.raw) {
        Ok(ParsedUpdate { update, reading }) => {
            let update_id = update.id.0;
            match reading {
                Reading::Complete => {}
                Reading::WithoutUnknownFields => {
                    debug!(op = "parse_update", inbox_id, update_id, "left out fields of unknown kinds");
                }
                Reading::FromRawFields => {
                    warn!(
                        op = "parse_update",
                        inbox_id, update_id, "message of an unknown kind; filing it from its raw fields"
                    );
                }
            }
            Some(Update { id: UpdateId(inbox_id as u32), kind: update.kind })
        }
        Err(reason) => {
            // The reason may quote the update, so it goes into the row and not into the log.
            warn!(op = "parse_update", inbox_id, "update cannot be parsed; skipping it");
            skip_update(&telegram, inbox_id, &reason).await;
            None
        }
    }
}
