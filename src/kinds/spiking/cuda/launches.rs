//! Kernel launches of one window, and of many at once.

use super::{
    GraphVariant,
    buffers::DeviceBuffers,
    kernels::{Kernels, Model},
    leaky::LeakyDevice,
    sizes::{COPIES, NEURONS_PER_BLOCK, TAGS},
};
use crate::{
    gpu::{Buf, GpuError, Grid, Pass},
    kinds::spiking::cuda::block_csr::BlockCsr,
};

/// Threads of the blocks that count synaptic events, one block for each copy of the counters.
const COUNTING: u32 = COPIES as u32 * 256;

impl DeviceBuffers {
    /// Launches one window: delivery, then step.
    pub fn launch_window(
        &mut self,
        kernels: &Kernels,
        index: u32,
        variant: GraphVariant,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        let model = self.model.buf();
        let Model { layout, seed, .. } = self.model.value(); // constant, as graphs require
        let delivering = self.deliver_threads;
        if variant.driven {
            kernels.deliver_spikes_driven(
                pass,
                delivering + self.n.next_multiple_of(256),
                layout,
                self.n,
                variant.is_exact.into(),
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
            kernels.deliver_spikes(
                pass, delivering, layout, windows, index, segments, live, chunks, words, arrivals, touched,
            )?;
        }
        if variant.kicks {
            let (kicks, bits) = (&self.kicks, &mut self.kick_bits);
            kernels.mark_kicks(pass, 4096, model, &self.windows, index, &self.live, kicks, bits, &mut self.touched)?;
        }
        if variant.traced && self.leaky.is_none() {
            kernels.sample_traces(
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
        if let Some(LeakyDevice { kernels, constants, .. }) = &self.leaky {
            kernels.step_leaky(
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
            if variant.traced {
                let (n, traced, samples) = (self.n_traced, &self.traced, &mut self.samples);
                kernels.sample_traces_leaky(
                    pass,
                    n,
                    &self.windows,
                    index,
                    &self.live,
                    &self.states,
                    n,
                    traced,
                    samples,
                )?;
            }
            return Ok(());
        }
        kernels.step_lif(
            pass,
            self.n.next_multiple_of(NEURONS_PER_BLOCK) / 2 + COUNTING, // two neurons per thread
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

    /// Whether there are Poisson stimuli or changed weights: `deliver_spikes_driven` is needed.
    pub fn is_driven(&self) -> bool {
        self.model.value().n_sources > 0 || self.is_exact()
    }

    /// Whether weights differ from the packed ones.
    pub fn is_exact(&self) -> bool {
        let model = self.model.value();
        model.has_gains != 0 || model.n_overflow > 0
    }

    /// Whether the persistent kernels support the active stimuli: at most one kick source (none for leaky units),
    /// packed weights, bounded inputs, no traced neurons.
    pub fn supports_persistent(&self) -> bool {
        let model = self.model.value();
        model.n_sources <= u32::from(self.leaky.is_none())
            && !self.is_exact()
            && model.may_overflow == 0
            && self.n_traced == 0
    }

    /// Uploads the connectivity of persistent blocks and allocates their mailboxes.
    pub fn upload_block_csr(&mut self, block_csr: &BlockCsr, mailbox_words: usize) -> Result<(), GpuError> {
        let gpu = &self.gpu;
        self.heads = Buf::from_slice(gpu, "connectivity by block, heads", &block_csr.heads)?;
        self.tails = Buf::from_slice(gpu, "connectivity by block, tails", &block_csr.tails)?;
        self.tail_starts = Buf::from_slice(gpu, "connectivity by block, starts", &block_csr.starts)?;
        self.mailboxes = Buf::zeros(gpu, "mailboxes", mailbox_words)?;
        Ok(())
    }

    /// Launches the first `windows` of the plan at once; all but the last are whole.
    pub fn step_lif_persistent(
        &mut self,
        kernels: &Kernels,
        grid: Grid,
        windows: u32,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        if self.next_tag + windows > TAGS {
            self.mailboxes.clear()?;
            self.next_tag = 1;
        }
        let first_tag = self.next_tag;
        self.next_tag += windows;
        if let Some(LeakyDevice { kernels, constants, .. }) = &self.leaky {
            return kernels.step_leaky_persistent(
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
                &mut self.barrier,
                &mut self.mailboxes,
                first_tag,
                &mut self.rates,
                &self.fade,
            );
        }
        kernels.step_lif_persistent(
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
            &mut self.barrier,
            &mut self.mailboxes,
            first_tag,
            &mut self.rates,
            &self.fade,
        )
    }

    /// Sorts the spikes of the first `windows` of the plan, launched one by one or not.
    pub fn sort_spikes(
        &mut self,
        kernels: &Kernels,
        windows: u32,
        one_by_one: bool,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        let (model, segments, spikes) = (self.model.buf(), &mut self.segments, &mut self.spikes);
        let (plan, live, counters) = (&self.windows, &self.live, &mut self.counters);
        kernels.sort_spikes(pass, windows * 1024, model, plan, live, one_by_one.into(), segments, spikes, counters)
    }
}
