//! Past states as a frame: the readings at the time cursor.

use super::{Past, Time};
use crate::{
    engine::SimSchema,
    sim::{Clock, Frame, Meaning, ProbeId, Reading, Shape, TapKey},
};
use std::sync::Arc;

/// How far back the last spike of an element is searched, seconds of simulated time.
const LOOK_BACK_SECS: f64 = 1.5;
/// How many spikes are searched at most.
const MAX_SPIKES: usize = 400_000;

impl Time {
    /// The states at the cursor after it has moved, or at the live edge after it has returned; `None` while nothing
    /// changes.
    pub fn states_to_show(&mut self, schema: &SimSchema, clock: Clock) -> Option<Frame> {
        let wanted = self.axis.cursor().map(|cursor| cursor.max(0.0) as u64);
        if self.shown_states == wanted {
            return None;
        }
        self.shown_states = wanted;
        let step = wanted.unwrap_or(clock.step);
        let reading = |key: &TapKey| {
            let Shape::Field { over, meaning, .. } = schema.probes.get(usize::from(key.probe))?.shape else {
                return None;
            };
            let values = match (wanted, meaning) {
                (None, _) => self.past.latest(key)?.clone(),
                (Some(_), Meaning::TimeSince) => Arc::new(since(&self.past, schema, over, Clock { step, ..clock })?),
                (Some(_), _) => self.past.fields.at(key, step).map(|(_, values)| values.clone())?,
            };
            Some((key.clone(), Reading::Field(values)))
        };
        let readings = self.past.field_keys().filter_map(reading).collect();
        Some(Frame { clock: Clock { step, ..clock }, readings, epoch: self.epoch, ..Frame::default() })
    }
}

/// Milliseconds since the last spike of each element of a set, from the spikes in memory.
fn since(past: &Past, schema: &SimSchema, over: &str, at: Clock) -> Option<Vec<f32>> {
    let is_of = |id: &ProbeId| {
        matches!(schema.probes.get(usize::from(*id))?.shape, Shape::Spikes { over: o } if o == over).then_some(())
    };
    let train = past.trains().find(|(id, _)| is_of(id).is_some())?.1;
    let relative = at.step.saturating_sub(train.history.origin()).min(u64::from(u32::MAX)) as u32;
    let back = (LOOK_BACK_SECS / at.base.per_step()).min(f64::from(u32::MAX)) as u32;
    let n = schema.set(over)?.len as usize;
    let ms = (at.base.per_step() * 1e3) as f32;
    let mut since = train.history.since_last(relative, back, MAX_SPIKES, n);
    since.iter_mut().filter(|v| **v > 0.0).for_each(|v| *v *= ms);
    Some(since)
}

/// Playback of the history or of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Player {
    /// Whether playback runs.
    pub is_playing: bool,
}

impl Time {
    /// Moves the cursor by a number of steps. Repeats a looped range; at the newest step it returns to the live edge, or
    /// stops at the end of a recording. Returns whether playback continues.
    pub fn play(&mut self, steps: f64) -> bool {
        let Some(cursor) = self.axis.cursor().filter(|_| self.player.is_playing) else {
            self.player.is_playing = false;
            return false;
        };
        let (oldest, newest) = (self.past.oldest() as f64, self.past.newest() as f64);
        let range = self.axis.range.unwrap_or((oldest, newest));
        let mut next = cursor + steps;
        if self.axis.is_looping && (next >= range.1 || next < range.0) {
            next = range.0;
        }
        if next < newest {
            self.axis.set_cursor(next);
        } else {
            self.player.is_playing = false;
            if self.axis.is_recorded { self.axis.set_cursor(newest) } else { self.axis.go_live() }
        }
        self.player.is_playing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{ElementSet, ProbeSpec, Spike, TapArgs};
    use std::sync::Arc;

    const PROBES: &[ProbeSpec] = &[
        ProbeSpec { name: "spikes", title: "", docs: "", unit: "", shape: Shape::Spikes { over: "cells" }, args: &[] },
        ProbeSpec {
            name: "last",
            title: "",
            docs: "",
            unit: "ms",
            shape: Shape::Field { over: "cells", range: (0.0, 1.0), meaning: Meaning::TimeSince },
            args: &[],
        },
        ProbeSpec {
            name: "v",
            title: "",
            docs: "",
            unit: "",
            shape: Shape::Field { over: "cells", range: (0.0, 1.0), meaning: Meaning::Number },
            args: &[],
        },
    ];

    fn a_second() -> (Time, SimSchema) {
        let set = ElementSet { name: "cells", len: 4, ..ElementSet::default() };
        let schema = SimSchema { probes: PROBES, sets: vec![Arc::new(set)], ..SimSchema::default() };
        let mut time = Time::default();
        for step in (0..1_000).step_by(100) {
            let spikes = (step..step + 100).map(|s| Spike { step: s as u32, lane: (s % 3) as u32 }).collect();
            let clock = Clock::seconds(step + 100, 1e-3);
            let readings = vec![
                (0.into(), Reading::Spikes(spikes)),
                (1.into(), Reading::field(vec![0.0; 4])),
                (2.into(), Reading::field(vec![step as f32; 4])),
            ];
            time.absorb(&schema, &mut Frame { clock, readings, epoch: 1, ..Frame::default() });
        }
        (time, schema)
    }

    #[test]
    fn the_states_at_the_cursor_and_back() {
        let (mut time, schema) = a_second();
        let clock = Clock::seconds(1_000, 1e-3);
        assert!(time.states_to_show(&schema, clock).is_none());
        time.axis.scrub(452.0, 0.0, 1_000.0);
        let then = time.states_to_show(&schema, clock).unwrap();
        assert_eq!(then.clock.step, 452);
        // 451 was the first element's step, then 450 the last's; the fourth never spikes.
        assert_eq!(then.reading(1), Some(&Reading::field(vec![2.0, 1.0, 3.0, -1.0])));
        assert_eq!(then.reading(2), Some(&Reading::field(vec![300.0; 4])));
        assert!(time.states_to_show(&schema, clock).is_none());
        time.axis.go_live();
        assert_eq!(time.states_to_show(&schema, clock).unwrap().reading(2), Some(&Reading::field(vec![900.0; 4])));
    }

    #[test]
    fn a_field_has_a_history_for_each_of_its_arguments() {
        let (mut time, schema) = a_second();
        let key = |n: &str| TapKey { probe: 2, args: TapArgs::new([("expert", n)]) };
        for (step, value) in [(1_100, 1.0), (1_200, 2.0), (1_300, 3.0)] {
            let readings = ["0", "1"].map(|n| (key(n), Reading::field(vec![value * n.len() as f32; 4]))).into();
            let clock = Clock::seconds(step, 1e-3);
            time.absorb(&schema, &mut Frame { clock, readings, epoch: 1, ..Frame::default() });
        }
        time.axis.scrub(1_250.0, 0.0, 1_300.0);
        let then = time.states_to_show(&schema, Clock::seconds(1_300, 1e-3)).unwrap();
        assert_eq!(then.reading(key("1")), Some(&Reading::field(vec![2.0; 4])));
        assert_eq!(then.reading(2), Some(&Reading::field(vec![900.0; 4])), "without arguments it is another field");
        assert_eq!(then.reading(key("2")), None, "it was never shown");
    }

    #[test]
    fn playing_loops_or_ends_at_the_present() {
        let (mut time, _) = a_second();
        time.axis.scrub(800.0, 0.0, 1_000.0);
        time.player.is_playing = true;
        (time.axis.range, time.axis.is_looping) = (Some((300.0, 850.0)), true);
        assert!(time.play(100.0));
        assert_eq!(time.axis.cursor(), Some(300.0));
        time.axis.is_looping = false;
        assert!(time.play(600.0) && !time.play(600.0));
        assert_eq!((time.axis.cursor(), time.axis.line.follow), (None, true));
        time.axis.is_recorded = true;
        time.axis.set_cursor(900.0);
        time.player.is_playing = true;
        assert!(!time.play(600.0));
        assert_eq!(time.axis.cursor(), Some(1_000.0));
    }
}
