//! Text to write on a picture: "write Hello at the top", "watermark it with © Ann".

use super::atoms::Atom;
use super::intent::{contains, is_selection, leads_to_text};
use super::lexer::end_of_trailing_signs;
use super::meaning::{Meaning, Verb};
use super::measures::measures;

const MAX_TEXT_CHARS: usize = 200;

/// The text to write, and the atoms without it.
pub fn take_overlay_text(source: &[char], atoms: &[Atom]) -> (Option<String>, Vec<Atom>) {
    let quote = atoms.iter().find_map(|atom| match &atom.meaning {
        Meaning::Quoted(text) => Some(text.clone()),
        _ => None,
    });
    if let Some(quote) = quote {
        let rest = atoms.iter().filter(|atom| !matches!(atom.meaning, Meaning::Quoted(_)));
        return (clean_text(&quote), rest.cloned().collect());
    }
    let Some(lead) = atoms.iter().position(|atom| leads_to_text(&atom.meaning)) else {
        return (None, atoms.to_vec());
    };
    let start = text_start(atoms, lead);
    let mut end = start;
    while end < atoms.len() && !starts_details(&atoms[end..], end > start) {
        end += 1;
    }
    let after = end;
    while end > start && atoms[end - 1].meaning == Meaning::Polite {
        end -= 1;
    }
    let from = atoms[start - 1].end;
    let to = match atoms.get(end) {
        Some(next) => next.start,
        None => end_of_trailing_signs(source, atoms[end - 1].end),
    };
    let written: String = source[from..to.max(from)].iter().collect();
    let rest = atoms[..start].iter().chain(&atoms[after..]);
    (clean_text(&written), rest.cloned().collect())
}

/// The first atom of the text: after the verb and after the photos it is for ("watermark all of them with …").
fn text_start(atoms: &[Atom], lead: usize) -> usize {
    let light = |m: &Meaning| {
        matches!(m, Meaning::It | Meaning::Them | Meaning::Filler | Meaning::Noun(_) | Meaning::Except)
            || is_selection(m)
    };
    let placed = |m: &Meaning| matches!(m, Meaning::Side(_) | Meaning::Regions(..) | Meaning::Colour(_));
    let joint = |m: &Meaning| matches!(m, Meaning::Preposition | Meaning::Label);
    let watermark = atoms[lead].meaning == Meaning::Verb(Verb::Watermark);
    let mut at = lead + 1;
    let mut start = at;
    while let Some(atom) = atoms.get(at) {
        match &atom.meaning {
            m if joint(m) => {
                start = at + 1;
                // "sign it as Ann": all that follows is the text.
                if !atoms.get(at + 1).is_some_and(|next| light(&next.meaning) || placed(&next.meaning)) {
                    break;
                }
            }
            m if light(m) => {
                // "caption it Summer": skip the pronoun; but "write the end" keeps its article.
                if matches!(m, Meaning::It | Meaning::Them) || (watermark && is_selection(m)) {
                    start = at + 1;
                }
            }
            m if watermark && placed(m) => {}
            _ => break,
        }
        at += 1;
    }
    start.min(atoms.len())
}

/// "… in red", "… at the top", "… on all of them": the text ends here.
fn starts_details(atoms: &[Atom], after_text: bool) -> bool {
    let four = measures(atoms).len() >= 4;
    let detail = |m: &Meaning| {
        matches!(
            m,
            Meaning::Colour(_) | Meaning::Side(_) | Meaning::Regions(..) | Meaning::It | Meaning::Them
        ) || matches!(m, Meaning::Noun(_) | Meaning::Fraction(..))
            || is_selection(m)
            || (four && matches!(m, Meaning::Number(_)))
    };
    let light = |m: &Meaning| {
        matches!(m, Meaning::Filler | Meaning::Polite | Meaning::Preposition | Meaning::To | Meaning::Comma)
    };
    let rest = &atoms[1..];
    let leads = match atoms[0].meaning {
        Meaning::Preposition => contains(rest, detail),
        // "© Ann all over"
        Meaning::Regions(..) => after_text,
        _ => false,
    };
    leads && rest.iter().all(|atom| detail(&atom.meaning) || light(&atom.meaning))
}

fn clean_text(text: &str) -> Option<String> {
    let quotes: &[char] = &['"', '“', '”', '„', '«', '»'];
    let text = text.trim().trim_matches(quotes).trim_start_matches(':').trim_end_matches([',', ';']).trim();
    let clipped: String = text.chars().filter(|c| !c.is_control()).take(MAX_TEXT_CHARS).collect();
    (!clipped.is_empty()).then_some(clipped)
}
