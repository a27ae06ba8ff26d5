//! Parameters set as `--set` sets them.

use neuropil::{
    kinds::Model,
    params::{Params, path},
};

/// Sets parameters: `model.layers=2`.
#[track_caller]
pub fn set(params: &mut dyn Params, texts: &[&str]) {
    for text in texts {
        let change = path::parse(params, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(params.set(&change), "{text}");
    }
}

/// A model of a kind with these parameters.
#[track_caller]
pub fn model(kind: &str, texts: &[&str]) -> Model {
    let mut model = Model::by_name(kind).expect("a kind");
    set(model.params_mut(), texts);
    model
}
