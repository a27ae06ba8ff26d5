//! Initial weights from a safetensors file: names and shapes of the file are matched with those of a model.

use crate::{
    data::{DataError, ProgressFn, tensors::TensorFile},
    nn::parameters::{ParameterMap, Parameters, View},
};
use std::{collections::BTreeSet, sync::Arc};

/// Names listed in a message.
const MAX_LISTED: usize = 6;

/// Where the values of a view are in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSource {
    /// Name of the tensor.
    pub name: String,
    /// Whether the file has the transpose of the matrix.
    pub is_transposed: bool,
    /// First rows that are taken, and how many more the file may have. The rows of the view behind them are zero. `None`:
    /// the shapes are equal.
    pub rows: Option<(usize, usize)>,
}

impl TensorSource {
    /// A tensor of the same name and shape.
    pub fn same(view: &View) -> Self {
        Self { name: view.name.clone(), is_transposed: false, rows: None }
    }

    /// Whether a tensor of this shape gives the values of a view.
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

/// Reads weights of a model. `source` says where the values of each view are; `is_other` names tensors that are no weights.
///
/// # Errors
/// One message with all names that are missing, unknown or of another shape; errors of the file.
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
