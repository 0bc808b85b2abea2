//! Mutated archives over HTTP: an import succeeds or is refused with a reason, and a refused one leaves nothing behind.

use crate::{
    api::{Api, part},
    harness::{WAIT_TIMEOUT, jpeg},
    storage::blobs,
};
use reqwest::{Method, multipart::Form};
use serde_json::Value;
use std::{
    io::{Cursor, Read as _, Write as _},
    path::PathBuf,
};
use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

/// The same zip with another history.
fn with_history(zip: &[u8], change: impl FnOnce(&Value) -> Value) -> Option<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(zip)).ok()?;
    let mut changed = ZipWriter::new(Cursor::new(Vec::new()));
    let mut change = Some(change);
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at).ok()?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).ok()?;
        let name = entry.name().ok()?.into_owned();
        if name == "history.json" {
            let history = serde_json::from_slice(&bytes).ok()?;
            bytes = change.take()?(&history).to_string().into_bytes();
        }
        changed.start_file(name, SimpleFileOptions::default()).ok()?;
        changed.write_all(&bytes).ok()?;
    }
    Some(changed.finish().ok()?.into_inner())
}

fn mutate(seed: &[u8], seeds: &[Vec<u8>], rng: &mut fuzzing::SmallRng) -> Vec<u8> {
    let bytes = fuzzing::mutate_bytes(seed, seeds, rng);
    if bytes.len().is_multiple_of(3) {
        return bytes;
    }
    with_history(seed, |history| fuzzing::mutate_json(history, rng)).unwrap_or(bytes)
}

fn sorted_blobs(api: &Api) -> Vec<PathBuf> {
    let mut found = blobs(&api.settings);
    found.sort();
    found
}

#[test]
fn mutated_archives_are_imported_or_refused_and_leave_nothing_behind() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (api, seeds) = runtime.block_on(async {
        let api = Api::open().await;
        let session = api.begin().await;
        let photo = Form::new().text("content", "rotate left").part("files", part("a.jpg", jpeg(64, 48)));
        api.asks(&session, photo).await;
        let mut seeds = Vec::new();
        for format in ["zip", "json"] {
            let exported = api.get(&format!("/sessions/{session}/export?format={format}")).await;
            assert!(exported.status().is_success(), "{}", exported.status());
            seeds.push(exported.bytes().await.unwrap().to_vec());
        }
        (api, seeds)
    });
    let mut sessions = 1;
    let mut kept = sorted_blobs(&api);
    fuzzing::fuzz("archives", &seeds, mutate, |archive| {
        runtime.block_on(async {
            let form = Form::new().part("file", part("export.zip", archive.to_vec()));
            let answer = api.ask(Method::POST, "/sessions/import").multipart(form).send().await.unwrap();
            let status = answer.status();
            assert!(
                status.is_success() || status.is_client_error(),
                "{status}: {}",
                answer.text().await.unwrap()
            );
            sessions += i64::from(status.is_success());
            let listed = api.read("/sessions?limit=1").await;
            assert_eq!(listed["totalCount"].as_i64(), Some(sessions), "after {status}");
            if status.is_success() {
                kept = sorted_blobs(&api);
                return;
            }
            // What was given up is deleted in the background.
            let settled = async {
                while sorted_blobs(&api) != kept {
                    tokio::task::yield_now().await;
                }
            };
            let settled = tokio::time::timeout(WAIT_TIMEOUT, settled).await;
            assert!(settled.is_ok(), "after {status}: {:?} instead of {kept:?}", sorted_blobs(&api));
        });
    });
    runtime.block_on(api.bot.stop());
}
