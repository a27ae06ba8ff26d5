//! Initial weights from a safetensors file, whose names and shapes are matched with those of a model.

use crate::{
    data::{DataError, ProgressFn, tensors::TensorFile},
    nn::parameters::{ParameterMap, Parameters, View},
};
use std::{collections::BTreeSet, sync::Arc};

/// Maximum number of names listed in a message.
const MAX_LISTED: usize = 6;

/// Position of a view's values in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSource {
    /// Name of the tensor in the file.
    pub name: String,
    /// Whether the file stores the transpose of the matrix.
    pub is_transposed: bool,
    /// Number of rows to take from the start, and maximum number of further rows in the file. Later rows of the view are zero.
    /// `None`: the shapes are equal.
    pub rows: Option<(usize, usize)>,
}

impl TensorSource {
    /// Returns a source with the name and shape of the view.
    pub fn same(view: &View) -> Self {
        Self { name: view.name.clone(), is_transposed: false, rows: None }
    }

    /// Whether a tensor of shape `found` provides the values of a view.
    fn fits(&self, found: &[usize], view: &View) -> bool {
        match (&view.shape[..], found, self.rows) {
            ([rows, columns], [r, c], None) if self.is_transposed => (r, c) == (columns, rows),
            ([_, columns], [r, c], Some((n, surplus))) => c == columns && *r >= n && r - n <= surplus,
            (shape, found, _) => found == shape,
        }
    }

    fn copy(&self, values: &[f32], view: &View, to: &mut [f32]) {
        match (&view.shape[..], self.rows) {
            ([rows, columns], None) if self.is_transposed => {
                for row in 0..*rows {
                    for column in 0..*columns {
                        to[row * columns + column] = values[column * rows + row];
                    }
                }
            }
            ([_, columns], Some((n, _))) => to[..n * columns].copy_from_slice(&values[..n * columns]),
            _ => to.copy_from_slice(values),
        }
    }
}

/// Reads the weights of a model. `source` gives the position of each view's values; `is_other` selects tensors that are not
/// weights.
///
/// # Errors
/// Returns one message with all names that are missing, unknown or of another shape, or an error of the file.
pub fn read(
    file: &TensorFile,
    map: &Arc<ParameterMap>,
    source: impl Fn(&View) -> TensorSource,
    is_other: impl Fn(&str) -> bool,
    watch: &ProgressFn,
) -> Result<Parameters<f32>, DataError> {
    let sources: Vec<(&View, TensorSource)> = map.views().map(|view| (view, source(view))).collect();
    let mut known = BTreeSet::new();
    let (mut missing, mut misshapen) = (vec![], vec![]);
    for (view, source) in &sources {
        known.insert(&source.name[..]);
        match file.shape(&source.name) {
            None => missing.push(source.name.clone()),
            Some(found) if !source.fits(found, view) => {
                misshapen.push(format!("{} {found:?} for {:?}", source.name, view.shape));
            }
            Some(_) => {}
        }
    }
    let unknown = file.names().into_iter().filter(|name| !known.contains(&name[..]) && !is_other(name)).collect();
    let wrong: Vec<String> = [("missing", missing), ("not of the model", unknown), ("of another shape", misshapen)]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {}", listed(&names)))
        .collect();
    if !wrong.is_empty() {
        let what = format!("these weights do not fit the model; {}", wrong.join("; "));
        return Err(DataError::Format { path: file.path().display().to_string(), what });
    }
    let mut parameters = Parameters::zeros(map.clone());
    for (i, (view, source)) in sources.iter().enumerate() {
        let part = |what: &str, part: f32| watch(what, (i as f32 + part) / sources.len() as f32);
        let values = file.read(&source.name, &part)?;
        source.copy(&values, view, &mut parameters.values_mut()[view.range()]);
    }
    Ok(parameters)
}

fn listed(names: &[String]) -> String {
    let text = names.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_LISTED) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}
