//! The darkroom's bounds: places, memory, and panics that stay inside.

use super::*;
use crate::tools::ToolError;
use imaging::ImagingError;
use std::sync::mpsc;
use tokio::sync::oneshot;

const MEGAPIXEL: u64 = 1 << 20;

/// Work that says when it has begun and ends when told to.
struct Held {
    begun: oneshot::Receiver<()>,
    end: mpsc::Sender<()>,
    done: tokio::task::JoinHandle<Result<(), ToolError>>,
}

fn hold(darkroom: &Darkroom, pixels: u64) -> Held {
    let (tell, begun) = oneshot::channel();
    let (end, wait) = mpsc::channel();
    let darkroom = darkroom.clone();
    let done = tokio::spawn(async move {
        let work = move |_: &imaging::Work| {
            let _ = tell.send(());
            let _ = wait.recv();
            Ok(())
        };
        darkroom.develop(pixels, work).await
    });
    Held { begun, end, done }
}

/// Gives everything that could begin the chance to: threads take work in the order it was handed in.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
        tokio::task::spawn_blocking(std::thread::yield_now).await.unwrap();
    }
}

#[tokio::test]
async fn only_so_many_edits_run_at_a_time() {
    let darkroom = Darkroom::new(2, 1 << 30, imaging::Limits::default(), imaging::Fonts::default());
    let (first, second) = (hold(&darkroom, 1), hold(&darkroom, 1));
    first.begun.await.unwrap();
    second.begun.await.unwrap();
    let mut third = hold(&darkroom, 1);
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
async fn memory_is_shared_out_by_pixels() {
    // Twelve bytes to a pixel: two pictures of two megapixels fit into 48 MiB, a third must wait. A quarter of the
    // room is for pictures that are held.
    let darkroom = Darkroom::new(10, 64 << 20, imaging::Limits::default(), imaging::Fonts::default());
    let first = hold(&darkroom, 2 * MEGAPIXEL);
    let second = hold(&darkroom, 2 * MEGAPIXEL);
    first.begun.await.unwrap();
    second.begun.await.unwrap();
    let mut third = hold(&darkroom, 1);
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
async fn a_picture_larger_than_the_whole_room_still_gets_in_alone() {
    let darkroom = Darkroom::new(4, 16 << 20, imaging::Limits::default(), imaging::Fonts::default());
    let huge = hold(&darkroom, u64::MAX);
    huge.begun.await.unwrap();
    let mut other = hold(&darkroom, 1);
    settle().await;
    assert!(other.begun.try_recv().is_err());
    huge.end.send(()).unwrap();
    other.begun.await.unwrap();
    other.end.send(()).unwrap();
    huge.done.await.unwrap().unwrap();
    other.done.await.unwrap().unwrap();
}

#[tokio::test]
async fn work_given_up_keeps_its_place_until_it_ends() {
    let darkroom = Darkroom::new(1, 1 << 30, imaging::Limits::default(), imaging::Fonts::default());
    let abandoned = hold(&darkroom, 1);
    abandoned.begun.await.unwrap();
    abandoned.done.abort();
    let mut next = hold(&darkroom, 1);
    settle().await;
    assert!(next.begun.try_recv().is_err());
    abandoned.end.send(()).unwrap();
    next.begun.await.unwrap();
    next.end.send(()).unwrap();
    next.done.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_panic_costs_only_that_edit() {
    let darkroom = Darkroom::new(1, 1 << 20, imaging::Limits::default(), imaging::Fonts::default());
    for _ in 0..3 {
        let broken = darkroom.develop::<()>(1, |_| panic!("secret detail")).await;
        let Err(ToolError::Trouble(text)) = broken else {
            panic!("{broken:?}");
        };
        assert!(!text.contains("secret"), "{text}");
    }
    assert_eq!(darkroom.develop(1, |_| Ok(7)).await.unwrap(), 7);
    let refused = darkroom.develop::<()>(1, |_| Err(ImagingError::NotAnImage)).await;
    assert!(matches!(refused, Err(ToolError::Imaging(ImagingError::NotAnImage))));
}

#[tokio::test]
async fn work_that_nobody_waits_for_any_more_is_told_to_stop() {
    let darkroom = Darkroom::new(1, 1 << 20, imaging::Limits::default(), imaging::Fonts::default());
    let (tell, mut begun) = oneshot::channel();
    let endless = darkroom.develop::<()>(1, move |work: &imaging::Work| {
        let _ = tell.send(());
        loop {
            work.go_on()?;
            std::thread::yield_now();
        }
    });
    let mut endless = Box::pin(endless);
    tokio::select! {
        _ = &mut endless => panic!("it ended by itself"),
        started = &mut begun => started.unwrap(),
    }
    drop(endless);
    // The only place is free again: the work has ended, not just the waiting.
    assert_eq!(darkroom.develop(1, |_| Ok(7)).await.unwrap(), 7);
}
