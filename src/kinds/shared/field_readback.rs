//! Readback of fields from a GPU without waiting: fields are copied while the next steps run, converted while the host waits for
//! these steps, and delivered with the next reading.

use crate::sim::{ProbeId, Reading, SimError};

/// A field and its reading.
pub type Field = (ProbeId, Reading);

/// Pending and converted copies.
#[derive(Default)]
pub struct FieldReadback {
    /// Step and probes of the copies in progress.
    pending: Option<(u64, Vec<ProbeId>)>,
    /// Converted fields that are not delivered yet.
    ready: Vec<Field>,
}

/// A simulation on a device whose fields are read asynchronously.
pub trait ReadsFields {
    /// Returns the readback state of the simulation.
    fn readback(&mut self) -> &mut FieldReadback;

    /// Returns the number of completed steps.
    fn completed(&self) -> u64;

    /// Starts copying the data of these fields, after the previous steps and before the next ones.
    fn start_fields(&mut self, probes: &[ProbeId]) -> Result<(), SimError>;

    /// Waits for the copies, and computes the fields of step `step`.
    fn finish_fields(&mut self, probes: &[ProbeId], step: u64) -> Result<Vec<Field>, SimError>;

    /// Converts the copied data. Call this function after the next steps are launched and before waiting for them.
    fn convert_fields(&mut self) -> Result<(), SimError> {
        if let Some((step, probes)) = self.readback().pending.take() {
            let ready = self.finish_fields(&probes, step)?;
            self.readback().ready = ready;
        }
        Ok(())
    }

    /// Returns the current fields. With `may_lag`, returns the fields of the previous call if the probes are the same, one
    /// reading older, so that the device does not wait for the host.
    fn read_copied(&mut self, probes: Vec<ProbeId>, may_lag: bool) -> Result<Vec<Field>, SimError> {
        self.convert_fields()?;
        let older = std::mem::take(&mut self.readback().ready);
        if probes.is_empty() {
            return Ok(vec![]);
        }
        let step = self.completed();
        if may_lag && older.iter().map(|(probe, _)| probe).eq(&probes) {
            self.start_fields(&probes)?;
            self.readback().pending = Some((step, probes));
            return Ok(older);
        }
        self.start_fields(&probes)?;
        let fields = self.finish_fields(&probes, step)?;
        if may_lag {
            self.readback().ready.clone_from(&fields); // the values are shared
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Counter {
        step: u64,
        copied: u64,
        readback: FieldReadback,
        started: u32,
    }

    impl ReadsFields for Counter {
        fn readback(&mut self) -> &mut FieldReadback {
            &mut self.readback
        }
        fn completed(&self) -> u64 {
            self.step
        }
        fn start_fields(&mut self, _: &[ProbeId]) -> Result<(), SimError> {
            (self.copied, self.started) = (self.step, self.started + 1);
            Ok(())
        }
        fn finish_fields(&mut self, probes: &[ProbeId], step: u64) -> Result<Vec<Field>, SimError> {
            assert_eq!(self.copied, step);
            Ok(probes.iter().map(|probe| (*probe, Reading::field(vec![step as f32]))).collect())
        }
    }

    #[test]
    fn a_field_is_exact_or_one_reading_old() {
        let mut sim = Counter::default();
        let mut read = |step, probes: &[ProbeId], may_lag| {
            sim.step = step;
            let fields = sim.read_copied(probes.to_vec(), may_lag).unwrap();
            let value = |(_, field): &Field| match field {
                Reading::Field(values) => values[0],
                other => panic!("{other:?}"),
            };
            (fields.iter().map(value).collect::<Vec<_>>(), sim.started)
        };
        assert_eq!(read(1, &[4], false), (vec![1.0], 1));
        // The first reading of a series is exact, and delivered again while the next one is copied.
        assert_eq!(read(2, &[4], true), (vec![2.0], 2));
        assert_eq!(read(3, &[4], true), (vec![2.0], 3));
        assert_eq!(read(4, &[4], true), (vec![3.0], 4));
        // Other fields are requested: the pending copy is dropped.
        assert_eq!(read(5, &[4, 7], true), (vec![5.0, 5.0], 5));
        assert_eq!(read(6, &[4, 7], false), (vec![6.0, 6.0], 6));
        assert_eq!(read(7, &[4, 7], true), (vec![7.0, 7.0], 7));
        assert_eq!(read(8, &[], true), (vec![], 7));
    }
}
