//! Form posts of the page, for browsers without scripts: submits the message, waits for the answer, redirects back.

use super::error::PageError;
use crate::{
    access::Viewer,
    agent::TurnEvent,
    domain::{SessionId, TurnId},
    web::{
        Site, forms,
        problem::Problem,
        run_to_end::run_to_end,
        submit::{SubmittedMessage, submit},
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
    let message = forms::read_message(&site, &viewer, form).await?;
    if message.is_empty() {
        return Ok(Redirect::to("/new"));
    }
    let (for_submit, poster) = (site.clone(), viewer.clone());
    let events = site.turns.events();
    // The session and its first message are created together, also if the browser goes away in between.
    let (id, submitted) = run_to_end(async move {
        let created = for_submit.store.create_web_session(&poster.user, None).await?;
        let found = poster.session(&for_submit.store, created.session_id).await?;
        let (session, scope) = found.ok_or_else(|| Problem::not_found("session"))?;
        let submitted = submit(&for_submit, &poster, (&session, &scope), message).await;
        if submitted.is_err() {
            for_submit.store.delete_session(session.session_id).await?;
        }
        Ok((session.session_id, submitted?))
    })
    .await?;
    Ok(wait_and_redirect(events, id, submitted).await)
}

pub async fn post_message(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    Path(id): Path<SessionId>,
    form: Multipart,
) -> Result<Redirect, PageError> {
    // Before the body is read: files of strangers are not even received.
    let found = viewer.session(&site.store, id).await?;
    let (session, scope) = found.ok_or_else(PageError::not_found)?;
    let message = forms::read_message(&site, &viewer, form).await?;
    if message.is_empty() {
        return Ok(redirect_to(id));
    }
    let events = site.turns.events();
    let submitted = submit(&site, &viewer, (&session, &scope), message).await?;
    Ok(wait_and_redirect(events, id, submitted).await)
}

fn redirect_to(id: SessionId) -> Redirect {
    Redirect::to(&format!("/c/{id}#end"))
}

async fn wait_and_redirect(
    mut events: Receiver<TurnEvent>,
    id: SessionId,
    submitted: SubmittedMessage,
) -> Redirect {
    let _ = tokio::time::timeout(ANSWER_TIMEOUT, turn_ended(&mut events, submitted.turn)).await;
    redirect_to(id)
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
