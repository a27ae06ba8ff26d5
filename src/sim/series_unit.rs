//! Conversion of the values of a series to other units, and of steps to items such as tokens. The factors are declared with the
//! reference values of the series, so that they are recorded and follow changes.

use super::{Level, LevelUse};

/// Unit to which the values of a series are converted.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesUnit<'a> {
    /// Factors with the steps for which they hold; empty for the unit of the probe.
    factors: Vec<&'a Level>,
}

impl<'a> SeriesUnit<'a> {
    /// The unit of the probe.
    pub const OWN: Self = Self { factors: vec![] };

    /// Returns the names of the units to which a series with these levels can be converted.
    pub fn names(levels: &[Level]) -> Vec<&str> {
        Level::names_of(levels, |used_as| matches!(used_as, LevelUse::Factor | LevelUse::Exponent))
    }

    /// Returns the unit with the name `name`; the unit of the probe if the levels do not declare the name.
    pub fn of(levels: &'a [Level], name: &str) -> Self {
        let is_unit = |level: &&Level| matches!(level.used_as, LevelUse::Factor | LevelUse::Exponent);
        Self { factors: levels.iter().filter(is_unit).filter(|level| level.name == name).collect() }
    }

    /// Whether this is the unit of the probe.
    pub fn is_own(&self) -> bool {
        self.factors.is_empty()
    }

    /// Converts a value of a sample at a step. The conversion preserves the order of values of one step.
    pub fn convert(&self, value: f64, step: f64) -> f64 {
        let at = |level: &&&Level| level.holds_at(step.max(0.0).ceil() as u64);
        let Some(factor) = self.factors.iter().find(at).or(self.factors.last()) else { return value };
        let product = factor.value * value;
        if factor.used_as == LevelUse::Exponent { product.exp() } else { product }
    }

    /// Returns the lines of a series in this unit. A line that holds at present has its value at step `now`.
    pub fn lines(&self, levels: &[Level], now: u64) -> Vec<Level> {
        let convert = |level: &Level| {
            let step = level.to_step.unwrap_or(now.max(level.from_step + 1));
            Level { value: self.convert(level.value, step as f64), ..level.clone() }
        };
        Level::lines(levels).map(convert).collect()
    }
}

/// Returns the plural name of the items that steps process; `None` if the levels declare no items.
pub fn items_name(levels: &[Level]) -> Option<&str> {
    levels.iter().find(|level| level.used_as == LevelUse::ItemsPerStep && level.value > 0.0).map(|level| &*level.name)
}

/// Returns the total number of items that the first `step` steps process.
pub fn items_until(levels: &[Level], step: u64) -> f64 {
    let of_part = |level: &Level| {
        let end = level.to_step.map_or(step, |last| last.min(step));
        level.value * end.saturating_sub(level.from_step) as f64
    };
    let name = items_name(levels).unwrap_or_default();
    let parts = levels.iter().filter(|level| level.used_as == LevelUse::ItemsPerStep && level.name == name);
    parts.map(of_part).sum()
}

/// Returns points of step and total number of items, ascending from step 0. Between the points the number is linear; after the
/// last point it continues. Empty if the levels declare no items.
pub fn item_counts(levels: &[Level]) -> Vec<(f64, f64)> {
    if items_name(levels).is_none() {
        return vec![];
    }
    let changes = levels.iter().filter(|level| level.used_as == LevelUse::ItemsPerStep).map(|level| level.from_step);
    let mut steps: Vec<u64> = changes.chain([0]).collect();
    steps.sort_unstable();
    steps.dedup();
    // The last part continues, so that any later point determines its slope.
    steps.extend(steps.last().map(|last| last + 1));
    steps.into_iter().map(|step| (step as f64, items_until(levels, step))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(used_as: LevelUse, name: &str, values: [(f64, u64, Option<u64>); 2]) -> Vec<Level> {
        values
            .map(|(value, from_step, to_step)| Level { from_step, to_step, ..Level::factor(used_as, name, value) })
            .to_vec()
    }

    #[test]
    fn values_are_converted_with_the_factor_of_their_step() {
        let mut levels = spans(LevelUse::Factor, "bits per byte", [(0.5, 0, Some(100)), (0.25, 100, None)]);
        levels.push(Level::factor(LevelUse::Exponent, "perplexity", 1.0));
        levels.push(Level::new("uniform", 5.5));
        assert_eq!(SeriesUnit::names(&levels), ["bits per byte", "perplexity"]);
        assert_eq!(Level::names(&levels), ["uniform"]);
        let bits = SeriesUnit::of(&levels, "bits per byte");
        assert_eq!([1.0, 100.0, 100.5, 101.0, 1e9].map(|step| bits.convert(4.0, step)), [2.0, 2.0, 1.0, 1.0, 1.0]);
        let lines: Vec<f64> = bits.lines(&levels, 50).iter().map(|level| level.value).collect();
        assert_eq!(lines, [2.75], "the factors are no lines");
        let perplexity = SeriesUnit::of(&levels, "perplexity").convert(2.0, 7.0);
        assert!((perplexity - 2.0_f64.exp()).abs() < 1e-12);
        for own in [SeriesUnit::of(&levels, ""), SeriesUnit::of(&levels, "uniform"), SeriesUnit::OWN] {
            assert!(own.is_own() && own.convert(3.5, 1.0) == 3.5);
        }
    }

    #[test]
    fn items_are_counted_over_changes_of_the_number_per_step() {
        assert_eq!(item_counts(&[Level::new("tokens", 4.0)]), [], "a line");
        let levels = spans(LevelUse::ItemsPerStep, "tokens", [(512.0, 0, Some(100)), (1024.0, 100, None)]);
        assert_eq!(item_counts(&levels), [(0.0, 0.0), (100.0, 51_200.0), (101.0, 52_224.0)]);
        assert_eq!((items_name(&levels), items_until(&levels, 150)), (Some("tokens"), 102_400.0));
    }
}
