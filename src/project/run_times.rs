//! Running time of a run by step: rows of `timings.csv` with the time of each block, without pauses.

use super::{
    RunFolder,
    run::TIMINGS,
    run_file::{inside, open_regular},
};
use std::io::{self, BufRead as _, BufReader, Write};

/// Name of the rows in the column of kernels.
const RUN_TIME: &str = "run time";

/// Writes the row of a block that ends at step `step` and took `secs` seconds; nothing if the time is unknown. Fails if
/// formatting fails.
pub(super) fn write(buffer: &mut Vec<u8>, step: u64, secs: f64) -> io::Result<()> {
    let nanos = (secs * 1e9).round() as u64; // negative and NaN become 0
    if nanos == 0 { Ok(()) } else { writeln!(buffer, "{step},{RUN_TIME},1,{nanos},{nanos},0,0") }
}

impl RunFolder {
    /// Reads the running time in seconds at the ends of blocks, ascending, from the first step of the recording on. Returns an
    /// empty list for runs of older versions. Fails if the file cannot be read.
    pub fn run_times(&self) -> io::Result<Vec<(u64, f64)>> {
        let path = inside(&self.path, TIMINGS)?;
        if !path.exists() {
            return Ok(vec![]);
        }
        let (mut times, mut total) = (vec![(self.manifest.first_step, 0.0)], 0.0);
        for line in BufReader::new(open_regular(&path)?).lines() {
            let line = line?;
            let mut cells = line.split(',');
            let (Some(Ok(step)), Some(RUN_TIME)) = (cells.next().map(str::parse::<u64>), cells.next()) else {
                continue;
            };
            // A row that is cut off, because the run is being written, has no number.
            let Some(Ok(nanos)) = cells.nth(1).map(str::parse::<u64>) else { continue };
            total += nanos as f64 * 1e-9;
            // Several blocks may end at one step.
            match times.last_mut().filter(|(last, _)| *last >= step) {
                Some((_, secs)) => *secs = total,
                None => times.push((step, total)),
            }
        }
        Ok(if times.len() > 1 { times } else { vec![] })
    }
}
