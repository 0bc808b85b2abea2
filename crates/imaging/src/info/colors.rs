//! The dominant colours of a picture and their common names.

use image::RgbaImage;

use crate::Color;
use crate::palette::{Swatch, choose_colors};

/// The most common colour first.
pub type Palette = Vec<NamedColor>;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NamedColor {
    pub color: Color,
    pub name: &'static str,
    /// Share of the visible pixels, 0 to 1.
    pub share: f64,
}

const MAX_NAMED_COLORS: usize = 5;
/// Candidates are merged afterwards, so that a small but strong colour is not averaged into its neighbours.
const MAX_CANDIDATES: usize = 24;
/// Two colours closer than this in Oklab look the same to people.
const MAX_SAME_COLOR_DISTANCE: f32 = 0.09;
/// Smaller shares are left out of the palette.
const MIN_SHARE: f64 = 0.01;

const NAMES: [(&str, [u8; 3]); 42] = [
    ("black", [0, 0, 0]),
    ("charcoal", [45, 45, 48]),
    ("dark gray", [84, 84, 84]),
    ("gray", [128, 128, 128]),
    ("silver", [180, 180, 182]),
    ("light gray", [215, 215, 215]),
    ("white", [252, 252, 252]),
    ("ivory", [250, 246, 228]),
    ("beige", [222, 206, 178]),
    ("tan", [198, 164, 124]),
    ("brown", [132, 84, 48]),
    ("dark brown", [70, 46, 30]),
    ("rust", [166, 72, 30]),
    ("maroon", [110, 18, 24]),
    ("dark red", [150, 10, 16]),
    ("red", [222, 28, 32]),
    ("coral", [250, 126, 100]),
    ("salmon", [240, 164, 144]),
    ("pink", [246, 186, 200]),
    ("hot pink", [236, 80, 150]),
    ("magenta", [210, 30, 190]),
    ("purple", [124, 40, 150]),
    ("dark purple", [66, 26, 86]),
    ("lavender", [196, 180, 228]),
    ("indigo", [66, 44, 150]),
    ("navy", [22, 30, 84]),
    ("dark blue", [30, 58, 130]),
    ("blue", [40, 84, 214]),
    ("steel blue", [88, 128, 166]),
    ("sky blue", [120, 182, 232]),
    ("light blue", [186, 216, 238]),
    ("cyan", [60, 214, 224]),
    ("teal", [20, 124, 126]),
    ("turquoise", [70, 204, 184]),
    ("mint", [176, 230, 200]),
    ("dark green", [24, 70, 34]),
    ("green", [46, 140, 56]),
    ("lime green", [124, 206, 50]),
    ("olive", [118, 118, 40]),
    ("yellow", [250, 222, 50]),
    ("gold", [212, 166, 40]),
    ("orange", [246, 140, 30]),
];

pub(super) fn measure_palette(pixels: &RgbaImage) -> Palette {
    let visible = pixels.pixels().filter(|p| p.0[3] >= 128).map(|p| [p.0[0], p.0[1], p.0[2]]);
    let mut families: Vec<(Swatch, [f32; 3])> = Vec::new();
    for swatch in choose_colors(visible, MAX_CANDIDATES) {
        let place = oklab(swatch.color);
        match families.iter_mut().find(|(_, other)| distance(place, *other) < MAX_SAME_COLOR_DISTANCE) {
            Some((family, _)) => family.pixels += swatch.pixels,
            None => families.push((swatch, place)),
        }
    }
    families.sort_by_key(|(swatch, _)| (std::cmp::Reverse(swatch.pixels), swatch.color));
    let all: u64 = families.iter().map(|(swatch, _)| swatch.pixels).sum();
    let named = families.iter().take(MAX_NAMED_COLORS).map(|(Swatch { color: [r, g, b], pixels }, place)| {
        NamedColor {
            color: Color::rgb(*r, *g, *b),
            name: name_color(*place),
            share: *pixels as f64 / all as f64,
        }
    });
    named.filter(|color| color.share >= MIN_SHARE).collect()
}

fn name_color(place: [f32; 3]) -> &'static str {
    let away = |color: &[u8; 3]| distance(place, oklab(*color));
    NAMES.iter().min_by(|(_, a), (_, b)| away(a).total_cmp(&away(b))).map_or("", |(name, _)| name)
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    // Hue and chroma decide the name of a colour more than lightness does.
    ((a[0] - b[0]).powi(2) + 2.5 * ((a[1] - b[1]).powi(2) + (a[2] - b[2]).powi(2))).sqrt()
}

/// Björn Ottosson's Oklab, in which distances match perception.
fn oklab(color: [u8; 3]) -> [f32; 3] {
    let [r, g, b] = color.map(|channel| {
        let v = f32::from(channel) / 255.0;
        if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
    });
    let l = (0.412_221_46 * r + 0.536_332_55 * g + 0.051_445_995 * b).cbrt();
    let m = (0.211_903_5 * r + 0.680_699_5 * g + 0.107_396_96 * b).cbrt();
    let s = (0.088_302_46 * r + 0.281_718_85 * g + 0.629_978_7 * b).cbrt();
    [
        0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s,
        1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_7 * s,
        0.025_904_037 * l + 0.782_771_77 * m - 0.808_675_77 * s,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_colours_get_their_plain_names() {
        for (wanted, color) in [
            ("red", [230, 20, 20]),
            ("blue", [30, 70, 230]),
            ("white", [255, 255, 255]),
            ("black", [4, 4, 4]),
            ("sky blue", [135, 190, 235]),
            ("green", [40, 150, 50]),
            ("orange", [255, 150, 20]),
        ] {
            assert_eq!(name_color(oklab(color)), wanted, "{color:?}");
        }
    }

    #[test]
    fn shares_follow_the_area_and_small_strong_colours_are_found() {
        let pixels = RgbaImage::from_fn(100, 100, |x, y| match (x, y) {
            (0..70, _) => image::Rgba([255, 255, 255, 255]),
            (_, 0..20) => image::Rgba([220, 30, 30, 255]),
            _ => image::Rgba([30, 60, 130, 255]),
        });
        let found = measure_palette(&pixels);
        let names: Vec<_> = found.iter().map(|color| color.name).collect();
        assert_eq!(names, ["white", "dark blue", "red"]);
        assert!((found[0].share - 0.7).abs() < 0.01 && (found[2].share - 0.06).abs() < 0.01);
        assert!(measure_palette(&RgbaImage::new(3, 3)).is_empty(), "nothing visible");
    }
}
