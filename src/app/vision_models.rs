//! Opens the on-device models and frees those that are no longer used.

use crate::{config::Config, rendering::Vision};
use anyhow::bail;
use std::time::Duration;
use tracing::warn;
use vision::Weights;

const MODEL_CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// The on-device models. Fails if a file of the configured directory is missing.
pub(super) fn open_vision(config: &Config) -> anyhow::Result<Vision> {
    if !config.vision.enabled {
        return Ok(Vision::off());
    }
    let weights = config.vision.models.clone().map_or(Weights::BuiltIn, Weights::Folder);
    match weights.missing() {
        None => Ok(Vision::new(weights)),
        Some(file) if config.vision.models.is_some() => {
            bail!("vision.models: the file {} is missing", file.display())
        }
        Some(_) => {
            warn!(
                op = "open_vision",
                "built without on-device models: set vision.models, or vision.enabled: false"
            );
            Ok(Vision::off())
        }
    }
}

/// Frees the memory of models that were not used for a while.
pub(super) async fn drop_unused_models(vision: Vision) {
    loop {
        tokio::time::sleep(MODEL_CHECK_INTERVAL).await;
        vision.drop_unused_models();
    }
}
