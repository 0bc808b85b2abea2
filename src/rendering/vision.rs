//! The on-device models, shared by all workers. They run on the render pool, so that their time and memory count like
//! those of edits. A model is in memory from its first use until it was unused for ten minutes.

use std::{sync::Arc, time::Duration};
use vision::{Models, Weights};

/// How long a model stays in memory after its last use.
pub const MODEL_LIFETIME: Duration = Duration::from_secs(600);

/// Cheap to clone; all clones share the same models.
#[derive(Debug, Clone, Default)]
pub struct Vision {
    models: Option<Arc<Models>>,
}

impl Vision {
    pub fn new(weights: Weights) -> Self {
        Self { models: Some(Arc::new(Models::new(weights))) }
    }

    /// Without models: `vision.enabled` is false.
    pub fn off() -> Self {
        Self::default()
    }

    pub fn models(&self) -> Option<&Arc<Models>> {
        self.models.as_ref()
    }

    pub fn drop_unused_models(&self) {
        if let Some(models) = &self.models {
            models.drop_unused(MODEL_LIFETIME);
        }
    }
}
