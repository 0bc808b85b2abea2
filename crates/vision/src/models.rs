//! The loaded models. Each is loaded on first use and kept until it has been unused for a while. A model that panics
//! fails its call only.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use imaging::StopFlag;
use rten::Model;
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, Tensor};

use crate::VisionError;
use crate::weights::{ModelFile, Weights};

/// Cheap to share behind an `Arc`.
#[derive(Debug, Default)]
pub struct Models {
    weights: Weights,
    slots: [Mutex<Option<Loaded>>; ModelFile::ALL.len()],
}

struct Loaded {
    model: Arc<Model>,
    last_used: Instant,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").field("last_used", &self.last_used).finish_non_exhaustive()
    }
}

impl Models {
    pub fn new(weights: Weights) -> Self {
        Self { weights, slots: Default::default() }
    }

    /// How many models are in memory.
    pub fn loaded(&self) -> usize {
        ModelFile::ALL.into_iter().filter(|file| self.slot(*file).is_some()).count()
    }

    /// Drops the models that were not used for this long. A model that runs at this moment stays until it is done.
    pub fn drop_unused(&self, unused_for: Duration) {
        for file in ModelFile::ALL {
            let mut slot = self.slot(file);
            if slot.as_ref().is_some_and(|loaded| loaded.last_used.elapsed() >= unused_for) {
                *slot = None;
            }
        }
    }

    fn slot(&self, file: ModelFile) -> MutexGuard<'_, Option<Loaded>> {
        self.slots[file as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn model(&self, file: ModelFile) -> Result<Arc<Model>, VisionError> {
        let mut slot = self.slot(file);
        let last_used = Instant::now();
        let model = match slot.as_ref() {
            Some(loaded) => loaded.model.clone(),
            None => Arc::new(contained(|| self.weights.load(file))?),
        };
        *slot = Some(Loaded { model: model.clone(), last_used });
        Ok(model)
    }

    /// Runs a model on one input of the shape batch, channels, height, width. Returns its first `outputs` outputs.
    pub(crate) fn run(
        &self,
        file: ModelFile,
        input: &NdTensor<f32, 4>,
        outputs: usize,
        stop: &StopFlag,
    ) -> Result<Vec<Tensor<f32>>, VisionError> {
        check_stopped(stop)?;
        let model = self.model(file)?;
        check_stopped(stop)?;
        contained(|| {
            let name = file.name();
            let wrong = |what: &str| VisionError::failed(format!("{name}: {what}"));
            let input_id = model.input_ids().first().ok_or_else(|| wrong("it has no input"))?;
            let output_ids = model.output_ids().get(..outputs).ok_or_else(|| wrong("outputs are missing"))?;
            let results = model.run(vec![(*input_id, input.view().into())], output_ids, None);
            let results = results.map_err(|error| wrong(&error.to_string()))?;
            let tensors = results.into_iter().map(|value| value.into_tensor::<f32>());
            tensors.collect::<Option<Vec<_>>>().ok_or_else(|| wrong("an output is not of floats"))
        })
    }

    /// The same for a model with one output that matters, as its values in order.
    pub(crate) fn run_one(
        &self,
        file: ModelFile,
        input: &NdTensor<f32, 4>,
        stop: &StopFlag,
    ) -> Result<(Vec<usize>, Vec<f32>), VisionError> {
        let mut outputs = self.run(file, input, 1, stop)?;
        let output = outputs.pop().ok_or_else(|| VisionError::failed("no output"))?;
        Ok((output.shape().to_vec(), output.into_data()))
    }
}

pub(crate) fn check_stopped(stop: &StopFlag) -> Result<(), VisionError> {
    if stop.is_stopped() { Err(VisionError::Stopped) } else { Ok(()) }
}

/// Turns a panic into an error.
fn contained<T>(work: impl FnOnce() -> Result<T, VisionError>) -> Result<T, VisionError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(VisionError::failed("a model panicked")))
}
