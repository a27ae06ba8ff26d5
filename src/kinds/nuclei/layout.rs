//! Slot positions in the 3D view: on a disc, in order of slots from the centre outwards; during a simulation on a cylinder: x =
//! cos φ, y = sin φ, z = R, with the phase φ and the local order R.

use super::probes::NUCLEI;
use crate::sim::{ElementSet, MotionFields};

/// Factor of the disc's radius, world units: slot i is at `PITCH * sqrt(i + 0.5)` from the centre.
const PITCH: f64 = 10.0;

/// Returns the set of slots, evenly distributed over a disc (Vogel 1979).
pub fn slots(capacity: u32) -> ElementSet {
    let golden = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    let position = |slot: u32| {
        let (radius, angle) = (PITCH * (f64::from(slot) + 0.5).sqrt(), golden * f64::from(slot));
        [(radius * angle.cos()) as f32, (radius * angle.sin()) as f32, 0.0]
    };
    ElementSet {
        name: NUCLEI,
        len: capacity,
        are_slots: true,
        positions: (0..capacity).map(position).collect(),
        motion: Some(MotionFields::Cylinder { angle: "phase", height: "local_order" }),
        is_diagram: true,
        ..ElementSet::default()
    }
}
