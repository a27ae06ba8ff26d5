//! Past states as a frame: the readings at the time cursor.

use super::{Past, Time, Train};
use crate::{
    engine::SimSchema,
    sim::{Clock, Frame, Meaning, ProbeId, Reading, Shape, TapKey},
};

impl Time {
    /// Returns the states at the cursor after the cursor has moved or more spikes before it are indexed, or the present states
    /// after the cursor has returned to the live edge; `None` if nothing has changed.
    pub fn states_to_show(&mut self, schema: &SimSchema, clock: Clock) -> Option<Frame> {
        let wanted = self.axis.cursor().map(|cursor| cursor.max(0.0) as u64);
        let known_to = wanted.map_or(0, |step| self.past.complete_to(self.past.newest()).min(step));
        let shown = wanted.map(|step| (step, known_to));
        if self.shown_states == shown {
            return None;
        }
        self.shown_states = shown;
        let step = wanted.unwrap_or(clock.step);
        let value_of = |key: &TapKey| match wanted {
            None => self.past.latest(key).cloned(),
            Some(_) => self.past.fields.at(key, step).map(|(_, values)| values.clone()),
        };
        let has_spikes = |over: &str| spikes_of(&self.past, schema, over).is_some();
        let is_derived = |probe: ProbeId| wanted.is_some() && time_since(schema, probe).is_some_and(has_spikes);
        let kept = self.past.field_keys().filter(|key| !is_derived(key.probe));
        let mut readings: Vec<_> = kept.filter_map(|k| Some((k.clone(), Reading::Field(value_of(k)?)))).collect();
        // The time since the last spike can be derived from the spikes, even if the time itself was not recorded.
        for probe in (0..schema.probes.len() as ProbeId).filter(|probe| is_derived(*probe)) {
            let over = time_since(schema, probe).unwrap_or_default();
            let values = since(&self.past, schema, over, Clock { step, ..clock });
            readings.extend(values.map(|values| (probe.into(), Reading::field(values))));
        }
        Some(Frame { clock: Clock { step, ..clock }, readings, epoch: self.epoch, ..Frame::default() })
    }
}

/// Returns the name of the set of a field of times since the last event; `None` for other probes.
fn time_since(schema: &SimSchema, probe: ProbeId) -> Option<&'static str> {
    match schema.probes.get(usize::from(probe))?.shape {
        Shape::Field { over, meaning: Meaning::TimeSince, .. } => Some(over),
        _ => None,
    }
}

/// Returns the spikes of the elements of a set; `None` if no such spikes are in the history.
fn spikes_of<'a>(past: &'a Past, schema: &SimSchema, set: &str) -> Option<&'a Train> {
    let is_of = |id: ProbeId| {
        let probe = schema.probes.get(usize::from(id));
        matches!(probe.map(|p| p.shape), Some(Shape::Spikes { over }) if over == set)
    };
    past.trains().find(|(id, _)| is_of(*id)).map(|(_, train)| train)
}

/// Returns the milliseconds since the last spike of each element of a set, −1 without a spike; `None` if the set has no
/// spikes.
fn since(past: &Past, schema: &SimSchema, over: &str, at: Clock) -> Option<Vec<f32>> {
    let train = spikes_of(past, schema, over)?;
    let relative = at.step.saturating_sub(train.history.origin()).min(u64::from(u32::MAX)) as u32;
    let n = schema.set(over)?.len as usize;
    let ms = (at.base.per_step() * 1e3) as f32;
    let mut since = train.last.since(&train.history, relative, n);
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
    /// Moves the cursor by a number of steps. A looped range is repeated; at the newest step, the cursor returns to the live
    /// edge, or playback stops at the end of a recording. Returns whether playback continues.
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
        // The first three elements spiked last at steps 450, 451 and 449; the fourth never spikes.
        assert_eq!(then.reading(1), Some(&Reading::field(vec![2.0, 1.0, 3.0, -1.0])));
        assert_eq!(then.reading(2), Some(&Reading::field(vec![300.0; 4])));
        assert!(time.states_to_show(&schema, clock).is_none());
        time.axis.go_live();
        assert_eq!(time.states_to_show(&schema, clock).unwrap().reading(2), Some(&Reading::field(vec![900.0; 4])));
    }

    /// A finished run has recorded only spikes, and its frames arrive while the cursor is at a later step.
    #[test]
    fn last_spikes_follow_from_spikes_where_they_were_not_recorded() {
        let (_, schema) = a_second();
        let mut time = Time::default();
        time.axis.is_recorded = true;
        time.axis.set_cursor(452.0);
        let mut shown = vec![];
        for from in (0..1_000).step_by(200) {
            let spikes = (from..from + 200).map(|s| Spike { step: s as u32, lane: (s % 3) as u32 }).collect();
            let (clock, readings) = (Clock::seconds(from + 200, 1e-3), vec![(0.into(), Reading::Spikes(spikes))]);
            time.absorb(&schema, &mut Frame { clock, readings, epoch: 1, ..Frame::default() });
            shown.push(time.states_to_show(&schema, clock).and_then(|frame| frame.reading(1).cloned()));
        }
        let at = |values: [f32; 4]| Some(Reading::field(values.to_vec()));
        assert_eq!(shown[0], at([254.0, 253.0, 255.0, -1.0]), "the spikes of 200 steps are known");
        assert_eq!(shown[2], at([2.0, 1.0, 3.0, -1.0]), "those up to the cursor");
        assert_eq!(shown[3..], [None, None], "later ones change nothing");
    }

    #[test]
    fn a_field_has_a_history_for_each_of_its_arguments() {
        let (mut time, schema) = a_second();
        let key = |n: &str| TapKey { probe: 2, args: TapArgs::new([("expert", n)]), ..TapKey::default() };
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
