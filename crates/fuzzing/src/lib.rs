//! Mutation fuzzing for tests. A target is called with mutated seeds for `FUZZ_SECONDS`; an input that makes it panic is
//! written to a file, and the test fails with its path. `FUZZ_INPUT=path` runs such a file alone, `FUZZ_SEED` repeats a run.
//!
//! Coverage-guided fuzzers need another compiler. This one runs wherever the tests run, and its targets are the same
//! functions.

mod mutate;

pub use mutate::{mutate_bytes, mutate_json};
pub use rand::rngs::SmallRng;

use rand::{RngExt as _, SeedableRng as _};
use std::{
    any::Any,
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::PathBuf,
    time::{Duration, Instant},
};

/// Four targets together take about a minute.
const DEFAULT_SECONDS: u64 = 15;

/// Calls `target` with a mutation of a random seed until the time is over. Panics, with the path of the input, if the
/// target panics.
pub fn fuzz(
    name: &str,
    seeds: &[Vec<u8>],
    mutate: impl Fn(&[u8], &[Vec<u8>], &mut SmallRng) -> Vec<u8>,
    mut target: impl FnMut(&[u8]),
) {
    if let Some(path) = env::var_os("FUZZ_INPUT") {
        return match fs::read(&path) {
            Ok(input) => target(&input),
            Err(error) => resume_unwind(Box::new(format!("{}: {error}", PathBuf::from(path).display()))),
        };
    }
    let run_seed = number("FUZZ_SEED").unwrap_or_else(rand::random);
    let until = Instant::now() + Duration::from_secs(number("FUZZ_SECONDS").unwrap_or(DEFAULT_SECONDS));
    let mut rng = SmallRng::seed_from_u64(run_seed);
    // Every seed unchanged, first.
    for seed in seeds {
        run(name, run_seed, seed, &mut target);
    }
    let mut inputs = 0_u64;
    while Instant::now() < until {
        let seed = &seeds[rng.random_range(0..seeds.len())];
        run(name, run_seed, &mutate(seed, seeds, &mut rng), &mut target);
        inputs += 1;
    }
    println!("{name}: {inputs} inputs from {} seeds, FUZZ_SEED={run_seed}", seeds.len());
}

fn run(name: &str, run_seed: u64, input: &[u8], target: &mut impl FnMut(&[u8])) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(input))) {
        let path = env::temp_dir().join(format!("photothread-fuzz-{name}-{run_seed}"));
        let kept = fs::write(&path, input).map(|()| path.display().to_string());
        let kept = kept.unwrap_or_else(|error| format!("not kept: {error}"));
        let message = panic_text(&*panic);
        resume_unwind(Box::new(format!("{name}: {message}\nFUZZ_SEED={run_seed} FUZZ_INPUT={kept}")));
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panicked")
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.parse().ok()
}
