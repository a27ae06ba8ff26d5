//! Launches the kernels of selection and population turnover.

use super::{
    generation::Pipeline,
    task::Task,
    turnover_kernels::{
        BlendPhaseFields, BlendWeights, CollectAbove, CollectTies, CopyBaseWeights, CountAlive, CountDeaths,
        CountDigits, DecayNuclei, DecideEvents, EvaluateEnsemble, FinishLedger, FuseNuclei, ListAlive, MakeDecayKeys,
        MakeFitnessKeys, MakeFittestKeys, MakeFusionKeys, RemoveDead, StoreHostPhases, StoreMedian,
    },
};
use crate::gpu::{GpuError, Pass};

/// Grid of the fusion and decay kernels, in blocks.
const EVENT_BLOCKS: u32 = 528;

impl Pipeline {
    /// Computes the ensemble error of the `most` fittest nuclei. Must precede the selection, whose buffers are used.
    pub(super) fn evaluate_ensemble(&mut self, most: u32, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, k) = (self.n_slots(), &self.kernels.select);
        let Some(Task { of, x, y, .. }) = &self.task else { return Ok(()) };
        let (t, s) = (&mut self.table, &mut self.scratch);
        let (population, idx, keys, top_k) = (&t.population, &t.idx, &mut s.keys, &mut s.top_k);
        MakeFittestKeys { population, n_slots: n, most, idx, fields: &t.fields, keys, top_k }.launch(k, pass, n)?;
        let eighth = n.div_ceil(8);
        for digit in 0..3 {
            CountDigits { population, which: 0, digit, keys, histogram: &mut s.histogram, top_k }
                .launch(k, pass, eighth)?;
        }
        let (tags, chosen, ties) = (&mut t.tags, &mut s.chosen, &mut s.ties);
        CollectAbove { population, n_slots: n, which: 0, idx, keys, tags, chosen, ties, top_k }
            .launch(k, pass, eighth)?;
        CollectTies { population, n_slots: n, which: 0, idx, keys, tags, chosen, ties, top_k }
            .launch(k, pass, eighth)?;
        EvaluateEnsemble { of, top_k, chosen, x, y, w: &t.w, order: &mut s.order, stats: &mut t.stats }
            .launch(k, pass, 1)
    }

    /// Step 4: selects nuclei for fusion and decay; finds the median error only `with_details`.
    pub fn select(&mut self, with_details: bool, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, k) = (self.n_slots(), &self.kernels.select);
        let (t, s) = (&mut self.table, &mut self.scratch);
        let (population, kernel_params, idx) = (&t.population, t.kernel_params.buf(), &t.idx);
        for which in 0..2 {
            let (keys, top_k) = (&mut s.keys, &mut s.top_k);
            if which == 0 {
                MakeFusionKeys {
                    population,
                    stats: &t.stats,
                    params: kernel_params,
                    idx,
                    fields: &t.fields,
                    keys,
                    tags: &mut t.tags,
                    top_k,
                }
                .launch(k, pass, n)?;
            } else {
                MakeDecayKeys { population, params: kernel_params, idx, fields: &t.fields, tags: &t.tags, keys, top_k }
                    .launch(k, pass, n)?;
            }
            let eighth = n.div_ceil(8);
            for digit in 0..3 {
                CountDigits { population, which, digit, keys, histogram: &mut s.histogram, top_k }
                    .launch(k, pass, eighth)?;
            }
            let (tags, chosen, ties) = (&mut t.tags, &mut s.chosen, &mut s.ties);
            CollectAbove { population, n_slots: n, which, idx, keys, tags, chosen, ties, top_k }
                .launch(k, pass, eighth)?;
            CollectTies { population, n_slots: n, which, idx, keys, tags, chosen, ties, top_k }
                .launch(k, pass, eighth)?;
        }
        if with_details {
            MakeFitnessKeys { population, n_slots: n, idx, fields: &t.fields, keys: &mut s.keys }.launch(k, pass, n)?;
            for digit in 0..3 {
                CountDigits {
                    population,
                    which: 2,
                    digit,
                    keys: &s.keys,
                    histogram: &mut s.histogram,
                    top_k: &mut s.top_k,
                }
                .launch(k, pass, n.div_ceil(8))?;
            }
            StoreMedian { population, top_k: &s.top_k, stats: &mut t.stats }.launch(k, pass, 1)?;
        }
        Ok(())
    }

    /// Steps 5 to 9: draws and applies the events. Fails if the device fails.
    pub fn apply_events(&mut self, with_deaths: bool, pass: &mut Pass) -> Result<(), GpuError> {
        let (n, dim) = (self.n_slots(), self.table.kernel_params.value().dim);
        let quarter = n.div_ceil(4);
        let k = &self.kernels.turnover;
        let (t, s) = (&mut self.table, &mut self.scratch);
        let kernel_params = t.kernel_params.buf();
        let (decision, order, log, words) = (&mut s.decision, &mut s.order, &mut s.log, &mut s.words);
        let errors_out = &mut s.errors;
        let (population, stats, fields) = (&t.population, &t.stats, &mut t.fields);
        let (top_k, chosen, shares) = (&s.top_k, &s.chosen, &mut s.shares);
        DecideEvents {
            population,
            stats,
            params: kernel_params,
            top_k,
            fields,
            chosen,
            order,
            shares,
            decision,
            log: log.buf(),
            words_out: words,
            errors_out,
        }
        .launch(k, pass, 1)?;
        BlendWeights { params: kernel_params, decision, order, shares, w: &t.w, fused: &mut s.fused }
            .launch(k, pass, dim)?;
        if self.mixer.is_some() {
            BlendPhaseFields { params: kernel_params, decision, order, shares, fields, phases: &mut s.fused_phases }
                .launch(k, pass, 1)?;
        }
        FuseNuclei {
            population,
            params: kernel_params,
            decision,
            order,
            fused: &s.fused,
            w: &mut t.w,
            fields,
            tags: &mut t.tags,
        }
        .launch(k, pass, 128 * EVENT_BLOCKS)?;
        if self.mixer.is_some() {
            StoreHostPhases { params: kernel_params, decision, phases: &s.fused_phases, fields }.launch(k, pass, 1)?;
        }
        CopyBaseWeights { stats, params: kernel_params, fused: &s.fused, w: &t.w, base: &mut s.base }
            .launch(k, pass, dim)?;
        CountAlive { params: kernel_params, tags: &t.tags, block_counts: &mut s.block_counts }
            .launch(k, pass, quarter)?;
        ListAlive {
            params: kernel_params,
            tags: &t.tags,
            block_counts: &s.block_counts,
            idx: &mut t.idx,
            free: &mut t.free,
            population: &mut t.population,
        }
        .launch(k, pass, quarter)?;
        let (population, idx, free, tags, w) = (&t.population, &t.idx, &t.free, &mut t.tags, &mut t.w);
        let threads = 128 * EVENT_BLOCKS;
        DecayNuclei {
            population,
            params: kernel_params,
            decision,
            order,
            free,
            base: &s.base,
            w,
            fields,
            tags,
            log: log.buf(),
            words_out: words,
        }
        .launch(k, pass, threads)?;
        if with_deaths {
            let (dying, block_counts) = (&mut s.dying, &mut s.block_counts);
            CountDeaths { population, params: kernel_params, idx, tags, dying, block_counts }
                .launch(k, pass, quarter)?;
            RemoveDead {
                population,
                params: kernel_params,
                idx,
                dying,
                block_counts,
                w,
                fields,
                tags,
                decision,
                log: log.buf(),
                words_out: words,
                errors_out,
            }
            .launch(k, pass, quarter)?;
        }
        let entries = &mut s.entries;
        FinishLedger {
            params: kernel_params,
            stats,
            decision,
            population: &mut t.population,
            log: log.buf_mut(),
            entries,
        }
        .launch(k, pass, 1)?;
        CountAlive { params: kernel_params, tags: &t.tags, block_counts: &mut s.block_counts }
            .launch(k, pass, quarter)?;
        ListAlive {
            params: kernel_params,
            tags: &t.tags,
            block_counts: &s.block_counts,
            idx: &mut t.idx,
            free: &mut t.free,
            population: &mut t.population,
        }
        .launch(k, pass, quarter)
    }
}
