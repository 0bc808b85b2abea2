//! What a clause asks for, told from its words: the first verb that says something, else what else is in it.

use super::atoms::Atom;
use super::grammar::Grammar;
use super::meaning::{Meaning, Noun, Unit, Verb};

/// What a clause asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    Highlight,
    Crop,
    Away,
    Trim,
    Rotate,
    Straighten,
    Flip,
    Resize,
    Filter,
    Adjust,
    Redact,
    Write,
    Sign,
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
    Read,
    Find,
}

impl Head {
    /// One new picture for each picture.
    pub fn edits(self) -> bool {
        use Head::{
            Adjust, Away, Crop, Filter, Flip, Highlight, Redact, Resize, Rotate, Sign, Straighten, Trim,
            Write,
        };
        matches!(self, Highlight | Crop | Away | Trim | Rotate | Straighten | Flip | Resize)
            || matches!(self, Filter | Adjust | Redact | Write | Sign)
    }
}

pub fn has(atoms: &[Atom], test: impl Fn(&Meaning) -> bool) -> bool {
    atoms.iter().any(|atom| test(&atom.meaning))
}

pub fn verb(atom: &Atom) -> Option<Verb> {
    match atom.meaning {
        Meaning::Verb(verb) => Some(verb),
        _ => None,
    }
}

/// Verbs that say nothing without what follows them.
pub fn empty(verb: Verb) -> bool {
    matches!(verb, Verb::Make | Verb::Draw | Verb::Turn | Verb::Convert | Verb::Repeat)
}

/// What follows is text, not words of ours.
pub fn leads_to_text(meaning: &Meaning) -> bool {
    matches!(meaning, Meaning::Verb(Verb::Write | Verb::Sign))
}

pub fn is_pick(meaning: &Meaning) -> bool {
    use Meaning::{All, FirstFew, LastFew, Nth, Others};
    matches!(meaning, Nth(_) | FirstFew(_) | LastFew(_) | All | Others)
}

pub fn is_place(meaning: &Meaning) -> bool {
    matches!(meaning, Meaning::Side(_) | Meaning::Regions(..))
}

/// A number with this unit after it.
fn measured(chunk: &[Atom], unit: Unit) -> bool {
    chunk
        .windows(2)
        .any(|pair| matches!(pair[0].meaning, Meaning::Number(_)) && pair[1].meaning == Meaning::Unit(unit))
}

fn adjusts(meaning: &Meaning) -> bool {
    matches!(meaning, Meaning::Adjust(..) | Meaning::AutoLevels)
}

pub fn head(grammar: &Grammar, chunk: &[Atom]) -> Option<Head> {
    let verbs = || chunk.iter().filter_map(verb);
    let specific = verbs().find(|verb| !empty(*verb) && *verb != Verb::Original);
    // A text can be about anything.
    if matches!(specific, Some(Verb::Write | Verb::Sign)) {
        return head_of(specific?);
    }
    match of_a_file(chunk, specific).or_else(|| of_several(chunk, specific)) {
        Some(head) => Some(head),
        None => of_one(grammar, chunk, specific),
    }
}

/// Formats, sizes in bytes, and what is in a file besides pixels.
fn of_a_file(chunk: &[Atom], specific: Option<Verb>) -> Option<Head> {
    let weighed = measured(chunk, Unit::Kilobytes) || measured(chunk, Unit::Megabytes);
    match specific {
        Some(Verb::Find | Verb::Read | Verb::List) => None,
        Some(Verb::Away) => None,
        _ if has(chunk, |m| matches!(m, Meaning::Fact(_))) => Some(Head::Info),
        None | Some(Verb::Shrink | Verb::Resize | Verb::Send) if weighed => Some(Head::Convert),
        Some(Verb::Strip) => Some(Head::Convert),
        _ => None,
    }
}

/// One picture out of several.
fn of_several(chunk: &[Atom], specific: Option<Verb>) -> Option<Head> {
    if !matches!(specific, None | Some(Verb::Send | Verb::Info)) {
        return None;
    }
    let said = |wanted: Verb| chunk.iter().filter_map(verb).any(|verb| verb == wanted);
    let gif = has(chunk, |m| matches!(m, Meaning::Format(format) if format == "gif"));
    let many = has(chunk, |m| matches!(m, Meaning::Them | Meaning::All | Meaning::Noun(Noun::Photos)));
    // "as a gif" is a format, "a gif of them" is an animation.
    let one = has(chunk, |m| matches!(m, Meaning::Label | Meaning::To | Meaning::It)) && !many;
    let film = has(chunk, |m| matches!(m, Meaning::Film(_))) || (gif && !said(Verb::Convert) && !one);
    match () {
        () if has(chunk, |m| matches!(m, Meaning::Layout(_))) => Some(Head::Collage),
        () if film => Some(Head::Animate),
        () => None,
    }
}

fn of_one(grammar: &Grammar, chunk: &[Atom], specific: Option<Verb>) -> Option<Head> {
    use Meaning::{Angle, Aspect, Colour, Filter, Label, Longest, Number, Quoted, Ratio, Scale, Spin};
    let verbs = || chunk.iter().filter_map(verb);
    let said = |wanted: Verb| verbs().any(|verb| verb == wanted);
    let place = has(chunk, is_place);
    let unknown = has(chunk, |m| *m == Meaning::Unknown);
    let filter = has(chunk, |m| matches!(m, Filter(_)));
    let adjusted = has(chunk, adjusts);
    let aspect = has(chunk, |m| matches!(m, Aspect(_) | Ratio(..)));
    match specific {
        Some(Verb::Undo | Verb::Send) if said(Verb::Original) => return Some(Head::Original),
        // "remove the man on the left" is more than we can do.
        Some(Verb::Away | Verb::Trim) if !place && aspect => return Some(Head::Crop),
        Some(Verb::Trim) if place => return Some(Head::Away),
        Some(Verb::Away) if !place || unknown => return None,
        // "cut the top off"
        Some(Verb::Crop) if said(Verb::Away) && place => return Some(Head::Away),
        // "it would look better in sepia"
        Some(Verb::Info) if filter => return Some(Head::Filter),
        Some(Verb::Info) if adjusted => return Some(Head::Adjust),
        Some(verb) => return head_of(verb),
        None if said(Verb::Original) => return Some(Head::Original),
        None => {}
    }
    let shape = has(chunk, |m| matches!(m, Meaning::Shape(_)));
    let colour = has(chunk, |m| matches!(m, Colour(_)));
    let quoted = has(chunk, |m| matches!(m, Quoted(_)));
    let drawn = colour || has(chunk, |m| matches!(m, Label | Aspect(_) | Meaning::Numbered));
    if shape && !(unknown && !place && verbs().next().is_none()) || said(Verb::Draw) && place && drawn {
        return Some(Head::Highlight);
    }
    if said(Verb::Draw) && quoted {
        return Some(Head::Write);
    }
    // "blur the face"
    let aims =
        |m: &Meaning| matches!(m, Filter(name) if grammar.filter(name).is_some_and(|filter| filter.aims));
    if has(chunk, aims) {
        return Some(Head::Filter);
    }
    // Without any verb, more words than we know are a caption, not a request.
    if unknown && verbs().all(|verb| verb == Verb::Repeat) && !has(chunk, |m| *m == Label) {
        return None;
    }
    let measured = |unit: Unit| measured(chunk, unit);
    let makes = said(Verb::Make) || said(Verb::Convert);
    let big_ratio = has(chunk, |m| matches!(m, Ratio(a, b) if a.min(*b) >= 50.0));
    let scaled = has(chunk, |m| matches!(m, Scale(_) | Longest(_)))
        || (measured(Unit::Percent) && !place)
        || measured(Unit::Pixels)
        || (measured(Unit::Times) && makes)
        || (has(chunk, |m| matches!(m, Meaning::Dimension(_))) && has(chunk, |m| matches!(m, Number(_))))
        || big_ratio;
    let turned = has(chunk, |m| matches!(m, Spin(_) | Angle(_))) || measured(Unit::Degrees);
    let gray = |m: &Meaning| matches!(m, Colour(name) if grammar.colours_as_filters.contains_key(name));
    let format = has(chunk, |m| matches!(m, Meaning::Format(_)));
    let quality = has(chunk, |m| *m == Meaning::Quality) && has(chunk, |m| matches!(m, Number(_)));
    // Not the edge of anything: "edges".
    let edges = has(chunk, |m| *m == Meaning::Edge) && !place && !unknown;
    if filter {
        Some(Head::Filter)
    } else if adjusted {
        Some(Head::Adjust)
    } else if quality {
        Some(Head::Convert)
    } else if turned || (said(Verb::Turn) && (place || !(unknown || scaled || aspect || colour || format))) {
        Some(Head::Rotate)
    } else if scaled {
        Some(Head::Resize)
    } else if aspect {
        Some(Head::Crop)
    } else if (makes || said(Verb::Turn)) && !place && has(chunk, gray) {
        Some(Head::Filter)
    } else if format {
        Some(Head::Convert)
    } else if (colour && place)
        || (has(chunk, |m| *m == Label) && (place || quoted))
        || has(chunk, |m| *m == Meaning::Numbered)
    {
        Some(Head::Highlight)
    } else if edges {
        Some(Head::Filter)
    } else if repeats(chunk) {
        Some(Head::Repeat)
    } else {
        None
    }
}

/// "do the same to the others", "do that to photo 2"
fn repeats(chunk: &[Atom]) -> bool {
    let said = |wanted: Verb| has(chunk, |m| *m == Meaning::Verb(wanted));
    let that = said(Verb::Make) && has(chunk, |m| *m == Meaning::It) && has(chunk, is_pick);
    let onto = has(chunk, |m| matches!(m, Meaning::To | Meaning::Preposition));
    !has(chunk, |m| *m == Meaning::Unknown) && (said(Verb::Repeat) || (that && onto))
}

fn head_of(verb: Verb) -> Option<Head> {
    match verb {
        Verb::Highlight => Some(Head::Highlight),
        Verb::Crop => Some(Head::Crop),
        Verb::Away => Some(Head::Away),
        Verb::Trim => Some(Head::Trim),
        Verb::Rotate => Some(Head::Rotate),
        Verb::Straighten => Some(Head::Straighten),
        Verb::Flip => Some(Head::Flip),
        Verb::Resize | Verb::Shrink | Verb::Grow => Some(Head::Resize),
        Verb::Redact => Some(Head::Redact),
        Verb::Write => Some(Head::Write),
        Verb::Sign => Some(Head::Sign),
        Verb::Compare => Some(Head::Compare),
        Verb::Strip => Some(Head::Convert),
        Verb::Undo => Some(Head::Undo),
        Verb::Redo => Some(Head::Redo),
        Verb::Original => Some(Head::Original),
        Verb::Send => Some(Head::Send),
        Verb::List => Some(Head::List),
        Verb::Info => Some(Head::Info),
        Verb::Read => Some(Head::Read),
        Verb::Find => Some(Head::Find),
        Verb::Draw | Verb::Turn | Verb::Make | Verb::Convert | Verb::Repeat => None,
    }
}
