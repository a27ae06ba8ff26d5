use super::*;
use std::{collections::BTreeMap, sync::OnceLock};

fn brain() -> &'static Connectome {
    static BRAIN: OnceLock<Connectome> = OnceLock::new();
    BRAIN.get_or_init(|| fly_stand_in(1, &|_, _| true).expect("not cancelled"))
}

fn quantiles(mut values: Vec<u32>) -> Vec<u32> {
    values.sort_unstable();
    [0.01, 0.25, 0.5, 0.75, 0.99, 0.999, 1.0].map(|q| values[(q * (values.len() - 1) as f64) as usize]).to_vec()
}

fn degrees(c: &Connectome) -> (Vec<u32>, Vec<u32>) {
    let out = c.synapses.rows.windows(2).map(|w| w[1] - w[0]).collect();
    let mut into = vec![0; c.neurons.len as usize];
    c.synapses.words.iter().for_each(|w| into[c.synapses.target(*w) as usize] += 1);
    (out, into)
}

#[test]
fn has_the_published_size() {
    let c = brain();
    let census = c.synapses.synapse_counts();
    assert_eq!(c.neurons.len, N_NEURONS);
    assert_eq!((census.n_excitatory, census.n_inhibitory), (u64::from(N_EXCITATORY), u64::from(N_INHIBITORY)));
    assert!((53_500_000..55_500_000).contains(&census.n_synapses), "{} synapses", census.n_synapses);
    let (out, into) = degrees(c);
    let without = |d: &[u32]| d.iter().filter(|d| **d == 0).count();
    eprintln!("out {:?} in {:?}", quantiles(out.clone()), quantiles(into.clone()));
    eprintln!("counts {:?}", quantiles(c.synapses.words.iter().map(|w| c.synapses.count(*w).unsigned_abs()).collect()));
    eprintln!("{census:?}, without output {}, without input {}", without(&out), without(&into));
    assert_eq!(without(&out), 634);
    assert!((1_500..1_700).contains(&without(&into)), "{}", without(&into));
    assert!((9_000..=9_783).contains(out.iter().max().expect("some")));
}

#[test]
fn rows_are_sorted_with_one_sign_and_no_autapses() {
    let c = brain();
    for pre in 0..c.neurons.len {
        let row: Vec<(u32, i32)> = c.synapses.connections(pre).collect();
        assert!(row.windows(2).all(|w| w[0].0 < w[1].0), "sorted, each target once");
        assert!(row.iter().all(|(target, _)| *target < c.neurons.len && *target != pre), "targets exist, no autapses");
        assert!(row.iter().all(|(_, n)| n.signum() == row[0].1.signum()), "one sign per neuron");
    }
}

#[test]
fn class_sizes_match_the_connectome() {
    let c = brain();
    let mut counts = BTreeMap::new();
    c.neurons.categories[0].texts.iter().for_each(|t| *counts.entry(t.as_str()).or_insert(0) += 1);
    assert_eq!((counts["optic"], counts["central"], counts["sensory"]), (77_867, 32_377, 16_385));
    let class = &c.neurons.categories[1].texts;
    assert_eq!(class.iter().filter(|t| *t == "gustatory").count(), 408);
    let (kind, side) = (&c.neurons.categories[2].texts, &c.neurons.categories[3].texts);
    assert_eq!(kind.iter().zip(side).filter(|(k, s)| *k == "sugar" && *s == "right").count(), 21);
    assert!(c.neurons.names.iter().any(|n| n == "MN9_l"));
    let low = c.neurons.positions.iter().fold([f32::MAX; 3], |a, p| [0, 1, 2].map(|k| a[k].min(p[k])));
    let high = c.neurons.positions.iter().fold([f32::MIN; 3], |a, p| [0, 1, 2].map(|k| a[k].max(p[k])));
    eprintln!("from {low:?} to {high:?}");
    assert!([0, 1, 2].iter().all(|k| (150.0..800.0).contains(&(high[*k] - low[*k]))));
}

#[test]
fn populations_have_room_for_their_cell_types() {
    assert_eq!(populations::all().iter().map(|p| p.count).sum::<u32>(), N_NEURONS);
    let dealt = |p: &populations::Population| p.cell_types.iter().map(|t| t.1).sum::<u32>();
    assert!(
        populations::all().iter().all(|p| dealt(p) <= p.count / 2 && p.cell_types.last().is_some_and(|t| t.1 == 0))
    );
}

#[test]
fn the_same_on_any_number_of_threads() {
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let again = alone.install(|| fly_stand_in(1, &|_, _| true)).expect("not cancelled");
    assert_eq!(again.fingerprint(), brain().fingerprint());
}

/// Integrates the network for `ms` with a Poisson drive of 150 Hz on chosen neurons, 0.1 ms steps, as in Shiu et
/// al. (2024) but with input to refractory neurons kept: good enough to see how far activity spreads.
fn spikes(c: &Connectome, driven: &[u32], ms: u32, seed: u64) -> Vec<u32> {
    use crate::num::rng::{Draw, Purpose};
    let n = c.neurons.len as usize;
    let (mut v, mut g, mut until, mut n_spikes) = (vec![0_f32; n], vec![0_f32; n], vec![0_u32; n], vec![0_u32; n]);
    let mut late: Vec<Vec<u32>> = vec![Vec::new(); 18];
    let mut exempt = vec![false; n];
    driven.iter().for_each(|i| exempt[*i as usize] = true);
    for step in 0..ms * 10 {
        let mut fired = std::mem::take(&mut late[(step % 18) as usize]);
        for pre in fired.drain(..) {
            for (post, count) in c.synapses.connections(pre) {
                g[post as usize] += 0.275 * count as f32;
            }
        }
        for i in 0..n {
            if until[i] <= step && (v[i] != 0.0 || g[i] != 0.0) {
                v[i] = 0.995_012_5 * v[i] + 0.004_937_935 * g[i];
                g[i] *= 0.980_198_7;
                if v[i] > 7.0 {
                    (v[i], g[i]) = (0.0, 0.0);
                    until[i] = if exempt[i] { 0 } else { step + 22 };
                    n_spikes[i] += 1;
                    fired.push(i as u32);
                }
            }
        }
        for i in driven {
            let word = Draw::of_step(seed, Purpose::Stimulus, u64::from(step), *i);
            if word < (0.015 * 4_294_967_296.0) as u32 {
                v[*i as usize] += 68.75;
            }
        }
        late[(step % 18) as usize] = fired;
    }
    n_spikes
}

/// Prints the active neurons: `cargo test --release --lib activity -- --ignored --nocapture`.
#[test]
#[ignore = "a look at the dynamics, tens of seconds"]
fn activity_spreads_moderately() {
    let c = brain();
    let (class, side) = (&c.neurons.categories[1].texts, &c.neurons.categories[3].texts);
    let kind = &c.neurons.categories[2].texts;
    let all = |keep: &dyn Fn(usize) -> bool| (0..c.neurons.len).filter(|i| keep(*i as usize)).collect::<Vec<u32>>();
    let drives = [
        ("sugar, right", all(&|i| kind[i] == "sugar" && side[i] == "right")),
        ("gustatory", all(&|i| class[i] == "gustatory")),
        ("olfactory", all(&|i| class[i] == "olfactory")),
        ("mechanosensory", all(&|i| class[i] == "mechanosensory")),
    ];
    for (name, driven) in drives {
        let counts = spikes(c, &driven, 300, 7);
        let mut by_class: BTreeMap<(&str, &str), (u32, u32)> = BTreeMap::new();
        for (i, n) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let at = by_class.entry((&c.neurons.categories[0].texts[i], &class[i])).or_default();
            (at.0, at.1) = (at.0 + 1, at.1 + n);
        }
        let active = counts.iter().filter(|n| **n > 0).count();
        eprintln!("{name}: {} driven, {active} active, {} spikes in 300 ms", driven.len(), counts.iter().sum::<u32>());
        by_class.iter().for_each(|(k, (n, s))| eprintln!("    {k:?}: {n} active, {s} spikes"));
    }
}

/// Writes positions for a picture: x, y, z, class number per line.
#[test]
#[ignore = "writes positions to the file named in NEUROPIL_POSITIONS"]
fn positions_for_a_picture() {
    let Some(path) = std::env::var_os("NEUROPIL_POSITIONS") else { return };
    let start = std::time::Instant::now();
    let c = fly_stand_in(1, &|_, _| true).expect("not cancelled");
    eprintln!("generated in {:.2} s", start.elapsed().as_secs_f64());
    let text = c.neurons.positions.iter().zip(&c.neurons.categories[0].texts);
    let text: String = text.map(|(p, s)| format!("{},{},{},{s}\n", p[0], p[1], p[2])).collect();
    std::fs::write(path, text).expect("written");
}
