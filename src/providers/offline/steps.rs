//! Clauses into steps: which tool, with which arguments, on which pictures. Nothing is chosen or called here.

use super::atoms::{Atom, written};
use super::clauses::{Clause, Head, sentence};
use super::grammar::{Axis, Grammar, Meaning, Noun, Region, Verb};
use super::lex::source;
use super::marks::{Mark, cannot_find, did, marks};
use super::measures::{angle, aspect, axes, exact, number, size};
use super::places::places;
use super::say::joined;
use super::targets::Pick;
use serde_json::{Map, Value, json};

const MOST_STEPS: usize = 20;

/// What kind of work a step is, by what it needs and what comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Pictures in, new pictures out.
    Edit,
    Send,
    List,
    Info,
    Read,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub work: Work,
    pub tool: &'static str,
    /// All but the pictures.
    pub arguments: Map<String, Value>,
    /// `None`: what the step before left, or what the person pointed at.
    pub pick: Option<Pick>,
    /// Whether "photo 2" counts pictures only.
    pub photos: bool,
    /// "cropped to a square"
    pub did: String,
}

/// A person's words, understood as far as they go.
#[derive(Debug, Default)]
pub struct Request {
    pub steps: Vec<Step>,
    /// Questions and limits to tell the person about.
    pub notes: Vec<String>,
    pub unread: Vec<String>,
    pub talk: Option<usize>,
    /// They said what not to do.
    pub refused: bool,
}

pub fn request(grammar: &Grammar, said: &str) -> Request {
    let source = source(unquoted(said));
    let sentence = sentence(grammar, &source);
    let mut request = Request {
        unread: sentence.unread,
        talk: sentence.talk,
        refused: sentence.refused,
        ..Request::default()
    };
    for clause in &sentence.clauses {
        let mut reading = Reading { grammar, source: &source, clause, request: &mut request };
        reading.read();
    }
    if request.steps.len() > MOST_STEPS {
        request.steps.truncate(MOST_STEPS);
        request.notes.push(format!("I stop after {MOST_STEPS} steps; ask for the rest in a new message."));
    }
    request
}

/// Examples get copied with their quotes.
fn unquoted(said: &str) -> &str {
    let quote = |c: char| "\"'`“”„‘’«»".contains(c);
    let inner = said.trim().trim_matches(quote);
    if said.trim().starts_with(quote) && !inner.contains(quote) { inner } else { said }
}

struct Reading<'a> {
    grammar: &'a Grammar,
    source: &'a [char],
    clause: &'a Clause,
    request: &'a mut Request,
}

impl Reading<'_> {
    fn read(&mut self) {
        let original = self.clause.has(|m| *m == Meaning::Verb(Verb::Original));
        let edits = matches!(
            self.clause.head,
            Head::Highlight
                | Head::Crop
                | Head::Away
                | Head::Rotate
                | Head::Flip
                | Head::Resize
                | Head::Filter
        );
        // "crop the original to a square"
        if original && edits {
            self.undo("original");
        }
        match self.clause.head {
            Head::Highlight => self.highlight(),
            Head::Crop => self.crop(),
            Head::Away => self.cut_away(),
            Head::Rotate => self.rotate(),
            Head::Flip => self.flip(),
            Head::Resize => match size(self.clause) {
                Some((arguments, did)) => self.edit("resize_image", arguments, did),
                None => {
                    self.note("What size should it be? Say “resize to 800 px”, “800x600” or “half the size”.")
                }
            },
            Head::Filter => self.along_with_filter(),
            Head::Undo => {
                let times = self.clause.atoms().find_map(|atom| match atom.meaning {
                    Meaning::Repeat(times) => Some(times),
                    Meaning::Number(times) if (1.0..=10.0).contains(&times) => Some(times as usize),
                    _ => None,
                });
                (0..times.unwrap_or(1)).for_each(|_| self.undo("previous"));
            }
            Head::Original => self.undo("original"),
            Head::Send => self.other(Work::Send, "attach_to_response", Map::new()),
            Head::List => self.other(Work::List, "list_attachments", Map::new()),
            Head::Info => self.other(Work::Info, "get_attachment_info", Map::new()),
            Head::Read => self.other(Work::Read, "read_text_attachment", Map::new()),
            Head::Find => self.find(),
        }
        self.filters();
    }

    fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.request.notes.contains(&text) {
            self.request.notes.push(text);
        }
    }

    fn edit(&mut self, tool: &'static str, arguments: Map<String, Value>, did: String) {
        let pick = self.pick();
        self.push(Work::Edit, tool, arguments, pick, did);
    }

    fn other(&mut self, work: Work, tool: &'static str, arguments: Map<String, Value>) {
        let pick = self.pick();
        self.push(work, tool, arguments, pick, String::new());
    }

    fn push(
        &mut self,
        work: Work,
        tool: &'static str,
        arguments: Map<String, Value>,
        pick: Option<Pick>,
        did: String,
    ) {
        let photos = self.clause.has(|m| matches!(m, Meaning::Noun(Noun::Photo | Noun::Photos)));
        self.request.steps.push(Step { work, tool, arguments, pick, photos, did });
    }

    fn pick(&self) -> Option<Pick> {
        let has = |meaning: Meaning| self.clause.has(|m| *m == meaning);
        // "flip 1 and 3": there is nothing else to count.
        let counts = matches!(self.clause.head, Head::Flip | Head::Filter | Head::Send | Head::Info);
        let number = |meaning: &Meaning| match meaning {
            Meaning::Nth(n) => Some(*n),
            Meaning::Number(n) if counts && n.fract() == 0.0 && (1.0..=100.0).contains(n) => Some(*n as i32),
            _ => None,
        };
        let nth: Vec<i32> = self.clause.atoms().filter_map(|atom| number(&atom.meaning)).collect();
        let few = self.clause.atoms().find_map(|atom| match atom.meaning {
            Meaning::FirstFew(n) => Some(Pick::First(n)),
            Meaning::LastFew(n) => Some(Pick::Last(n)),
            _ => None,
        });
        match () {
            () if has(Meaning::Others) => Some(Pick::Others),
            () if !nth.is_empty() && has(Meaning::Except) => Some(Pick::Except(nth)),
            () if !nth.is_empty() => Some(Pick::Nth(nth)),
            () if few.is_some() => few,
            () if has(Meaning::All) => Some(Pick::All),
            () if has(Meaning::Them) => Some(Pick::Them),
            () => None,
        }
    }

    fn flat(&self) -> Vec<Atom> {
        self.clause.atoms().cloned().collect()
    }

    fn unknown(&self) -> Vec<Atom> {
        self.clause.atoms().filter(|atom| atom.meaning == Meaning::Unknown).cloned().collect()
    }

    fn undo(&mut self, to: &str) {
        let (tool, did) = match to {
            "original" => ("revert_to_original", "back to the original"),
            _ => ("undo_edit", "one step back"),
        };
        self.edit(tool, Map::new(), did.into());
    }

    fn highlight(&mut self) {
        match marks(self.source, self.clause) {
            Ok(marks) => {
                let regions: Vec<Value> = marks.iter().map(Mark::argument).collect();
                self.edit(
                    "highlight_image",
                    Map::from_iter([("regions".to_owned(), json!(regions))]),
                    did(&marks),
                );
            }
            Err(reason) => self.note(reason),
        }
    }

    fn crop(&mut self) {
        let aspects = self.clause.atoms().find_map(|atom| match &atom.meaning {
            Meaning::Aspect(aspect) => Some((aspect.clone(), None)),
            Meaning::Ratio(a, b) if a.min(*b) >= 1.0 => {
                Some((aspect(*a, *b), (a.min(*b) >= 50.0).then(|| exact(*a, *b))))
            }
            _ => None,
        });
        let mut places = match places(&self.flat()) {
            Ok(places) => places,
            Err(reason) => return self.note(reason),
        };
        places.retain(|place| !place.is_whole());
        if places.is_empty() && aspects.is_none() {
            let unknown = self.unknown();
            let reason = if unknown.is_empty() {
                "How should I crop it? Say “crop to a square”, “crop to 16:9” or “crop the left half”.".into()
            } else {
                cannot_find(self.source, &unknown)
            };
            return self.note(reason);
        }
        if let Some(first) = places.first() {
            let around = places.iter().fold(first.region, |a, place| {
                let b = place.region;
                [a[0].min(b[0]), a[1].min(b[1]), a[2].max(b[2]), a[3].max(b[3])]
            });
            let names: Vec<String> = places.iter().map(|place| place.name.clone()).collect();
            self.crop_to(around, format!("cropped to {}", joined(&names)));
        }
        if let Some((aspect, size)) = aspects {
            let did =
                if aspect == "1:1" { "cropped to a square".into() } else { format!("cropped to {aspect}") };
            self.edit("crop_image", Map::from_iter([("aspect".to_owned(), json!(aspect))]), did);
            if let Some((arguments, did)) = size {
                self.edit("resize_image", arguments, did);
            }
        }
    }

    fn crop_to(&mut self, [left, top, right, bottom]: Region, did: String) {
        let region = json!({"left": left, "top": top, "right": right, "bottom": bottom});
        self.edit("crop_image", Map::from_iter([("region".to_owned(), region)]), did);
    }

    fn cut_away(&mut self) {
        match places(&self.flat()) {
            Ok(places) => match places.iter().map(|place| (place, place.rest())).next() {
                Some((place, Some(rest))) => self.crop_to(rest, format!("cut off {}", place.name)),
                _ => self.note("I can cut off one side: “cut off the top third” or “trim the left 10%”."),
            },
            Err(reason) => self.note(reason),
        }
    }

    fn rotate(&mut self) {
        let (degrees, did) = angle(self.clause);
        if degrees == 0.0 {
            return self.note("A full turn leaves it as it is.");
        }
        self.edit("rotate_image", Map::from_iter([("degrees".to_owned(), number(degrees))]), did);
    }

    fn flip(&mut self) {
        for axis in axes(self.clause) {
            let (direction, did) = match axis {
                Axis::Horizontal => ("horizontal", "mirrored left to right"),
                Axis::Vertical => ("vertical", "flipped top to bottom"),
            };
            self.edit("flip_image", Map::from_iter([("direction".to_owned(), json!(direction))]), did.into());
        }
    }

    fn find(&mut self) {
        let quoted = self.clause.atoms().find_map(|atom| match &atom.meaning {
            Meaning::Quoted(text) => Some(text.clone()),
            _ => None,
        });
        let words = written(self.source, &self.unknown());
        match quoted.or_else(|| (!words.is_empty()).then_some(words)) {
            Some(grep) => {
                self.other(
                    Work::Read,
                    "read_text_attachment",
                    Map::from_iter([("grep".to_owned(), json!(grep))]),
                );
            }
            None => self.note("What should I look for? Say find “invoice” in the file."),
        }
    }

    /// "make it a small black and white square"
    fn along_with_filter(&mut self) {
        if self.clause.has(|m| matches!(m, Meaning::Aspect(_) | Meaning::Ratio(..))) {
            self.crop();
        }
        if self.clause.has(|m| matches!(m, Meaning::Angle(_) | Meaning::Spin(_))) {
            self.rotate();
        }
        let resized = self.clause.has(|m| matches!(m, Meaning::Scale(_) | Meaning::Longest(_)));
        if let Some((arguments, did)) = size(self.clause).filter(|_| resized) {
            self.edit("resize_image", arguments, did);
        }
    }

    /// Filters go along with any other request: "crop to a square in black and white".
    fn filters(&mut self) {
        // "undo the black and white"
        if self.clause.head == Head::Undo {
            return;
        }
        let mut names: Vec<String> = Vec::new();
        for atom in self.clause.atoms() {
            let name = match &atom.meaning {
                Meaning::Filter(name) => Some(name),
                Meaning::Colour(name) if self.clause.head == Head::Filter => {
                    self.grammar.colours_as_filters.get(name)
                }
                _ => None,
            };
            names.extend(name.filter(|name| !names.contains(name)).cloned());
        }
        let part = places(&self.flat()).is_ok_and(|places| places.iter().any(|place| !place.is_whole()));
        if self.clause.head == Head::Filter && part {
            self.note("I can only do that to the whole picture.");
        }
        for name in names {
            let did = self.grammar.filter_did(&name).to_owned();
            self.edit("filter_image", Map::from_iter([("filter".to_owned(), json!(name))]), did);
        }
    }
}
