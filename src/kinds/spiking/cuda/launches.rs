//! The launches of a window, and of many at once.

use super::{
    Shape,
    kernels::{Kernels, Model},
    memory::Memory,
    sizes::{COPIES, SPAN, TAGS},
    units::UnitStep,
};
use crate::{
    gpu::{Buf, GpuError, Pass, kernel::Grid},
    kinds::spiking::cuda::dealt::Dealt,
};

/// Threads of the blocks that count synaptic events, one block for each copy of the counters.
const COUNTING: u32 = COPIES as u32 * 256;

impl Memory {
    /// One window: what arrives, who fires.
    pub fn launch(&mut self, kernels: &Kernels, index: u32, shape: Shape, pass: &mut Pass) -> Result<(), GpuError> {
        let model = self.model.buf();
        let Model { layout, seed, .. } = self.model.value(); // these stay as they are, as graphs need it
        let delivering = self.deliver_threads;
        if shape.driven {
            kernels.deliver_driven(
                pass,
                delivering + self.n.next_multiple_of(256),
                layout,
                self.n,
                shape.exactly.into(),
                model,
                &self.windows,
                index,
                &mut self.segments,
                &mut self.live,
                &self.chunks,
                &self.rows,
                &self.words,
                &self.overflow,
                &self.gain_of,
                &self.gains,
                &self.sources,
                &self.chances,
                &self.masks,
                &self.trains,
                &mut self.kick_bits,
                &mut self.arrivals,
                &mut self.touched,
            )?;
        } else {
            let (segments, live) = (&mut self.segments, &mut self.live);
            let (chunks, words, touched) = (&self.chunks, &self.words, &mut self.touched);
            let (windows, arrivals) = (&self.windows, &mut self.arrivals);
            kernels
                .deliver(pass, delivering, layout, windows, index, segments, live, chunks, words, arrivals, touched)?;
        }
        if shape.kicks {
            let (kicks, bits) = (&self.kicks, &mut self.kick_bits);
            kernels.mark_kicks(pass, 4096, model, &self.windows, index, &self.live, kicks, bits, &mut self.touched)?;
        }
        if shape.traced && self.units.is_none() {
            kernels.trace(
                pass,
                self.n_traced,
                model,
                &self.propagators,
                &self.windows,
                index,
                &self.live,
                &self.sources,
                &self.chances,
                &self.masks,
                &self.trains,
                &self.kicks,
                &self.marks,
                &self.currents,
                &self.states,
                &self.anchors,
                &self.arrivals,
                &self.kick_bits,
                self.n_traced,
                &self.traced,
                &mut self.samples,
            )?;
        }
        if let Some(UnitStep { kernels, constants, .. }) = &self.units {
            kernels.leak(
                pass,
                self.n.next_multiple_of(256) + COUNTING,
                layout,
                self.n,
                seed,
                model,
                constants.buf(),
                &self.windows,
                index,
                &mut self.live,
                &self.segments,
                &self.rows,
                &self.sources,
                &self.chances,
                &self.masks,
                &self.trains,
                &self.kicks,
                &self.marks,
                &self.currents,
                &self.gain_of,
                &self.gains,
                &mut self.states,
                &mut self.arrivals,
                &mut self.kick_bits,
                &mut self.spikes,
                &mut self.chunks,
                &mut self.counters,
                &mut self.rates,
                &self.fade,
            )?;
            if shape.traced {
                let (n, traced, samples) = (self.n_traced, &self.traced, &mut self.samples);
                kernels.trace_units(pass, n, &self.windows, index, &self.live, &self.states, n, traced, samples)?;
            }
            return Ok(());
        }
        kernels.advance(
            pass,
            self.n.next_multiple_of(SPAN) / 2 + COUNTING, // two neurons per thread
            model,
            &self.propagators,
            &self.windows,
            index,
            &mut self.live,
            &self.segments,
            &self.rows,
            &self.sources,
            &self.chances,
            &self.masks,
            &self.trains,
            &self.kicks,
            &self.marks,
            &self.currents,
            &self.gain_of,
            &self.gains,
            &mut self.states,
            &mut self.anchors,
            &mut self.checks,
            &mut self.wakes,
            &mut self.touched,
            &mut self.arrivals,
            &mut self.kick_bits,
            &mut self.spikes,
            &mut self.chunks,
            &mut self.counters,
            &mut self.rates,
            &self.fade,
        )
    }

    /// Whether somebody is driven, or weights are not as they are packed: more for `deliver` to do.
    pub fn is_driven(&self) -> bool {
        self.model.value().n_sources > 0 || self.is_exact()
    }

    /// Whether weights are not as they are packed.
    pub fn is_exact(&self) -> bool {
        let model = self.model.value();
        model.has_gains != 0 || model.n_overflow > 0
    }

    /// Whether the situation is one that `reside` knows: at most one source of kicks (none for units), weights as they are,
    /// inputs tame, nobody traced.
    pub fn is_plain(&self) -> bool {
        let model = self.model.value();
        model.n_sources <= u32::from(self.units.is_none())
            && !self.is_exact()
            && model.is_wild == 0
            && self.n_traced == 0
    }

    /// Makes room for resident blocks.
    pub fn move_in(&mut self, dealt: &Dealt, post_words: usize) -> Result<(), GpuError> {
        let gpu = &self.gpu;
        self.heads = Buf::from_slice(gpu, "heads of the wiring by block", &dealt.heads)?;
        self.tails = Buf::from_slice(gpu, "tails of the wiring by block", &dealt.tails)?;
        self.tail_starts = Buf::from_slice(gpu, "places of the tails", &dealt.starts)?;
        self.posts = Buf::zeros(gpu, "posts of blocks", post_words)?;
        Ok(())
    }

    /// Launches the first `windows` of the plan at once; all but the last are whole.
    pub fn reside(&mut self, kernels: &Kernels, grid: Grid, windows: u32, pass: &mut Pass) -> Result<(), GpuError> {
        if self.next_tag + windows > TAGS {
            self.posts.clear()?;
            self.next_tag = 1;
        }
        let first_tag = self.next_tag;
        self.next_tag += windows;
        if let Some(UnitStep { kernels, constants, .. }) = &self.units {
            return kernels.board(
                pass,
                grid,
                self.model.buf(),
                constants.buf(),
                &self.windows,
                windows,
                &mut self.segments,
                &self.rows,
                &self.words,
                &self.heads,
                &self.tails,
                &self.tail_starts,
                &self.marks,
                &self.currents,
                &mut self.states,
                &mut self.arrivals,
                &mut self.spikes,
                &mut self.chunks,
                &mut self.counters,
                &mut self.gate,
                &mut self.posts,
                first_tag,
                &mut self.rates,
                &self.fade,
            );
        }
        kernels.reside(
            pass,
            grid,
            self.model.buf(),
            &self.propagators,
            &self.windows,
            windows,
            &mut self.segments,
            &self.rows,
            &self.words,
            &self.heads,
            &self.tails,
            &self.tail_starts,
            &self.sources,
            &self.chances,
            &self.masks,
            &self.trains,
            &self.marks,
            &self.currents,
            &mut self.states,
            &mut self.anchors,
            &mut self.checks,
            &mut self.wakes,
            &mut self.arrivals,
            &mut self.spikes,
            &mut self.chunks,
            &mut self.counters,
            &mut self.gate,
            &mut self.posts,
            first_tag,
            &mut self.rates,
            &self.fade,
        )
    }

    /// Sorts the spikes of the first `windows` of the plan, launched one by one or not.
    pub fn order(
        &mut self,
        kernels: &Kernels,
        windows: u32,
        one_by_one: bool,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        let (model, segments, spikes) = (self.model.buf(), &mut self.segments, &mut self.spikes);
        let (plan, live, counters) = (&self.windows, &self.live, &mut self.counters);
        kernels.order(pass, windows * 1024, model, plan, live, one_by_one.into(), segments, spikes, counters)
    }
}
