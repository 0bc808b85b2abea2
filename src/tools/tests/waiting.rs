//! Calls while all workers are busy: bounded, and told.

use super::*;
use crate::domain::Conversation;
use serde_json::json;
use std::sync::mpsc;
use tokio::{sync::oneshot, task::JoinHandle};

const BUSY: &str = "Many edits are waiting right now. Please try again in a minute.";

/// Occupies a worker until it is dropped.
struct Occupied {
    _end: mpsc::Sender<()>,
    _work: JoinHandle<()>,
}

/// On behalf of another conversation.
async fn occupy(pool: &RenderPool) -> Occupied {
    let (pool, (end, wait), (tell, begun)) = (pool.clone(), mpsc::channel(), oneshot::channel());
    let work = tokio::spawn(async move {
        let work = move |_: &imaging::EditContext| {
            let _ = tell.send(());
            let _ = wait.recv();
            Ok(())
        };
        let place = pool.reserve_edit(&Conversation::telegram(1), 1).await.unwrap();
        let _ = pool.run_edit(&place, work).await;
    });
    begun.await.unwrap();
    Occupied { _end: end, _work: work }
}

#[tokio::test]
async fn an_edit_that_waits_too_long_says_that_many_are_waiting() {
    let limits = PoolLimits { edits_at_once: 1, max_wait: Duration::ZERO, ..PoolLimits::default() };
    let world = World::new().await.with_pool(limits);
    let photo = world.sends_image("photo_rocket.jpg").await;
    let occupied = occupy(world.context.pool()).await;
    let square = json!({"images": [photo], "aspect": "square"});
    assert_eq!(world.refused("crop_image", square.clone()).await, format!("photo_rocket.jpg: {BUSY}"));
    assert_eq!(world.refused("look_at_image", json!({"image": photo})).await, BUSY);
    drop(occupied);
    let text = world.sends("notes.txt", "words").await;
    let read = world.call("read_text_attachment", json!({"attachment_id": text, "grep": "words"})).await;
    assert!(!read.failed, "{}", read.text);
}

#[tokio::test]
async fn a_call_that_times_out_while_it_waits_says_so() {
    let limits = PoolLimits { edits_at_once: 1, ..PoolLimits::default() };
    let world = World::new().await.with_pool(limits);
    let photo = world.sends_image("photo_rocket.jpg").await;
    let _occupied = occupy(world.context.pool()).await;
    let square = json!({"images": [photo], "aspect": "square"}).to_string();
    let timeout = Duration::from_millis(20);
    let called = world.registry.call(&world.context, "crop_image", &square, timeout).await;
    assert_eq!(called.text, format!("Error: {BUSY}"));
}
