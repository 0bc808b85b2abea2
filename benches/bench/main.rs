//! Benchmarks: time and memory of the program, compared with its goals. Prints the results and writes them into
//! docs/benchmarks.md; there is no pass or fail.
//!
//! `make bench` measures everything but the build; `cargo bench --bench bench -- latency imaging` only those.

mod build;
mod context;
mod fill;
mod imaging;
mod imaging_chain;
mod imaging_peers;
mod latency;
mod memory;
mod model;
#[allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#[path = "../../tests/harness/postgres.rs"]
mod postgres;
mod program;
mod report;
mod start;
mod telegram;
mod throughput;
mod vision_models;
mod web;

use report::{Report, Section};

/// In the order of the page. The build takes minutes and is measured only if named.
const SECTIONS: [&str; 10] =
    ["start", "throughput", "latency", "stuck", "context", "web", "imaging", "vision", "memory", "build"];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    if let [mode, edit, photo] = &arguments[..]
        && mode == imaging::ONE_EDIT
    {
        return imaging::edit_once(edit, photo);
    }
    if let [mode, look] = &arguments[..]
        && mode == vision_models::ONE_LOOK
    {
        return vision_models::look_once(look);
    }
    if let Some(unknown) = arguments.iter().find(|name| !SECTIONS.contains(&name.as_str())) {
        anyhow::bail!("there is no section {unknown}; there are {}", SECTIONS.join(", "));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut report = Report::open()?;
    for name in SECTIONS {
        let wanted = if arguments.is_empty() { name != "build" } else { arguments.iter().any(|a| a == name) };
        if wanted {
            eprintln!("measuring {name}…");
            let section = runtime.block_on(measure(name))?;
            println!("{}", section.text());
            report.put(name, &section)?;
        }
    }
    Ok(())
}

async fn measure(name: &str) -> anyhow::Result<Section> {
    match name {
        "start" => start::measure().await,
        "throughput" => throughput::measure().await,
        "latency" => latency::measure().await,
        "stuck" => latency::measure_beside_a_stuck_chat().await,
        "context" => context::measure().await,
        "web" => web::measure().await,
        "imaging" => imaging::measure().await,
        "vision" => vision_models::measure(),
        "memory" => memory::measure().await,
        _ => build::measure(),
    }
}
