//! Which of several findings is meant: "the left one", "the biggest", "the second".

use std::fmt;
use std::str::FromStr;

use imaging::Region;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Which {
    /// All of them.
    #[default]
    Any,
    Left,
    Right,
    Top,
    Bottom,
    Middle,
    Biggest,
    Smallest,
    /// Counted from 1 in the order of the findings; negative numbers count from the end.
    Nth(i32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("which must be left, right, top, bottom, middle, biggest, smallest or a number from 1")]
pub struct UnknownWhich;

impl FromStr for Which {
    type Err = UnknownWhich;

    fn from_str(text: &str) -> Result<Self, UnknownWhich> {
        Ok(match text {
            "any" => Self::Any,
            "left" => Self::Left,
            "right" => Self::Right,
            "top" => Self::Top,
            "bottom" => Self::Bottom,
            "middle" => Self::Middle,
            "biggest" => Self::Biggest,
            "smallest" => Self::Smallest,
            number => match number.parse() {
                Ok(n) if n != 0 => Self::Nth(n),
                _ => return Err(UnknownWhich),
            },
        })
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Left => f.write_str("left"),
            Self::Right => f.write_str("right"),
            Self::Top => f.write_str("top"),
            Self::Bottom => f.write_str("bottom"),
            Self::Middle => f.write_str("middle"),
            Self::Biggest => f.write_str("biggest"),
            Self::Smallest => f.write_str("smallest"),
            Self::Nth(n) => write!(f, "{n}"),
        }
    }
}

/// Whether words mean one thing or several: "the dog on the left", "the dogs on the left".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    One,
    Several,
}

/// The indices of the regions that are meant. A side means the nearest one, or all of that half if several are meant.
pub fn choose(regions: &[Region], which: Which, number: Number) -> Vec<usize> {
    let x = |region: &Region| (region.left() + region.right()) / 2.0;
    let y = |region: &Region| (region.top() + region.bottom()) / 2.0;
    let area = |region: &Region| (region.right() - region.left()) * (region.bottom() - region.top());
    let all = 0..regions.len();
    let least = |measure: &dyn Fn(&Region) -> f64| {
        let least =
            all.clone().min_by(|one, other| measure(&regions[*one]).total_cmp(&measure(&regions[*other])));
        least.into_iter().collect::<Vec<_>>()
    };
    let half = |inside: &dyn Fn(&Region) -> bool| all.clone().filter(|at| inside(&regions[*at])).collect();
    match (which, number) {
        (Which::Any, _) => all.collect(),
        (Which::Left, Number::One) => least(&x),
        (Which::Right, Number::One) => least(&|region| -x(region)),
        (Which::Top, Number::One) => least(&y),
        (Which::Bottom, Number::One) => least(&|region| -y(region)),
        (Which::Middle, Number::One) => least(&|region| (x(region) - 500.0).abs()),
        (Which::Left, Number::Several) => half(&|region| x(region) < 500.0),
        (Which::Right, Number::Several) => half(&|region| x(region) >= 500.0),
        (Which::Top, Number::Several) => half(&|region| y(region) < 500.0),
        (Which::Bottom, Number::Several) => half(&|region| y(region) >= 500.0),
        (Which::Middle, Number::Several) => half(&|region| (250.0..750.0).contains(&x(region))),
        (Which::Biggest, _) => least(&|region| -area(region)),
        (Which::Smallest, _) => least(&area),
        (Which::Nth(n), _) => {
            let from_end = |n: i32| regions.len().checked_sub(n.unsigned_abs() as usize);
            let index = if n < 0 { from_end(n) } else { (n as usize).checked_sub(1) };
            index.filter(|index| *index < regions.len()).into_iter().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_one_of_several_choose_it() {
        let region = |left: f64, side: f64| Region::new(left, 100.0, left + side, 100.0 + side).unwrap();
        let regions = [region(400.0, 50.0), region(0.0, 100.0), region(800.0, 80.0)];
        for (which, index) in
            [("left", 1), ("right", 2), ("middle", 0), ("biggest", 1), ("smallest", 0), ("2", 1), ("-1", 2)]
        {
            let which: Which = which.parse().unwrap();
            assert_eq!(choose(&regions, which, Number::One), [index], "{which}");
            assert_eq!(which.to_string().parse(), Ok(which));
        }
        assert_eq!(choose(&regions, Which::Left, Number::Several), [0, 1]);
        assert_eq!(choose(&regions, Which::Nth(4), Number::One), [0_usize; 0]);
        assert!("0".parse::<Which>().is_err());
    }
}
