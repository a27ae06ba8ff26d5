//! Update rules of parameters.

use super::Matrix;
use crate::nn::parameters::{ALIGN, ParameterMap, View, ViewId};

/// Optimiser of a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// AdamW, for any parameter.
    #[default]
    AdamW,
    /// Muon, for matrices of hidden layers.
    Muon,
}

/// Update rule of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Decoupled weight decay λ.
    pub decay: f64,
    /// Factor of the learning rate.
    pub lr_factor: f64,
    /// Whether the parameter and its moments stay unchanged.
    pub is_frozen: bool,
    /// Optimiser of the parameter.
    pub method: Method,
}

impl Default for Rule {
    fn default() -> Self {
        Self { decay: 0.0, lr_factor: 1.0, is_frozen: false, method: Method::AdamW }
    }
}

impl Rule {
    /// Returns an AdamW rule that applies `decay` to matrices and no decay to vectors.
    pub fn adamw(view: &View, decay: f64) -> Self {
        Self { decay: if view.shape.len() >= 2 { decay } else { 0.0 }, ..Self::default() }
    }

    /// Returns the mode of the update of each element.
    pub fn mode(&self) -> Mode {
        match (self.is_frozen, self.method) {
            (true, _) => Mode::Frozen,
            (false, Method::AdamW) => Mode::AdamW,
            (false, Method::Muon) => Mode::Muon,
        }
    }
}

/// Mode of the update of one element, as passed to kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// The group is not updated, and its gradient does not count in the norm.
    Frozen = 0,
    /// Update by AdamW.
    AdamW = 1,
    /// Update by Muon, in the kernels for matrices.
    Muon = 2,
}

/// Parameters with a common rule.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterGroup {
    /// Rule of the group.
    pub rule: Rule,
    /// Views in the group.
    pub views: Vec<ViewId>,
}

/// Partition of the parameters of a map into groups.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterGroups {
    groups: Vec<ParameterGroup>,
    /// Index of each view's group.
    of_view: Vec<u16>,
}

/// Reason why a rule was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    /// Muon is requested for a view that is neither a matrix nor a stack of matrices.
    #[error("parameter `{0}` is no matrix: Muon cannot update it, use AdamW")]
    NoMatrix(String),
    /// There are more distinct rules than the table can hold.
    #[error("there are more than 65534 different rules for parameters")]
    TooMany,
}

impl ParameterGroups {
    /// Assigns a rule to every view; views with equal rules share a group. Fails if Muon is requested for a view that is not a
    /// matrix, or if there are too many rules.
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

    /// Returns all groups, by index.
    pub fn groups(&self) -> &[ParameterGroup] {
        &self.groups
    }

    /// Returns the rule of one view.
    pub fn rule(&self, view: ViewId) -> &Rule {
        &self.groups[usize::from(self.of_view[view.0])].rule
    }

    /// Iterates over the views with their rules.
    pub fn views<'a>(&'a self, map: &'a ParameterMap) -> impl Iterator<Item = (&'a View, &'a Rule)> {
        map.views().enumerate().map(|(i, view)| (view, self.rule(ViewId(i))))
    }

    /// Returns the group of every run of [`ALIGN`] elements in the buffer, the lookup table of the kernels.
    pub fn table(&self, map: &ParameterMap) -> Vec<u16> {
        let mut table = vec![0; map.len() / ALIGN];
        for (view, group) in map.views().zip(&self.of_view) {
            let range = view.range();
            table[range.start / ALIGN..range.end.div_ceil(ALIGN)].fill(*group);
        }
        table
    }

    /// Returns the matrices updated by Muon, without frozen ones; a view `[n, rows, columns]` is n matrices. `parts` gives the
    /// row counts of the parts of a packed view, and is empty for other views.
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
