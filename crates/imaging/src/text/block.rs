//! Text layout: shaping, wrapping, bidirectional text, and rasterising into coverage. A finished block knows its size
//! in pixels and draws without fonts.

use cosmic_text::{
    Attrs, Buffer, CacheKey, Command, Family, LayoutRun, Metrics, Shaping, SwashContent, SwashImage, Wrap,
};
use image::{ImageBuffer, Pixel};

use crate::fonts::{BUNDLED_FAMILY, BUNDLED_WEIGHT, FontEngine};
use crate::paint::{self, Coverage, Point};
use crate::picture::Sample;
use crate::{Color, Fonts, PixelRect};

/// How text is laid out, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TextStyle {
    /// Line height: from the top of tall letters to the bottom of descenders.
    pub size: f32,
    /// The available width and height. Text that does not fit ends in an ellipsis.
    pub area: (f32, f32),
    pub lines: Lines,
    pub align: Align,
    /// Width of the contrasting edge around each letter, as a share of `size`; 0 for none.
    pub edge: f32,
}

impl TextStyle {
    fn line_height(&self) -> f32 {
        match self.lines {
            Lines::One => self.size,
            Lines::Wrapped => self.size * LINE_SPACING,
        }
    }

    fn edge_width(&self) -> f32 {
        if self.edge > 0.0 { (self.size * self.edge).max(1.0) } else { 0.0 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    /// Line breaks in the text become spaces.
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

/// Height from tall letters to descenders of the bundled font, in ems. Converts `TextStyle::size` to a font size.
const EMS_PER_SIZE: f32 = 1.164;
/// Line spacing of text with several lines.
const LINE_SPACING: f32 = 1.12;
const ELLIPSIS: char = '…';

/// Laid-out text that shows at least one glyph.
#[derive(Debug, Clone)]
pub(crate) struct TextBlock {
    /// Width and height of the text.
    size: (u32, u32),
    edge: Option<Coverage>,
    ink: Coverage,
    /// Glyphs with colours of their own, from added fonts.
    pictures: Vec<ColorGlyph>,
}

#[derive(Debug, Clone)]
struct ColorGlyph {
    left: i32,
    top: i32,
    width: usize,
    /// Four channels.
    samples: Vec<u8>,
}

impl TextBlock {
    /// `None` if there is nothing to show, or no space for even an ellipsis. Characters that no font has are left
    /// out.
    pub fn new(fonts: &Fonts, text: &str, style: &TextStyle) -> Option<Self> {
        let text = normalize(&fonts.writable(text), style.lines);
        if text.is_empty() || !(style.area.0 >= 1.0 && style.area.1 >= 1.0 && style.size >= 1.0) {
            return None;
        }
        fonts.with_engine(|engine| {
            let lines = layout_shortened(engine, &text, style)?;
            rasterize(engine, &lines, style)
        })
    }

    /// The largest size from `least` up to that of the style at which the whole text fits. If there is none: `least`,
    /// with an ellipsis.
    pub fn fitted(fonts: &Fonts, text: &str, style: &TextStyle, least: f32) -> Option<Self> {
        let small = TextStyle { size: least.min(style.size), ..*style };
        Self::largest(fonts, text, style, least).or_else(|| Self::new(fonts, text, &small))
    }

    /// The same, but `None` if the whole text does not fit.
    pub fn largest(fonts: &Fonts, text: &str, style: &TextStyle, least: f32) -> Option<Self> {
        let tidied = normalize(&fonts.writable(text), style.lines);
        let fits = |size: f32| {
            let open = TextStyle { size, ..*style };
            // A word is broken only if it does not fit even at the smallest size.
            let (width, height) =
                fonts.with_engine(|engine| extent(&layout(engine, &tidied, &open, Wrap::Word)));
            let edges = 2.0 * open.edge_width();
            width + edges <= style.area.0 && height + edges <= style.area.1
        };
        let (mut low, mut high) = (least.min(style.size), style.size);
        if fits(high) {
            low = high;
        } else if !fits(low) {
            return None;
        }
        while high - low > (low * 0.03).max(0.5) {
            let middle = low.midpoint(high);
            if fits(middle) { low = middle } else { high = middle }
        }
        Self::new(fonts, text, &TextStyle { size: low, ..*style })
    }

    pub fn width(&self) -> u32 {
        self.size.0
    }

    pub fn height(&self) -> u32 {
        self.size.1
    }

    /// Draws with the top left at `x`, `y`, only inside `within`. An edge is drawn in the contrasting colour.
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
            edge.blend(canvas, shift, within, (color.readable_on_top(), EDGE_OPACITY));
        }
        self.ink.blend(canvas, shift, within, (color, 1.0));
        for stamp in &self.pictures {
            stamp.draw(canvas, shift, within);
        }
    }
}

const EDGE_OPACITY: f32 = 0.9;

impl ColorGlyph {
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
                paint::blend(canvas.get_pixel_mut(x, y), Color::rgb(*r, *g, *b), f32::from(*a) / 255.0);
            }
        }
    }
}

fn normalize(text: &str, lines: Lines) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    match lines {
        Lines::One => words(text),
        Lines::Wrapped => text.lines().map(words).collect::<Vec<_>>().join("\n").trim().to_owned(),
    }
}

pub(super) fn layout(engine: &mut FontEngine, text: &str, style: &TextStyle, wrap: Wrap) -> Buffer {
    let font_size = style.size / EMS_PER_SIZE;
    let mut buffer = Buffer::new(&mut engine.system, Metrics::new(font_size, style.line_height()));
    // `Wrap::None` would lose a number before right-to-left words.
    buffer.set_wrap(wrap);
    let width = (style.area.0 - 2.0 * style.edge_width()).max(1.0);
    buffer.set_size((style.lines == Lines::Wrapped).then_some(width), None);
    let attributes = Attrs::new().family(Family::Name(BUNDLED_FAMILY)).weight(BUNDLED_WEIGHT);
    buffer.set_text(text, &attributes, Shaping::Advanced, Some(cosmic_text::Align::Left));
    buffer.shape_until_scroll(&mut engine.system, false);
    buffer
}

/// As much of the text as fits, with an ellipsis if that is not all. One line always counts as fitting in height.
fn layout_shortened(engine: &mut FontEngine, text: &str, style: &TextStyle) -> Option<Buffer> {
    let edges = 2.0 * style.edge_width();
    let fits = |lines: &Buffer| {
        let (width, height) = extent(lines);
        width + edges <= style.area.0 && height <= (style.area.1 - edges).max(style.line_height())
    };
    let whole = layout(engine, text, style, Wrap::WordOrGlyph);
    if fits(&whole) {
        return Some(whole);
    }
    let ends: Vec<_> = text.char_indices().map(|(end, _)| end).collect();
    let (mut best, mut low, mut high) = (None, 0, ends.len());
    while low < high {
        let middle = low.midpoint(high);
        let part = format!("{}{ELLIPSIS}", text[..ends[middle]].trim_end());
        let lines = layout(engine, &part, style, Wrap::WordOrGlyph);
        if fits(&lines) {
            (best, low) = (Some(lines), middle + 1);
        } else {
            high = middle;
        }
    }
    best
}

/// Width and height of the lines, regardless of the shapes of the letters.
fn extent(lines: &Buffer) -> (f32, f32) {
    lines.layout_runs().fold((0.0, 0.0), |(width, height), run| {
        let (left, right) = line_bounds(&run);
        (f32::max(width, right - left), f32::max(height, run.line_top + run.line_height))
    })
}

/// Where a line begins and ends, without the spaces at which it was broken.
fn line_bounds(run: &LayoutRun<'_>) -> (f32, f32) {
    let visible = run
        .glyphs
        .iter()
        .filter(|glyph| run.text.get(glyph.start..glyph.end).is_none_or(|t| !t.trim().is_empty()));
    let (left, right) = visible
        .fold((f32::MAX, f32::MIN), |(left, right), glyph| (left.min(glyph.x), right.max(glyph.x + glyph.w)));
    if left < right { (left, right) } else { (0.0, 0.0) }
}

/// A glyph and its position, not yet drawn.
struct PlacedGlyph {
    key: CacheKey,
    x: i32,
    y: i32,
    image: SwashImage,
}

fn rasterize(engine: &mut FontEngine, lines: &Buffer, style: &TextStyle) -> Option<TextBlock> {
    let (width, height) = extent(lines);
    let placed = place_glyphs(engine, lines, style, width);
    if placed.is_empty() {
        return None;
    }
    let edge_width = style.edge_width();
    let margin = edge_width.ceil() as i32;
    // Letters may reach beyond their lines, especially those of other fonts.
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
        TextBlock { size, edge: (style.edge > 0.0).then(layer), ink: layer(), pictures: Vec::new() };
    for glyph in placed {
        if let Some(edge) = &mut block.edge
            && let Some(outline) = engine.glyphs.get_outline_commands_uncached(&mut engine.system, glyph.key)
        {
            let origin = Point {
                x: (glyph.x + shift_x) as f32 + glyph.key.x_bin.as_float(),
                y: (glyph.y + shift_y) as f32 + glyph.key.y_bin.as_float(),
            };
            trace_outline(&outline, origin, style.size, |from, to| edge.add_line(from, to, edge_width));
        }
        let (left, top) = glyph.corner();
        let (left, top, width) = (left + shift_x, top + shift_y, glyph.image.placement.width as usize);
        match glyph.image.content {
            SwashContent::Color => {
                block.pictures.push(ColorGlyph { left, top, width, samples: glyph.image.data });
            }
            SwashContent::Mask | SwashContent::SubpixelMask => {
                block.ink.add_glyph(left, top, width, &glyph.image.data);
            }
        }
    }
    Some(block)
}

fn place_glyphs(engine: &mut FontEngine, lines: &Buffer, style: &TextStyle, width: f32) -> Vec<PlacedGlyph> {
    let mut placed = Vec::new();
    for run in lines.layout_runs() {
        let (left, right) = line_bounds(&run);
        let spare = width - (right - left);
        let indent = match style.align {
            Align::Left => 0.0,
            Align::Center => spare / 2.0,
            Align::Right => spare,
        };
        for glyph in run.glyphs {
            let at = glyph.physical((indent - left, run.line_y), 1.0);
            let image = engine.glyphs.get_image_uncached(&mut engine.system, at.cache_key);
            if let Some(image) = image.filter(|image| image.placement.width > 0 && !image.data.is_empty()) {
                placed.push(PlacedGlyph { key: at.cache_key, x: at.x, y: at.y, image });
            }
        }
    }
    placed
}

impl PlacedGlyph {
    fn corner(&self) -> (i32, i32) {
        (self.x + self.image.placement.left, self.y - self.image.placement.top)
    }
}

/// Calls `line` for every segment of an outline. The y axis of outlines points up.
fn trace_outline(outline: &[Command], origin: Point, size: f32, mut line: impl FnMut(Point, Point)) {
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
                // Converted to the equivalent cubic, so that there is only one kind of curve.
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
                Some((a, b)) => cubic_point(from, a, b, end, t),
            };
            let place_glyphs = |p: Point| Point { x: origin.x + p.x, y: origin.y - p.y };
            line(place_glyphs(at), place_glyphs(next));
            at = next;
        }
    }
}

fn cubic_point(from: Point, a: Point, b: Point, to: Point, t: f32) -> Point {
    let u = 1.0 - t;
    let mix = |from: f32, a: f32, b: f32, to: f32| {
        u * u * u * from + 3.0 * u * u * t * a + 3.0 * u * t * t * b + t * t * t * to
    };
    Point { x: mix(from.x, a.x, b.x, to.x), y: mix(from.y, a.y, b.y, to.y) }
}
