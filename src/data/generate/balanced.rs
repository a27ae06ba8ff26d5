//! Generates a sparse random network of excitatory and inhibitory neurons.

use crate::{
    data::{
        Category, Connectome, Csr, DataError, MAX_NEURONS, NeuronTable, ProgressFn, read::describe_synapses, report,
    },
    num::{
        digits::{counted, group_digits},
        exact::unit,
        rng::{Draw, Purpose},
    },
};
use rayon::prelude::*;
use std::path::Path;

/// Radius of the ball of neurons, µm.
const RADIUS_UM: f32 = 100.0;

/// Generates a random network by [`balanced_with`], with one number of synapses for excitatory connections and one for
/// inhibitory ones.
///
/// # Errors
/// Returns the errors of [`balanced_with`].
pub fn balanced(
    n: u32,
    in_degree: u32,
    excitatory_fraction: f64,
    excitatory_count: u32,
    inhibitory_count: u32,
    seed: u64,
    watch: &ProgressFn,
) -> Result<Connectome, DataError> {
    let count = |c: RandomConnection| if c.is_excitatory { excitatory_count } else { inhibitory_count };
    balanced_with(n, in_degree, excitatory_fraction, count, seed, watch)
}

/// Connection of a generated network.
#[derive(Clone, Copy, Debug)]
pub struct RandomConnection {
    /// Index of the presynaptic neuron.
    pub pre: u32,
    /// Index of the postsynaptic neuron.
    pub post: u32,
    pub is_excitatory: bool,
}

impl RandomConnection {
    /// Returns the address of the connection's draw.
    pub const fn draw(self, seed: u64) -> Draw {
        Draw { seed, purpose: Purpose::Connectivity, step: (2 << 40) + self.pre as u64, lane: self.post }
    }
}

/// Generates a random network: every neuron receives connections from exactly `in_degree` different other neurons (from all
/// others in a smaller network), drawn uniformly; `count` returns the number of synapses of each connection. Excitatory neurons
/// come first; the category `super_class` is `excitatory` or `inhibitory`. Positions fill a ball of 100 µm radius.
///
/// # Errors
/// Returns [`DataError::Format`] if `n` is 0 or beyond [`MAX_NEURONS`], or 32 bits cannot count the connections, and
/// [`DataError::Cancelled`] if `watch` cancels.
pub fn balanced_with(
    n: u32,
    in_degree: u32,
    excitatory_fraction: f64,
    count: impl Fn(RandomConnection) -> u32,
    seed: u64,
    watch: &ProgressFn,
) -> Result<Connectome, DataError> {
    let here = Path::new("balanced network");
    let in_degree = in_degree.min(n.saturating_sub(1));
    if n == 0 || n > MAX_NEURONS {
        return Err(DataError::format(
            here,
            format!("{}; 1 to {} expected", counted(n, "neuron", "neurons"), group_digits(MAX_NEURONS.into())),
        ));
    }
    if u64::from(n) * u64::from(in_degree) >= u64::from(u32::MAX) {
        return Err(DataError::format(
            here,
            format!("{} with {in_degree} inputs each are too many connections", counted(n, "neuron", "neurons")),
        ));
    }
    let n_excitatory = (f64::from(n) * excitatory_fraction.clamp(0.0, 1.0)).round() as u32;
    let sources = sources(n, in_degree, seed, watch)?;
    let count_of = |pre: u32, post: u32| {
        let is_excitatory = pre < n_excitatory;
        let count = clamped(count(RandomConnection { pre, post, is_excitatory }));
        if is_excitatory { count } else { -count }
    };
    let synapses = transposed(n, in_degree, &sources, count_of, watch)?;
    let text = |i: u32| if i < n_excitatory { "excitatory" } else { "inhibitory" }.to_owned();
    let neurons = NeuronTable {
        len: n,
        positions: (0..n).map(|i| in_ball(seed, i)).collect(),
        categories: vec![Category { name: "super_class".to_owned(), texts: (0..n).map(text).collect() }],
        ..NeuronTable::default()
    };
    let provenance = vec![
        format!(
            "generated: balanced random network, seed {seed}, {}, {} each",
            counted(n, "neuron", "neurons"),
            counted(in_degree, "input", "inputs")
        ),
        describe_synapses(&synapses),
    ];
    let mut connectome = Connectome { neurons, synapses, provenance, notices: vec![] };
    connectome.provenance.push(format!("fingerprint {:016x}", connectome.fingerprint()));
    Ok(connectome)
}

fn clamped(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Draws the presynaptic partners of every neuron, sorted, `in_degree` for each. Fails if `watch` cancels.
fn sources(n: u32, in_degree: u32, seed: u64, watch: &ProgressFn) -> Result<Vec<u32>, DataError> {
    const STRETCH: usize = 256;
    let mut sources = vec![0_u32; n as usize * in_degree as usize];
    if in_degree == 0 {
        return Ok(sources);
    }
    sources.par_chunks_mut(in_degree as usize * STRETCH).enumerate().try_for_each(|(stretch, rows)| {
        report(watch, "Connections", 0.6 * (stretch * STRETCH) as f32 / n as f32)?;
        for (row, k) in rows.chunks_mut(in_degree as usize).zip(0..) {
            draw_row(row, n, (stretch * STRETCH) as u32 + k, seed);
        }
        Ok(())
    })?;
    Ok(sources)
}

/// Fills a row with different neurons other than `post` by Floyd's sampling, one draw per entry.
fn draw_row(row: &mut [u32], n: u32, post: u32, seed: u64) {
    let m = row.len() as u32;
    // The draw is among the n-1 other neurons, numbered without the gap at `post`.
    let others = n - 1;
    let mut drawn: Vec<u32> = Vec::with_capacity(row.len());
    let mut seen = std::collections::HashSet::with_capacity(row.len());
    for (k, j) in (others - m..others).enumerate() {
        let words = Draw { seed, purpose: Purpose::Connectivity, step: k as u64 / 4, lane: post }.words();
        let pick = below(words[k % 4], j + 1);
        let pick = if seen.insert(pick) { pick } else { j };
        seen.insert(pick);
        drawn.push(if pick >= post { pick + 1 } else { pick });
    }
    drawn.sort_unstable();
    row.copy_from_slice(&drawn);
}

/// Maps a word to a number from 0 to n-1.
fn below(word: u32, n: u32) -> u32 {
    ((u64::from(word) * u64::from(n)) >> 32) as u32
}

/// Transposes rows by postsynaptic neuron to rows by presynaptic neuron, whose targets are sorted.
fn transposed(
    n: u32,
    in_degree: u32,
    sources: &[u32],
    count_of: impl Fn(u32, u32) -> i32,
    watch: &ProgressFn,
) -> Result<Csr, DataError> {
    let target_bits = Csr::target_bits_for(n);
    let most = Csr::largest_count(target_bits);
    let rows_of = || (0_u32..).zip(sources.chunks(in_degree.max(1) as usize));
    let mut degrees = vec![0_u32; n as usize];
    for (post, row) in rows_of() {
        row.iter().filter(|pre| count_of(**pre, post) != 0).for_each(|pre| degrees[*pre as usize] += 1);
    }
    let mut rows = Vec::with_capacity(n as usize + 1);
    rows.push(0);
    let mut at = 0;
    rows.extend(degrees.iter().map(|d| {
        at += d;
        at
    }));
    let mut cursors = rows.clone();
    let mut words = vec![0; at as usize];
    let mut overflow = vec![];
    for (post, row) in rows_of() {
        if post.is_multiple_of(16_384) {
            report(watch, "Connections", 0.6 + 0.4 * post as f32 / n as f32)?;
        }
        for (pre, count) in row.iter().map(|pre| (*pre as usize, count_of(*pre, post))).filter(|(_, c)| *c != 0) {
            let at = cursors[pre];
            words[at as usize] = Csr::pack(target_bits, post, count);
            if count.unsigned_abs() > most.unsigned_abs() {
                overflow.push((at, count));
            }
            cursors[pre] += 1;
        }
    }
    overflow.sort_unstable();
    Ok(Csr { rows, words, target_bits, overflow })
}

/// Draws a point in the ball, by rejection from the cube around the ball, µm. After 64 rejections, returns the centre.
fn in_ball(seed: u64, lane: u32) -> [f32; 3] {
    for attempt in 0..64 {
        let words = Draw { seed, purpose: Purpose::Connectivity, step: (1 << 40) + attempt, lane }.words();
        let p = [0, 1, 2].map(|axis| 2.0 * unit(words[axis]) - 1.0);
        if p.iter().map(|x| x * x).sum::<f32>() <= 1.0 {
            return p.map(|x| x * RADIUS_UM);
        }
    }
    [0.0; 3]
}
