//! Kicks to the membranes of one partition: Poisson trains, listed kicks, manual kicks.

use crate::{
    kinds::spiking::{
        constants::Real,
        stimuli::{ActiveStimuli, StimulusSource},
    },
    num::trains::TRAIN_STEPS,
};
use std::{array, ops::Range};

/// Generator of kicks that draws a block of steps of every train at a time.
#[derive(Default)]
pub struct KickGenerator {
    /// Events of each step of the block, by source.
    drawn: Vec<Option<Box<Events>>>,
    block: Option<u64>,
}

type Events = [Vec<u32>; TRAIN_STEPS];

impl KickGenerator {
    /// Discards the drawn events. Must be called after the sources changed.
    pub fn forget(&mut self) {
        self.block = None;
        self.drawn.clear();
    }

    /// Returns the number of random draws per step.
    pub fn work<T>(stimuli: &ActiveStimuli<T>) -> u64 {
        let lanes =
            |s: &StimulusSource<T>| if let StimulusSource::Train { lanes, .. } = s { lanes.len() as u64 } else { 0 };
        stimuli.sources.iter().map(lanes).sum()
    }

    /// Writes the kicks of one step to neurons of `range` to `out`: (index in the range, mV), ascending, one entry per neuron.
    /// Several kicks to a neuron are summed in the order of the sources, `manual_kicks` last.
    pub fn kicks<T: Real>(
        &mut self,
        step: u64,
        stimuli: &ActiveStimuli<T>,
        range: Range<u32>,
        manual_kicks: &[(u32, T)],
        out: &mut Vec<(u32, T)>,
    ) {
        out.clear();
        if stimuli.sources.is_empty() && manual_kicks.is_empty() {
            return;
        }
        self.draw(step / TRAIN_STEPS as u64, stimuli, &range);
        let mut ordered = 0; // sources that contributed, each ascending without repetition
        for (source, drawn) in stimuli.sources.iter().zip(&self.drawn) {
            let before = out.len();
            match source {
                StimulusSource::Train { weight, .. } => {
                    let lanes = drawn.iter().flat_map(|d| &d[(step % TRAIN_STEPS as u64) as usize]);
                    out.extend(lanes.map(|lane| (lane - range.start, *weight)));
                    ordered += usize::from(out.len() > before);
                }
                StimulusSource::Kicks { kicks, weight } => {
                    let at = kicks.partition_point(|k| *k < (step, range.start));
                    let mine = kicks[at..].iter().take_while(|k| **k < (step, range.end));
                    out.extend(mine.map(|(_, lane)| (lane - range.start, *weight)));
                    ordered += out.len() - before; // the same kick may be listed twice
                }
            }
        }
        for (lane, weight) in manual_kicks.iter().filter(|(lane, _)| range.contains(lane)) {
            out.push((lane - range.start, *weight));
            ordered += 1;
        }
        if ordered > 1 {
            merge(out);
        }
    }

    fn draw<T>(&mut self, block: u64, stimuli: &ActiveStimuli<T>, range: &Range<u32>) {
        if self.block == Some(block) {
            return;
        }
        self.block = Some(block);
        self.drawn.resize_with(stimuli.sources.len(), Default::default);
        for (source, drawn) in stimuli.sources.iter().zip(&mut self.drawn) {
            if let StimulusSource::Train { train, lanes, .. } = source {
                let mine = lanes.partition_point(|l| *l < range.start)..lanes.partition_point(|l| *l < range.end);
                let drawn = drawn.get_or_insert_with(|| Box::new(array::from_fn(|_| vec![])));
                train.events_of_block(block, &lanes[mine], drawn);
            }
        }
    }
}

/// Sums the kicks to each neuron, in order.
fn merge<T: Real>(kicks: &mut Vec<(u32, T)>) {
    kicks.sort_by_key(|(lane, _)| *lane); // stable
    kicks.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1 += later.1;
        }
        same
    });
}
