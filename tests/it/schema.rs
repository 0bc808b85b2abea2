//! The OpenAPI document is true: schemathesis makes thousands of requests from it, sensible and not, alone and one
//! after the other, and finds no 5xx and no answer that the document does not tell of.

use crate::{
    api::{Api, part},
    harness::{installed, jpeg},
};
use reqwest::multipart::Form;
use std::{path::PathBuf, process::Output};
use tokio::process::Command;

fn schemathesis() -> PathBuf {
    let program = installed("schemathesis").join("bin/schemathesis");
    assert!(program.exists(), "schemathesis is not installed: run `make setup`");
    program
}

/// A change without If-Match is told so by the status made for that, and one of a history that has moved on by its own.
const CONFIG: &str = "[checks]
missing_required_header.expected-statuses = [400, 401, 403, 404, 415, 422, 428]
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 428]
";

async fn run(api: &Api, arguments: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("schemathesis.toml"), CONFIG).unwrap();
    let Output { status, stdout, stderr } = Command::new(schemathesis())
        .args([
            "run",
            &format!("{}/openapi.json", api.url),
            "--workers=1",
            "--generation-deterministic",
            "--no-color",
        ])
        // A stream of events has no end to be judged; tests of their own watch it.
        .args(["--exclude-path-regex=/events$"])
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .await
        .expect("schemathesis runs");
    let said = String::from_utf8_lossy(&stdout);
    assert!(status.success(), "{said}\n{}", String::from_utf8_lossy(&stderr));
    assert!(said.contains("Test cases:"), "it tested nothing:\n{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_made_from_the_document_gets_an_answer_it_does_not_tell_of() {
    let api = Api::open().await;
    let session = api.begin().await;
    api.asks(&session, Form::new().text("content", "rotate left").part("files", part("a.jpg", jpeg(64, 48))))
        .await;
    // That a message needs words or files is more than a schema can say.
    let phases = "--phases=examples,coverage,fuzzing";
    run(&api, &[phases, "--exclude-checks=positive_data_acceptance", "--max-examples=60"]).await;
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_use_what_earlier_ones_answered_are_answered_as_documented() {
    let api = Api::open().await;
    // Following links, it takes the ids of others for nonsense of its own.
    let checks = "--exclude-checks=positive_data_acceptance,negative_data_rejection";
    run(&api, &["--phases=stateful", checks, "--max-examples=60"]).await;
    api.bot.stop().await;
}
