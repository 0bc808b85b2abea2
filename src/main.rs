//! The entry point: starts the async runtime and runs the command line.

use anyhow::Context as _;
use clap::Parser as _;
use photothread::cli::{self, Arguments};
use std::process::ExitCode;

/// teloxide's message parser nests deeply: in a debug build, a message inside a reply overflows the default 2 MB.
const STACK_BYTES: usize = 16 * 1024 * 1024;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK_BYTES).build();
    let result = runtime
        .context("the runtime cannot start")
        .and_then(|runtime| runtime.block_on(cli::execute(arguments)));
    result.unwrap_or_else(|error| {
        eprintln!("photothread: {error:#}");
        ExitCode::FAILURE
    })
}
