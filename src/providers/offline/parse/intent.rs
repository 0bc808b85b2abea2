//! The intent of a clause: what it asks for. The first specific verb decides; without one, the other words do.

use super::atoms::Atom;
use super::grammar::Grammar;
use super::meaning::{Meaning, MeasureUnit, Noun, Verb};

/// Ratios with both numbers at least this large are sizes in pixels, not aspect ratios.
pub const MIN_PIXEL_RATIO: f64 = 50.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    Highlight,
    Crop,
    CutOff,
    /// The background removed or replaced.
    CutOut,
    Erase,
    Trim,
    Rotate,
    Straighten,
    Flip,
    Resize,
    Filter,
    Adjust,
    Redact,
    Write,
    Watermark,
    Collage,
    Compare,
    Animate,
    Convert,
    Undo,
    Redo,
    Original,
    Repeat,
    Send,
    List,
    Info,
    /// A question about what is in a picture.
    See,
    Read,
    Find,
}

impl Intent {
    /// Whether the outcome is one new picture per input picture.
    pub fn is_edit(self) -> bool {
        use Intent::{
            Adjust, Crop, CutOff, CutOut, Erase, Filter, Flip, Highlight, Redact, Resize, Rotate, Straighten,
            Trim, Watermark, Write,
        };
        matches!(
            self,
            Highlight | Crop | CutOff | CutOut | Erase | Trim | Rotate | Straighten | Flip | Resize
        ) || matches!(self, Filter | Adjust | Redact | Write | Watermark)
    }
}

pub fn contains(atoms: &[Atom], test: impl Fn(&Meaning) -> bool) -> bool {
    atoms.iter().any(|atom| test(&atom.meaning))
}

pub fn verb_of(atom: &Atom) -> Option<Verb> {
    match atom.meaning {
        Meaning::Verb(verb) => Some(verb),
        _ => None,
    }
}

/// Verbs that ask for nothing without an object: "make", "draw".
pub fn is_generic(verb: Verb) -> bool {
    matches!(verb, Verb::Make | Verb::Draw | Verb::Turn | Verb::Convert | Verb::Repeat)
}

/// The next words are text to write on the picture.
pub fn leads_to_text(meaning: &Meaning) -> bool {
    matches!(meaning, Meaning::Verb(Verb::Write | Verb::Watermark))
}

pub fn is_selection(meaning: &Meaning) -> bool {
    use Meaning::{All, FirstFew, LastFew, Nth, Others};
    matches!(meaning, Nth(_) | FirstFew(_) | LastFew(_) | All | Others)
}

pub fn is_position(meaning: &Meaning) -> bool {
    matches!(meaning, Meaning::Side(_) | Meaning::Regions(..))
}

/// Whether the chunk has a number followed by this unit.
fn has_measure(chunk: &[Atom], unit: MeasureUnit) -> bool {
    chunk
        .windows(2)
        .any(|pair| matches!(pair[0].meaning, Meaning::Number(_)) && pair[1].meaning == Meaning::Unit(unit))
}

fn is_adjustment(meaning: &Meaning) -> bool {
    matches!(meaning, Meaning::Adjust(..) | Meaning::AutoLevels)
}

/// The intent of a chunk, `None` if it asks for nothing this agent can do.
pub fn classify(grammar: &Grammar, chunk: &[Atom]) -> Option<Intent> {
    let verbs = || chunk.iter().filter_map(verb_of);
    let specific = verbs().find(|verb| !is_generic(*verb) && *verb != Verb::Original);
    // The text to write may contain words of any other request.
    if matches!(specific, Some(Verb::Write | Verb::Watermark)) {
        return intent_of_verb(specific?);
    }
    file_intent(chunk, specific)
        .or_else(|| combine_intent(chunk, specific))
        .or_else(|| edit_intent(grammar, chunk, specific))
}

/// Questions about the file, sizes in bytes, and metadata.
fn file_intent(chunk: &[Atom], specific: Option<Verb>) -> Option<Intent> {
    let weighed = has_measure(chunk, MeasureUnit::Kilobytes) || has_measure(chunk, MeasureUnit::Megabytes);
    match specific {
        Some(Verb::Find | Verb::Read | Verb::List | Verb::CutOff) => None,
        _ if contains(chunk, |m| matches!(m, Meaning::Fact(_))) => Some(Intent::Info),
        None | Some(Verb::Shrink | Verb::Resize | Verb::Send) if weighed => Some(Intent::Convert),
        Some(Verb::StripMetadata) => Some(Intent::Convert),
        _ => None,
    }
}

/// Several pictures made into one.
fn combine_intent(chunk: &[Atom], specific: Option<Verb>) -> Option<Intent> {
    if !matches!(specific, None | Some(Verb::Send | Verb::Info | Verb::See)) {
        return None;
    }
    let said = |wanted: Verb| chunk.iter().filter_map(verb_of).any(|verb| verb == wanted);
    let gif = contains(chunk, |m| matches!(m, Meaning::Format(format) if format == "gif"));
    let many = contains(chunk, |m| matches!(m, Meaning::Them | Meaning::All | Meaning::Noun(Noun::Photos)));
    // "as a gif" is a format, "a gif of them" is an animation.
    let one = contains(chunk, |m| matches!(m, Meaning::Label | Meaning::To | Meaning::It)) && !many;
    let animated =
        contains(chunk, |m| matches!(m, Meaning::Animation(_))) || (gif && !said(Verb::Convert) && !one);
    match () {
        () if contains(chunk, |m| matches!(m, Meaning::Layout(_))) => Some(Intent::Collage),
        () if animated => Some(Intent::Animate),
        () => None,
    }
}

/// An edit of each picture, or a message about it.
fn edit_intent(grammar: &Grammar, chunk: &[Atom], specific: Option<Verb>) -> Option<Intent> {
    use Meaning::{Angle, Aspect, Colour, Filter, Label, Longest, Number, Quoted, Ratio, Scale, Spin};
    let verbs = || chunk.iter().filter_map(verb_of);
    let said = |wanted: Verb| verbs().any(|verb| verb == wanted);
    let place = contains(chunk, is_position);
    let unknown = contains(chunk, |m| *m == Meaning::Unknown);
    let filter = contains(chunk, |m| matches!(m, Filter(_)));
    let adjusted = contains(chunk, is_adjustment);
    let aspect = contains(chunk, |m| matches!(m, Aspect(_) | Ratio(..)));
    match specific {
        Some(Verb::Undo | Verb::Send) if said(Verb::Original) => return Some(Intent::Original),
        Some(Verb::CutOff | Verb::Trim) if !place && aspect => return Some(Intent::Crop),
        Some(Verb::Trim) if place => return Some(Intent::CutOff),
        // "remove the man on the left"
        Some(Verb::CutOff) if unknown => return Some(Intent::Erase),
        Some(Verb::CutOff) if !place => return None,
        // "cut the top off"
        Some(Verb::Crop) if said(Verb::CutOff) && place => return Some(Intent::CutOff),
        // "it would look better in sepia"
        Some(Verb::Info | Verb::See) if filter => return Some(Intent::Filter),
        Some(Verb::Info | Verb::See) if adjusted => return Some(Intent::Adjust),
        Some(verb) => return intent_of_verb(verb),
        None if said(Verb::Original) => return Some(Intent::Original),
        None => {}
    }
    let shape = contains(chunk, |m| matches!(m, Meaning::Shape(_)));
    let colour = contains(chunk, |m| matches!(m, Colour(_)));
    let quoted = contains(chunk, |m| matches!(m, Quoted(_)));
    let drawn = colour || contains(chunk, |m| matches!(m, Label | Aspect(_) | Meaning::Numbered));
    // "circle the bus", but not "full circle"
    let draws = chunk.first().is_some_and(|atom| matches!(atom.meaning, Meaning::Shape(_)));
    if shape && (draws || !unknown || place || verbs().next().is_some()) || said(Verb::Draw) && place && drawn
    {
        return Some(Intent::Highlight);
    }
    if said(Verb::Draw) && quoted {
        return Some(Intent::Write);
    }
    // "blur the face"
    let targets_things = |m: &Meaning| matches!(m, Filter(name) if grammar.filter(name).is_some_and(|filter| filter.targets_things));
    if contains(chunk, targets_things) {
        return Some(Intent::Filter);
    }
    // Unknown words without a verb are a caption, not a request.
    if unknown && verbs().all(|verb| verb == Verb::Repeat) && !contains(chunk, |m| *m == Label) {
        return None;
    }
    let measured = |unit: MeasureUnit| has_measure(chunk, unit);
    let makes = said(Verb::Make) || said(Verb::Convert);
    let big_ratio = contains(chunk, |m| matches!(m, Ratio(a, b) if a.min(*b) >= MIN_PIXEL_RATIO));
    let scaled = contains(chunk, |m| matches!(m, Scale(_) | Longest(_)))
        || (measured(MeasureUnit::Percent) && !place)
        || measured(MeasureUnit::Pixels)
        || (measured(MeasureUnit::Times) && makes)
        || (contains(chunk, |m| matches!(m, Meaning::Dimension(_)))
            && contains(chunk, |m| matches!(m, Number(_))))
        || big_ratio;
    let turned = contains(chunk, |m| matches!(m, Spin(_) | Angle(_))) || measured(MeasureUnit::Degrees);
    let gray = |m: &Meaning| matches!(m, Colour(name) if grammar.colours_as_filters.contains_key(name));
    let format = contains(chunk, |m| matches!(m, Meaning::Format(_)));
    let quality = contains(chunk, |m| *m == Meaning::Quality) && contains(chunk, |m| matches!(m, Number(_)));
    // "edges" alone is the filter; with a side it is a position.
    let edges = contains(chunk, |m| *m == Meaning::Edge) && !place && !unknown;
    if filter {
        Some(Intent::Filter)
    } else if adjusted {
        Some(Intent::Adjust)
    } else if quality {
        Some(Intent::Convert)
    } else if turned || (said(Verb::Turn) && (place || !(unknown || scaled || aspect || colour || format))) {
        Some(Intent::Rotate)
    } else if scaled {
        Some(Intent::Resize)
    } else if aspect {
        Some(Intent::Crop)
    } else if (makes || said(Verb::Turn)) && !place && contains(chunk, gray) {
        Some(Intent::Filter)
    } else if format {
        Some(Intent::Convert)
    } else if (colour && place)
        || (contains(chunk, |m| *m == Label) && (place || quoted))
        || contains(chunk, |m| *m == Meaning::Numbered)
    {
        Some(Intent::Highlight)
    } else if edges {
        Some(Intent::Filter)
    } else if is_repeat(chunk) {
        Some(Intent::Repeat)
    } else {
        None
    }
}

/// "do the same to the others", "do that to photo 2"
fn is_repeat(chunk: &[Atom]) -> bool {
    let said = |wanted: Verb| contains(chunk, |m| *m == Meaning::Verb(wanted));
    let that = said(Verb::Make) && contains(chunk, |m| *m == Meaning::It) && contains(chunk, is_selection);
    let onto = contains(chunk, |m| matches!(m, Meaning::To | Meaning::Preposition));
    !contains(chunk, |m| *m == Meaning::Unknown) && (said(Verb::Repeat) || (that && onto))
}

fn intent_of_verb(verb: Verb) -> Option<Intent> {
    match verb {
        Verb::Highlight => Some(Intent::Highlight),
        Verb::Crop => Some(Intent::Crop),
        Verb::CutOff => Some(Intent::CutOff),
        Verb::CutOut | Verb::Backdrop | Verb::BlurBackdrop => Some(Intent::CutOut),
        Verb::Erase => Some(Intent::Erase),
        Verb::Trim => Some(Intent::Trim),
        Verb::Rotate => Some(Intent::Rotate),
        Verb::Straighten => Some(Intent::Straighten),
        Verb::Flip => Some(Intent::Flip),
        Verb::Resize | Verb::Shrink | Verb::Grow => Some(Intent::Resize),
        Verb::Redact => Some(Intent::Redact),
        Verb::Write => Some(Intent::Write),
        Verb::Watermark => Some(Intent::Watermark),
        Verb::Compare => Some(Intent::Compare),
        Verb::StripMetadata => Some(Intent::Convert),
        Verb::Undo => Some(Intent::Undo),
        Verb::Redo => Some(Intent::Redo),
        Verb::Original => Some(Intent::Original),
        Verb::Send => Some(Intent::Send),
        Verb::List => Some(Intent::List),
        Verb::Info => Some(Intent::Info),
        Verb::See | Verb::Who | Verb::Count | Verb::Locate => Some(Intent::See),
        Verb::Read => Some(Intent::Read),
        Verb::Find => Some(Intent::Find),
        Verb::Draw | Verb::Turn | Verb::Make | Verb::Convert | Verb::Repeat => None,
    }
}
