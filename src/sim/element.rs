//! Element sets: neurons, experts, nuclei. Fields, rasters and tables are over a set.

/// A set of elements with identifiers, names, positions and categories. Large and immutable: shared by `Arc`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ElementSet {
    /// Stable plural name (`neurons`); fields and spikes refer to it.
    pub name: &'static str,
    /// Number of elements.
    pub len: u32,
    /// Public identifiers (FlyWire root ids); empty when elements only have an index.
    pub ids: Vec<u64>,
    /// The elements are slots that individuals occupy one after another; the simulation knows the ids of those
    /// ([`Simulation::individuals`](super::Simulation::individuals)), and actions and selections name these.
    pub are_slots: bool,
    /// Names: empty, or one per element (which may be an empty string).
    pub names: Vec<String>,
    /// Positions in µm, or without a unit in a diagram; empty when the elements have none.
    pub positions: Vec<[f32; 3]>,
    /// Fields that place the elements while the simulation runs; `None` when positions are fixed.
    pub motion: Option<MotionFields>,
    /// Field whose values are the sizes of the elements in a picture; `None` when all have one size.
    pub size: Option<&'static str>,
    /// The positions are a diagram: distances have no meaning and no scale bar is shown.
    pub is_diagram: bool,
    /// Categories: class, side, neurotransmitter…
    pub columns: Vec<Column>,
}

/// A moving diagram: names of fields over the set that place its elements. An element without a value is not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MotionFields {
    /// On a cylinder of radius 1.
    Cylinder {
        /// A field of angles, radians.
        angle: &'static str,
        /// A field with values from 0 to 1.
        height: &'static str,
    },
    /// Coordinates: to one scale if they have one unit, else each to its own range.
    Axes([&'static str; 3]),
}

/// One category per element.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Column {
    /// `super_class`, `side`, `nt`…
    pub name: String,
    /// The categories, in display order. An element without a category has code 0 and label "".
    pub labels: Vec<String>,
    /// One code per element: index into `labels`.
    pub codes: Vec<u16>,
}

impl Column {
    /// From one text per element. Categories are in order of decreasing size, at most 65,535 of them.
    pub fn from_texts<S: AsRef<str>>(name: &str, texts: &[S]) -> Self {
        let mut counts = std::collections::BTreeMap::<&str, usize>::new();
        for t in texts {
            *counts.entry(t.as_ref()).or_default() += 1;
        }
        let mut order: Vec<(&str, usize)> = counts.into_iter().collect();
        order.sort_by(|a, b| a.0.is_empty().cmp(&b.0.is_empty()).reverse().then(b.1.cmp(&a.1)).then(a.0.cmp(b.0)));
        order.truncate(usize::from(u16::MAX));
        let code: std::collections::HashMap<&str, u16> =
            order.iter().enumerate().map(|(i, (t, _))| (*t, i as u16)).collect();
        let codes = texts.iter().map(|t| code.get(t.as_ref()).copied().unwrap_or(0)).collect();
        Self { name: name.to_owned(), labels: order.iter().map(|(t, _)| (*t).to_owned()).collect(), codes }
    }

    /// The label of an element.
    pub fn label(&self, element: u32) -> &str {
        self.codes.get(element as usize).and_then(|c| self.labels.get(usize::from(*c))).map_or("", String::as_str)
    }

    /// Elements per category, in the order of `labels`.
    pub fn counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.labels.len()];
        for c in &self.codes {
            counts[usize::from(*c)] += 1;
        }
        counts
    }
}

impl ElementSet {
    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// Whether its elements can be drawn in space: at positions, or where fields place them.
    pub fn has_places(&self) -> bool {
        !self.positions.is_empty() || self.motion.is_some()
    }

    /// The position of an element, µm; `None` where it has none, or only a place in a diagram.
    pub fn position_um(&self, element: u32) -> Option<[f32; 3]> {
        self.positions.get(element as usize).filter(|_| !self.is_diagram).copied()
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        let names: usize = self.names.iter().map(|n| n.capacity() + size_of::<String>()).sum();
        let codes: usize = self.columns.iter().map(|c| c.codes.len() * 2).sum();
        (names + codes + self.ids.len() * 8 + self.positions.len() * 12) as u64
    }

    /// The element with this name, id or index (`#17`), which must be the only one.
    ///
    /// # Errors
    /// A sentence: there is none, or there are several.
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
            Some(index) => Err(format!("no {} has the id or the index {index}; there are {}", self.name, self.len)),
            None => Err(format!("no {} is named `{text}`, and it is neither an id nor an index", self.name)),
        }
    }

    /// The text for an element in tooltips and tables: its name, else its id, else its index.
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
    fn an_element_is_found_by_its_name_its_id_or_its_index() {
        let names = ["DNa02_l", "", "PN", "PN"].map(str::to_owned).to_vec();
        let set = ElementSet { name: "neurons", len: 4, names, ids: vec![70, 71, 72, 2], ..ElementSet::default() };
        let found = ["DNa02_l", "71", "2", "#2", "3"].map(|text| set.find(text));
        assert_eq!(found, [Ok(0), Ok(1), Ok(3), Ok(2), Ok(3)], "an id comes before an index");
        assert!(set.find("PN").unwrap_err().contains("2 neurons are named `PN`: 72, 2"));
        assert!(set.find("9").unwrap_err().contains("no neurons has the id or the index 9"));
        assert!(set.find("DNa02 l").unwrap_err().contains("no neurons is named `DNa02 l`"));
    }
}
