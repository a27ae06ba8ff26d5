//! Membrane potentials at step 0.

use super::params::Params;
use crate::{
    num::rng::{Draw, Purpose},
    one_of, params,
    params::{Distribution, one_of::NoParameters},
};

params! {
    /// Equal chances on both sides of the resting potential.
    pub struct UniformSpread {
        /// Largest distance from the resting potential.
        #[param(title = "Half width", unit = Mv, range = 0.0..=20.0, hard = 0.0..=1000.0, apply = Rewind)]
        half_width: f64 = 5.0,
    }
}

params! {
    /// A normal distribution around the resting potential.
    pub struct NormalSpread {
        /// Standard deviation of the potentials.
        #[param(title = "Standard deviation", unit = Mv, range = 0.0..=10.0, hard = 0.0..=1000.0, symbol = "σ", apply = Rewind)]
        sigma: f64 = 2.0,
    }
}

one_of! {
    /// Distribution around the resting potential.
    pub enum Spread {
        /// Equal chances up to a distance.
        Uniform(UniformSpread),
        /// A normal distribution.
        Normal(NormalSpread),
    }
}

params! {
    /// Start potentials around the resting potential, which they follow.
    pub struct AroundRest {
        /// Distribution around the resting potential.
        #[param(title = "Spread", apply = Rewind)]
        spread: Spread = Spread::Uniform(UniformSpread::default()),
    }
}

params! {
    /// Start potentials from a distribution.
    pub struct DrawnPotentials {
        /// Membrane potential at step 0, drawn for each neuron.
        #[param(title = "Potential", unit = Mv, range = -90.0..=-30.0, hard = -1000.0..=1000.0, symbol = "v", apply = Rewind)]
        v: Distribution = Distribution::uniform(-60.0, -46.0),
    }
}

one_of! {
    /// Membrane potentials at step 0. Neurons above the threshold spike in the first step.
    pub enum StartPotentials {
        /// All neurons are at the resting potential.
        #[title("At rest")]
        AtRest(NoParameters),
        /// Potentials around the resting potential, drawn for each neuron.
        #[title("Around rest")]
        AroundRest(AroundRest),
        /// Potentials from any distribution, drawn for each neuron.
        Drawn(DrawnPotentials),
    }
}

impl StartPotentials {
    /// Returns a distribution, and the value to subtract from its draws to obtain u = v - v_rest, mV; `None` if all neurons are
    /// at rest.
    fn of_u(&self, v_rest: f64) -> Option<(Distribution, f64)> {
        match self {
            Self::AtRest(_) => None,
            Self::AroundRest(AroundRest { spread: Spread::Uniform(spread) }) => {
                Some((Distribution::uniform(-spread.half_width, spread.half_width), 0.0))
            }
            Self::AroundRest(AroundRest { spread: Spread::Normal(spread) }) => {
                Some((Distribution::normal(0.0, spread.sigma), 0.0))
            }
            Self::Drawn(drawn) => Some((drawn.v, v_rest)),
        }
    }
}

/// Returns a function from neuron to u = v - v_rest at step 0, mV; `None` if all neurons are at rest. The result depends only
/// on seed and neuron.
pub fn potentials(params: &Params, seed: u64) -> Option<impl Fn(u32) -> f64 + use<>> {
    let (distribution, from) = params.lif.start.of_u(params.lif.v_rest)?;
    Some(move |lane| distribution.draw(Draw { seed, purpose: Purpose::Start, step: 0, lane }) - from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::spiking::{Source, SpikingKind},
        params::{Params as _, path},
        sim::{BuildContext, Device, Effect, Frame, Kind as _, Progress, Reading, Simulation, StartRequest, Tap},
    };
    use std::sync::Arc;

    fn params(start: &str) -> Params {
        let mut params = Params::default();
        params.network.source = Source::Balanced;
        (params.network.n_neurons, params.network.in_degree) = (2000, 20);
        set(&mut params, start);
        params
    }

    fn set(params: &mut Params, text: &str) {
        let change = path::parse(params, text).expect(text);
        assert!(params.set(&change));
    }

    fn started(params: &Params, seed: u64, threads: usize) -> Box<dyn Simulation> {
        let context = BuildContext { seed, ..BuildContext::default() };
        let setup = Arc::new(SpikingKind::prepare(params, &context, &Progress::default()).expect("prepared"));
        SpikingKind::start(StartRequest::new(params, &context, setup, &Device::Cpu { threads }, &Progress::default()))
            .expect("started")
    }

    fn potentials(sim: &mut dyn Simulation) -> Vec<f32> {
        let probe = crate::kinds::spiking::probes::V_FIELD;
        sim.tap(&[Tap::of(probe)]).expect("tapped");
        let mut frame = Frame { clock: sim.clock(), ..Frame::default() };
        sim.sample(&mut frame).expect("sampled");
        match frame.readings.remove(0).1 {
            Reading::Field(field) => field.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    fn moments(v: &[f32]) -> (f64, f64) {
        let mean = v.iter().map(|v| f64::from(*v)).sum::<f64>() / v.len() as f64;
        let variance = v.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / v.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn potentials_have_the_declared_distribution() {
        for (start, mean, sd) in [
            ("lif.start=AtRest", -52.0, 0.0),
            ("lif.start=AroundRest(spread: Uniform(half_width: 6 mV))", -52.0, 6.0 / 3.0_f64.sqrt()),
            ("lif.start=AroundRest(spread: Normal(sigma: 3 mV))", -52.0, 3.0),
            ("lif.start=Drawn(v: uniform(-60, -50))", -55.0, 10.0 / 12.0_f64.sqrt()),
        ] {
            let now = moments(&potentials(&mut *started(&params(start), 1, 2)));
            assert!((now.0 - mean).abs() < 0.2 && (now.1 - sd).abs() < 0.2, "{start}: {now:?}");
        }
    }

    #[test]
    fn the_start_depends_on_the_seed_alone_and_comes_back_at_a_rewind() {
        let params = params("lif.start=Drawn(v: normal(-47, 2))");
        let mut sim = started(&params, 1, 1);
        let first = potentials(&mut *sim);
        assert_eq!(potentials(&mut *started(&params, 1, 3)), first);
        assert_ne!(potentials(&mut *started(&params, 2, 1)), first);
        let mut run = |steps| {
            sim.advance(steps, &mut crate::gpu::Pass::default()).expect("it runs");
            sim.digest(0)
        };
        let digest = run(500);
        assert!(digest.totals.iter().any(|(_, n)| *n > 100), "neurons above the threshold spike: {digest:?}");
        let mut threaded = started(&params, 1, 3);
        (0..500).for_each(|_| threaded.advance(1, &mut crate::gpu::Pass::default()).expect("it runs"));
        assert_eq!(threaded.digest(0), digest);
        let change = path::parse(&params, "lif.start=AroundRest").expect("declared");
        assert!(matches!(sim.set(&change), Ok(Effect::Applied)));
        let change =
            path::parse(sim.params().expect("parameters"), "lif.start.spread=Normal(sigma: 1)").expect("declared");
        assert!(matches!(sim.set(&change), Ok(Effect::Applied)), "a choice within a choice");
        assert_eq!(sim.digest(0), digest, "an edit acts at a rewind");
        sim.rewind().expect("rewound");
        let (mean, sd) = moments(&potentials(&mut *sim));
        assert!((mean + 52.0).abs() < 0.1 && (sd - 1.0).abs() < 0.1, "{mean} {sd}");
        sim.set(&path::parse(&params, "lif.start=Drawn(v: normal(-47, 2))").expect("declared")).expect("set");
        sim.rewind().expect("rewound");
        assert_eq!(potentials(&mut *sim), first);
    }

    #[test]
    fn an_edit_of_the_start_leaves_the_run_as_it_is() {
        let run = |edit: bool| {
            let mut sim = started(&params("lif.start=Drawn(v: uniform(-55, -44))"), 3, 1);
            for step in 0..300 {
                if edit && step == 100 {
                    let now = sim.params().expect("parameters");
                    let change = path::parse(now, "lif.start.v=-50").expect("declared");
                    sim.set(&change).expect("set");
                }
                sim.advance(1, &mut crate::gpu::Pass::default()).expect("it runs");
            }
            (sim.digest(0), potentials(&mut *sim))
        };
        assert_eq!(run(true), run(false));
    }

    #[test]
    fn project_files_hold_a_choice_within_a_choice() {
        use crate::{kinds::Model, project};
        let of = |params: &Params| project::Project {
            model: Model::Spiking(Box::new(params.clone())),
            ..project::Project::default()
        };
        let before = of(&params("lif.start=AroundRest(spread: Normal(sigma: 3 mV))"));
        let text = project::write(&before).expect("written");
        assert!(text.replace(char::is_whitespace, "").contains("start:AroundRest(spread:Normal(sigma:3.0"), "{text}");
        assert_eq!(project::read(&text).expect("read"), (before, vec![]));
        let read = |start: &str| project::read(&format!("(version: 1, model: Spiking((lif: (\nstart: {start}))))"));
        let old = project::read("(version: 1, model: Spiking((lif: (tau_m: 21))))").expect("an old file").0;
        let Model::Spiking(old) = old.model else { panic!("a network") };
        assert_eq!(old.lif.start, StartPotentials::AtRest(NoParameters {}));
        let error = read("AroundRest(spread: Norml(sigma: 3))").expect_err("unknown");
        assert!(error.to_string().contains("Norml"), "{error}");
        let (mended, warnings) = read("AroundRest(spread: Normal(sigma: -3))").expect("read");
        assert!(warnings[0].to_string().contains("lif.start"), "{warnings:?}");
        let Model::Spiking(mended) = mended.model else { panic!("a network") };
        assert!(mended.lif.start.of_u(0.0).is_none_or(|(law, _)| law != Distribution::normal(0.0, -3.0)));
        let (_, warnings) = read("AroundRest(spread: Normal(sigma: 3, width: 1))").expect("read");
        assert!(warnings.iter().any(|w| w.to_string().contains("width")), "{warnings:?}");
    }
}
