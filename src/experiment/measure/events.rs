//! Measures of events, such as spikes.

use crate::{
    project::experiment::Reduction,
    sim::{Spike, TimeBase},
};

/// Maximum number of time bins of a measure.
const MAX_BINS: u64 = 1 << 20;

/// Elements and span of time of a measure of events.
#[derive(Clone, Debug)]
pub(super) struct EventSpan {
    reduce: Reduction,
    from: u64,
    to: u64,
    /// Steps of a time bin; the last bin of the span may be cut and is then left out.
    bin: u64,
    /// Number of elements that count.
    n: u32,
    /// Whether each element counts; empty if all do.
    chosen: Vec<bool>,
    /// Seconds, or counted steps, per step.
    per_step: f64,
    /// Unit of times per step: ms, or counted steps.
    time_per_step: f64,
}

impl EventSpan {
    /// Creates a span from its steps, the steps per bin (0: the whole span), and the number of elements with those that count.
    /// Fails if there are too many bins.
    pub fn new(
        reduce: Reduction,
        (from, to): (u64, u64),
        bin: u64,
        (n, elements): (u32, Option<Vec<u32>>),
        base: TimeBase,
    ) -> Result<Self, String> {
        let bin = if bin == 0 { to - from } else { bin };
        if bin > to - from {
            return Err("its time bin is longer than its span".to_owned());
        }
        if (to - from) / bin > MAX_BINS {
            return Err(format!("it has more than {MAX_BINS} time bins"));
        }
        let n_chosen = elements.as_ref().map_or(n, |elements| elements.len() as u32);
        let mut chosen = vec![];
        if let Some(elements) = elements {
            chosen.resize(n as usize, false);
            elements.iter().for_each(|e| chosen[*e as usize] = true);
        }
        let time_per_step = if base.is_count() { 1.0 } else { base.per_step() * 1e3 };
        Ok(Self { reduce, from, to, bin, n: n_chosen, chosen, per_step: base.per_step(), time_per_step })
    }

    /// Returns the unit of the values.
    pub fn unit(&self, base: TimeBase) -> String {
        match (self.reduce, base.is_count()) {
            (Reduction::Count | Reduction::Active, _) => String::new(),
            (Reduction::Latency, false) => "ms".to_owned(),
            (Reduction::Latency, true) => base.plural().to_owned(),
            (_, false) => "Hz".to_owned(),
            (_, true) => format!("per {}", base.singular()),
        }
    }

    fn has(&self, event: Spike) -> bool {
        let step = u64::from(event.step);
        let is_chosen = self.chosen.is_empty() || self.chosen.get(event.lane as usize).is_some_and(|is| *is);
        step >= self.from && step < self.to && is_chosen
    }
}

/// Events of one trial.
pub(super) struct EventMeter {
    n: u64,
    first: Option<u64>,
    /// Events per whole time bin.
    bins: Vec<u64>,
    /// Whether each element had an event; empty unless the share of active elements is measured.
    active: Vec<bool>,
    n_active: u32,
}

impl EventMeter {
    pub fn new(span: &EventSpan) -> Self {
        Self {
            n: 0,
            first: None,
            bins: vec![0; ((span.to - span.from) / span.bin) as usize],
            active: vec![],
            n_active: 0,
        }
    }

    pub fn add(&mut self, span: &EventSpan, events: &[Spike]) {
        for event in events.iter().filter(|event| span.has(**event)) {
            let after = u64::from(event.step) - span.from;
            self.n += 1;
            self.first = Some(self.first.map_or(after, |first| first.min(after)));
            if let Some(bin) = self.bins.get_mut((after / span.bin) as usize) {
                *bin += 1;
            }
            if span.reduce == Reduction::Active {
                let lane = event.lane as usize;
                if self.active.len() <= lane {
                    self.active.resize(lane + 1, false);
                }
                self.n_active += u32::from(!std::mem::replace(&mut self.active[lane], true));
            }
        }
    }

    pub fn value(&self, span: &EventSpan) -> Option<f64> {
        let rate = |n: u64, steps: u64| n as f64 / f64::from(span.n) / (steps as f64 * span.per_step);
        let of_bin = |n: Option<&u64>| n.map(|n| rate(*n, span.bin));
        match span.reduce {
            Reduction::Mean => Some(rate(self.n, span.to - span.from)),
            Reduction::Last => of_bin(self.bins.last()),
            Reduction::Lowest => of_bin(self.bins.iter().min()),
            Reduction::Highest => of_bin(self.bins.iter().max()),
            Reduction::Count => Some(self.n as f64),
            Reduction::Latency => self.first.map(|first| first as f64 * span.time_per_step),
            Reduction::Active => Some(f64::from(self.n_active) / f64::from(span.n)),
        }
    }
}
