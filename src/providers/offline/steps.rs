//! Clauses into steps: which tool, with which arguments, on which pictures. Nothing is chosen or called here.

use super::atoms::{Atom, written};
use super::clauses::{Clause, sentence};
use super::grammar::Grammar;
use super::heads::{Head, is_place};
use super::lex::source;
use super::marks::{Mark, cannot_find, did, marks};
use super::meaning::{Axis, Fact, Meaning, Noun, Region, Verb};
use super::measures::{angle, aspect, axes, exact, number, size};
use super::places::{places, says_area};
use super::say::joined;
use super::targets::Pick;
use super::together::Needs;
use serde_json::{Map, Value, json};

const MOST_STEPS: usize = 20;

/// What kind of work a step is, by what it needs and what comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Pictures in, a new picture for each out.
    Edit,
    /// Several pictures in, something made of all of them out.
    Combine(Needs),
    /// As one picture was edited, others are.
    Repeat,
    Send,
    List,
    /// About one thing, or all that is known.
    Info(Option<Fact>),
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
    /// "cropped to a square"; `{it}` is what was edited, `{n}` how many photos went in.
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

/// Arguments with one thing said.
pub fn with(key: &str, value: impl Into<Value>) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value.into())])
}

/// Examples get copied with their quotes.
fn unquoted(said: &str) -> &str {
    let quote = |c: char| "\"'`“”„‘’«»".contains(c);
    let inner = said.trim().trim_matches(quote);
    if said.trim().starts_with(quote) && !inner.contains(quote) { inner } else { said }
}

/// One clause being read. What it says about looks, texts, files and several pictures is read next door.
pub struct Reading<'a> {
    pub grammar: &'a Grammar,
    pub source: &'a [char],
    pub clause: &'a Clause,
    request: &'a mut Request,
}

impl Reading<'_> {
    fn read(&mut self) {
        let original = self.clause.has(|m| *m == Meaning::Verb(Verb::Original));
        // "crop the original to a square"
        if original && self.clause.head.edits() {
            self.edit("revert_to_original", Map::new(), "back to the original".into());
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
            Head::Filter | Head::Adjust => self.along_with_looks(),
            Head::Trim => {
                self.edit("crop_image", with("trim", true), "trimmed the borders".into());
            }
            Head::Straighten => self.straighten(),
            Head::Redact => self.redact(),
            Head::Write => self.write(),
            Head::Sign => self.sign(),
            Head::Collage => self.collage(),
            Head::Compare => self.compare(),
            Head::Animate => self.animate(),
            Head::Convert => self.convert(),
            Head::Undo => self.along("undo_edit", "one step back"),
            Head::Redo => self.along("redo_edit", "one step forward"),
            Head::Original => {
                self.edit("revert_to_original", Map::new(), "back to the original".into());
            }
            Head::Repeat => {
                self.other(Work::Repeat, "repeat_edits", Map::new(), "did the same".into());
            }
            Head::Send => self.other(Work::Send, "attach_to_response", Map::new(), String::new()),
            Head::List => self.other(Work::List, "list_attachments", Map::new(), String::new()),
            Head::Info => self.info(),
            Head::Read => self.other(Work::Read, "read_text_attachment", Map::new(), String::new()),
            Head::Find => self.find(),
        }
        self.filters();
        self.adjustments();
        self.format_along();
    }

    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.request.notes.contains(&text) {
            self.request.notes.push(text);
        }
    }

    pub fn edit(&mut self, tool: &'static str, arguments: Map<String, Value>, did: String) {
        let pick = self.pick();
        self.push(Work::Edit, tool, arguments, pick, did);
    }

    pub fn other(&mut self, work: Work, tool: &'static str, arguments: Map<String, Value>, did: String) {
        let pick = self.pick();
        self.push(work, tool, arguments, pick, did);
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
        let counts = matches!(
            self.clause.head,
            Head::Flip | Head::Filter | Head::Send | Head::Info | Head::Repeat | Head::Compare
        ) && !says_area(&self.flat());
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
            () if few.is_some() && !matches!(self.clause.head, Head::Undo | Head::Redo) => few,
            () if has(Meaning::All) => Some(Pick::All),
            () if has(Meaning::Them) => Some(Pick::Them),
            () => None,
        }
    }

    pub fn flat(&self) -> Vec<Atom> {
        self.clause.atoms().cloned().collect()
    }

    pub fn unknown(&self) -> Vec<Atom> {
        self.clause.atoms().filter(|atom| atom.meaning == Meaning::Unknown).cloned().collect()
    }

    /// Along the edits that were made: "undo twice".
    fn along(&mut self, tool: &'static str, did: &str) {
        let times = self.clause.atoms().find_map(|atom| match atom.meaning {
            Meaning::Repeat(times) => Some(times),
            // "undo the last two"
            Meaning::LastFew(times) => Some(times.clamp(1, 10) as usize),
            Meaning::Number(times) if (1.0..=10.0).contains(&times) => Some(times as usize),
            _ => None,
        });
        (0..times.unwrap_or(1)).for_each(|_| self.edit(tool, Map::new(), did.into()));
    }

    fn highlight(&mut self) {
        let marked = |m: &Meaning| is_place(m) || matches!(m, Meaning::Number(_));
        if self.clause.has(|m| *m == Meaning::Numbered) && !self.clause.has(marked) {
            return self.note(
                "What should I number? Say “highlight the top left and the bottom right and number them”.",
            );
        }
        match marks(self.source, self.clause) {
            Ok(marks) => {
                let regions: Vec<Value> = marks.iter().map(Mark::argument).collect();
                let mut arguments = with("regions", regions);
                let mut did = did(&marks);
                if self.clause.has(|m| *m == Meaning::Numbered) {
                    arguments.insert("numbered".to_owned(), json!(true));
                    did += ", numbered";
                }
                self.edit("highlight_image", arguments, did);
            }
            Err(reason) => self.note(reason),
        }
    }

    pub fn crop(&mut self) {
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
            self.edit("crop_image", with("aspect", aspect), did);
            if let Some((arguments, did)) = size {
                self.edit("resize_image", arguments, did);
            }
        }
    }

    fn crop_to(&mut self, [left, top, right, bottom]: Region, did: String) {
        let region = json!({"left": left, "top": top, "right": right, "bottom": bottom});
        self.edit("crop_image", with("region", region), did);
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

    pub fn rotate(&mut self) {
        let (degrees, did) = angle(self.clause);
        if degrees == 0.0 {
            return self.note("A full turn leaves it as it is.");
        }
        self.edit("rotate_image", with("degrees", number(degrees)), did);
    }

    fn straighten(&mut self) {
        if !self.clause.has(|m| matches!(m, Meaning::Number(_))) {
            return self.note(
                "By how much? I run offline, so I can't see the horizon. Say “straighten by 3 degrees” or “straighten \
                 2° to the left”.",
            );
        }
        let (degrees, _) = angle(self.clause);
        if degrees == 0.0 {
            return self.note("A full turn leaves it as it is.");
        }
        let degrees = if degrees > 180.0 { degrees - 360.0 } else { degrees };
        let mut arguments = with("degrees", number(degrees));
        arguments.insert("straighten".to_owned(), json!(true));
        let way = if degrees < 0.0 { "left" } else { "right" };
        self.edit("rotate_image", arguments, format!("straightened by {}° to the {way}", degrees.abs()));
    }

    fn flip(&mut self) {
        for axis in axes(self.clause) {
            let (direction, did) = match axis {
                Axis::Horizontal => ("horizontal", "mirrored left to right"),
                Axis::Vertical => ("vertical", "flipped top to bottom"),
            };
            self.edit("flip_image", with("direction", direction), did.into());
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
                self.other(Work::Read, "read_text_attachment", with("grep", grep), String::new());
            }
            None => self.note("What should I look for? Say find “invoice” in the file."),
        }
    }
}
