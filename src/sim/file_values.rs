//! Parameter values that follow from the contents of a file.

use super::SimError;
use crate::params::{Params, path};

/// Values of parameters that follow from a file, such as the shape of a model from its weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileValues {
    /// Parameters and values in the syntax of `--set`, in the order in which they are set.
    pub set: Vec<String>,
    /// Assumptions about values that the file does not contain, one sentence each.
    pub notes: Vec<String>,
}

impl FileValues {
    /// Sets the parameters. Returns a line for each changed parameter: `model.layers: 3 → 12`. Fails at the first value that
    /// is not possible.
    pub fn apply(&self, params: &mut dyn Params) -> Result<Vec<String>, SimError> {
        let mut lines = vec![];
        for text in &self.set {
            let change = path::parse(params, text).map_err(|why| SimError::Input(why.to_string()))?;
            let old = params.get(change.id);
            if old == change.value {
                continue;
            }
            if let Some(spec) = params.spec(change.id) {
                let [old, new] = [&old, &change.value].map(|value| path::show(spec, value));
                lines.push(format!("{}: {old} → {new}", params.path(change.id)));
            }
            if !params.set(&change) {
                return Err(SimError::Input(format!("{text} is not possible")));
            }
        }
        Ok(lines)
    }
}
