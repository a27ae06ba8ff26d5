//! Element sets: the neurons, experts or nuclei to which fields, rasters and tables refer.

use crate::{num::digits::counted, params::title};

/// Set of elements with identifiers, names, positions and categories. The large set is immutable and shared by `Arc`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElementSet {
    /// Stable plural name (`neurons`) to which fields and spikes refer.
    pub name: &'static str,
    /// Plural noun of the elements for display; empty if it is the name ([`ElementSet::noun`]).
    pub display_noun: &'static str,
    /// Number of elements.
    pub len: u32,
    /// Public identifiers (FlyWire root ids); empty if the elements only have an index.
    pub ids: Vec<u64>,
    /// Whether the elements are slots that individuals occupy one after another. The simulation then publishes the ids of
    /// the individuals ([`Simulation::individuals`](super::Simulation::individuals)), to which actions and selections
    /// refer.
    pub are_slots: bool,
    /// Names, one per element (possibly empty strings); empty if the elements have none.
    pub names: Vec<String>,
    /// Positions in µm, or without unit in a diagram; empty if the elements have no positions.
    pub positions: Vec<[f32; 3]>,
    /// Fields that position the elements during the simulation; `None` if positions are fixed.
    pub motion: Option<MotionFields>,
    /// Field whose values determine the drawn sizes of the elements; `None` if all elements have one size.
    pub size: Option<&'static str>,
    /// Whether the positions are a diagram, whose distances have no meaning, so that no scale bar is shown.
    pub is_diagram: bool,
    /// Category columns: class, side, neurotransmitter…
    pub columns: Vec<Column>,
}

/// Moving diagram: names of the fields over the set that position its elements. An element with a NaN value is not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MotionFields {
    /// Positions on a cylinder of radius 1.
    Cylinder {
        /// Field of angles, radians.
        angle: &'static str,
        /// Field with values from 0 to 1.
        height: &'static str,
    },
    /// Coordinate fields, drawn to one scale if they have one unit, otherwise each to its own range.
    Axes([&'static str; 3]),
}

/// Category of every element.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Column {
    /// Column name: `super_class`, `side`, `nt`…
    pub name: String,
    /// Categories in display order. An element without a category has code 0 and label "".
    pub labels: Vec<String>,
    /// Index into `labels` per element.
    pub codes: Vec<u16>,
}

/// Number of categories that a column distinguishes.
const MAX_CATEGORIES: usize = 65_535;

/// Label of the categories that a column does not distinguish.
pub const OTHERS: &str = "(other categories)";

impl Column {
    /// Creates a column from one string per element. The empty string is the first category if it occurs; the other
    /// categories are in order of decreasing size. Categories beyond the limit of 65,535 are combined into the last one,
    /// [`OTHERS`].
    pub fn from_texts<S: AsRef<str>>(name: &str, texts: &[S]) -> Self {
        let mut counts = std::collections::BTreeMap::<&str, usize>::new();
        for t in texts {
            *counts.entry(t.as_ref()).or_default() += 1;
        }
        let mut order: Vec<(&str, usize)> = counts.into_iter().collect();
        order.sort_by(|a, b| a.0.is_empty().cmp(&b.0.is_empty()).reverse().then(b.1.cmp(&a.1)).then(a.0.cmp(b.0)));
        if order.len() > MAX_CATEGORIES {
            order.truncate(MAX_CATEGORIES - 1);
            order.push((OTHERS, 0));
        }
        let code: std::collections::HashMap<&str, u16> =
            order.iter().enumerate().map(|(i, (t, _))| (*t, i as u16)).collect();
        let last = order.len().saturating_sub(1) as u16;
        let codes = texts.iter().map(|t| code.get(t.as_ref()).copied().unwrap_or(last)).collect();
        Self { name: name.to_owned(), labels: order.iter().map(|(t, _)| (*t).to_owned()).collect(), codes }
    }

    /// Returns the category of an element; empty if the element has none.
    pub fn label(&self, element: u32) -> &str {
        self.codes.get(element as usize).and_then(|c| self.labels.get(usize::from(*c))).map_or("", String::as_str)
    }

    /// Returns the number of elements per category, in the order of `labels`.
    pub fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.labels.len()];
        for c in &self.codes {
            counts[usize::from(*c)] += 1;
        }
        counts
    }
}

impl ElementSet {
    /// Returns the column with the name `name`; `None` if there is no such column.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// Returns the plural noun of the elements.
    pub fn noun(&self) -> std::borrow::Cow<'static, str> {
        if self.display_noun.is_empty() { title::spaced(self.name).into() } else { self.display_noun.into() }
    }

    /// Returns the noun of one element.
    pub fn singular(&self) -> String {
        title::singular(&self.noun())
    }

    /// Whether the elements can be drawn in space, because they have positions or fields that position them.
    pub fn has_places(&self) -> bool {
        !self.positions.is_empty() || self.motion.is_some()
    }

    /// Returns the position of an element, µm; `None` if the element has no position or only one in a diagram.
    pub fn position_um(&self, element: u32) -> Option<[f32; 3]> {
        self.positions.get(element as usize).filter(|_| !self.is_diagram).copied()
    }

    /// Returns the memory in use, bytes.
    pub fn n_bytes(&self) -> u64 {
        let names: usize = self.names.iter().map(|n| n.capacity() + size_of::<String>()).sum();
        let codes: usize = self.columns.iter().map(|c| c.codes.len() * 2).sum();
        (names + codes + self.ids.len() * 8 + self.positions.len() * 12) as u64
    }

    /// Finds the element with the given name, id or index (`#17`).
    ///
    /// # Errors
    /// Fails with a sentence if there is no such element, or if several elements have the name.
    pub fn find(&self, text: &str) -> Result<u32, String> {
        let text = text.trim();
        let (number, index) = (text.parse::<u64>().ok(), text.strip_prefix('#').and_then(|n| n.parse::<u32>().ok()));
        if let Some(at) = number.and_then(|id| self.ids.iter().position(|i| *i == id)) {
            return Ok(at as u32);
        }
        let named: Vec<u32> = (0..).zip(&self.names).filter(|(_, name)| *name == text).map(|(e, _)| e).collect();
        match named[..] {
            [one] => return Ok(one),
            [first, second, ..] => {
                let ids = [first, second].map(|e| self.ids.get(e as usize).map_or(u64::from(e), |id| *id));
                let n = named.len();
                return Err(format!("{n} {} are named `{text}`: {}, {}…; give an id", self.name, ids[0], ids[1]));
            }
            [] => {}
        }
        let index = index.or_else(|| number.and_then(|n| u32::try_from(n).ok()));
        match index {
            Some(index) if index < self.len => Ok(index),
            Some(index) => {
                let there = counted(self.len, &self.singular(), &self.noun());
                Err(format!("no {} has the id or the index {index}; there are {there}", self.singular()))
            }
            None => Err(format!("no {} is named `{text}`, and it is neither an id nor an index", self.singular())),
        }
    }

    /// Returns the display text of an element: its name, id or index, whichever exists first.
    pub fn label(&self, element: u32) -> String {
        let i = element as usize;
        match (self.names.get(i).filter(|n| !n.is_empty()), self.ids.get(i)) {
            (Some(name), _) => name.clone(),
            (None, Some(id)) => id.to_string(),
            (None, None) => format!("#{element}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_beyond_the_limit_are_combined_into_the_last_one() {
        let texts: Vec<String> = (0..70_000).map(|i| format!("{i:05}")).collect();
        let column = Column::from_texts("type", &texts);
        assert_eq!(column.labels.len(), MAX_CATEGORIES);
        assert_eq!((column.label(0), column.label(65_533), column.label(69_999)), ("00000", "65533", OTHERS));
        assert_eq!(column.counts().last(), Some(&(70_000 - 65_534)));
    }

    #[test]
    fn an_element_is_found_by_its_name_its_id_or_its_index() {
        let names = ["DNa02_l", "", "PN", "PN"].map(str::to_owned).to_vec();
        let set = ElementSet { name: "neurons", len: 4, names, ids: vec![70, 71, 72, 2], ..ElementSet::default() };
        let found = ["DNa02_l", "71", "2", "#2", "3"].map(|text| set.find(text));
        assert_eq!(found, [Ok(0), Ok(1), Ok(3), Ok(2), Ok(3)], "an id comes before an index");
        assert!(set.find("PN").unwrap_err().contains("2 neurons are named `PN`: 72, 2"));
        assert!(set.find("9").unwrap_err().contains("no neuron has the id or the index 9; there are 4 neurons"));
        assert!(set.find("DNa02 l").unwrap_err().contains("no neuron is named `DNa02 l`"));
    }
}
