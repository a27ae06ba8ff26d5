//! Health: load relative to the fair one, times energy.

/// `min(1, rho / 2) energy`, 0..=1, of each slot; 0 of empty ones. `rho = fatigue A / k` is the average load relative to the
/// fair one among A living experts: fatigue is the average of the share of tokens that an expert served.
pub fn health(fatigue: &[f32], energy: &[f32], alive: &[u8], top_k: usize) -> Vec<f64> {
    let n_alive = alive.iter().filter(|a| **a != 0).count();
    let fair = top_k as f64 / n_alive.max(1) as f64;
    let of = |((fatigue, energy), alive): ((&f32, &f32), &u8)| {
        let load = (f64::from(*fatigue) / fair / 2.0).clamp(0.0, 1.0);
        if *alive == 0 { 0.0 } else { load * f64::from(*energy).clamp(0.0, 1.0) }
    };
    fatigue.iter().zip(energy).zip(alive).map(of).collect()
}
