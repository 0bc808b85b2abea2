//! Runs work that changes something to its end. The server drops a handler when its client hangs up; what it has begun
//! to commit must not stop halfway.

use super::{messages, problem::Problem};
use axum::http::StatusCode;
use tracing::Instrument as _;

/// Runs the work in a task of its own and waits for it. It goes on if the caller is dropped.
pub async fn run_to_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::spawn(work.in_current_span()).await {
        Ok(done) => done,
        // A panic, which is in the log already, or the end of the program.
        Err(_) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, messages::BROKEN)),
    }
}
