//! Panics of background tasks. The program contains them (a turn fails, a task restarts), so without this list a test
//! could pass over them.

use std::{
    panic::PanicHookInfo,
    sync::{Mutex, Once, PoisonError},
};

static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Threads of tokio's runtimes and of the stand-ins. A panic on the test's own thread fails the test anyway.
const BACKGROUND_THREADS: [&str; 2] = ["tokio-", super::server::THREAD_NAME];

/// Records panics from now on. The usual message is still printed.
pub(super) fn record() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
            print(panic);
            let thread = std::thread::current();
            let name = thread.name().unwrap_or_default();
            if BACKGROUND_THREADS.iter().any(|start| name.starts_with(start)) {
                PANICS.lock().unwrap_or_else(PoisonError::into_inner).push(panic.to_string());
            }
        }));
    });
}

/// Every panic on a background thread of this process so far. nextest runs each test in a process of its own.
pub(super) fn recorded() -> Vec<String> {
    PANICS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
