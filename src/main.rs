//! The entry point: starts the async runtime and runs the command line.

use anyhow::Context as _;
use clap::Parser as _;
use photothread::{
    cli::{self, Arguments},
    private_files,
};
use std::{process::ExitCode, time::Duration};

/// teloxide's message parser nests deeply: in a debug build, a message inside a reply overflows the default 2 MB.
const STACK_BYTES: usize = 16 * 1024 * 1024;
/// An idle thread ends after this time, and frees the pixel buffer that it keeps for the next edit.
const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(4);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    return_freed_memory();
    private_files::set_umask();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .thread_keep_alive(THREAD_KEEP_ALIVE)
        .build();
    let result = runtime
        .context("the runtime cannot start")
        .and_then(|runtime| runtime.block_on(cli::execute(arguments)));
    result.unwrap_or_else(|error| {
        eprintln!("photothread: {error:#}");
        ExitCode::FAILURE
    })
}

/// Makes glibc return the memory of large buffers to the system when they are freed. Otherwise it raises its threshold for
/// that to the size of the pictures and keeps them. It reads this setting only from the environment at start, so the
/// program starts itself once more with it. If that fails, the program runs as it is and only takes more memory.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn return_freed_memory() {
    use std::{env, os::unix::process::CommandExt as _, process::Command};
    const SETTING: &str = "MALLOC_MMAP_THRESHOLD_";
    const THRESHOLD_BYTES: &str = "4194304";
    if env::var_os(SETTING).is_some() {
        return;
    }
    if let Ok(program) = env::current_exe() {
        let mut arguments = env::args_os();
        let mut command = Command::new(&program);
        command.arg0(arguments.next().unwrap_or_else(|| program.into()));
        // Returns only if it fails.
        let _ = command.args(arguments).env(SETTING, THRESHOLD_BYTES).exec();
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn return_freed_memory() {}
