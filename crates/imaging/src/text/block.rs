//! Text set in lines and turned into coverage: shaped, wrapped, in the direction its script has. Once set, a block
//! knows its size to the pixel and draws without any font.

use cosmic_text::{
    Attrs, Buffer, CacheKey, Command, Family, LayoutRun, Metrics, Shaping, SwashContent, SwashImage, Wrap,
};
use image::{ImageBuffer, Pixel};

use crate::fonts::{FAMILY, FontEngine, WEIGHT};
use crate::paint::{self, Coverage, Point};
use crate::picture::Sample;
use crate::{Color, Fonts, PixelRect};

/// How text is to be set, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TextStyle {
    /// From the top of tall letters to the bottom of low ones.
    pub size: f32,
    /// What does not fit ends in an ellipsis.
    pub room: (f32, f32),
    pub lines: Lines,
    pub align: Align,
    /// Of the contrasting edge around each letter, as a part of the size; none if 0.
    pub edge: f32,
}

impl TextStyle {
    fn line_height(&self) -> f32 {
        match self.lines {
            Lines::One => self.size,
            Lines::Wrapped => self.size * LEADING,
        }
    }

    fn edge_width(&self) -> f32 {
        if self.edge > 0.0 { (self.size * self.edge).max(1.0) } else { 0.0 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    /// Breaks in the text become spaces.
    One,
    Wrapped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Align {
    Left,
    #[default]
    Center,
    Right,
}

/// Tall to low letters of the bundled font, in ems; `TextStyle::size` is this much of a font size.
const TALL: f32 = 1.164;
/// From one line to the next, when there are several.
const LEADING: f32 = 1.12;
const ELLIPSIS: char = '…';

/// Text that is known to have something to show.
#[derive(Debug, Clone)]
pub(crate) struct TextBlock {
    /// What the text takes up, from 0, 0.
    size: (u32, u32),
    edge: Option<Coverage>,
    ink: Coverage,
    /// Glyphs that bring their own colours, of fonts that a person added.
    pictures: Vec<Stamp>,
}

#[derive(Debug, Clone)]
struct Stamp {
    left: i32,
    top: i32,
    width: usize,
    /// Four channels.
    samples: Vec<u8>,
}

impl TextBlock {
    /// `None` if there is nothing to show or no room for even an ellipsis. What fonts lack is left out.
    pub fn new(fonts: &Fonts, text: &str, setting: &TextStyle) -> Option<Self> {
        let text = tidy(&fonts.writable(text), setting.lines);
        if text.is_empty() || !(setting.room.0 >= 1.0 && setting.room.1 >= 1.0 && setting.size >= 1.0) {
            return None;
        }
        fonts.with(|engine| {
            let lines = shortened(engine, &text, setting)?;
            rasterize(engine, &lines, setting)
        })
    }

    /// The largest size from `least` up to that of the setting at which the whole text fits; if none, `least` and
    /// an ellipsis.
    pub fn fitted(fonts: &Fonts, text: &str, setting: &TextStyle, least: f32) -> Option<Self> {
        let small = TextStyle { size: least.min(setting.size), ..*setting };
        Self::largest(fonts, text, setting, least).or_else(|| Self::new(fonts, text, &small))
    }

    /// The same, but `None` if the whole text does not fit.
    pub fn largest(fonts: &Fonts, text: &str, setting: &TextStyle, least: f32) -> Option<Self> {
        let tidied = tidy(&fonts.writable(text), setting.lines);
        let fits = |size: f32| {
            let open = TextStyle { size, ..*setting };
            // A word is broken only if it does not fit even when small.
            let (width, height) = fonts.with(|engine| extent(&set(engine, &tidied, &open, Wrap::Word)));
            let edges = 2.0 * open.edge_width();
            width + edges <= setting.room.0 && height + edges <= setting.room.1
        };
        let (mut low, mut high) = (least.min(setting.size), setting.size);
        if fits(high) {
            low = high;
        } else if !fits(low) {
            return None;
        }
        while high - low > (low * 0.03).max(0.5) {
            let middle = low.midpoint(high);
            if fits(middle) { low = middle } else { high = middle }
        }
        Self::new(fonts, text, &TextStyle { size: low, ..*setting })
    }

    pub fn width(&self) -> u32 {
        self.size.0
    }

    pub fn height(&self) -> u32 {
        self.size.1
    }

    /// Draws with the top left at `x`, `y`, never beyond `within`; the edge, if there is one, in what contrasts.
    pub fn draw<P: Pixel>(
        &self,
        canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>,
        (x, y): (u32, u32),
        within: PixelRect,
        color: Color,
    ) where
        P::Subpixel: Sample,
    {
        let shift = (x as i32, y as i32);
        if let Some(edge) = &self.edge {
            edge.lay(canvas, shift, within, (color.readable_on_top(), EDGE_OPACITY));
        }
        self.ink.lay(canvas, shift, within, (color, 1.0));
        for stamp in &self.pictures {
            stamp.draw(canvas, shift, within);
        }
    }
}

const EDGE_OPACITY: f32 = 0.9;

impl Stamp {
    fn draw<P: Pixel>(
        &self,
        canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>,
        shift: (i32, i32),
        within: PixelRect,
    ) where
        P::Subpixel: Sample,
    {
        for (index, [r, g, b, a]) in self.samples.as_chunks::<4>().0.iter().enumerate() {
            let at =
                |start: i32, shift: i32, offset: usize| u32::try_from(start + shift + offset as i32).ok();
            let x = at(self.left, shift.0, index % self.width.max(1));
            let y = at(self.top, shift.1, index / self.width.max(1));
            if let (Some(x), Some(y)) = (x, y)
                && within.contains(x, y)
                && x < canvas.width()
                && y < canvas.height()
            {
                paint::lay(canvas.get_pixel_mut(x, y), Color::rgb(*r, *g, *b), f32::from(*a) / 255.0);
            }
        }
    }
}

fn tidy(text: &str, lines: Lines) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    match lines {
        Lines::One => words(text),
        Lines::Wrapped => text.lines().map(words).collect::<Vec<_>>().join("\n").trim().to_owned(),
    }
}

pub(super) fn set(engine: &mut FontEngine, text: &str, setting: &TextStyle, wrap: Wrap) -> Buffer {
    let font_size = setting.size / TALL;
    let mut buffer = Buffer::new(&mut engine.system, Metrics::new(font_size, setting.line_height()));
    // Not `Wrap::None`: that loses a number before right-to-left words.
    buffer.set_wrap(wrap);
    let width = (setting.room.0 - 2.0 * setting.edge_width()).max(1.0);
    buffer.set_size((setting.lines == Lines::Wrapped).then_some(width), None);
    let attributes = Attrs::new().family(Family::Name(FAMILY)).weight(WEIGHT);
    buffer.set_text(text, &attributes, Shaping::Advanced, Some(cosmic_text::Align::Left));
    buffer.shape_until_scroll(&mut engine.system, false);
    buffer
}

/// As much of the text as there is room for, with an ellipsis if that is not all of it. One line is always let in,
/// however low the room.
fn shortened(engine: &mut FontEngine, text: &str, setting: &TextStyle) -> Option<Buffer> {
    let edges = 2.0 * setting.edge_width();
    let fits = |lines: &Buffer| {
        let (width, height) = extent(lines);
        width + edges <= setting.room.0 && height <= (setting.room.1 - edges).max(setting.line_height())
    };
    let whole = set(engine, text, setting, Wrap::WordOrGlyph);
    if fits(&whole) {
        return Some(whole);
    }
    let ends: Vec<_> = text.char_indices().map(|(end, _)| end).collect();
    let (mut best, mut low, mut high) = (None, 0, ends.len());
    while low < high {
        let middle = low.midpoint(high);
        let part = format!("{}{ELLIPSIS}", text[..ends[middle]].trim_end());
        let lines = set(engine, &part, setting, Wrap::WordOrGlyph);
        if fits(&lines) {
            (best, low) = (Some(lines), middle + 1);
        } else {
            high = middle;
        }
    }
    best
}

/// Width and height of the lines, whatever their letters look like.
fn extent(lines: &Buffer) -> (f32, f32) {
    lines.layout_runs().fold((0.0, 0.0), |(width, height), run| {
        let (left, right) = ends(&run);
        (f32::max(width, right - left), f32::max(height, run.line_top + run.line_height))
    })
}

/// Where a line begins and ends, without the blanks it was broken at.
fn ends(run: &LayoutRun<'_>) -> (f32, f32) {
    let visible = run
        .glyphs
        .iter()
        .filter(|glyph| run.text.get(glyph.start..glyph.end).is_none_or(|t| !t.trim().is_empty()));
    let (left, right) = visible
        .fold((f32::MAX, f32::MIN), |(left, right), glyph| (left.min(glyph.x), right.max(glyph.x + glyph.w)));
    if left < right { (left, right) } else { (0.0, 0.0) }
}

/// A glyph in its place, not yet drawn.
struct Placed {
    key: CacheKey,
    x: i32,
    y: i32,
    image: SwashImage,
}

fn rasterize(engine: &mut FontEngine, lines: &Buffer, setting: &TextStyle) -> Option<TextBlock> {
    let (width, height) = extent(lines);
    let placed = place(engine, lines, setting, width);
    if placed.is_empty() {
        return None;
    }
    let edge_width = setting.edge_width();
    let margin = edge_width.ceil() as i32;
    // Letters may reach beyond their lines, those of other fonts in particular.
    let mut reach = (0, 0, width.ceil() as i32, height.ceil() as i32);
    for glyph in &placed {
        let (left, top) = glyph.corner();
        let (w, h) = (glyph.image.placement.width as i32, glyph.image.placement.height as i32);
        reach.0 = reach.0.min(left - margin);
        reach.1 = reach.1.min(top - margin);
        reach.2 = reach.2.max(left + w + margin);
        reach.3 = reach.3.max(top + h + margin);
    }
    let size = ((reach.2 - reach.0) as u32, (reach.3 - reach.1) as u32);
    let (shift_x, shift_y) = (-reach.0, -reach.1);
    let layer = || {
        let most = Point { x: size.0 as f32, y: size.1 as f32 };
        Coverage::new(Point { x: 0.0, y: 0.0 }, most, None)
    };
    let mut block =
        TextBlock { size, edge: (setting.edge > 0.0).then(layer), ink: layer(), pictures: Vec::new() };
    for glyph in placed {
        if let Some(edge) = &mut block.edge
            && let Some(outline) = engine.glyphs.get_outline_commands_uncached(&mut engine.system, glyph.key)
        {
            let origin = Point {
                x: (glyph.x + shift_x) as f32 + glyph.key.x_bin.as_float(),
                y: (glyph.y + shift_y) as f32 + glyph.key.y_bin.as_float(),
            };
            trace(&outline, origin, setting.size, |from, to| edge.line(from, to, edge_width));
        }
        let (left, top) = glyph.corner();
        let (left, top, width) = (left + shift_x, top + shift_y, glyph.image.placement.width as usize);
        match glyph.image.content {
            SwashContent::Color => {
                block.pictures.push(Stamp { left, top, width, samples: glyph.image.data });
            }
            SwashContent::Mask | SwashContent::SubpixelMask => {
                block.ink.glyph(left, top, width, &glyph.image.data);
            }
        }
    }
    Some(block)
}

fn place(engine: &mut FontEngine, lines: &Buffer, setting: &TextStyle, width: f32) -> Vec<Placed> {
    let mut placed = Vec::new();
    for run in lines.layout_runs() {
        let (left, right) = ends(&run);
        let spare = width - (right - left);
        let indent = match setting.align {
            Align::Left => 0.0,
            Align::Center => spare / 2.0,
            Align::Right => spare,
        };
        for glyph in run.glyphs {
            let at = glyph.physical((indent - left, run.line_y), 1.0);
            let image = engine.glyphs.get_image_uncached(&mut engine.system, at.cache_key);
            if let Some(image) = image.filter(|image| image.placement.width > 0 && !image.data.is_empty()) {
                placed.push(Placed { key: at.cache_key, x: at.x, y: at.y, image });
            }
        }
    }
    placed
}

impl Placed {
    fn corner(&self) -> (i32, i32) {
        (self.x + self.image.placement.left, self.y - self.image.placement.top)
    }
}

/// Calls `line` for every short line of an outline, whose own y goes up.
fn trace(outline: &[Command], origin: Point, size: f32, mut line: impl FnMut(Point, Point)) {
    let steps = (size / 10.0).clamp(4.0, 24.0) as usize;
    let (mut start, mut at) = (Point { x: 0.0, y: 0.0 }, Point { x: 0.0, y: 0.0 });
    for command in outline {
        let (control, end) = match command {
            Command::MoveTo(to) => {
                (start, at) = (Point { x: to.x, y: to.y }, Point { x: to.x, y: to.y });
                continue;
            }
            Command::LineTo(to) => (None, Point { x: to.x, y: to.y }),
            Command::Close => (None, start),
            Command::QuadTo(c, to) => {
                // The same curve as a cubic, so that there is one kind of curve.
                let pull = |end: f32, control: f32| end + (control - end) * (2.0 / 3.0);
                let first = Point { x: pull(at.x, c.x), y: pull(at.y, c.y) };
                let second = Point { x: pull(to.x, c.x), y: pull(to.y, c.y) };
                (Some((first, second)), Point { x: to.x, y: to.y })
            }
            Command::CurveTo(a, b, to) => {
                let controls = (Point { x: a.x, y: a.y }, Point { x: b.x, y: b.y });
                (Some(controls), Point { x: to.x, y: to.y })
            }
        };
        let from = at;
        let pieces = if control.is_some() { steps } else { 1 };
        for piece in 1..=pieces {
            let t = piece as f32 / pieces as f32;
            let next = match control {
                None => end,
                Some((a, b)) => curve(from, a, b, end, t),
            };
            let place = |p: Point| Point { x: origin.x + p.x, y: origin.y - p.y };
            line(place(at), place(next));
            at = next;
        }
    }
}

fn curve(from: Point, a: Point, b: Point, to: Point, t: f32) -> Point {
    let u = 1.0 - t;
    let mix = |from: f32, a: f32, b: f32, to: f32| {
        u * u * u * from + 3.0 * u * u * t * a + 3.0 * u * t * t * b + t * t * t * to
    };
    Point { x: mix(from.x, a.x, b.x, to.x), y: mix(from.y, a.y, b.y, to.y) }
}
