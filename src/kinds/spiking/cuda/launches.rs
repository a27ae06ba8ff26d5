//! Kernel launches of one window, and of many at once.

use super::{
    GraphVariant,
    buffers::DeviceBuffers,
    kernels::{
        DeliverSpikes, DeliverSpikesDriven, Kernels, MarkKicks, Model, SampleRecordedTraces, SampleTraces,
        SampleTracesLeaky, SortSpikes, StepLeaky, StepLeakyPersistent, StepLif, StepLifPersistent,
    },
    leaky::LeakyDevice,
    sizes::{COPIES, MAX_TRACED, NEURONS_PER_BLOCK, TAGS},
};
use crate::{
    gpu::{Buf, GpuError, Grid, Pass},
    kinds::spiking::cuda::block_csr::BlockCsr,
};

/// Number of threads that count synaptic events: one block per copy of the counters.
const COUNTING: u32 = COPIES as u32 * 256;

/// Arguments of every step kernel, followed by the kernel's own arguments.
macro_rules! step {
    ($Kernel:ident, $memory:ident, { $($own:tt)* }) => {
        $Kernel {
            model: $memory.model.buf(),
            windows: &$memory.windows,
            rows: &$memory.rows,
            marks: &$memory.marks,
            currents: &$memory.currents,
            states: &mut $memory.states,
            arrivals: &mut $memory.arrivals,
            spikes: &mut $memory.spikes,
            chunks: &mut $memory.chunks,
            counters: &mut $memory.counters,
            rates: &mut $memory.rates,
            fade: &$memory.fade,
            $($own)*
        }
    };
}

/// Arguments of a kernel that steps through one window after the delivery of spikes.
macro_rules! step_of_window {
    ($Kernel:ident, $memory:ident, $index:ident, { $($own:tt)* }) => {
        step!($Kernel, $memory, {
            index: $index,
            live: &mut $memory.live,
            segments: &$memory.segments,
            sources: &$memory.sources,
            chances: &$memory.chances,
            masks: &$memory.masks,
            trains: &$memory.trains,
            kicks: &$memory.kicks,
            gain_of: &$memory.gain_of,
            gains: &$memory.gains,
            kick_bits: &mut $memory.kick_bits,
            $($own)*
        })
    };
}

/// Arguments of a kernel that delivers and steps through many windows.
macro_rules! persistent_step {
    ($Kernel:ident, $memory:ident, $windows:ident, $first_tag:ident, { $($own:tt)* }) => {
        step!($Kernel, $memory, {
            n_windows: $windows,
            segments: &mut $memory.segments,
            words: &$memory.words,
            heads: &$memory.heads,
            tails: &$memory.tails,
            tail_starts: &$memory.tail_starts,
            barrier: &mut $memory.barrier,
            mailboxes: &mut $memory.mailboxes,
            first_tag: $first_tag,
            n_traced: $memory.n_traced,
            traced: &$memory.traced,
            $($own)*
        })
    };
}

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
            DeliverSpikesDriven {
                layout,
                n: self.n,
                is_exact: variant.is_exact.into(),
                model,
                windows: &self.windows,
                index,
                segments: &mut self.segments,
                live: &mut self.live,
                chunks: &self.chunks,
                rows: &self.rows,
                words: &self.words,
                overflow: &self.overflow,
                gain_of: &self.gain_of,
                gains: &self.gains,
                sources: &self.sources,
                chances: &self.chances,
                masks: &self.masks,
                trains: &self.trains,
                kick_bits: &mut self.kick_bits,
                arrivals: &mut self.arrivals,
                touched: &mut self.touched,
            }
            .launch(kernels, pass, delivering + self.n.next_multiple_of(256))?;
        } else {
            let (segments, live) = (&mut self.segments, &mut self.live);
            let (chunks, words, touched) = (&self.chunks, &self.words, &mut self.touched);
            let (windows, arrivals) = (&self.windows, &mut self.arrivals);
            DeliverSpikes { layout, windows, index, segments, live, chunks, words, arrivals, touched }
                .launch(kernels, pass, delivering)?;
        }
        if variant.kicks {
            let (kicks, bits) = (&self.kicks, &mut self.kick_bits);
            MarkKicks {
                model,
                windows: &self.windows,
                index,
                live: &self.live,
                kicks,
                kick_bits: bits,
                touched: &mut self.touched,
            }
            .launch(kernels, pass, 4096)?;
        }
        if variant.traced && self.leaky.is_none() {
            SampleTraces {
                model,
                propagators: &self.propagators,
                windows: &self.windows,
                index,
                live: &self.live,
                sources: &self.sources,
                chances: &self.chances,
                masks: &self.masks,
                trains: &self.trains,
                kicks: &self.kicks,
                marks: &self.marks,
                currents: &self.currents,
                states: &self.states,
                anchors: &self.anchors,
                arrivals: &self.arrivals,
                kick_bits: &self.kick_bits,
                n_traced: self.n_traced,
                traced: &self.traced,
                samples: &mut self.samples,
            }
            .launch(kernels, pass, 32 * self.n_traced)?;
        }
        if let Some(LeakyDevice { kernels, constants, .. }) = &self.leaky {
            step_of_window!(StepLeaky, self, index, { layout, n: self.n, seed, units: constants.buf() }).launch(
                kernels,
                pass,
                self.n.next_multiple_of(256) + COUNTING,
            )?;
            if variant.traced {
                let (n, traced, samples) = (self.n_traced, &self.traced, &mut self.samples);
                SampleTracesLeaky {
                    windows: &self.windows,
                    index,
                    live: &self.live,
                    states: &self.states,
                    n_traced: n,
                    traced,
                    samples,
                }
                .launch(kernels, pass, n)?;
            }
            return Ok(());
        }
        // A thread steps two neurons.
        step_of_window!(StepLif, self, index, {
            propagators: &self.propagators,
            anchors: &mut self.anchors,
            checks: &mut self.checks,
            wakes: &mut self.wakes,
            touched: &mut self.touched,
        })
        .launch(kernels, pass, self.n.next_multiple_of(NEURONS_PER_BLOCK) / 2 + COUNTING)
    }

    /// Whether there are kick sources or changed weights, which need `deliver_spikes_driven`.
    pub fn is_driven(&self) -> bool {
        self.model.value().n_sources > 0 || self.is_exact()
    }

    /// Whether weights differ from the packed ones.
    pub fn is_exact(&self) -> bool {
        let model = self.model.value();
        model.has_gains != 0 || model.n_overflow > 0
    }

    /// Whether the persistent kernels support the active stimuli: at most one kick source (none for leaky units), packed weights,
    /// bounded inputs, at most [`MAX_TRACED`] traced neurons.
    pub fn supports_persistent(&self) -> bool {
        let model = self.model.value();
        model.n_sources <= u32::from(self.leaky.is_none())
            && !self.is_exact()
            && model.may_overflow == 0
            && self.n_traced <= MAX_TRACED
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

    /// Launches the first `windows` windows of the plan at once; all but the last must have full length.
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
            return persistent_step!(StepLeakyPersistent, self, windows, first_tag, {
                units: constants.buf(),
                samples: &mut self.samples,
            })
            .launch(kernels, pass, grid);
        }
        persistent_step!(StepLifPersistent, self, windows, first_tag, {
            propagators: &self.propagators,
            sources: &self.sources,
            chances: &self.chances,
            masks: &self.masks,
            trains: &self.trains,
            anchors: &mut self.anchors,
            checks: &mut self.checks,
            wakes: &mut self.wakes,
            trace_inputs: &mut self.trace_inputs,
        })
        .launch(kernels, pass, grid)?;
        if self.n_traced == 0 {
            return Ok(());
        }
        SampleRecordedTraces {
            model: self.model.buf(),
            propagators: &self.propagators,
            windows: &self.windows,
            n_windows: windows,
            segments: &self.segments,
            sources: &self.sources,
            currents: &self.currents,
            n_traced: self.n_traced,
            traced: &self.traced,
            trace_inputs: &self.trace_inputs,
            samples: &mut self.samples,
        }
        .launch(kernels, pass, 32 * windows * self.n_traced)
    }

    /// Sorts the spikes of the first `windows` windows of the plan. `one_by_one`: whether the windows were launched separately.
    pub fn sort_spikes(
        &mut self,
        kernels: &Kernels,
        windows: u32,
        one_by_one: bool,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        let (model, segments, spikes) = (self.model.buf(), &mut self.segments, &mut self.spikes);
        let (plan, live, counters) = (&self.windows, &self.live, &mut self.counters);
        SortSpikes { model, windows: plan, live, is_live: one_by_one.into(), segments, spikes, counters }.launch(
            kernels,
            pass,
            windows * 1024,
        )
    }
}
