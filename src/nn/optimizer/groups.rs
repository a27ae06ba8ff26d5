//! Which parameter is updated how.

use super::Matrix;
use crate::nn::parameters::{ALIGN, ParameterMap, View, ViewId};

/// An optimiser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// For everything.
    #[default]
    AdamW,
    /// For matrices of hidden layers.
    Muon,
}

/// How a parameter is updated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Decoupled decay λ.
    pub decay: f64,
    /// Factor of the learning rate.
    pub lr_factor: f64,
    /// Whether it stays as it is, with its moments.
    pub is_frozen: bool,
    /// Its optimiser.
    pub method: Method,
}

impl Default for Rule {
    fn default() -> Self {
        Self { decay: 0.0, lr_factor: 1.0, is_frozen: false, method: Method::AdamW }
    }
}

impl Rule {
    /// AdamW that lets matrices decay and vectors not.
    pub fn adamw(view: &View, decay: f64) -> Self {
        Self { decay: if view.shape.len() >= 2 { decay } else { 0.0 }, ..Self::default() }
    }

    /// What the update of one element does.
    pub fn mode(&self) -> Mode {
        match (self.is_frozen, self.method) {
            (true, _) => Mode::Frozen,
            (false, Method::AdamW) => Mode::AdamW,
            (false, Method::Muon) => Mode::Muon,
        }
    }
}

/// What the update of one element does, as kernels know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// Nothing; its gradient does not count in the norm.
    Frozen = 0,
    /// AdamW.
    AdamW = 1,
    /// Its matrix is updated apart.
    Muon = 2,
}

/// Parameters with the same rule.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterGroup {
    /// Their rule.
    pub rule: Rule,
    /// Their views.
    pub views: Vec<ViewId>,
}

/// All parameters of a map, each in one group.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterGroups {
    groups: Vec<ParameterGroup>,
    /// Group of each view.
    of_view: Vec<u16>,
}

/// Why a rule was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// Muon of what is neither a matrix nor several.
    #[error("parameter `{0}` is no matrix: Muon cannot update it, use AdamW")]
    NoMatrix(String),
    /// More different rules than a table holds.
    #[error("there are more than 65534 different rules for parameters")]
    TooMany,
}

impl ParameterGroups {
    /// Gives every view its rule; views of the same rule share a group.
    pub fn new(map: &ParameterMap, rule: impl Fn(&View) -> Rule) -> Result<Self, GroupError> {
        let (mut groups, mut of_view) = (Vec::<ParameterGroup>::new(), vec![]);
        for (i, view) in map.views().enumerate() {
            let rule = rule(view);
            if rule.method == Method::Muon && !matches!(view.shape.len(), 2 | 3) {
                return Err(GroupError::NoMatrix(view.name.clone()));
            }
            let known = groups.iter().position(|group| group.rule == rule);
            let index = known.unwrap_or(groups.len());
            if known.is_none() {
                groups.push(ParameterGroup { rule, views: vec![] });
            }
            groups[index].views.push(ViewId(i));
            of_view.push(u16::try_from(index).ok().filter(|i| *i < u16::MAX).ok_or(GroupError::TooMany)?);
        }
        Ok(Self { groups, of_view })
    }

    /// The groups.
    pub fn groups(&self) -> &[ParameterGroup] {
        &self.groups
    }

    /// Rule of a view.
    pub fn rule(&self, view: ViewId) -> &Rule {
        &self.groups[usize::from(self.of_view[view.0])].rule
    }

    /// Views with their rules.
    pub fn views<'a>(&'a self, map: &'a ParameterMap) -> impl Iterator<Item = (&'a View, &'a Rule)> {
        map.views().enumerate().map(|(i, view)| (view, self.rule(ViewId(i))))
    }

    /// Group of every run of [`ALIGN`] elements of the buffer, as kernels look it up.
    pub fn table(&self, map: &ParameterMap) -> Vec<u16> {
        let mut table = vec![0; map.len() / ALIGN];
        for (view, group) in map.views().zip(&self.of_view) {
            let range = view.range();
            table[range.start / ALIGN..range.end.div_ceil(ALIGN)].fill(*group);
        }
        table
    }

    /// Matrices of Muon that are not frozen; of a view `[n, rows, columns]` there are n. `parts` divides the rows of a packed
    /// view: their numbers of rows, or nothing for one that is not packed.
    pub fn matrices(&self, map: &ParameterMap, parts: impl Fn(&View) -> Vec<usize>) -> Vec<(Matrix, Rule)> {
        let mut matrices = vec![];
        for (view, rule) in self.views(map).filter(|(_, rule)| rule.mode() == Mode::Muon) {
            let (whole, columns) = match view.shape[..] {
                [rows, columns] => (vec![rows], columns),
                [n, rows, columns] => (vec![rows; n], columns),
                _ => continue,
            };
            let (parts, mut start) = (parts(view), view.start);
            let is_divided = parts.iter().sum::<usize>() == whole.iter().sum::<usize>();
            let parts = if is_divided && !parts.is_empty() { parts } else { whole };
            for rows in parts {
                let matrix = Matrix { start, rows, columns };
                start += matrix.len();
                if !matrix.is_empty() {
                    matrices.push((matrix, *rule));
                }
            }
        }
        matrices
    }
}
