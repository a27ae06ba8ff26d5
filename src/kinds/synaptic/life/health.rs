//! Health of experts: load relative to the fair load, times energy.

/// Returns the health of each slot, `min(1, rho / 2) energy` in 0..=1; 0 for empty slots. `rho = fatigue A / k` is the
/// average load relative to the fair load among A living experts, where fatigue is the average share of the tokens that an
/// expert serves.
pub fn health(fatigue: &[f32], energy: &[f32], alive: &[u8], top_k: usize) -> Vec<f64> {
    let n_alive = alive.iter().filter(|a| **a != 0).count();
    let of = |((fatigue, energy), alive): ((&f32, &f32), &u8)| {
        if *alive == 0 { 0.0 } else { of_one(*fatigue, *energy, n_alive, top_k) }
    };
    fatigue.iter().zip(energy).zip(alive).map(of).collect()
}

/// Returns the health of a living expert among `n_alive`.
pub fn of_one(fatigue: f32, energy: f32, n_alive: usize, top_k: usize) -> f64 {
    let fair = top_k as f64 / n_alive.max(1) as f64;
    let load = (f64::from(fatigue) / fair / 2.0).clamp(0.0, 1.0);
    load * f64::from(energy).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::of_one;
    use crate::{
        kinds::synaptic::{Params, SynapticKind},
        sim::Kind as _,
    };

    /// The help text states the load above which an expert with default constants is too exhausted to split.
    #[test]
    fn an_exhausted_expert_does_not_split() {
        let params = Params::default();
        let (cost, healthy) = (params.experts.energy_cost, params.life.split_health);
        let limit = (1.0 - healthy) / cost;
        let (n_alive, top_k) = (16, 2);
        let health = |load: f64| {
            let energy = 1.0 - cost * load;
            of_one((load * top_k as f64 / n_alive as f64) as f32, energy as f32, n_alive, top_k)
        };
        assert!(health(limit - 0.01) > healthy && health(limit + 0.01) < healthy);
        assert!((health(2.0) - 0.8).abs() < 1e-6 && (health(1.0) - healthy).abs() < 1e-6);
        let text = format!("{limit:.1} times the fair load");
        assert!(SynapticKind::HELP.contains(&text), "{text}");
    }
}
