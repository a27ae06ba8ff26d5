//! Connections made on the device, from the draws of [`rows`](crate::kinds::spiking::general::rows). Rules without a kernel are
//! made on the host and uploaded.

use super::{
    buffers::RulesBuffers,
    kernels::{
        CountRulesRows, FillRulesRows, HashRulesRows, LAW_CONSTANT, LAW_LOG_NORMAL, LAW_NORMAL, LAW_UNIFORM, RULE_ALL,
        RULE_DEGREE, RULE_IN_DEGREE, RULE_ONE, RULE_PAIRS, RulesConnectKernels, RulesLaw, RulesProjection,
        RulesRowArgs,
    },
};
use crate::{
    gpu::{Buf, Gpu, Pass},
    kinds::spiking::general::{
        ConnectionRule,
        connections::{Rows, Weights, hash_of, made_on_host},
        network::RuleNetwork,
        plan::TARGET_BITS,
        rows::RowMaker,
    },
    num::{hash::StreamHash, normal},
    params::{Distribution, distribution::Law},
    sim::{Progress, SimError},
};
use rayon::prelude::*;
use std::sync::Arc;

/// Number of threads of a launch that loops over synapses.
const THREADS: u32 = 1 << 17;

/// A projection before its synapses are made.
pub enum Draft {
    /// Rows made on the host.
    Host(Rows),
    /// Starts of rows that the device fills.
    Device(Vec<u64>),
}

impl Draft {
    /// Returns the starts of the rows.
    pub fn starts(&self) -> &[u64] {
        match self {
            Self::Host(rows) => &rows.starts,
            Self::Device(starts) => starts,
        }
    }

    /// Returns the number of synapses.
    pub fn synapses(&self) -> u64 {
        self.starts().last().copied().unwrap_or(0)
    }
}

/// Makes the drafts of all projections, which hold the sizes of all rows. Fails if memory does not suffice, the device
/// fails, or `progress` cancels.
pub fn drafts(
    gpu: &Arc<Gpu>,
    kernels: &RulesConnectKernels,
    network: &RuleNetwork,
    progress: &Progress,
) -> Result<Vec<Draft>, SimError> {
    let n = network.plan.projections.len();
    let threads = rayon::current_num_threads();
    // The division of a total number takes longest, so projections are divided in parallel.
    let divided: Vec<Option<Vec<u32>>> = (0..n).into_par_iter().map(|i| network.maker(i).degrees()).collect();
    let draft = |(i, degrees): (usize, Option<Vec<u32>>)| {
        progress.report("connections", 0.0)?;
        let maker = network.maker(i);
        let [n_from, n_to] = maker.sizes;
        let own = |autapses: bool| u32::from(maker.is_own() && !autapses);
        let degrees = match (&maker.plan.rule, degrees) {
            (_, Some(degrees)) => degrees,
            (ConnectionRule::AllToAll(rule), _) => vec![n_to - own(rule.autapses); n_from as usize],
            (ConnectionRule::OneToOne(_), _) => vec![1; n_from as usize],
            (ConnectionRule::FixedOutDegree(rule), _) => vec![rule.n.max(0) as u32; n_from as usize],
            (ConnectionRule::Bernoulli(_) | ConnectionRule::FixedInDegree(_), _) => count(gpu, kernels, &maker)?,
            (ConnectionRule::ByDistance(_) | ConnectionRule::FromFile(_) | ConnectionRule::FixedTotal(_), _) => {
                let report = |_| progress.report("connections", i as f32 / n as f32);
                return Ok(Draft::Host(made_on_host(&maker, threads, &report)?));
            }
        };
        Ok(Draft::Device(starts_of(&degrees)))
    };
    divided.into_iter().enumerate().map(draft).collect()
}

fn starts_of(degrees: &[u32]) -> Vec<u64> {
    let mut sum = 0;
    let ends = degrees.iter().map(|degree| {
        sum += u64::from(*degree);
        sum
    });
    std::iter::once(0).chain(ends).collect()
}

/// Counts the synapses of each row on the device.
fn count(gpu: &Arc<Gpu>, kernels: &RulesConnectKernels, maker: &RowMaker<'_>) -> Result<Vec<u32>, SimError> {
    let mut degrees = Buf::zeros(gpu, "degrees", maker.sizes[0] as usize)?;
    let threads = if maker.is_transposed() { THREADS } else { maker.sizes[0] };
    let r = row_args(maker, 0, &RulesProjection::default());
    CountRulesRows { r, degrees: &mut degrees }.launch(kernels, &mut Pass::default(), threads)?;
    Ok(degrees.read()?)
}

/// Fills all rows. Returns the hash of all connections. Fails if device memory is full, the device fails, or `progress`
/// cancels.
pub fn fill(
    memory: &mut RulesBuffers,
    kernels: &RulesConnectKernels,
    network: &RuleNetwork,
    drafts: &[Draft],
    projections: &[RulesProjection],
    progress: &Progress,
) -> Result<StreamHash, SimError> {
    let gpu = memory.gpu.clone();
    let mut hash = Buf::zeros(&gpu, "hash", 1)?;
    let mut of_host = 0_u64;
    for (i, (draft, projection)) in drafts.iter().zip(projections).enumerate() {
        progress.report("connections", i as f32 / drafts.len() as f32)?;
        memory.starts.write_at(projection.starts as usize, draft.starts())?;
        if let Draft::Host(rows) = draft {
            let (rows, mut splits) = by_delay(rows);
            if projection.plastic > 0 {
                splits = lengths(draft.starts());
            }
            memory.splits.write_at(projection.starts as usize, &splits)?;
            memory.words.write_at(projection.words as usize, &rows.words)?;
            let at = projection.weights as usize;
            match &rows.weights {
                Weights::Constant(_) => {}
                Weights::Narrow(weights, _) => memory.weights.write_at(at, bytemuck::cast_slice(weights))?,
                Weights::Wide(weights) => memory.weights.write_at(at, bytemuck::cast_slice(weights))?,
            }
            of_host = of_host.wrapping_add(hash_of(i, &rows));
            continue;
        }
        let maker = network.maker(i);
        let r = row_args(&maker, i, projection);
        let mut cursors = Buf::zeros(&gpu, "cursors", if maker.is_transposed() { maker.sizes[0] as usize } else { 1 })?;
        let threads = if r.rule == RULE_PAIRS { r.n_from } else { THREADS };
        let RulesBuffers { starts, splits, words, weights, .. } = memory;
        let pass = &mut Pass::default();
        FillRulesRows { r, starts, splits, cursors: &mut cursors, words, weights }.launch(kernels, pass, threads)?;
        HashRulesRows { r, starts, words, weights, hash: &mut hash }.launch(kernels, pass, THREADS)?;
        if projection.plastic > 0 {
            // A plastic row is delivered as a whole, since its state is updated once per spike.
            memory.splits.write_at(projection.starts as usize, &lengths(draft.starts()))?;
        }
        gpu.synchronize()?; // so that a cancelled start ends soon
    }
    Ok(StreamHash(hash.read()?[0].wrapping_add(of_host)))
}

/// Returns the number of synapses of each row, and a final 0.
fn lengths(starts: &[u64]) -> Vec<u32> {
    starts.windows(2).map(|row| (row[1] - row[0]) as u32).chain([0]).collect()
}

/// Arranges the synapses of each row so that those with the smallest delay come first. Also returns the number of
/// synapses with the smallest delay, for each row, and a final 0.
fn by_delay(of: &Rows) -> (Rows, Vec<u32>) {
    let mut rows = of.clone();
    let mut splits = vec![0];
    for source in (0..rows.starts.len() - 1).rev() {
        let range = rows.range(source as u32);
        let (first, others): (Vec<usize>, Vec<usize>) = range.clone().partition(|at| of.words[*at] >> TARGET_BITS == 0);
        splits.push(first.len() as u32);
        for (to, from) in range.zip(first.into_iter().chain(others)) {
            rows.words[to] = of.words[from];
            match (&mut rows.weights, &of.weights) {
                (Weights::Narrow(to_weights, _), Weights::Narrow(weights, _)) => to_weights[to] = weights[from],
                (Weights::Wide(to_weights), Weights::Wide(weights)) => to_weights[to] = weights[from],
                _ => {}
            }
        }
    }
    splits.reverse();
    (rows, splits)
}

/// Returns the arguments of the kernels that make the rows of a projection.
fn row_args(maker: &RowMaker<'_>, index: usize, projection: &RulesProjection) -> RulesRowArgs {
    let skips = |autapses: bool| u32::from(maker.is_own() && !autapses);
    let (rule, degree, autapses, multapses, p) = match &maker.plan.rule {
        ConnectionRule::AllToAll(rule) => (RULE_ALL, 0, rule.autapses, true, 0.0),
        ConnectionRule::Bernoulli(rule) => (RULE_PAIRS, 0, rule.autapses, true, rule.p),
        ConnectionRule::FixedInDegree(rule) => (RULE_IN_DEGREE, rule.n, rule.autapses, rule.multapses, 0.0),
        ConnectionRule::FixedOutDegree(rule) => (RULE_DEGREE, rule.n, rule.autapses, rule.multapses, 0.0),
        ConnectionRule::FixedTotal(rule) => (RULE_DEGREE, 0, rule.autapses, true, 0.0),
        _ => (RULE_ONE, 0, true, true, 0.0),
    };
    RulesRowArgs {
        seed: maker.draws.seed,
        starts: projection.starts,
        words: projection.words,
        weights: projection.weights,
        p,
        per_log: if p > 0.0 && p < 1.0 { 1.0 / normal::ln(1.0 - p) } else { 0.0 },
        dt_ms: maker.dt_ms,
        scale: 2_f64.powi(maker.exponent),
        weight: law(maker.plan.weight),
        delay: law(maker.plan.delay),
        address: maker.draws.address,
        rule,
        n_from: maker.sizes[0],
        n_to: maker.sizes[1],
        degree: degree.max(0) as u32,
        skips_own: skips(autapses),
        multapses: multapses.into(),
        format: projection.format,
        constant: projection.constant,
        shift: projection.shift,
        delay_min: maker.plan.delay_min,
        delays: maker.plan.delays,
        projection: index as u32,
        pad: 0,
    }
}

/// Converts a distribution to the constants with which the device evaluates `Distribution::quantile`.
fn law(of: Distribution) -> RulesLaw {
    let [a, b] = of.arguments;
    let (low, high) = of.bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let constant = |a: f64| RulesLaw { kind: LAW_CONSTANT, a, low: a, high: a, ..RulesLaw::default() };
    if low > high {
        return constant(low);
    }
    let ln = |x: f64| match x {
        x if x < f64::MIN_POSITIVE => f64::NEG_INFINITY,
        f64::INFINITY => x,
        x => normal::ln(x),
    };
    let between = |kind: u32, z_low: f64, z_high: f64| {
        let (z_low, z_high) = ((z_low - a) / b, (z_high - a) / b);
        let (below, above) = (normal::cdf(z_low), normal::cdf(-z_high));
        let below_width = normal::cdf(z_high) - below;
        let above_width = normal::cdf(-z_low) - above;
        RulesLaw { kind, a, b, low, high, z_low, z_high, below, below_width, above, above_width, pad: 0 }
    };
    match of.law {
        Law::Constant => constant(a),
        Law::Uniform => {
            let from = a.max(low);
            RulesLaw { kind: LAW_UNIFORM, a: from, b: b.min(high) - from, low, high, ..RulesLaw::default() }
        }
        Law::Normal if b > 0.0 => between(LAW_NORMAL, low, high),
        Law::LogNormal if b > 0.0 => between(LAW_LOG_NORMAL, ln(low), ln(high)),
        Law::Normal => constant(a.clamp(low, high)),
        Law::LogNormal => constant(normal::exp(a).clamp(low, high)),
    }
}
