//! Labels of highlights: "call it eagle", "as “eagle”".

use super::atoms::{Atom, source_text};
use super::meaning::Meaning;
use super::positions::has_corners;

const MAX_LABEL_CHARS: usize = 80;

/// The label in a group of atoms, and the group without it.
pub fn take_label(source: &[char], group: &[Atom]) -> (Option<String>, Vec<Atom>) {
    let meaning = |at: usize| group.get(at).map(|atom| &atom.meaning);
    if let Some(at) = group.iter().position(|atom| matches!(atom.meaning, Meaning::Quoted(_))) {
        let Some(Meaning::Quoted(text)) = meaning(at) else {
            return (None, group.to_vec());
        };
        let rest = group.iter().filter(|atom| !matches!(atom.meaning, Meaning::Label | Meaning::Quoted(_)));
        return (clean_label(text), rest.cloned().collect());
    }
    let Some(word) = group.iter().position(|atom| atom.meaning == Meaning::Label) else {
        return (None, group.to_vec());
    };
    let mut start = word + 1;
    let pronoun = matches!(meaning(start), Some(Meaning::It | Meaning::Them));
    if pronoun {
        start += 1;
    } else {
        // "label the top left as eagle": the position before "as" is not part of the label.
        let place =
            |m: &Meaning| matches!(m, Meaning::Side(_) | Meaning::Fraction(..) | Meaning::Regions(..));
        let insignificant = |m: &Meaning| matches!(m, Meaning::Filler | Meaning::Preposition | Meaning::Edge);
        let object = group[start..]
            .iter()
            .take_while(|atom| place(&atom.meaning) || insignificant(&atom.meaning))
            .count();
        let named = group[start..start + object].iter().any(|atom| place(&atom.meaning));
        if named && object > 1 && start + object < group.len() {
            start += object;
        }
    }
    while matches!(meaning(start), Some(Meaning::Label)) && start + 1 < group.len() {
        start += 1;
    }
    let mut end = (start + 1).min(group.len());
    while end < group.len() && !starts_detail(&group[end..]) {
        end += 1;
    }
    let after = end;
    while end > start + 1 && group[end - 1].meaning == Meaning::Polite {
        end -= 1;
    }
    let label = clean_label(&source_text(source, group.get(start..end).unwrap_or_default()));
    let rest = group[..word].iter().chain(&group[word + 1..start.min(group.len())]).chain(&group[after..]);
    (label, rest.cloned().collect())
}

/// "… in red", "… at the top", "… from 100,200 to 400,500": the label ends here.
fn starts_detail(atoms: &[Atom]) -> bool {
    let after = atoms.iter().skip(1).map(|atom| &atom.meaning).find(|meaning| **meaning != Meaning::Filler);
    let detail = |m: &Meaning| {
        matches!(m, Meaning::Colour(_) | Meaning::Side(_) | Meaning::Shape(_) | Meaning::Regions(..))
    };
    let area = || matches!(after, Some(Meaning::Number(_))) && has_corners(atoms);
    atoms[0].meaning == Meaning::Preposition && (after.is_some_and(detail) || area())
}

fn clean_label(text: &str) -> Option<String> {
    let clipped: String = text.trim().chars().filter(|c| !c.is_control()).take(MAX_LABEL_CHARS).collect();
    (!clipped.is_empty()).then_some(clipped)
}
