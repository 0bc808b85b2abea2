//! schemathesis sends thousands of valid and invalid requests made from the OpenAPI document, single and in sequences. It
//! must find no 5xx and no undocumented response.

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

/// 428 is the response to a change without If-Match, and 412 to a change of an outdated history.
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
        // An event stream has no end; other tests cover it.
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
async fn every_response_is_in_the_openapi_document() {
    let api = Api::open().await;
    let session = api.begin().await;
    api.asks(&session, Form::new().text("content", "rotate left").part("files", part("a.jpg", jpeg(64, 48))))
        .await;
    // A schema cannot express that a message needs text or files.
    let phases = "--phases=examples,coverage,fuzzing";
    run(&api, &[phases, "--exclude-checks=positive_data_acceptance", "--max-examples=60"]).await;
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_with_ids_of_earlier_responses_are_answered_as_documented() {
    let api = Api::open().await;
    // In sequences, schemathesis takes ids of other resources for invalid data of its own.
    let checks = "--exclude-checks=positive_data_acceptance,negative_data_rejection";
    run(&api, &["--phases=stateful", checks, "--max-examples=60"]).await;
    api.bot.stop().await;
}
