//! Views that were made before: each picture is decoded and scaled once for each size it is looked at in, however many
//! ask, at once or later. What is kept is bounded, and losing it loses nothing.

use super::ToolError;
use crate::domain::Attachment;
use bytes::Bytes;
use imaging::{Encoded, View};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::OnceCell;

/// Some hundred views of models, or thousands of thumbnails.
const ROOM: usize = 64 << 20;

/// A small copy, cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewed {
    pub bytes: Bytes,
    pub mime: &'static str,
}

impl From<Encoded> for Viewed {
    fn from(encoded: Encoded) -> Self {
        Self { bytes: encoded.bytes.into(), mime: encoded.mime }
    }
}

/// Cheap to clone; all clones share the same views.
#[derive(Debug, Clone)]
pub struct Views {
    kept: Arc<Mutex<Kept>>,
    room: usize,
}

#[derive(Debug, Default)]
struct Kept {
    views: HashMap<Key, Entry>,
    bytes: usize,
    /// Counts up with every look, to tell which view has waited longest.
    looks: u64,
}

#[derive(Debug, Default)]
struct Entry {
    /// Whoever comes first makes it; the others wait, and try themselves if that fails.
    view: Arc<OnceCell<Viewed>>,
    /// 0 while it is being made.
    bytes: usize,
    looked_at: u64,
}

/// What is seen and how: files of the same content share their views.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    content: String,
    longest: u32,
    region: Option<[u64; 4]>,
    grid: bool,
}

impl Key {
    fn new(file: &Attachment, view: &View) -> Self {
        // A picture that is only a recipe so far is told by its id: no id ever stands for other pixels.
        let content = if file.is_printed() { file.sha256.clone() } else { file.attachment_id.to_string() };
        let region = view.region.map(|r| [r.left(), r.top(), r.right(), r.bottom()].map(f64::to_bits));
        Self { content, longest: view.longest, region, grid: view.grid }
    }
}

impl Default for Views {
    fn default() -> Self {
        Self::new(ROOM)
    }
}

impl Views {
    fn new(room: usize) -> Self {
        Self { kept: Arc::default(), room }
    }

    /// The view as it was made before, or else as `make` makes it now.
    pub(super) async fn get(
        &self,
        file: &Attachment,
        view: &View,
        make: impl Future<Output = Result<Viewed, ToolError>>,
    ) -> Result<Viewed, ToolError> {
        let key = Key::new(file, view);
        let cell = self.lock().find(&key);
        let asking = Asking { views: self, key, cell };
        asking.cell.get_or_try_init(|| make).await.cloned()
    }

    /// Forgets every view of these contents.
    pub(super) fn forget(&self, contents: &[String]) {
        let mut kept = self.lock();
        let gone: Vec<Key> =
            kept.views.keys().filter(|key| contents.contains(&key.content)).cloned().collect();
        for key in gone {
            if let Some(entry) = kept.views.remove(&key) {
                kept.bytes -= entry.bytes;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Settles what became of a view, also when whoever asked for it is gone before it is made.
struct Asking<'a> {
    views: &'a Views,
    key: Key,
    cell: Arc<OnceCell<Viewed>>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.views.lock().settle(&self.key, &self.cell, self.views.room);
    }
}

impl Kept {
    fn find(&mut self, key: &Key) -> Arc<OnceCell<Viewed>> {
        self.looks += 1;
        let entry = self.views.entry(key.clone()).or_default();
        entry.looked_at = self.looks;
        entry.view.clone()
    }

    /// Counts a view that was just made and makes room for it; forgets one that could not be made, unless others
    /// are still at it.
    fn settle(&mut self, key: &Key, cell: &Arc<OnceCell<Viewed>>, room: usize) {
        match self.views.get_mut(key).filter(|entry| Arc::ptr_eq(&entry.view, cell)) {
            Some(entry) if entry.bytes == 0 => match cell.get() {
                Some(view) => {
                    entry.bytes = view.bytes.len();
                    self.bytes += entry.bytes;
                }
                // The map's and the asker's own.
                None if Arc::strong_count(cell) == 2 => drop(self.views.remove(key)),
                None => {}
            },
            _ => {}
        }
        while self.bytes > room
            && let Some(oldest) = self.oldest()
            && let Some(entry) = self.views.remove(&oldest)
        {
            self.bytes -= entry.bytes;
        }
    }

    /// There are a few hundred at most, and this is asked once for each that is made.
    fn oldest(&self) -> Option<Key> {
        let made = self.views.iter().filter(|(_, entry)| entry.bytes > 0);
        made.min_by_key(|(_, entry)| entry.looked_at).map(|(key, _)| key.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttachmentId, AttachmentSource, Conversation};
    use futures::future::join;
    use imaging::ImagingError;
    use imaging::Region;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn file(content: &str) -> Attachment {
        Attachment {
            attachment_id: AttachmentId::new(),
            conversation: Conversation::telegram(1),
            source: AttachmentSource::User,
            sha256: content.to_owned(),
            mime_type: "image/png".into(),
            filename: "a.png".into(),
            description: None,
            size: 1,
            width: Some(1),
            height: Some(1),
            object_key: content.to_owned(),
            created_at: chrono::Utc::now(),
            parents: Vec::new(),
            recipe: None,
        }
    }

    /// A view of so many bytes, and how often one was made.
    #[derive(Default)]
    struct Maker(AtomicUsize);

    impl Maker {
        async fn make(&self, bytes: usize) -> Result<Viewed, ToolError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            Ok(Viewed { bytes: vec![0; bytes].into(), mime: "image/png" })
        }

        fn made(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[tokio::test]
    async fn the_same_picture_is_made_once_however_many_ask() {
        let (views, maker) = (Views::default(), Maker::default());
        let (one, same) = (file("a"), file("a"));
        let view = View::whole(100);
        let (first, second) =
            join(views.get(&one, &view, maker.make(9)), views.get(&same, &view, maker.make(9))).await;
        assert_eq!(first.unwrap(), second.unwrap());
        views.get(&one, &view, maker.make(9)).await.unwrap();
        assert_eq!(maker.made(), 1);
    }

    #[tokio::test]
    async fn another_size_part_grid_or_content_is_another_view() {
        let (views, maker) = (Views::default(), Maker::default());
        let part = |right| View { region: Region::new(0.0, 0.0, right, 500.0).ok(), ..View::whole(100) };
        let looks = [View::whole(100), View::whole(200), part(500.0), part(501.0)];
        for view in looks.into_iter().chain([View { grid: true, ..View::whole(100) }]) {
            for file in [file("a"), file("b")] {
                views.get(&file, &view, maker.make(9)).await.unwrap();
            }
        }
        let recipe = Attachment { object_key: String::new(), ..file("") };
        let other = Attachment { object_key: String::new(), ..file("") };
        for file in [&recipe, &other, &recipe] {
            views.get(file, &View::whole(100), maker.make(9)).await.unwrap();
        }
        assert_eq!(maker.made(), 10 + 2);
    }

    #[tokio::test]
    async fn what_was_not_looked_at_for_longest_makes_room() {
        let (views, maker) = (Views::new(25), Maker::default());
        let view = View::whole(100);
        for content in ["a", "b", "a", "c", "a", "b"] {
            views.get(&file(content), &view, maker.make(10)).await.unwrap();
            assert!(views.lock().bytes <= 25);
        }
        assert_eq!(maker.made(), 4, "a once, c for b, and b again");
        views.get(&file("huge"), &view, maker.make(1000)).await.unwrap();
        assert!(views.lock().bytes <= 25);
    }

    #[tokio::test]
    async fn a_failure_is_told_and_not_kept() {
        let (views, maker) = (Views::default(), Maker::default());
        let fails = async { Err(ToolError::Imaging(ImagingError::NotAnImage)) };
        assert!(views.get(&file("a"), &View::whole(100), fails).await.is_err());
        assert!(views.lock().views.is_empty());
        views.get(&file("a"), &View::whole(100), maker.make(9)).await.unwrap();
        assert_eq!(maker.made(), 1);
    }

    #[tokio::test]
    async fn who_gives_up_waiting_leaves_the_others_to_it() {
        let (views, maker) = (Views::default(), Maker::default());
        let (file, view) = (file("a"), View::whole(100));
        {
            let mut hangs = Box::pin(views.get(&file, &view, futures::future::pending()));
            assert!(futures::poll!(&mut hangs).is_pending());
        }
        assert!(views.lock().views.is_empty());
        views.get(&file, &view, maker.make(9)).await.unwrap();
        assert_eq!((maker.made(), views.lock().bytes), (1, 9));
    }
}
