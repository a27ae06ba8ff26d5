use super::*;
use std::{collections::BTreeMap, sync::OnceLock};

fn brain() -> &'static Connectome {
    static BRAIN: OnceLock<Connectome> = OnceLock::new();
    BRAIN.get_or_init(|| fly_stand_in(1, &|_, _| true).expect("not cancelled"))
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
