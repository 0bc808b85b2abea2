//! The fonts for text in pictures: the bundled one, then those of the configuration. System fonts are never used, so
//! an edit looks the same on every machine.

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use cosmic_text::fontdb::{Database, Source, Weight};
use cosmic_text::{FontSystem, SwashCache};

const BUNDLED_FONT: &[u8] = include_bytes!("../../../assets/fonts/DejaVuSans-Bold.ttf");
pub(crate) const BUNDLED_FAMILY: &str = "DejaVu Sans";
pub(crate) const BUNDLED_WEIGHT: Weight = Weight::BOLD;

static DEFAULT_FONTS: LazyLock<Fonts> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_source(Source::Binary(Arc::new(BUNDLED_FONT)));
    Fonts::from_database(fonts)
});

/// A set of fonts. Cheap to clone; the default is the bundled font alone.
#[derive(Clone)]
pub struct Fonts(Arc<Mutex<FontEngine>>);

/// Text layout needs both at once. Neither caches drawn glyphs, so memory does not grow with the text.
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
        DEFAULT_FONTS.clone()
    }
}

impl fmt::Debug for Fonts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faces = self.with_engine(|engine| engine.system.db().len());
        write!(f, "Fonts({faces} faces)")
    }
}

impl Fonts {
    /// The bundled font and these files, each with a name for error messages. Earlier fonts take precedence.
    pub fn with_files(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Self, FontError> {
        let mut fonts = Database::new();
        fonts.load_font_source(Source::Binary(Arc::new(BUNDLED_FONT)));
        for (name, bytes) in files {
            if fonts.load_font_source(Source::Binary(Arc::new(bytes))).is_empty() {
                return Err(FontError { name });
            }
        }
        Ok(Self::from_database(fonts))
    }

    fn from_database(fonts: Database) -> Self {
        let system = FontSystem::new_with_locale_and_db("en-US".to_owned(), fonts);
        Self(Arc::new(Mutex::new(FontEngine { system, glyphs: SwashCache::new() })))
    }

    /// Locks the engine. A panic while it is locked can only leave caches behind, so poisoning is ignored.
    pub(crate) fn with_engine<T>(&self, context: impl FnOnce(&mut FontEngine) -> T) -> T {
        context(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The text without characters that no font has and without invisible characters.
    pub fn writable(&self, text: &str) -> String {
        self.split_by_coverage(text).0
    }

    /// The parts of the text that no font has, in order of first appearance; neighbours are joined.
    pub fn missing(&self, text: &str) -> Vec<String> {
        self.split_by_coverage(text).1
    }

    fn split_by_coverage(&self, text: &str) -> (String, Vec<String>) {
        let known = self.find_covered(text);
        let (mut writable, mut missing) = (String::new(), Vec::<String>::new());
        let mut run = String::new();
        let mut end = |run: &mut String| {
            let whole = std::mem::take(run);
            let whole = whole.trim_end_matches(is_invisible).to_owned();
            if !whole.is_empty() && !missing.contains(&whole) {
                missing.push(whole);
            }
        };
        for (character, known) in text.chars().zip(known) {
            let glue = is_invisible(character);
            if glue && !run.is_empty() {
                run.push(character);
            } else if glue {
                // A joiner shapes letters. Without a letter before it, it has no effect.
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

    fn find_covered(&self, text: &str) -> Vec<bool> {
        self.with_engine(|engine| {
            let ids: Vec<_> = engine.system.db().faces().map(|face| face.id).collect();
            let fonts: Vec<_> =
                ids.into_iter().filter_map(|id| engine.system.get_font(id, BUNDLED_WEIGHT)).collect();
            let has = |c: char| fonts.iter().any(|font| font.as_swash().charmap().map(c) != 0);
            text.chars().map(|c| c.is_whitespace() || has(c)).collect()
        })
    }
}

/// Controls, joiners, direction marks, variation selectors and tags: characters that only affect their neighbours.
fn is_invisible(c: char) -> bool {
    (c.is_control() && !c.is_whitespace())
        || matches!(c, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
        || matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}'..='\u{200F}')
}
