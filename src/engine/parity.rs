//! Comparison of two simulations of one project: the first step with a difference, and the size of the differences.
//!
//! Fields are compared element by element and digests as a whole after each batch.

use crate::{
    gpu::Pass,
    sim::{Digest, Frame, ProbeSpec, Progress, Reading, Shape, SimError, Simulation, Tap},
};

/// Labels of the classes of differences in units in the last place (ULP): equal, one, up to four, more.
pub const ULPS: [&str; 4] = ["equal", "1", "2–4", "more"];

/// Comparison of one field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldParity {
    /// Name of the probe.
    pub name: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// Largest absolute difference.
    pub max_abs: f64,
    /// Largest difference, relative to the value of the reference.
    pub max_rel: f64,
    /// Element with the largest difference.
    pub element: u32,
    /// First step with a difference; `None` if all values were equal.
    pub first: Option<u64>,
    /// Number of values per class of [`ULPS`].
    pub ulps: [u64; 4],
}

/// Comparison of two simulations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parity {
    /// Names of the reference and the subject.
    pub names: (String, String),
    /// Number of steps that both took.
    pub steps: u64,
    /// Number of steps between two comparisons.
    pub every: u32,
    /// First step at which the digests differed; `None` if the digests were always equal.
    pub first: Option<u64>,
    /// Final digests of the reference and the subject.
    pub digests: (Digest, Digest),
    /// Comparison of each field.
    pub fields: Vec<FieldParity>,
}

impl Parity {
    /// Whether fields and digests were equal.
    pub fn is_exact(&self) -> bool {
        self.first.is_none() && self.fields.iter().all(|f| f.first.is_none())
    }
}

/// Runs both simulations for `steps` steps and compares them after every `every` steps. Fails if a simulation fails or the job is
/// cancelled.
pub fn compare(
    reference: &mut dyn Simulation,
    subject: &mut dyn Simulation,
    (steps, every): (u64, u32),
    progress: &Progress,
) -> Result<Parity, SimError> {
    let is_field = |p: &&(usize, &'static ProbeSpec)| matches!(p.1.shape, Shape::Field { .. });
    let probes: Vec<(usize, &'static ProbeSpec)> = reference.probes().iter().enumerate().collect();
    let fields: Vec<(usize, &'static ProbeSpec)> = probes.iter().filter(is_field).copied().collect();
    let taps: Vec<Tap> = fields.iter().map(|(id, _)| Tap::of(*id as u16)).collect();
    reference.tap(&taps)?;
    subject.tap(&taps)?;
    let found = fields.iter().map(|(_, p)| FieldParity { name: p.name, unit: p.unit, ..FieldParity::default() });
    let mut parity = Parity { every: every.max(1), fields: found.collect(), ..Parity::default() };
    while parity.steps < steps {
        progress.report("comparing", parity.steps as f32 / steps as f32)?;
        let n = u64::from(parity.every).min(steps - parity.steps);
        let (a, b) = (look(reference, n as u32)?, look(subject, n as u32)?);
        parity.steps += n;
        for (field, (id, _)) in parity.fields.iter_mut().zip(&fields) {
            if let (Some(Reading::Field(a)), Some(Reading::Field(b))) = (a.reading(*id as u16), b.reading(*id as u16)) {
                field.take(parity.steps, a, b);
            }
        }
        parity.digests = (reference.digest(0), subject.digest(0));
        if parity.digests.0 != parity.digests.1 {
            parity.first.get_or_insert(parity.steps);
        }
    }
    Ok(parity)
}

fn look(sim: &mut dyn Simulation, steps: u32) -> Result<Frame, SimError> {
    sim.advance(steps, &mut Pass::default())?;
    let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
    sim.sample(&mut frame)?;
    Ok(frame)
}

impl FieldParity {
    fn take(&mut self, step: u64, reference: &[f32], subject: &[f32]) {
        if reference.len() != subject.len() {
            self.first.get_or_insert(step);
        }
        for (element, (a, b)) in reference.iter().zip(subject).enumerate() {
            let apart = ulps_between(*a, *b);
            self.ulps[match apart {
                0 => 0,
                1 => 1,
                2..=4 => 2,
                _ => 3,
            }] += 1;
            if apart == 0 {
                continue;
            }
            self.first.get_or_insert(step);
            let off = (f64::from(*a) - f64::from(*b)).abs();
            let off = if off.is_nan() { f64::INFINITY } else { off };
            if off > self.max_abs {
                (self.max_abs, self.element) = (off, element as u32);
            }
            self.max_rel = self.max_rel.max(off / f64::from(a.abs()).max(f64::from(f32::MIN_POSITIVE)));
        }
    }
}

/// Returns the distance of two values in units in the last place; NaN equals NaN.
fn ulps_between(a: f32, b: f32) -> u32 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0;
    }
    if a.is_nan() || b.is_nan() {
        return u32::MAX;
    }
    // Maps the bits to integers in the order of the values.
    let place = |x: f32| {
        let bits = x.to_bits().cast_signed();
        i64::from(if bits < 0 { i32::MIN - bits } else { bits })
    };
    place(a).abs_diff(place(b)).min(u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_in_ulps() {
        assert_eq!(ulps_between(1.0, 1.0), 0);
        assert_eq!(ulps_between(0.0, -0.0), 0);
        assert_eq!(ulps_between(1.0, 1.0 + f32::EPSILON), 1);
        assert_eq!(ulps_between(-1.0, -1.0 - f32::EPSILON), 1);
        assert_eq!(ulps_between(f32::from_bits(1), -f32::from_bits(1)), 2);
        assert_eq!(ulps_between(f32::NAN, f32::NAN), 0);
        assert_eq!(ulps_between(f32::NAN, 1.0), u32::MAX);
    }

    #[test]
    fn the_first_and_the_largest_difference_of_a_field() {
        let mut field = FieldParity::default();
        field.take(1, &[1.0, 2.0], &[1.0, 2.0]);
        field.take(2, &[1.0, 2.0], &[1.0, 2.5]);
        field.take(3, &[4.0, 2.0], &[4.0, 2.25]);
        assert_eq!((field.first, field.element, field.max_abs, field.max_rel), (Some(2), 1, 0.5, 0.25));
        assert_eq!(field.ulps, [4, 0, 0, 2]);
    }
}
