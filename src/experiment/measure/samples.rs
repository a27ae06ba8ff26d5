//! Measures of series of samples.

use crate::{project::experiment::Reduction, sim::Series};

/// Span of time and lane of a measure of samples.
#[derive(Clone, Debug)]
pub(super) struct SampleSpan {
    pub reduce: Reduction,
    pub from: u64,
    pub to: u64,
    /// Index of the lane; `None` for the mean of all lanes.
    pub lane: Option<usize>,
}

/// Samples of one trial. Values that are not finite are left out.
#[derive(Default)]
pub(super) struct SampleMeter {
    n: u64,
    sum: f64,
    last: f64,
    lowest: f64,
    highest: f64,
}

impl SampleMeter {
    pub fn add(&mut self, span: &SampleSpan, series: &Series) {
        let rows = series.values.chunks_exact(series.lanes.max(1) as usize);
        for (step, row) in series.steps.iter().zip(rows) {
            let is_inside = (*step > span.from || span.from == 0) && *step <= span.to;
            if let Some(value) = of_row(row, span.lane).filter(|_| is_inside) {
                self.push(value);
            }
        }
    }

    fn push(&mut self, value: f64) {
        (self.lowest, self.highest) = match self.n {
            0 => (value, value),
            _ => (self.lowest.min(value), self.highest.max(value)),
        };
        self.n += 1;
        self.sum += value;
        self.last = value;
    }

    pub fn value(&self, span: &SampleSpan) -> Option<f64> {
        match span.reduce {
            Reduction::Count => Some(self.n as f64),
            _ if self.n == 0 => None,
            Reduction::Mean => Some(self.sum / self.n as f64),
            Reduction::Last => Some(self.last),
            Reduction::Lowest => Some(self.lowest),
            Reduction::Highest => Some(self.highest),
            Reduction::Latency | Reduction::Active => None,
        }
    }
}

/// Returns the value of a lane, or the mean of the finite values of all lanes; `None` if there is no finite value.
fn of_row(row: &[f32], lane: Option<usize>) -> Option<f64> {
    let finite = |x: &&f32| x.is_finite();
    match lane {
        Some(lane) => row.get(lane).filter(finite).map(|x| f64::from(*x)),
        None => {
            let (n, sum) = row.iter().filter(finite).fold((0_u32, 0.0), |(n, sum), x| (n + 1, sum + f64::from(*x)));
            (n > 0).then(|| sum / f64::from(n))
        }
    }
}
