//! Form posts of the page, for browsers without scripts: submits the message, waits for the answer, redirects back.

use super::error::PageError;
use crate::{
    access::Viewer,
    agent::TurnEvent,
    domain::{SessionId, TurnId},
    web::{
        Site, forms,
        submit::{PostedMessage, submit},
    },
};
use axum::{
    extract::{Multipart, Path, State},
    response::Redirect,
};
use std::{sync::Arc, time::Duration};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// A browser does not wait longer than this; the answer then appears on reload.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);

/// Creates a session with its first message.
pub async fn post_first_message(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    form: Multipart,
) -> Result<Redirect, PageError> {
    let message = forms::read_message(form).await?;
    if message.is_empty() {
        return Ok(Redirect::to("/new"));
    }
    let session = site.store.create_web_session(&viewer.user, None).await?;
    submit_and_wait(&site, &viewer, session.session_id, message).await
}

pub async fn post_message(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    Path(id): Path<SessionId>,
    form: Multipart,
) -> Result<Redirect, PageError> {
    let message = forms::read_message(form).await?;
    submit_and_wait(&site, &viewer, id, message).await
}

async fn submit_and_wait(
    site: &Site,
    viewer: &Viewer,
    id: SessionId,
    message: PostedMessage,
) -> Result<Redirect, PageError> {
    let found = viewer.session(&site.store, id).await?;
    let (session, scope) = found.ok_or_else(PageError::not_found)?;
    if !message.is_empty() {
        let mut events = site.turns.events();
        let submitted = submit(site, viewer, (&session, &scope), message).await?;
        let _ = tokio::time::timeout(ANSWER_TIMEOUT, turn_ended(&mut events, submitted.turn)).await;
    }
    Ok(Redirect::to(&format!("/c/{id}#end")))
}

async fn turn_ended(events: &mut Receiver<TurnEvent>, turn: TurnId) {
    loop {
        match events.recv().await {
            Ok(TurnEvent::Ended { turn: ended, .. }) if ended == turn => return,
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}
