//! Table of the nodes of a SONATA file.

use super::{CELL_BYTES, Cells, DataTable, Rows, Texts, label, too_many_rows};
use crate::data::{
    DataError, ProgressFn,
    memory::Budget,
    nodes_sonata::{NodeValues, SonataNodes},
    report,
};
use std::{cell::Cell, path::Path};

/// Reads the columns that `wanted` accepts from the nodes of a file, within limits: the number of rows and the memory. Fails if the
/// file is damaged or exceeds a limit.
pub(super) fn read(
    path: &Path,
    wanted: impl Fn(usize, &str) -> bool,
    (max_rows, mut budget): (u64, Budget),
    watch: &ProgressFn,
) -> Result<DataTable, DataError> {
    let n_bytes = std::fs::metadata(path).map_err(|e| DataError::io(path, e))?.len();
    let nodes = SonataNodes::open(path)?;
    if nodes.n > max_rows {
        return Err(too_many_rows(path, max_rows));
    }
    let names = nodes.names();
    let kept: Vec<usize> = (0..names.len()).filter(|i| wanted(*i, &names[*i])).collect();
    let mut columns = vec![];
    for (done, i) in kept.iter().enumerate() {
        report(watch, &label(path), done as f32 / kept.len() as f32)?;
        let cells = match nodes.read(*i, &mut budget)? {
            NodeValues::Unsigned(bits) => Cells::Integer { bits, unsigned: true },
            NodeValues::Signed(bits) => Cells::Integer { bits, unsigned: false },
            NodeValues::Real(values) => Cells::Real(values),
            NodeValues::Text(texts) => {
                let mut cells = Texts::default();
                for text in texts {
                    budget.take(path, CELL_BYTES + text.len() as u64)?;
                    cells.push(&text);
                }
                Cells::Text(cells)
            }
            NodeValues::Other => continue,
        };
        columns.push((names[*i].clone(), cells));
    }
    let (n_rows, rows) = (nodes.n as usize, Rows::Groups(vec![nodes.n]));
    Ok(DataTable { path: path.to_owned(), n_bytes, n_rows, columns, names, rows, budget: Cell::new(budget) })
}
