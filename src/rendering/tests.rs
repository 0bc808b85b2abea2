//! The bounds of the render pool: workers, memory, contained panics, stopped work.

use super::{RenderError, RenderPool};
use imaging::ImagingError;
use std::sync::mpsc;
use tokio::sync::oneshot;

const MEGAPIXEL: u64 = 1 << 20;

/// Work that reports its start and ends on request.
struct Held {
    begun: oneshot::Receiver<()>,
    end: mpsc::Sender<()>,
    done: tokio::task::JoinHandle<Result<(), RenderError>>,
}

fn hold(pool: &RenderPool, pixels: u64) -> Held {
    let (tell, begun) = oneshot::channel();
    let (end, wait) = mpsc::channel();
    let pool = pool.clone();
    let done = tokio::spawn(async move {
        let work = move |_: &imaging::EditContext| {
            let _ = tell.send(());
            let _ = wait.recv();
            Ok(())
        };
        pool.run_edit(pixels, work).await
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
    let pool = RenderPool::new(2, 1 << 30, imaging::Limits::default(), imaging::Fonts::default());
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
    // At twelve bytes per pixel, two pictures of two megapixels fit into 48 MiB; a third must wait. A quarter of the 64 MiB
    // belongs to the pixel cache.
    let pool = RenderPool::new(10, 64 << 20, imaging::Limits::default(), imaging::Fonts::default());
    let first = hold(&pool, 2 * MEGAPIXEL);
    let second = hold(&pool, 2 * MEGAPIXEL);
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
async fn an_edit_larger_than_the_memory_runs_alone() {
    let pool = RenderPool::new(4, 16 << 20, imaging::Limits::default(), imaging::Fonts::default());
    let huge = hold(&pool, u64::MAX);
    huge.begun.await.unwrap();
    let mut other = hold(&pool, 1);
    settle().await;
    assert!(other.begun.try_recv().is_err());
    huge.end.send(()).unwrap();
    other.begun.await.unwrap();
    other.end.send(()).unwrap();
    huge.done.await.unwrap().unwrap();
    other.done.await.unwrap().unwrap();
}

#[tokio::test]
async fn abandoned_work_keeps_its_worker_until_it_ends() {
    let pool = RenderPool::new(1, 1 << 30, imaging::Limits::default(), imaging::Fonts::default());
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
    let pool = RenderPool::new(1, 1 << 20, imaging::Limits::default(), imaging::Fonts::default());
    for _ in 0..3 {
        let broken = pool.run_edit::<()>(1, |_| panic!("secret detail")).await;
        let Err(error @ RenderError::Crashed) = broken else {
            panic!("{broken:?}");
        };
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert_eq!(pool.run_edit(1, |_| Ok(7)).await.unwrap(), 7);
    let refused = pool.run_edit::<()>(1, |_| Err(ImagingError::NotAnImage)).await;
    assert!(matches!(refused, Err(RenderError::Imaging(ImagingError::NotAnImage))));
}

#[tokio::test]
async fn abandoned_work_is_stopped() {
    let pool = RenderPool::new(1, 1 << 20, imaging::Limits::default(), imaging::Fonts::default());
    let (tell, mut begun) = oneshot::channel();
    let endless = pool.run_edit::<()>(1, move |work: &imaging::EditContext| {
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
    assert_eq!(pool.run_edit(1, |_| Ok(7)).await.unwrap(), 7);
}
