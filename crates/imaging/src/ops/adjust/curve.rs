//! The tone curve of an adjustment: for each brightness the new brightness and a factor for saturation. All channels
//! move towards or away from gray alike, which keeps hues.

use super::{Adjustment, gray_under_light};

const STEPS: usize = 1024;
/// Limit for the saturation factor. Deep shadows hold more noise than colour, and lifting them further would show it.
const MAX_SATURATION_FACTOR: f32 = 6.0;
/// Share of pixels ignored at either end of the levels: dead pixels, glints, edges of black borders.
const OUTLIER_SHARE: f64 = 0.004;
/// A picture with a smaller range is meant to be flat.
const MIN_RANGE: f32 = 0.05;
/// Levels never stretch more than this, or fog would turn into noise.
const MAX_STRETCH: f32 = 3.5;

/// Brightness that becomes black, and brightness that becomes white.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Levels {
    black: f32,
    white: f32,
}

impl Levels {
    /// From a histogram of brightness. `None` if levels would not improve the picture.
    pub(super) fn from_histogram(shades: &[u64]) -> Option<Self> {
        let all: u64 = shades.iter().sum();
        let outliers = (all as f64 * OUTLIER_SHARE) as u64;
        let last = shades.len().checked_sub(1)?;
        let low = find_beyond(outliers, shades.iter())?;
        let high = last - find_beyond(outliers, shades.iter().rev())?;
        let shade = |index: usize| index as f32 / last as f32;
        let (black, white) = (shade(low), shade(high));
        let range = white - black;
        if !(MIN_RANGE..=0.995).contains(&range) {
            return None;
        }
        // The stretch is limited: keep some of the unused range at both ends, in the original proportion.
        let missing = (1.0 / MAX_STRETCH - range).max(0.0);
        let free = black + 1.0 - white;
        let (below, above) = (missing * black / free, missing * (1.0 - white) / free);
        Some(Self { black: black - below, white: white + above })
    }
}

fn find_beyond<'a>(outliers: u64, mut counts: impl Iterator<Item = &'a u64>) -> Option<usize> {
    let mut seen = 0;
    counts.position(|count| {
        seen += count;
        seen > outliers
    })
}

pub(super) struct Curve(Vec<(f32, f32)>);

impl Curve {
    pub(super) fn new(adjustment: &Adjustment, levels: Option<Levels>) -> Self {
        let stages = CurveStages::new(adjustment, levels);
        Self((0..=STEPS + 1).map(|step| stages.at(step as f32 / STEPS as f32)).collect())
    }

    /// The new brightness, and the saturation factor. Interpolates between the steps, so that 16-bit pictures stay
    /// smooth.
    pub(super) fn at(&self, brightness: f32) -> (f32, f32) {
        let place = brightness.clamp(0.0, 1.0) * STEPS as f32;
        let (step, rest) = (place as usize, place.fract());
        match self.0.get(step..step + 2) {
            Some([low, high]) => (low.0 + (high.0 - low.0) * rest, low.1 + (high.1 - low.1) * rest),
            _ => (brightness, 1.0),
        }
    }
}

/// The amounts of an adjustment as fractions of 1.
struct CurveStages {
    levels: Option<Levels>,
    stops: f32,
    shadows: f32,
    highlights: f32,
    /// Slope of the curve at black.
    lift: f32,
    contrast: f32,
    saturation: f32,
    /// Like `lift`; compensates for the brightness that warmer light removes.
    relight: f32,
}

impl CurveStages {
    fn new(adjustment: &Adjustment, levels: Option<Levels>) -> Self {
        let part = |amount: f64| (amount / 100.0) as f32;
        let kept = gray_under_light(adjustment.warmth);
        Self {
            levels,
            stops: part(adjustment.exposure) * 2.0,
            shadows: part(adjustment.shadows),
            highlights: part(adjustment.highlights),
            lift: (part(adjustment.brightness) * 2.0).exp2(),
            contrast: part(adjustment.contrast),
            saturation: 1.0 + part(adjustment.saturation),
            // Restores the brightness of middle gray.
            relight: (2.0 - kept) / kept,
        }
    }

    fn at(&self, brightness: f32) -> (f32, f32) {
        let brightness = brightness.min(1.0);
        let mut now = brightness;
        let mut saturation_factor = self.saturation;
        if self.relight != 1.0 {
            let next = lifted(now, self.relight);
            saturation_factor *= ratio(now, next);
            now = next;
        }
        if let Some(Levels { black, white }) = self.levels {
            now = ((now - black) / (white - black)).clamp(0.0, 1.0);
            // Haze lies on all channels alike, so removing it increases saturation.
            saturation_factor /= white - black;
        }
        for next in [exposed, shadowed, highlit, brightened] {
            let next = next(self, now);
            saturation_factor *= ratio(now, next);
            now = next;
        }
        if self.contrast != 0.0 {
            let next = contrasted(now, self.contrast);
            let step = 1.0 / 512.0;
            let slope = (contrasted((now + step).min(1.0), self.contrast)
                - contrasted((now - step).max(0.0), self.contrast))
                / ((now + step).min(1.0) - (now - step).max(0.0));
            // Curves per channel would follow the slope, which is garish; brightness alone looks dull.
            let vivid = if self.contrast < 0.0 { slope } else { (slope * ratio(now, next)).max(0.0).sqrt() };
            saturation_factor *= vivid;
            now = next;
        }
        (now, saturation_factor.min(MAX_SATURATION_FACTOR * self.saturation))
    }
}

/// The change of saturation when all channels are scaled alike, as by light.
fn ratio(before: f32, after: f32) -> f32 {
    (after + 1e-3) / (before + 1e-3)
}

/// Doubles the light for each stop. Highlights roll off towards white, as on film, instead of clipping.
fn exposed(stages: &CurveStages, brightness: f32) -> f32 {
    if stages.stops == 0.0 {
        return brightness;
    }
    let (light, factor) = (linear(brightness), stages.stops.exp2());
    encoded(if factor > 1.0 { 1.0 - (1.0 - light).max(0.0).powf(factor) } else { light * factor })
}

fn shadowed(stages: &CurveStages, now: f32) -> f32 {
    let amount = stages.shadows * if stages.shadows > 0.0 { 2.2 } else { 0.9 };
    now + amount * now * (1.0 - now).powi(3)
}

fn highlit(stages: &CurveStages, now: f32) -> f32 {
    let amount = stages.highlights * if stages.highlights < 0.0 { 2.6 } else { 0.9 };
    now + amount * (1.0 - now) * now.powi(3)
}

fn brightened(stages: &CurveStages, now: f32) -> f32 {
    lifted(now, stages.lift)
}

/// Brightens or darkens the middle; black and white stay. The slope at black is `lift`.
fn lifted(now: f32, lift: f32) -> f32 {
    now * lift / (1.0 + (lift - 1.0) * now)
}

fn contrasted(now: f32, amount: f32) -> f32 {
    if amount < 0.0 {
        return 0.5 + (now - 0.5) * (1.0 + 0.75 * amount);
    }
    let power = (1.2 * amount).exp2();
    if now < 0.5 { 0.5 * (2.0 * now).powf(power) } else { 1.0 - 0.5 * (2.0 - 2.0 * now).max(0.0).powf(power) }
}

fn linear(value: f32) -> f32 {
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

fn encoded(light: f32) -> f32 {
    if light <= 0.003_130_8 { light * 12.92 } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_is_monotonic() {
        for amount in [-100.0, -60.0, -20.0, 20.0, 60.0, 100.0] {
            let none = Adjustment::default();
            for adjustment in [
                Adjustment { brightness: amount, ..none },
                Adjustment { contrast: amount, ..none },
                Adjustment { exposure: amount, ..none },
                Adjustment { shadows: amount, ..none },
                Adjustment { highlights: amount, ..none },
                Adjustment { shadows: amount, highlights: -amount, contrast: amount, ..none },
            ] {
                let curve = Curve::new(&adjustment, None);
                let shades: Vec<_> = (0..=1000).map(|step| curve.at(step as f32 / 1000.0).0).collect();
                assert!(shades.is_sorted(), "{adjustment:?}");
                assert!(shades[0] >= 0.0 && shades[1000] <= 1.0, "{adjustment:?}");
            }
        }
    }

    #[test]
    fn a_default_adjustment_changes_nothing() {
        let curve = Curve::new(&Adjustment::default(), None);
        for step in 0..=65_535 {
            let brightness = step as f32 / 65_535.0;
            let (now, saturation_factor) = curve.at(brightness);
            assert!((now - brightness).abs() < 0.2 / 65_535.0 && (saturation_factor - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn one_stop_is_twice_the_light() {
        let darker = Curve::new(&Adjustment { exposure: -50.0, ..Default::default() }, None);
        for brightness in [0.2, 0.5, 0.8, 1.0] {
            assert!((linear(darker.at(brightness).0) * 2.0 - linear(brightness)).abs() < 0.002);
        }
        let brighter = Curve::new(&Adjustment { exposure: 50.0, ..Default::default() }, None);
        assert!((linear(brighter.at(0.1).0) / linear(0.1) - 2.0).abs() < 0.03);
        assert!(brighter.at(1.0).0 > 0.9999);
    }

    #[test]
    fn levels_ignore_outliers_and_leave_flat_pictures_alone() {
        let shades = |of: &[(usize, u64)]| {
            let mut counts = vec![0; 1001];
            of.iter().for_each(|(shade, count)| counts[*shade] = *count);
            counts
        };
        let usual =
            Levels::from_histogram(&shades(&[(0, 1), (200, 1000), (500, 1000), (700, 1000), (1000, 2)]))
                .unwrap();
        assert_eq!(usual, Levels { black: 0.2, white: 0.7 });
        assert_eq!(Levels::from_histogram(&shades(&[(500, 1000)])), None, "one shade");
        assert_eq!(Levels::from_histogram(&shades(&[(500, 1000), (520, 1000)])), None, "nearly one");
        assert_eq!(Levels::from_histogram(&shades(&[(0, 1000), (1000, 1000)])), None, "full already");
        assert_eq!(Levels::from_histogram(&shades(&[])), None, "nothing to be seen");
        assert_eq!(Levels::from_histogram(&[]), None);
        let fog = Levels::from_histogram(&shades(&[(400, 1000), (500, 1000)])).unwrap();
        assert!((1.0 / (fog.white - fog.black) - MAX_STRETCH).abs() < 0.01, "{fog:?}");
        assert!(fog.black > 0.0 && fog.white < 1.0);
    }
}
