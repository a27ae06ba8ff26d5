//! Joins a neuron table with the neurons of a network by id, name, index or row, whichever is available first.

use super::{
    Category, DataError, NeuronTable, messages,
    neurons::{NeuronFile, RowOrder},
};
use std::{
    collections::{HashMap, HashSet},
    fmt::Display,
    hash::Hash,
};

/// Maximum number of ids or names listed as examples.
const MAX_EXAMPLES: usize = 3;

/// Adds the names, positions and categories of `other` to the neurons of `own`, the table of the network. Mismatches
/// are added to `notices`.
///
/// Rows are joined by the ids of both tables; without ids by `idx` of `other`; otherwise by the names of both if each
/// occurs once; otherwise by row. A key column of `other` that contains text is joined with the names of the network.
///
/// # Errors
/// Returns an error if no row matches, the key column has no counterpart, or tables that are joined by index or row differ in
/// length.
pub fn join(own: NeuronFile, other: NeuronFile, notices: &mut Vec<String>) -> Result<NeuronTable, DataError> {
    let by_id = !own.table.ids.is_empty() && !other.table.ids.is_empty();
    let row_of = if by_id {
        let column = other.id_column.clone().unwrap_or_default();
        match_rows(&other, &column, &own.table.ids, &other.table.ids, notices)?
    } else if let Some((column, keys)) = &other.text_key {
        if own.table.names.is_empty() {
            let what = format!(
                "the key column \"{}\" holds texts, but {} has no column name to join it with",
                messages::truncated(column),
                own.name()
            );
            return Err(DataError::format(&other.path, what));
        }
        match_rows(&other, column, &own.table.names, keys, notices)?
    } else if other.order == RowOrder::Rows && are_keys(&own.table.names) && are_keys(&other.table.names) {
        match_rows(&other, "name", &own.table.names, &other.table.names, notices)?
    } else {
        same_length(&own, &other)?;
        if other.order == RowOrder::Rows && !other.table.ids.is_empty() {
            notices.push(row_order_notice(&other, &format!("{} has no ids to join with", own.name())));
        }
        (0..own.table.len as usize).map(Some).collect()
    };
    Ok(merge(own.table, other.table, &row_of))
}

/// Returns the notice that a table with ids is joined by row order, with the reason `why`.
pub fn row_order_notice(file: &NeuronFile, why: &str) -> String {
    let key = file.text_key.as_ref().map(|(column, _)| column.as_str());
    let (name, ids) = (file.name(), messages::truncated(file.id_column.as_deref().or(key).unwrap_or("id")));
    format!(
        "{name}: {why}, so row n of the table is neuron n whatever its {ids}. Add a column idx (0, 1, 2, …) that says which \
         neuron each row is, or import the connections with their ids."
    )
}

/// Whether all strings are non-empty and unique.
fn are_keys(texts: &[String]) -> bool {
    let mut seen = HashSet::with_capacity(texts.len());
    !texts.is_empty() && texts.iter().all(|text| !text.is_empty() && seen.insert(text))
}

fn same_length(own: &NeuronFile, other: &NeuronFile) -> Result<(), DataError> {
    let [rows, neurons] = [other.table.len, own.table.len].map(|n| messages::group_digits(n.into()));
    if rows == neurons {
        return Ok(());
    }
    let what = format!(
        "the table has {rows} rows and the network {neurons} neurons ({}), and they have no ids or names in common to join \
         them by; add a column root_id, or name the key column (network.neuron_key)",
        own.name()
    );
    Err(DataError::format(&other.path, what))
}

/// Returns the row of `keys` for each neuron. Neurons without a row and rows without a neuron become a notice. Fails if no row
/// matches.
fn match_rows<K: Eq + Hash + Display>(
    other: &NeuronFile,
    column: &str,
    neurons: &[K],
    keys: &[K],
    notices: &mut Vec<String>,
) -> Result<Vec<Option<usize>>, DataError> {
    let rows: HashMap<&K, usize> = keys.iter().zip(0..).collect();
    let row_of: Vec<Option<usize>> = neurons.iter().map(|key| rows.get(key).copied()).collect();
    let mut is_used = vec![false; keys.len()];
    row_of.iter().flatten().for_each(|row| is_used[*row] = true);
    let missing: Vec<&K> = neurons.iter().zip(&row_of).filter(|(_, row)| row.is_none()).map(|(key, _)| key).collect();
    let surplus: Vec<&K> = keys.iter().zip(&is_used).filter(|(_, used)| !**used).map(|(key, _)| key).collect();
    let column = messages::truncated(column);
    if missing.len() == neurons.len() && !neurons.is_empty() {
        let what = format!(
            "no row belongs to the network: its neurons are {}, the column \"{column}\" has {}; choose the table of this \
             network, or name the key column (network.neuron_key)",
            examples(&missing),
            examples(&surplus)
        );
        return Err(DataError::format(&other.path, what));
    }
    let count = |n: usize| messages::group_digits(n as u64);
    let mut parts = vec![];
    if !missing.is_empty() {
        let (n, all) = (count(missing.len()), count(neurons.len()));
        parts.push(format!("{n} of the {all} neurons have no row ({})", examples(&missing)));
    }
    if !surplus.is_empty() {
        let (n, all) = (count(surplus.len()), count(keys.len()));
        parts.push(format!("{n} of the {all} rows are of no neuron of the network ({})", examples(&surplus)));
    }
    if !parts.is_empty() {
        notices.push(format!("{}, joined by {column}: {}", other.name(), parts.join("; ")));
    }
    Ok(row_of)
}

/// Formats the first keys and the number of further keys.
pub fn examples<K: Display>(keys: &[K]) -> String {
    let first: Vec<String> = keys.iter().take(MAX_EXAMPLES).map(|key| messages::truncated(&key.to_string())).collect();
    match keys.len().saturating_sub(MAX_EXAMPLES) {
        0 => first.join(", "),
        n => format!("{} and {} more", first.join(", "), messages::group_digits(n as u64)),
    }
}

/// Merges two tables. Keeps the ids of the network; takes other properties from `other`, and from the network if `other` has
/// none.
fn merge(own: NeuronTable, other: NeuronTable, row_of: &[Option<usize>]) -> NeuronTable {
    let mut table = own;
    if table.ids.is_empty() && !other.ids.is_empty() {
        // Ids are used only if every neuron has a row.
        table.ids = row_of
            .iter()
            .copied()
            .collect::<Option<Vec<usize>>>()
            .map_or_else(Vec::new, |rows| rows.into_iter().map(|row| other.ids[row]).collect());
    }
    if !other.names.is_empty() {
        let own = std::mem::take(&mut table.names);
        table.names = texts(row_of, &other.names, &own);
    }
    if !other.positions.is_empty() {
        let own = |i: usize| table.positions.get(i).copied().unwrap_or([f32::NAN; 3]);
        table.positions =
            row_of.iter().enumerate().map(|(i, row)| row.map_or(own(i), |r| other.positions[r])).collect();
    }
    for Category { name, texts: found } in other.categories {
        match table.categories.iter_mut().find(|category| category.name == name) {
            Some(category) => category.texts = texts(row_of, &found, &category.texts),
            None => table.categories.push(Category { texts: texts(row_of, &found, &[]), name }),
        }
    }
    table
}

/// Returns the text of each neuron from its row; its own text if it has no row.
fn texts(row_of: &[Option<usize>], found: &[String], own: &[String]) -> Vec<String> {
    let own = |i: usize| own.get(i).cloned().unwrap_or_default();
    row_of.iter().enumerate().map(|(i, row)| row.map_or_else(|| own(i), |r| found[r].clone())).collect()
}

#[cfg(test)]
mod tests;
