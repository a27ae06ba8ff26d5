//! Reports: a value of each of several elements per sample.

use super::{Attribute, Links, Object, Target, Writer, create, finish, hdf5::Dataset};
use crate::{
    export::trial::{Trial, secs},
    project::Stream,
};
use std::io;

/// Writes a stream as a report and returns its start, stop and step in ms; `None` for samples at unequal distances, which the
/// format cannot hold. Fails if the stream cannot be read or the file cannot be written.
pub(super) fn write(target: &Target, trial: &Trial, stream: &Stream, name: &str) -> io::Result<Option<[f64; 3]>> {
    let ms_per_step = trial.manifest().secs_per_step * 1e3;
    let Some((first, every, n)) = regular_steps(trial, stream)? else { return Ok(None) };
    let ms = |step: u64| secs(step, ms_per_step);
    let time = [ms(first), ms(first + every * n), ms(every)];
    let columns = columns(target, stream);
    let mut file = create(&target.folder, name)?;
    let mut data: Vec<Dataset<f32>> = columns.iter().map(|columns| Dataset::new(&[columns.len() as u64])).collect();
    let (mut reader, mut values, mut row) = (trial.read_rows(stream)?, vec![], vec![]);
    while reader.next_row(&mut values)?.is_some() {
        for (columns, data) in columns.iter().zip(&mut data).filter(|(columns, _)| !columns.is_empty()) {
            row.clear();
            row.extend(columns.iter().map(|(column, _)| values[*column]));
            file.push(data, &row)?;
        }
    }
    let mut populations = Links::new();
    for ((group, columns), data) in target.groups.iter().zip(columns).zip(data) {
        if !columns.is_empty() {
            let data = file.close(data, &[Attribute::text("units", &stream.unit)])?;
            let nodes = columns.iter().map(|(_, node)| *node);
            let mapping = mapping(&mut file, nodes, time)?;
            let links = [("data".to_owned(), data), ("mapping".to_owned(), mapping)];
            populations.push((group.name.clone(), file.group(&links, &[])?));
        }
    }
    let report = file.group(&populations, &[])?;
    finish(file, "report", report)?;
    Ok(Some(time))
}

/// Returns the columns of a stream of each group, with the index of the element in the group, ascending.
fn columns(target: &Target, stream: &Stream) -> Vec<Vec<(usize, u64)>> {
    let mut columns = vec![vec![]; target.groups.len()];
    for column in 0..stream.width as usize {
        let element = stream.elements.get(column).copied().unwrap_or(column as u32);
        if let Some((group, index)) = target.place(element) {
            columns[group].push((column, u64::from(index)));
        }
    }
    columns.iter_mut().for_each(|of| of.sort_by_key(|(_, node)| *node));
    columns
}

/// Writes which column is of which node, and the times: start, stop and step in ms.
fn mapping(file: &mut Writer, nodes: impl ExactSizeIterator<Item = u64>, time: [f64; 3]) -> io::Result<Object> {
    let n = nodes.len() as u64;
    let links = [
        ("node_ids".to_owned(), file.numbers(nodes, &[Attribute::number("sorted", 1_u32)])?),
        ("index_pointers".to_owned(), file.numbers(0..=n, &[])?),
        ("element_ids".to_owned(), file.numbers(std::iter::repeat_n(0_u32, n as usize), &[])?),
        ("time".to_owned(), file.numbers(time, &[Attribute::text("units", "ms")])?),
    ];
    file.group(&links, &[])
}

/// Returns the first step, the distance and the number of samples; `None` for less than two samples or unequal distances.
fn regular_steps(trial: &Trial, stream: &Stream) -> io::Result<Option<(u64, u64, u64)>> {
    let mut reader = trial.run.read_rows(stream)?;
    let (mut first, mut last, mut every, mut n) = (0, 0, 0, 0);
    while let Some(step) = reader.peek()? {
        reader.skip_row()?;
        match n {
            0 => first = step,
            1 => every = step.saturating_sub(first),
            _ if step.checked_sub(last) != Some(every) => return Ok(None),
            _ => {}
        }
        (last, n) = (step, n + 1);
    }
    Ok((n > 1 && every > 0).then_some((first, every, n)))
}
