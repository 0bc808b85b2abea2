//! The bounds of the render pool: workers, memory, waiting, contained panics, stopped work.

use super::{PoolLimits, RenderError, RenderPool};
use crate::domain::Conversation;
use imaging::ImagingError;
use std::{
    sync::{
        atomic::{AtomicI64, Ordering},
        mpsc,
    },
    time::Duration,
};
use tokio::sync::oneshot;

const MIB: u64 = 1 << 20;

/// Work that reports its start and ends on request.
struct Held {
    begun: oneshot::Receiver<()>,
    end: mpsc::Sender<()>,
    done: tokio::task::JoinHandle<Result<(), RenderError>>,
}

fn pool(edits_at_once: usize, memory_bytes: u64) -> RenderPool {
    let limits = PoolLimits { edits_at_once, memory_bytes, ..PoolLimits::default() };
    RenderPool::new(limits, imaging::Limits::default(), imaging::Fonts::default())
}

/// A pool in which nothing waits: what cannot start at once is given up.
fn impatient_pool(edits_at_once: usize, memory_bytes: u64) -> RenderPool {
    let limits = PoolLimits { edits_at_once, memory_bytes, max_wait: Duration::ZERO };
    RenderPool::new(limits, imaging::Limits::default(), imaging::Fonts::default())
}

async fn run<T: Send + 'static>(
    pool: &RenderPool,
    conversation: &Conversation,
    memory_bytes: u64,
    work: impl FnOnce(&imaging::EditContext) -> Result<T, ImagingError> + Send + 'static,
) -> Result<T, RenderError> {
    let place = pool.reserve_edit(conversation, memory_bytes).await?;
    pool.run_edit(&place, work).await
}

fn ann() -> Conversation {
    Conversation::telegram(1)
}

fn bob() -> Conversation {
    Conversation::telegram(2)
}

/// In a conversation of its own, so that it waits for nothing but workers and memory.
fn hold(pool: &RenderPool, memory_bytes: u64) -> Held {
    static CHATS: AtomicI64 = AtomicI64::new(100);
    hold_for(pool, Conversation::telegram(CHATS.fetch_add(1, Ordering::Relaxed)), memory_bytes)
}

fn hold_for(pool: &RenderPool, conversation: Conversation, memory_bytes: u64) -> Held {
    let (tell, begun) = oneshot::channel();
    let (end, wait) = mpsc::channel();
    let pool = pool.clone();
    let done = tokio::spawn(async move {
        let work = move |_: &imaging::EditContext| {
            let _ = tell.send(());
            let _ = wait.recv();
            Ok(())
        };
        run(&pool, &conversation, memory_bytes, work).await
    });
    Held { begun, end, done }
}

/// Lets everything that can start do so: threads take work in the order it was submitted.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
        tokio::task::spawn_blocking(std::thread::yield_now).await.unwrap();
    }
}

#[tokio::test]
async fn no_more_edits_run_than_there_are_workers() {
    let pool = pool(2, 1 << 30);
    let (first, second) = (hold(&pool, 1), hold(&pool, 1));
    first.begun.await.unwrap();
    second.begun.await.unwrap();
    let mut third = hold(&pool, 1);
    settle().await;
    assert!(third.begun.try_recv().is_err());
    second.end.send(()).unwrap();
    third.begun.await.unwrap();
    for (end, done) in [(first.end, first.done), (third.end, third.done)] {
        end.send(()).unwrap();
        done.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn edits_wait_for_memory() {
    // A quarter of the 64 MiB belongs to the pixel cache.
    let pool = pool(10, 64 * MIB);
    let first = hold(&pool, 24 * MIB);
    let second = hold(&pool, 24 * MIB);
    first.begun.await.unwrap();
    second.begun.await.unwrap();
    let mut third = hold(&pool, 1);
    settle().await;
    assert!(third.begun.try_recv().is_err());
    first.end.send(()).unwrap();
    third.begun.await.unwrap();
    for (end, done) in [(second.end, second.done), (third.end, third.done)] {
        end.send(()).unwrap();
        done.await.unwrap().unwrap();
    }
    first.done.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_edit_larger_than_the_memory_is_refused_with_the_reason() {
    let pool = pool(4, 16 * MIB);
    assert_eq!(run(&pool, &ann(), 12 * MIB, |_| Ok(7)).await.unwrap(), 7);
    for needed in [13 * MIB, u64::MAX] {
        let error = run(&pool, &ann(), needed, |_| Ok(7)).await.expect_err("too much");
        assert!(!error.is_transient());
        let told = error.describe();
        assert!(
            told.contains("at most 12 MB are set aside here") && told.contains("Use a smaller"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn abandoned_work_keeps_its_worker_until_it_ends() {
    let pool = pool(1, 1 << 30);
    let abandoned = hold(&pool, 1);
    abandoned.begun.await.unwrap();
    abandoned.done.abort();
    let mut next = hold(&pool, 1);
    settle().await;
    assert!(next.begun.try_recv().is_err());
    abandoned.end.send(()).unwrap();
    next.begun.await.unwrap();
    next.end.send(()).unwrap();
    next.done.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_panic_fails_only_that_edit() {
    let pool = pool(1, 1 << 20);
    for _ in 0..3 {
        let broken = run::<()>(&pool, &ann(), 1, |_| panic!("secret detail")).await;
        let Err(error @ RenderError::Crashed) = broken else {
            panic!("{broken:?}");
        };
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert_eq!(run(&pool, &ann(), 1, |_| Ok(7)).await.unwrap(), 7);
    let refused = run::<()>(&pool, &ann(), 1, |_| Err(ImagingError::NotAnImage)).await;
    assert!(matches!(refused, Err(RenderError::Imaging(ImagingError::NotAnImage))));
}

#[tokio::test]
async fn abandoned_work_is_stopped() {
    let pool = pool(1, 1 << 20);
    let (tell, mut begun) = oneshot::channel();
    let ann = ann();
    let endless = run::<()>(&pool, &ann, 1, move |work: &imaging::EditContext| {
        let _ = tell.send(());
        loop {
            work.check_stopped()?;
            std::thread::yield_now();
        }
    });
    let mut endless = Box::pin(endless);
    tokio::select! {
        _ = &mut endless => panic!("it ended by itself"),
        started = &mut begun => started.unwrap(),
    }
    drop(endless);
    // The only worker is free again: the work has ended, not just the waiting.
    assert_eq!(run(&pool, &ann, 1, |_| Ok(7)).await.unwrap(), 7);
}

fn assert_busy<T: std::fmt::Debug>(result: Result<T, RenderError>) {
    let error = result.expect_err("it waited");
    assert!(error.is_transient());
    assert_eq!(error.describe(), "Many edits are waiting right now. Please try again in a minute.");
}

#[tokio::test]
async fn waiting_for_a_worker_or_for_memory_ends_with_the_reason() {
    for (workers, memory_bytes) in [(1, 1), (2, 48 * MIB)] {
        let pool = impatient_pool(workers, 64 * MIB);
        let held = hold(&pool, memory_bytes);
        held.begun.await.unwrap();
        assert!(!pool.has_waiting_edits(&ann()));
        assert_busy(run(&pool, &ann(), memory_bytes, |_| Ok(7)).await);
        held.end.send(()).unwrap();
        held.done.await.unwrap().unwrap();
        assert_eq!(run(&pool, &ann(), memory_bytes, |_| Ok(7)).await.unwrap(), 7);
    }
}

#[tokio::test]
async fn an_edit_of_another_conversation_goes_before_the_third_of_the_first() {
    let pool = pool(1, 1 << 30);
    let first = hold_for(&pool, ann(), 1);
    first.begun.await.unwrap();
    let (mut second, mut third) = (hold_for(&pool, ann(), 1), hold_for(&pool, ann(), 1));
    settle().await;
    assert!(pool.has_waiting_edits(&ann()) && !pool.has_waiting_edits(&bob()));
    let other = hold_for(&pool, bob(), 1);
    settle().await;
    assert!(pool.has_waiting_edits(&bob()));
    first.end.send(()).unwrap();
    other.begun.await.unwrap();
    settle().await;
    assert!(second.begun.try_recv().is_err() && third.begun.try_recv().is_err());
    for end in [other.end, second.end, third.end] {
        end.send(()).unwrap();
    }
    for done in [first.done, other.done, second.done, third.done] {
        done.await.unwrap().unwrap();
    }
    assert!(!pool.has_waiting_edits(&ann()) && !pool.has_waiting_edits(&bob()));
}

#[tokio::test]
async fn reading_takes_no_worker_of_editing() {
    let pool = impatient_pool(1, 64 * MIB);
    let (end, wait) = mpsc::channel::<()>();
    let (tell, begun) = oneshot::channel();
    let place = pool.reserve_reading(&ann(), 1).await.unwrap();
    let read = tokio::spawn(async move {
        let work = move |_: &imaging::StopFlag| {
            let _ = tell.send(());
            let _ = wait.recv();
        };
        place.run(work).await
    });
    begun.await.unwrap();
    assert_eq!(run(&pool, &ann(), 48 * MIB, |_| Ok(7)).await.unwrap(), 7);
    end.send(()).unwrap();
    read.await.unwrap().unwrap();
}
