//! Columns of parameters, whose cells are the values of each run.

use super::{
    cell::Cell,
    column::{Column, Quantity},
    row::Row,
    run_columns::KIND,
};
use crate::{
    params::{
        GroupSpec, ParamId, ParamSpec, Value, ValueType, path,
        titles::{self, SEPARATOR},
    },
    project::ParamHistory,
};
use std::collections::{BTreeMap, BTreeSet};

/// Value of a parameter in a run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Value with its unit. A parameter that was edited during the run is a text with all values and no number.
    pub cell: Cell,
    spec: &'static ParamSpec,
    group: &'static GroupSpec,
    /// Index of the item in a list group; otherwise 0.
    item: u16,
}

/// Returns the parameters of a run by path.
pub(super) fn settings(history: &ParamHistory) -> BTreeMap<String, Setting> {
    let params = history.first.model.params();
    let edited = history.edited_ids();
    let setting = |id: ParamId| {
        let (spec, group) = (params.spec(id)?, &params.groups()[usize::from(id.group)]);
        let value = params.get(id);
        let cell = match number_of(&value) {
            _ if edited.contains(&id) => Cell::text_of(history.text(id)),
            Some(number) => Cell::Labelled { number, text: path::show(spec, &value) },
            None => Cell::named(path::show(spec, &value), titles::shown(spec, &value)),
        };
        Some((params.path(id), Setting { cell, spec, group, item: id.item }))
    };
    params.ids().into_iter().filter_map(setting).collect()
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Real(x) => Some(*x),
        Value::Int(i) => Some(*i as f64),
        Value::Distribution(law) => law.as_constant(),
        _ => None,
    }
}

/// Returns a column for every parameter of the rows, sorted by path.
pub(super) fn columns(rows: &[Row]) -> Vec<Column> {
    let mut all = BTreeMap::new();
    for (path, setting) in rows.iter().flat_map(|row| row.settings.iter()) {
        all.entry(path).or_insert(setting);
    }
    all.into_iter().map(|(path, setting)| setting.column(path)).collect()
}

impl Setting {
    fn column(&self, path: &str) -> Column {
        let Self { spec, group, item, .. } = self;
        let group_title = match group.list {
            true => format!("{}{SEPARATOR}{}", group.label(), item + 1),
            false => group.label().into_owned(),
        };
        let is_number = matches!(spec.kind, ValueType::Real | ValueType::Int | ValueType::Distribution);
        Column {
            key: path.to_owned(),
            title: if group.list {
                format!("{group_title}{SEPARATOR}{}", spec.label())
            } else {
                spec.label().into_owned()
            },
            docs: spec.docs.split_whitespace().collect::<Vec<_>>().join(" "),
            unit: spec.unit.suffix().to_owned(),
            quantity: if is_number { Quantity::Value } else { Quantity::Text },
            group: group_title,
            is_default: false,
            series: None,
        }
    }
}

/// Returns the paths of parameters that differ between rows of the same kind.
pub fn differing<'a>(rows: impl IntoIterator<Item = &'a Row>) -> BTreeSet<String> {
    let mut kinds = BTreeMap::<_, Vec<&Row>>::new();
    for row in rows.into_iter().filter(|row| !row.settings.is_empty()) {
        kinds.entry(row.cell(KIND).text()).or_default().push(row);
    }
    let mut paths = BTreeSet::new();
    for rows in kinds.values() {
        let all: BTreeSet<&String> = rows.iter().flat_map(|row| row.settings.keys()).collect();
        let value = |row: &&'a Row, path: &str| row.settings.get(path).map(|setting| &setting.cell);
        let differs = |path: &&String| rows.iter().any(|row| value(row, path) != value(&rows[0], path));
        paths.extend(all.into_iter().filter(differs).cloned());
    }
    paths
}
