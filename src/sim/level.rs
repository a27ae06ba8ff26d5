//! Reference values of series: step functions of time.

use serde::{Deserialize, Serialize};

/// Reference value of a series over a span of steps: a horizontal line such as an entropy bound or a limit, or a factor that
/// converts the series. A value that changes is a sequence of levels with one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Level {
    /// Label of the line.
    pub name: String,
    /// Value, in the unit of the probe.
    pub value: f64,
    /// Step after which the level holds; 0 for a level that holds from the beginning.
    #[serde(skip_serializing_if = "is_zero")]
    pub from_step: u64,
    /// Last step for which the level holds; `None` if the level holds at present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_step: Option<u64>,
    /// Use of the value.
    #[serde(rename = "use", skip_serializing_if = "LevelUse::is_line")]
    pub used_as: LevelUse,
}

/// Use of a reference value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LevelUse {
    /// Horizontal line in charts of the series.
    #[default]
    Line,
    /// Factor by which a value in the unit of the probe is multiplied to get its value in the unit `name`.
    Factor,
    /// Factor in an exponent: a value `v` in the unit of the probe is `exp(factor * v)` in the unit `name`.
    Exponent,
    /// Number of items called `name`, a plural, that a step processes. An axis can count these items instead of steps.
    ItemsPerStep,
}

impl LevelUse {
    /// Whether the value is a line.
    pub fn is_line(&self) -> bool {
        *self == Self::Line
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(step: &u64) -> bool {
    *step == 0
}

/// Maximum number of levels kept per probe. Levels that no longer hold are dropped first, beginning with the oldest.
const MAX_KEPT: usize = 4096;

impl Level {
    /// Creates a level that holds from the beginning.
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Self { name: name.into(), value, ..Self::default() }
    }

    /// Creates a factor for another use than a line, which holds from the beginning.
    pub fn factor(used_as: LevelUse, name: impl Into<String>, value: f64) -> Self {
        Self { used_as, ..Self::new(name, value) }
    }

    /// Whether the level holds for a sample at a step.
    pub fn holds_at(&self, step: u64) -> bool {
        (step > self.from_step || self.from_step == 0) && self.to_step.is_none_or(|last| step <= last)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.value.to_bits() == other.value.to_bits() && self.used_as == other.used_as
    }

    /// Iterates over the levels that are lines.
    pub fn lines(levels: &[Self]) -> impl DoubleEndedIterator<Item = &Self> + Clone {
        levels.iter().filter(|level| level.used_as.is_line())
    }

    /// Returns the names of the lines, in the order of their first occurrence.
    pub fn names(levels: &[Self]) -> Vec<&str> {
        Self::names_of(levels, LevelUse::is_line)
    }

    /// Returns the names of the levels with a matching use, in the order of their first occurrence.
    pub fn names_of(levels: &[Self], is_wanted: impl Fn(&LevelUse) -> bool) -> Vec<&str> {
        let mut names: Vec<&str> = vec![];
        for level in levels.iter().filter(|level| is_wanted(&level.used_as)) {
            if !names.contains(&&*level.name) {
                names.push(&level.name);
            }
        }
        names
    }

    /// Returns the value of the level `name` for a sample at a step; `None` if no level with this name holds.
    pub fn value_at(levels: &[Self], name: &str, step: u64) -> Option<f64> {
        levels.iter().find(|level| level.name == name && level.holds_at(step)).map(|level| level.value)
    }

    /// Updates `known` with the levels `now` that hold after a step. Known levels of later steps are dropped, because
    /// the simulation was rewound.
    pub fn follow(known: &mut Vec<Self>, now: &[Self], step: u64) {
        known.retain(|level| level.from_step < step);
        for level in known.iter_mut().filter(|level| level.to_step.is_none_or(|last| last >= step)) {
            level.to_step = if now.iter().any(|new| new.is_same(level)) { None } else { Some(step) };
        }
        let is_known = |new: &Self, known: &[Self]| known.iter().any(|l| l.to_step.is_none() && l.is_same(new));
        for new in now.iter().filter(|new| new.to_step.is_none()) {
            if !is_known(new, known) {
                known.push(Self { from_step: step, ..new.clone() });
            }
        }
        let mut extra = known.len().saturating_sub(MAX_KEPT);
        known.retain(|level| {
            let is_kept = extra == 0 || level.to_step.is_none();
            extra -= usize::from(!is_kept);
            is_kept
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(values: &[(&str, f64)]) -> Vec<Level> {
        values.iter().map(|(name, value)| Level::new(*name, *value)).collect()
    }

    fn series(levels: &[Level], name: &str, steps: impl IntoIterator<Item = u64>) -> Vec<Option<f64>> {
        steps.into_iter().map(|step| Level::value_at(levels, name, step)).collect()
    }

    #[test]
    fn levels_are_step_functions() {
        let mut known = now(&[("uniform", 5.5), ("floor", 1.0)]);
        Level::follow(&mut known, &now(&[("uniform", 5.5), ("floor", 0.9)]), 10);
        Level::follow(&mut known, &now(&[("uniform", 5.5), ("floor", 0.9)]), 15); // No level changed.
        Level::follow(&mut known, &now(&[("uniform", 5.5)]), 20);
        Level::follow(&mut known, &now(&[("uniform", 5.5), ("floor", 1.0)]), 30);
        assert_eq!(known.len(), 4, "{known:?}");
        assert_eq!(Level::names(&known), ["uniform", "floor"]);
        assert_eq!(series(&known, "uniform", [0, 10, 11, 99]), [Some(5.5); 4]);
        // The sample at the step of a change still belongs to the former level.
        let found = series(&known, "floor", [0, 10, 11, 20, 21, 30, 31]);
        assert_eq!(found, [Some(1.0), Some(1.0), Some(0.9), Some(0.9), None, None, Some(1.0)]);
        let text = ron::to_string(&known).expect("text");
        assert_eq!(ron::from_str::<Vec<Level>>(&text).expect("levels"), known);
    }

    #[test]
    fn levels_of_older_files_hold_from_the_beginning() {
        let level: Level = ron::from_str(r#"(name: "uniform", value: 5.5)"#).expect("a level");
        assert_eq!(level, Level::new("uniform", 5.5));
        assert_eq!(ron::to_string(&level).expect("text"), r#"(name:"uniform",value:5.5)"#);
    }

    #[test]
    fn a_rewound_simulation_forgets_later_levels() {
        let mut known = now(&[("floor", 1.0)]);
        Level::follow(&mut known, &now(&[("floor", 0.9)]), 10);
        Level::follow(&mut known, &now(&[("floor", 0.8)]), 20);
        let all = known.clone();
        for (step, value, expected) in [
            (0, 1.0, [Some(1.0), Some(1.0), Some(1.0)]),
            (5, 1.0, [Some(1.0), Some(1.0), Some(1.0)]),
            (10, 0.9, [Some(1.0), Some(0.9), Some(0.9)]),
            (15, 0.9, [Some(1.0), Some(0.9), Some(0.9)]),
            (20, 0.8, [Some(1.0), Some(0.9), Some(0.8)]),
        ] {
            known.clone_from(&all);
            Level::follow(&mut known, &now(&[("floor", value)]), step);
            assert_eq!(series(&known, "floor", [10, 20, 30]), expected, "back to {step}: {known:?}");
        }
    }

    #[test]
    fn the_newest_levels_are_kept() {
        let mut known = now(&[("uniform", 5.5), ("floor", 0.0)]);
        for step in 1..2 * MAX_KEPT as u64 {
            Level::follow(&mut known, &now(&[("uniform", 5.5), ("floor", step as f64)]), step);
        }
        let last = 2 * MAX_KEPT as u64;
        assert_eq!(known.len(), MAX_KEPT);
        assert_eq!(Level::value_at(&known, "uniform", 1), Some(5.5));
        assert_eq!(
            series(&known, "floor", [1, last - 1, last]),
            [None, Some((last - 2) as f64), Some((last - 1) as f64)]
        );
    }
}
