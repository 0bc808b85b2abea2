//! A conversation that was deleted on the page is in no file of the program: not while it runs and not after its stop.

use super::House;
use crate::harness::user;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The files below this folder that hold the word.
fn files_with(folder: &Path, word: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, word));
        } else if super::contains(&std::fs::read(&path).unwrap(), word) {
            found.push(path);
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_conversation_is_in_no_file() {
    let house = House::open().await;
    let ann = house.world.private_chat(user(1001, "Ann"));
    let browser = house.log_in(&ann).await;
    let said = ann.says("how do I zqlighthousekeeper?").await;
    ann.next_message().await;
    ann.edits(&said, "how do I zqlighthousepainter?").await;
    ann.sends_document("zqlighthouse.txt", "a zqlighthouse by the sea", "find zqlighthouse").await;
    ann.next_message().await;
    house.settings.until_settled(&house.world).await;
    let folder = house.settings.folder().to_owned();
    assert!(files_with(&folder, "zqlighthouse").len() >= 2, "the database and the blob");

    let listed: Value = house.get(&browser, "/sessions").await.json().await.unwrap();
    for session in listed["sessions"].as_array().unwrap() {
        let path = format!("/sessions/{}", session["sessionId"].as_str().unwrap());
        let deleted = house.ask(&browser, Method::DELETE, &path).send().await.unwrap();
        assert_eq!(deleted.status(), StatusCode::OK);
    }
    assert_eq!(files_with(&folder, "zqlighthouse"), Vec::<PathBuf>::new(), "while it runs");
    house.bot.stop().await;
    assert_eq!(files_with(&folder, "zqlighthouse"), Vec::<PathBuf>::new(), "after the stop");
}
