//! Kernel launches that are the same for all neuron models, and the arguments that all step kernels have.

use super::{
    buffers::DeviceBuffers,
    kernels::{DeliverSpikes, DeliverSpikesDriven, Kernels, MarkKicks, SortSpikes},
    sizes::{COPIES, MAX_TRACED, TAGS},
};
use crate::gpu::{GpuError, Pass};

/// Number of threads that count synaptic events: one block per copy of the counters.
pub const COUNTING: u32 = COPIES as u32 * 256;

/// Contents of a captured graph besides the two launches per window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphVariant {
    pub driven: bool,
    pub is_exact: bool,
    pub kicks: bool,
    pub traced: bool,
}

/// Arguments of every step kernel, followed by the kernel's own arguments.
macro_rules! step {
    ($Kernel:ident, $memory:ident, { $($own:tt)* }) => {
        $Kernel {
            model: $memory.model.buf(),
            windows: &$memory.windows,
            rows: &$memory.network.rows,
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
            words: &$memory.network.words,
            heads: &$memory.network.blocks().heads,
            tails: &$memory.network.blocks().tails,
            tail_starts: &$memory.network.blocks().tail_starts,
            barrier: &mut $memory.barrier,
            mailboxes: &mut $memory.mailboxes,
            first_tag: $first_tag,
            n_traced: $memory.n_traced,
            traced: &$memory.traced,
            $($own)*
        })
    };
}

pub(super) use {persistent_step, step, step_of_window};

impl DeviceBuffers {
    /// Delivers the spikes and marks the listed kicks that arrive in a window. Fails if the device fails.
    pub fn deliver_spikes(
        &mut self,
        kernels: &Kernels,
        index: u32,
        variant: GraphVariant,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        let model = self.model.buf();
        let layout = self.model.value().layout; // constant, as graphs require
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
                rows: &self.network.rows,
                words: &self.network.words,
                overflow: &self.network.overflow,
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
            let (chunks, words, touched) = (&self.chunks, &self.network.words, &mut self.touched);
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
        Ok(())
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

    /// Whether the persistent kernels support the active stimuli: at most `max_sources` kick sources, packed weights, bounded
    /// inputs, at most [`MAX_TRACED`] traced neurons.
    pub fn supports_persistent(&self, max_sources: u32) -> bool {
        let model = self.model.value();
        model.n_sources <= max_sources && !self.is_exact() && model.may_overflow == 0 && self.n_traced <= MAX_TRACED
    }

    /// Reserves tags for `windows` windows of a persistent launch. Returns the first tag. Fails if the device fails.
    pub fn take_tags(&mut self, windows: u32) -> Result<u32, GpuError> {
        if self.next_tag + windows > TAGS {
            self.mailboxes.clear()?;
            self.next_tag = 1;
        }
        let first_tag = self.next_tag;
        self.next_tag += windows;
        Ok(first_tag)
    }

    /// Sorts the spikes of the first `windows` windows of the plan. `one_by_one`: whether the windows were launched
    /// separately. Fails if the device fails.
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
