//! A reservation: the part of a budget that one request to a model holds while it runs. Every reservation ends: it is
//! released after the request, charged when the request is given up in the middle, and charged at the next start when
//! its process died.

use super::Budgets;
use crate::{domain::ReservationId, retry::while_unavailable};
use tracing::error;

/// Held while a request runs. Dropping it without `release` charges the estimate: the server may charge for a request
/// that was given up.
#[must_use = "a dropped reservation is charged"]
pub struct Reservation {
    /// None if no budget applies.
    held: Option<(Budgets, ReservationId)>,
}

impl Reservation {
    /// For requests that cost nothing.
    pub fn unlimited() -> Self {
        Self { held: None }
    }

    pub(super) fn new(budgets: Budgets, id: ReservationId) -> Self {
        Self { held: Some((budgets, id)) }
    }

    /// Gives back what was held. The real cost must be recorded before. Goes on if the caller is dropped: the request
    /// would be charged twice otherwise.
    pub async fn release(mut self) {
        let Some((budgets, id)) = self.held.take() else { return };
        let released = tokio::spawn(async move {
            let release = || budgets.store.release_reservation(id);
            if let Err(error) = while_unavailable("release_reservation", release).await {
                error!(%error, op = "release_reservation", "store error; the request is charged as estimated");
            }
            budgets.settled.notify_waiters();
        });
        // It ends early only with the runtime; the next start charges what is still held then.
        let _ = released.await;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let Some((budgets, id)) = self.held.take() else { return };
        // Without a runtime, or if the store fails, the next start charges it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = budgets.store.charge_reservation(id).await {
                error!(%error, op = "charge_reservation", "store error; the reservation is charged later");
            }
            budgets.settled.notify_waiters();
        });
    }
}
