//! Ego network of some elements: their partners and connections, read on the pool.

use crate::sim::{ConnectionSource, Progress};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Maximum number of connections listed.
pub const MAX_LISTED: usize = 200_000;

/// Connection with both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synapse {
    pub pre: u32,
    pub post: u32,
    pub weight: f32,
    /// Delay in seconds; `None` for the common one.
    pub delay_secs: Option<f64>,
}

/// Element connected to the queried elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Partner {
    pub element: u32,
    /// Sum of the absolute weights.
    pub total: f64,
    /// Sum of the signed weights.
    pub net: f64,
    /// Number of connections.
    pub n: u32,
}

/// Ego network of the queried elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ego {
    /// Presynaptic partners, in descending order of weight, without the queried elements.
    pub inputs: Vec<Partner>,
    /// Postsynaptic partners, in descending order of weight, without the queried elements.
    pub outputs: Vec<Partner>,
    /// Number of connections among the queried elements.
    pub inner: u64,
    /// Connections that begin or end at a queried element, in descending order of absolute weight; at most [`MAX_LISTED`].
    pub synapses: Vec<Synapse>,
    /// Number of connections that begin or end at a queried element.
    pub n_synapses: u64,
}

/// Reads the ego network of the elements `of`; `None` if the job was cancelled.
pub fn read_ego(links: &dyn ConnectionSource, of: &[u32], progress: &Progress) -> Option<Ego> {
    let n = links.n();
    let mut is_in = vec![false; n as usize];
    of.iter().filter(|e| **e < n).for_each(|e| is_in[*e as usize] = true);
    let pieces: Vec<u32> = (0..n).step_by(1024).collect();
    let found: Vec<Vec<Synapse>> = pieces
        .into_par_iter()
        .map(|from| {
            progress.report("reading connections", from as f32 / n.max(1) as f32).ok()?;
            Some(piece(links, from..(from + 1024).min(n), &is_in))
        })
        .collect::<Option<_>>()?;
    let mut synapses: Vec<Synapse> = found.into_iter().flatten().collect();
    let mut ego = Ego { n_synapses: synapses.len() as u64, ..Ego::default() };
    let (mut inputs, mut outputs) = (BTreeMap::new(), BTreeMap::new());
    for s in &synapses {
        match (is_in[s.pre as usize], is_in[s.post as usize]) {
            (true, true) => ego.inner += 1,
            (true, false) => add(&mut outputs, s.post, s.weight),
            _ => add(&mut inputs, s.pre, s.weight),
        }
    }
    (ego.inputs, ego.outputs) = (ranked(inputs), ranked(outputs));
    let strongest = |a: &Synapse, b: &Synapse| {
        b.weight.abs().total_cmp(&a.weight.abs()).then((a.pre, a.post).cmp(&(b.pre, b.post)))
    };
    synapses.par_sort_unstable_by(strongest);
    synapses.truncate(MAX_LISTED);
    ego.synapses = synapses;
    Some(ego)
}

fn piece(links: &dyn ConnectionSource, range: std::ops::Range<u32>, is_in: &[bool]) -> Vec<Synapse> {
    let (mut out, mut row) = (Vec::new(), Vec::new());
    for pre in range {
        links.read(pre, &mut row);
        let is_mine = is_in[pre as usize];
        let kept = row.iter().filter(|l| is_in.get(l.to as usize).is_some_and(|post| *post || is_mine));
        out.extend(kept.map(|l| Synapse { pre, post: l.to, weight: l.weight as f32, delay_secs: l.delay_secs }));
    }
    out
}

fn add(partners: &mut BTreeMap<u32, Partner>, element: u32, weight: f32) {
    let partner = partners.entry(element).or_insert(Partner { element, total: 0.0, net: 0.0, n: 0 });
    partner.total += f64::from(weight.abs());
    partner.net += f64::from(weight);
    partner.n += 1;
}

fn ranked(partners: BTreeMap<u32, Partner>) -> Vec<Partner> {
    let mut out: Vec<Partner> = partners.into_values().collect();
    out.sort_by(|a, b| b.total.total_cmp(&a.total).then(a.element.cmp(&b.element)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::views::connectivity::blocks::tests::Few;

    #[test]
    fn inputs_and_outputs_are_separate() {
        let few = Few(6, vec![(0, 2, 3.0), (1, 2, -4.0), (2, 3, 2.0), (3, 2, 1.0), (4, 5, 9.0), (2, 1, 8.0)]);
        let ego = read_ego(&few, &[2, 3], &Progress::default()).unwrap();
        let who = |p: &[Partner]| p.iter().map(|p| (p.element, p.net, p.n)).collect::<Vec<_>>();
        assert_eq!(who(&ego.inputs), [(1, -4.0, 1), (0, 3.0, 1)]);
        assert_eq!(who(&ego.outputs), [(1, 8.0, 1)]);
        assert_eq!((ego.inner, ego.n_synapses), (2, 5));
        assert_eq!(ego.synapses[0], Synapse { pre: 2, post: 1, weight: 8.0, delay_secs: None });
        let cancelled = Progress::default();
        cancelled.cancel();
        assert_eq!(read_ego(&few, &[2], &cancelled), None);
    }
}
