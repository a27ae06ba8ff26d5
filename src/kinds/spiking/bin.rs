//! Totals of a bin, with the spikes of each class of neurons.

/// Totals of the current bin of steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bin {
    /// First step of the bin; samples are only taken from whole bins.
    pub since: u64,
    /// Number of spikes.
    pub spikes: u64,
    /// Number of synaptic events.
    pub events: u64,
    /// Number of neurons evaluated.
    pub active: u64,
    /// Number of spikes per category; empty unless class rates are tapped.
    pub classes: Vec<u64>,
}

impl Bin {
    /// Counts the spikes of one step by class. With few runs of neurons of one class, a search finds the end of each run,
    /// instead of a count of spikes one by one.
    pub fn count(&mut self, codes: &[u16], runs: &[Run], lanes: &[u32]) {
        if runs.is_empty() || runs.len() * SPIKES_PER_SEARCH > lanes.len() {
            return self.count_each(codes, lanes);
        }
        let mut left = lanes;
        for run in runs {
            let (own, others) = left.split_at(left.partition_point(|lane| *lane < run.end));
            self.classes[usize::from(run.class)] += own.len() as u64;
            left = others;
        }
    }

    /// Counts spikes one by one. Adjacent neurons often have the same class, and additions to one counter are serial, so the
    /// counts alternate between four tables.
    fn count_each(&mut self, codes: &[u16], lanes: &[u32]) {
        const MOST: usize = 64;
        let n = self.classes.len();
        if n > MOST || lanes.len() < MOST {
            return lanes.iter().for_each(|lane| self.classes[usize::from(codes[*lane as usize])] += 1);
        }
        let mut tables = [[0_u32; MOST]; 4];
        let (fours, rest) = lanes.as_chunks::<4>();
        for four in fours {
            for (table, lane) in tables.iter_mut().zip(four) {
                table[usize::from(codes[*lane as usize]) % MOST] += 1;
            }
        }
        rest.iter().for_each(|lane| tables[0][usize::from(codes[*lane as usize])] += 1);
        for (i, count) in self.classes.iter_mut().enumerate() {
            *count += tables.iter().map(|table| u64::from(table[i])).sum::<u64>();
        }
    }
}

/// A run of adjacent neurons of one class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// First neuron after the run.
    pub end: u32,
    pub class: u16,
}

/// Number of spikes that are counted one by one in the time of a search for the end of a run.
const SPIKES_PER_SEARCH: usize = 48;
/// Maximum number of runs; with more, none are stored.
const MAX_RUNS: usize = 1024;

/// Returns the runs of equal classes; empty if there are more than [`MAX_RUNS`].
pub fn runs_of(classes: &[u16]) -> Vec<Run> {
    let mut runs = vec![];
    let mut end = 0;
    for run in classes.chunk_by(|a, b| a == b) {
        if runs.len() == MAX_RUNS {
            return vec![];
        }
        end += run.len() as u32;
        runs.push(Run { end, class: run[0] });
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_tables_count_as_one_counter() {
        let mixed: Vec<u16> = (0..1000_u32).map(|i| (i * i % 9) as u16).collect();
        let in_runs: Vec<u16> = (0..1000_u32).map(|i| (i / 60 % 9) as u16).collect();
        assert_eq!((runs_of(&in_runs).len(), runs_of(&[])), (17, vec![]));
        assert_eq!(runs_of(&(0..2000).map(|i| i % 2).collect::<Vec<u16>>()), []);
        for (codes, n) in
            [&mixed, &in_runs].into_iter().flat_map(|c| [0, 1, 63, 64, 65, 816, 999, 1000].map(|n| (c, n)))
        {
            let lanes: Vec<u32> = (1000 - n..1000).collect();
            let mut bin = Bin { classes: vec![7; 9], ..Bin::default() };
            bin.count(codes, &runs_of(codes), &lanes);
            let want = |class: u16| 7 + lanes.iter().filter(|l| codes[**l as usize] == class).count() as u64;
            assert_eq!(bin.classes, (0..9).map(want).collect::<Vec<_>>(), "{n}");
        }
    }
}
