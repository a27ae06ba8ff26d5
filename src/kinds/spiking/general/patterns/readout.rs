//! Assignment of neurons to classes, and the accuracy of their answers. Measures spikes; does not affect the simulation.

use super::schedule::{PatternSchedule, Phase};
use crate::{
    kinds::spiking::saved_state::inconsistent,
    sim::{Reading, Series, SimError, Snapshot},
};
use std::{ops::Range, sync::Arc};

/// Readout of the classes of presented patterns.
#[derive(Debug)]
pub struct Readout {
    schedule: Arc<PatternSchedule>,
    neurons: Range<u32>,
    /// Number of spikes of each neuron in this presentation.
    counts: Vec<u32>,
    /// Number of spikes of each neuron in presentations for labelling, by class and neuron.
    responses: Vec<u32>,
    /// Number of presentations for labelling, by class.
    labelled: Vec<u32>,
    /// Number of correct answers, and of held-out presentations so far.
    answers: [u32; 2],
    is_tapped: bool,
    series: Series,
}

impl Readout {
    /// Creates the readout of patterns; `None` if no population tells the classes.
    pub fn new(schedule: Arc<PatternSchedule>) -> Option<Self> {
        let neurons = schedule.plan.readout.clone()?;
        let (n, classes) = (neurons.len(), schedule.n_classes() as usize);
        Some(Self {
            schedule,
            neurons,
            counts: vec![0; n],
            responses: vec![0; n * classes],
            labelled: vec![0; classes],
            answers: [0; 2],
            is_tapped: false,
            series: Series::default(),
        })
    }

    /// Uses patterns with the same readout and classes.
    pub fn follow(&mut self, schedule: Arc<PatternSchedule>) {
        self.schedule = schedule;
    }

    /// Adds the spikes of a step, ascending.
    #[inline]
    pub fn add(&mut self, spikes: &[u32]) {
        let from = spikes.partition_point(|i| *i < self.neurons.start);
        for neuron in spikes[from..].iter().take_while(|i| **i < self.neurons.end) {
            self.counts[(neuron - self.neurons.start) as usize] += 1;
        }
    }

    /// Ends a step, and a presentation if it was its last step.
    #[inline]
    pub fn end_step(&mut self, completed: u64) {
        if completed.is_multiple_of(self.schedule.plan.each) {
            self.end_presentation(completed);
        }
    }

    fn end_presentation(&mut self, completed: u64) {
        let presentation = completed / self.schedule.plan.each - 1;
        let of = self.schedule.phase(presentation).zip(self.schedule.class(presentation));
        match of {
            Some(((Phase::Labelling, _), class)) => {
                let n = self.counts.len();
                let responses = &mut self.responses[class as usize * n..][..n];
                responses.iter_mut().zip(&self.counts).for_each(|(sum, count)| *sum += count);
                self.labelled[class as usize] += 1;
            }
            Some(((Phase::HeldOut, _), class)) => {
                self.answers[0] += u32::from(self.answer() == Some(class));
                self.answers[1] += 1;
                if self.is_tapped {
                    self.series.steps.push(completed);
                    self.series.values.push(self.accuracy());
                }
            }
            Some(((Phase::Training, _), _)) | None => {}
        }
        self.counts.fill(0);
    }

    /// Returns the fraction of correct answers to the held-out presentations so far; NaN before the first one.
    pub fn accuracy(&self) -> f32 {
        let [correct, all] = self.answers;
        (f64::from(correct) / f64::from(all)) as f32
    }

    /// Returns the class to which a neuron is assigned; `None` if it never spiked.
    fn assigned(&self, neuron: usize) -> Option<u32> {
        let n = self.counts.len();
        let mean = |class: usize| f64::from(self.responses[class * n + neuron]) / f64::from(self.labelled[class]);
        best((0..self.labelled.len()).map(mean))
    }

    /// Returns the class with the largest mean count of its neurons; `None` without spikes.
    fn answer(&self) -> Option<u32> {
        let mut sums = vec![(0_u64, 0_u64); self.labelled.len()];
        for (neuron, count) in self.counts.iter().enumerate() {
            if let Some(class) = self.assigned(neuron) {
                let (sum, n) = &mut sums[class as usize];
                (*sum, *n) = (*sum + u64::from(*count), *n + 1);
            }
        }
        best(sums.into_iter().map(|(sum, n)| sum as f64 / n as f64))
    }

    /// Sets whether accuracy is sampled.
    pub fn tap(&mut self, is_tapped: bool) {
        if !(self.is_tapped && is_tapped) {
            self.series = Series::default();
        }
        self.is_tapped = is_tapped;
    }

    /// Takes the samples of the accuracy since the last call.
    pub fn take(&mut self) -> Reading {
        Reading::Series(Series { lanes: 1, ..std::mem::take(&mut self.series) })
    }

    /// Drops samples that were not taken.
    pub fn drop_unread(&mut self) {
        self.series = Series::default();
    }

    /// Returns to step 0.
    pub fn rewind(&mut self) {
        self.counts.fill(0);
        self.responses.fill(0);
        self.labelled.fill(0);
        self.answers = [0; 2];
        self.drop_unread();
    }

    /// Adds the counts to a snapshot.
    pub fn write(&self, out: &mut Snapshot) {
        let lists = [("counts", &self.counts), ("responses", &self.responses), ("labelled", &self.labelled)];
        lists.into_iter().for_each(|(name, list)| out.list(&format!("readout.{name}"), list.clone()));
        out.list("readout.answers", self.answers.to_vec());
    }

    /// Reads the counts of a snapshot. Fails if they have other shapes, or more correct answers than presentations.
    pub fn read(&self, from: &Snapshot) -> Result<Counted, SimError> {
        let list = |name: &str, like: &[u32]| from.read::<u32>(&format!("readout.{name}"), &[like.len()]);
        let answers = list("answers", &self.answers)?;
        let counted = Counted {
            counts: list("counts", &self.counts)?,
            responses: list("responses", &self.responses)?,
            labelled: list("labelled", &self.labelled)?,
            answers: [answers[0], answers[1]],
        };
        if answers[0] > answers[1] { Err(inconsistent()) } else { Ok(counted) }
    }

    /// Continues from counts.
    pub fn resume(&mut self, from: Counted) {
        Counted { counts: self.counts, responses: self.responses, labelled: self.labelled, answers: self.answers } =
            from;
        self.drop_unread();
    }
}

/// Counts of a readout in a saved state.
pub struct Counted {
    counts: Vec<u32>,
    responses: Vec<u32>,
    labelled: Vec<u32>,
    answers: [u32; 2],
}

/// Returns the index of the largest value above 0, the first of equal ones; `None` if there is none.
fn best(values: impl Iterator<Item = f64>) -> Option<u32> {
    let larger = |best: Option<(u32, f64)>, (i, value): (u32, f64)| {
        if value > best.map_or(0.0, |(_, most)| most) { Some((i, value)) } else { best }
    };
    (0..).zip(values).fold(None, larger).map(|(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::spiking::general::patterns::{PatternInput, schedule::PatternPlan};

    /// Two neurons that prefer the classes 3 and 5 answer these classes.
    #[test]
    fn neurons_answer_the_class_for_which_they_spiked_most() {
        let of =
            PatternInput { training: 1, labelling: 10, held_out: 10, present: 1.0, pause: 0.0, ..Default::default() };
        let plan = PatternPlan::new(0, &of, 0..144, Some(200..202), 1.0).expect("a plan");
        let mut readout = Readout::new(Arc::new(PatternSchedule::new(plan, 1, None))).expect("a readout");
        readout.tap(true);
        for step in 0..21_u64 {
            let class = step.checked_sub(1).map(|step| step % 10);
            match class {
                Some(3) => readout.add(&[7, 200]),
                Some(5) => readout.add(&[201, 202]),
                _ => {}
            }
            readout.end_step(step + 1);
        }
        assert_eq!(readout.accuracy(), 0.2);
        let Reading::Series(series) = readout.take() else { panic!("a series") };
        assert_eq!((series.steps.len(), series.steps[0], series.values[9]), (10, 12, 0.2));
        assert_eq!(best([0.0, f64::NAN, 2.0, 2.0].into_iter()), Some(2));
    }
}
