//! View cache: each picture is decoded and scaled once per size and region, however many requests ask at once. Evicts the
//! least recently used view when it exceeds its memory. Safe to lose: views are rendered again.

use super::RenderError;
use crate::domain::Attachment;
use bytes::Bytes;
use imaging::{Encoded, View};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::OnceCell;

/// Enough for some hundred views of models, or thousands of thumbnails.
const MAX_BYTES: usize = 64 << 20;

/// A small copy, cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewImage {
    pub bytes: Bytes,
    pub mime: &'static str,
}

impl From<Encoded> for ViewImage {
    fn from(encoded: Encoded) -> Self {
        Self { bytes: encoded.bytes.into(), mime: encoded.mime }
    }
}

/// Cheap to clone; all clones share the same views.
#[derive(Debug, Clone)]
pub struct ViewCache {
    entries: Arc<Mutex<Entries>>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Entries {
    views: HashMap<ViewKey, Entry>,
    bytes: usize,
    /// Counts requests, to find the least recently used view.
    requests: u64,
}

#[derive(Debug, Default)]
struct Entry {
    /// The first request renders; the others wait for it, and render themselves if it fails.
    view: Arc<OnceCell<ViewImage>>,
    /// 0 while it is being rendered.
    bytes: usize,
    last_request: u64,
}

/// Content, size and region. Files of the same content share their views.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ViewKey {
    content: String,
    longest: u32,
    region: Option<[u64; 4]>,
    grid: bool,
}

impl ViewKey {
    fn new(file: &Attachment, view: &View) -> Self {
        // A picture that is not stored yet has no hash. Its id is as good: the pixels of an id never change.
        let content = file.sha256().map_or_else(|| file.attachment_id.to_string(), str::to_owned);
        let region = view.region.map(|r| [r.left(), r.top(), r.right(), r.bottom()].map(f64::to_bits));
        Self { content, longest: view.longest, region, grid: view.grid }
    }
}

impl Default for ViewCache {
    fn default() -> Self {
        Self::new(MAX_BYTES)
    }
}

impl ViewCache {
    fn new(max_bytes: usize) -> Self {
        Self { entries: Arc::default(), max_bytes }
    }

    /// The cached view; otherwise runs `render` and caches its result.
    pub(super) async fn get_or_render(
        &self,
        file: &Attachment,
        view: &View,
        render: impl Future<Output = Result<ViewImage, RenderError>>,
    ) -> Result<ViewImage, RenderError> {
        let key = ViewKey::new(file, view);
        let cell = self.lock().find_or_insert(&key);
        let request = Request { cache: self, key, cell };
        request.cell.get_or_try_init(|| render).await.cloned()
    }

    /// Removes every view of these contents.
    pub(super) fn remove(&self, contents: &[String]) {
        let mut entries = self.lock();
        let keys: Vec<ViewKey> =
            entries.views.keys().filter(|key| contents.contains(&key.content)).cloned().collect();
        for key in keys {
            if let Some(entry) = entries.views.remove(&key) {
                entries.bytes -= entry.bytes;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Updates the accounting when a request ends, also when it is cancelled before the view is rendered.
struct Request<'a> {
    cache: &'a ViewCache,
    key: ViewKey,
    cell: Arc<OnceCell<ViewImage>>,
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        self.cache.lock().settle(&self.key, &self.cell, self.cache.max_bytes);
    }
}

impl Entries {
    fn find_or_insert(&mut self, key: &ViewKey) -> Arc<OnceCell<ViewImage>> {
        self.requests += 1;
        let entry = self.views.entry(key.clone()).or_default();
        entry.last_request = self.requests;
        entry.view.clone()
    }

    /// Counts a view that was just rendered and evicts others for it. Removes an entry whose rendering failed, unless
    /// another request still waits for it.
    fn settle(&mut self, key: &ViewKey, cell: &Arc<OnceCell<ViewImage>>, max_bytes: usize) {
        match self.views.get_mut(key).filter(|entry| Arc::ptr_eq(&entry.view, cell)) {
            Some(entry) if entry.bytes == 0 => match cell.get() {
                Some(view) => {
                    entry.bytes = view.bytes.len();
                    self.bytes += entry.bytes;
                }
                // One reference is the map's, one is this request's.
                None if Arc::strong_count(cell) == 2 => drop(self.views.remove(key)),
                None => {}
            },
            _ => {}
        }
        while self.bytes > max_bytes
            && let Some(oldest) = self.least_recently_used()
            && let Some(entry) = self.views.remove(&oldest)
        {
            self.bytes -= entry.bytes;
        }
    }

    /// A linear scan: there are a few hundred entries, and it runs once per rendered view.
    fn least_recently_used(&self) -> Option<ViewKey> {
        let rendered = self.views.iter().filter(|(_, entry)| entry.bytes > 0);
        rendered.min_by_key(|(_, entry)| entry.last_request).map(|(key, _)| key.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AttachmentId, AttachmentSource, Content, Conversation, Recipe};
    use futures::future::join;
    use imaging::ImagingError;
    use imaging::Region;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn file(content: &str) -> Attachment {
        Attachment {
            attachment_id: AttachmentId::new(),
            conversation: Conversation::telegram(1),
            user_id: crate::domain::UserId("100".into()),
            source: AttachmentSource::User,
            mime_type: "image/png".into(),
            filename: "a.png".into(),
            description: None,
            size: 1,
            width: Some(1),
            height: Some(1),
            content: Content::stored(content, content),
            created_at: chrono::Utc::now(),
            parents: Vec::new(),
        }
    }

    /// Renders views of a given size, and counts them.
    #[derive(Default)]
    struct CountingRenderer(AtomicUsize);

    impl CountingRenderer {
        async fn render(&self, bytes: usize) -> Result<ViewImage, RenderError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            Ok(ViewImage { bytes: vec![0; bytes].into(), mime: "image/png" })
        }

        fn count(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[tokio::test]
    async fn concurrent_and_later_requests_share_one_rendering() {
        let (cache, renderer) = (ViewCache::default(), CountingRenderer::default());
        let (one, same) = (file("a"), file("a"));
        let view = View::whole(100);
        let (first, second) = join(
            cache.get_or_render(&one, &view, renderer.render(9)),
            cache.get_or_render(&same, &view, renderer.render(9)),
        )
        .await;
        assert_eq!(first.unwrap(), second.unwrap());
        cache.get_or_render(&one, &view, renderer.render(9)).await.unwrap();
        assert_eq!(renderer.count(), 1);
    }

    #[tokio::test]
    async fn size_region_grid_and_content_are_part_of_the_key() {
        let (cache, renderer) = (ViewCache::default(), CountingRenderer::default());
        let part = |right| View { region: Region::new(0.0, 0.0, right, 500.0).ok(), ..View::whole(100) };
        let looks = [View::whole(100), View::whole(200), part(500.0), part(501.0)];
        for view in looks.into_iter().chain([View { grid: true, ..View::whole(100) }]) {
            for file in [file("a"), file("b")] {
                cache.get_or_render(&file, &view, renderer.render(9)).await.unwrap();
            }
        }
        let unrendered =
            Content::Recipe(Recipe { tool: "crop_image".into(), arguments: serde_json::Value::Null });
        let recipe = Attachment { content: unrendered.clone(), ..file("") };
        let other = Attachment { content: unrendered, ..file("") };
        for file in [&recipe, &other, &recipe] {
            cache.get_or_render(file, &View::whole(100), renderer.render(9)).await.unwrap();
        }
        assert_eq!(renderer.count(), 10 + 2);
    }

    #[tokio::test]
    async fn the_least_recently_used_view_is_evicted() {
        let (cache, renderer) = (ViewCache::new(25), CountingRenderer::default());
        let view = View::whole(100);
        for content in ["a", "b", "a", "c", "a", "b"] {
            cache.get_or_render(&file(content), &view, renderer.render(10)).await.unwrap();
            assert!(cache.lock().bytes <= 25);
        }
        assert_eq!(renderer.count(), 4, "a once, c for b, and b again");
        cache.get_or_render(&file("huge"), &view, renderer.render(1000)).await.unwrap();
        assert!(cache.lock().bytes <= 25);
    }

    #[tokio::test]
    async fn a_failure_is_returned_and_not_cached() {
        let (cache, renderer) = (ViewCache::default(), CountingRenderer::default());
        let fails = async { Err(RenderError::Imaging(ImagingError::NotAnImage)) };
        assert!(cache.get_or_render(&file("a"), &View::whole(100), fails).await.is_err());
        assert!(cache.lock().views.is_empty());
        cache.get_or_render(&file("a"), &View::whole(100), renderer.render(9)).await.unwrap();
        assert_eq!(renderer.count(), 1);
    }

    #[tokio::test]
    async fn a_cancelled_request_leaves_no_entry_behind() {
        let (cache, renderer) = (ViewCache::default(), CountingRenderer::default());
        let (file, view) = (file("a"), View::whole(100));
        {
            let mut hangs = Box::pin(cache.get_or_render(&file, &view, futures::future::pending()));
            assert!(futures::poll!(&mut hangs).is_pending());
        }
        assert!(cache.lock().views.is_empty());
        cache.get_or_render(&file, &view, renderer.render(9)).await.unwrap();
        assert_eq!((renderer.count(), cache.lock().bytes), (1, 9));
    }
}
