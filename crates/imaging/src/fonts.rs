//! The fonts that text is written in: the bundled one, then whatever a person added. The fonts of the machine are
//! never looked at, so that an edit looks the same wherever it is made.

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cosmic_text::fontdb::{Database, Source, Weight};
use cosmic_text::{FontSystem, SwashCache};

const BUNDLED: &[u8] = include_bytes!("../../../assets/fonts/DejaVuSans-Bold.ttf");
pub(crate) const FAMILY: &str = "DejaVu Sans";
pub(crate) const WEIGHT: Weight = Weight::BOLD;

static PLAIN: LazyLock<Fonts> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_source(Source::Binary(Arc::new(BUNDLED)));
    Fonts::over(fonts)
});

/// Cheap to clone; the default is the bundled font alone.
#[derive(Clone)]
pub struct Fonts(Arc<Mutex<FontEngine>>);

/// Setting text needs both at once. Neither keeps drawn glyphs, so memory does not grow with what is written.
pub(crate) struct FontEngine {
    pub system: FontSystem,
    pub glyphs: SwashCache,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} is not a font; use TrueType or OpenType files (.ttf, .otf, .ttc)")]
pub struct FontError {
    pub name: String,
}

impl Default for Fonts {
    fn default() -> Self {
        PLAIN.clone()
    }
}

impl fmt::Debug for Fonts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faces = self.with(|engine| engine.system.db().len());
        write!(f, "Fonts({faces} faces)")
    }
}

impl Fonts {
    /// The bundled font and these files, each with a name to call it by. Earlier fonts go first.
    pub fn with_files(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Self, FontError> {
        let mut fonts = Database::new();
        fonts.load_font_source(Source::Binary(Arc::new(BUNDLED)));
        for (name, bytes) in files {
            if fonts.load_font_source(Source::Binary(Arc::new(bytes))).is_empty() {
                return Err(FontError { name });
            }
        }
        Ok(Self::over(fonts))
    }

    fn over(fonts: Database) -> Self {
        let system = FontSystem::new_with_locale_and_db("en-US".to_owned(), fonts);
        Self(Arc::new(Mutex::new(FontEngine { system, glyphs: SwashCache::new() })))
    }

    /// One at a time; what a panic left behind are caches at worst.
    pub(crate) fn with<T>(&self, context: impl FnOnce(&mut FontEngine) -> T) -> T {
        context(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The text as it can be written: without characters that no font has, and without what cannot be seen.
    pub fn writable(&self, text: &str) -> String {
        self.sort(text).0
    }

    /// What of the text no font has, in the order of first appearance, neighbours together.
    pub fn missing(&self, text: &str) -> Vec<String> {
        self.sort(text).1
    }

    fn sort(&self, text: &str) -> (String, Vec<String>) {
        let known = self.known(text);
        let (mut writable, mut missing) = (String::new(), Vec::<String>::new());
        let mut run = String::new();
        let mut end = |run: &mut String| {
            let whole = std::mem::take(run);
            let whole = whole.trim_end_matches(is_glue).to_owned();
            if !whole.is_empty() && !missing.contains(&whole) {
                missing.push(whole);
            }
        };
        for (character, known) in text.chars().zip(known) {
            let glue = is_glue(character);
            if glue && !run.is_empty() {
                run.push(character);
            } else if glue {
                // A joiner shapes letters; without a letter before it, it is debris.
                if is_joiner(character) && writable.ends_with(char::is_alphanumeric) {
                    writable.push(character);
                }
            } else if known || character.is_whitespace() {
                end(&mut run);
                writable.push(character);
            } else {
                run.push(character);
            }
        }
        end(&mut run);
        (writable, missing)
    }

    fn known(&self, text: &str) -> Vec<bool> {
        self.with(|engine| {
            let ids: Vec<_> = engine.system.db().faces().map(|face| face.id).collect();
            let fonts: Vec<_> = ids.into_iter().filter_map(|id| engine.system.get_font(id, WEIGHT)).collect();
            let has = |c: char| fonts.iter().any(|font| font.as_swash().charmap().map(c) != 0);
            text.chars().map(|c| c.is_whitespace() || has(c)).collect()
        })
    }
}

/// Controls, joiners, direction marks, variation selectors and tags: seen only in what they do to their neighbours.
fn is_glue(c: char) -> bool {
    (c.is_control() && !c.is_whitespace())
        || matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
        || matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}'..='\u{200F}')
}
