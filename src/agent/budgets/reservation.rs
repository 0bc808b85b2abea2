//! A reservation: the part of a budget that one request to a model holds while it runs. Every reservation ends: it is
//! released after the request, charged when the request is given up in the middle, and charged by the store when its
//! process died.

use super::Budgets;
use crate::domain::ReservationId;
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

    /// Gives back what was held. The real cost must be recorded before.
    pub async fn release(mut self) {
        let Some((budgets, id)) = self.held.take() else { return };
        if let Err(error) = budgets.store.release_reservation(id).await {
            error!(%error, op = "release_reservation", "store error; the request is charged as estimated");
        }
        budgets.settled.notify_waiters();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let Some((budgets, id)) = self.held.take() else { return };
        // Without a runtime, or if the store fails, the reservation expires and is charged then.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Err(error) = budgets.store.charge_reservation(id).await {
                error!(%error, op = "charge_reservation", "store error; the reservation is charged when it expires");
            }
            budgets.settled.notify_waiters();
        });
    }
}
