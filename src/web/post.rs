//! Forms of the page, for browsers that run no scripts: what they send is posted as over the API, and the answer is
//! waited for.

use super::{
    Site,
    api::messages::read_form,
    page::Oops,
    posting::{Post, post},
};
use crate::{
    access::Viewer,
    agent::TurnEvent,
    domain::{SessionId, TurnId},
};
use axum::{
    extract::{Multipart, Path, State},
    response::Redirect,
};
use std::{sync::Arc, time::Duration};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// A browser should not wait longer for a page; the answer appears when it is reloaded.
const PATIENCE: Duration = Duration::from_secs(90);

/// A conversation begins with its first message.
pub async fn first_message(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    form: Multipart,
) -> Result<Redirect, Oops> {
    let said = read_form(form).await?;
    if is_empty(&said) {
        return Ok(Redirect::to("/new"));
    }
    let session = site.store.open_session(&viewer.user, "").await?;
    sent(&site, &viewer, session.session_id, said).await
}

pub async fn message(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    Path(id): Path<SessionId>,
    form: Multipart,
) -> Result<Redirect, Oops> {
    let said = read_form(form).await?;
    sent(&site, &viewer, id, said).await
}

fn is_empty(said: &Post) -> bool {
    said.words.trim().is_empty() && said.files.is_empty() && said.known.is_empty()
}

async fn sent(site: &Site, viewer: &Viewer, id: SessionId, said: Post) -> Result<Redirect, Oops> {
    let found = viewer.session(&site.store, id).await?;
    let (session, scope) = found.ok_or_else(Oops::not_found)?;
    if !is_empty(&said) {
        let mut events = site.turns.events();
        let posted = post(site, viewer, (&session, &scope), said).await?;
        let _ = tokio::time::timeout(PATIENCE, ended(&mut events, posted.turn)).await;
    }
    Ok(Redirect::to(&format!("/c/{id}#end")))
}

async fn ended(events: &mut Receiver<TurnEvent>, turn: TurnId) {
    loop {
        match events.recv().await {
            Ok(TurnEvent::Ended { turn: over, .. }) if over == turn => return,
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}
