//! Reads a running population. Kernels gather values into buffers that no other kernel writes, and the copy stream reads the
//! buffers while the next generations run.

use super::{
    layout::{EventLog, KernelParams, PopulationCounts},
    memory::{FIELDS, TABLE, Table, column, phase_fields_of},
};
use crate::{
    buffers, device_constants,
    gpu::{
        Buf, Gpu, GpuError, Mark, Pass, Pinned,
        kernel::{In, InOut, Size},
        layout::Constant,
    },
    kernels,
    kinds::nuclei::{params::Params, probes},
    sim::{Buffers as _, MemoryReport, ProbeId},
};
use std::{ops::Range, sync::Arc};

/// Pseudo-column: generations since birth.
const READ_AGE: u32 = 0x100;
/// Pseudo-column: 1 in occupied slots, 0 in free ones.
const READ_ALIVE: u32 = 0x101;

const READ: &[Constant] = device_constants![READ_AGE, READ_ALIVE];

kernels! {
    /// Gathers fields, and samples of chosen nuclei.
    pub struct ReadingKernels in "nuclei/readings.cu" using [PopulationCounts, KernelParams, EventLog] with [TABLE, READ] {
        /// Fields of all slots, one after the other. Items: slots.
        #[block(256)]
        fn gather_fields as GatherFields(
            population: In<PopulationCounts>, params: In<KernelParams>, what: In<u32>, n_fields: Size<u32>, fields: In<f32>, tags: In<u32>,
            values: InOut<f32>
        );

        /// Values of chosen nuclei in this generation; `chosen` holds pairs of column and slot.
        #[block(128)]
        fn sample_chosen as SampleChosen(
            population: In<PopulationCounts>, params: In<KernelParams>, log: In<EventLog>, chosen: In<u32>, n_chosen: Size<u32>, fields: In<f32>,
            tags: In<u32>, samples: InOut<f32>
        );
    }
}

/// Returns the column or pseudo-column that a probe reads.
fn column_of(probe: ProbeId, params: &Params, phase_fields: usize) -> u32 {
    let column = match probe {
        probes::PHASE | probes::PHASE_OF => match (params.measure.field as usize).clamp(1, phase_fields) {
            1 => column::PHI,
            field => FIELDS + field - 2,
        },
        probes::OMEGA => column::OMEGA,
        probes::FITNESS_FIELD | probes::FITNESS_OF => column::F,
        probes::ENTROPY_FIELD => column::H,
        probes::LOCAL_ORDER | probes::P_FIELD => column::R_LOCAL,
        probes::AGE => return READ_AGE,
        _ => return READ_ALIVE,
    };
    column as u32
}

/// Fields being copied to the host.
#[derive(Default)]
pub struct FieldCopies {
    buffers: Option<FieldBuffers>,
    /// Column gathered last, by field.
    what: Vec<u32>,
    n_slots: usize,
}

buffers! {
    /// Buffers of `n_fields` fields.
    struct FieldBuffers(gpu: Arc<Gpu>, s: FieldSizes) {
        "readings" {
            what: Buf<u32> = Readback "fields to read" s.n_fields;
            /// `[fields × slots]` gathered values.
            gathered: Buf<f32> = Readback "fields read" [s.n_fields, s.n_slots];
            copied: Pinned<f32> = Readback "copy of fields" [s.n_fields, s.n_slots];
        }
    }
}

struct FieldSizes {
    n_fields: usize,
    n_slots: usize,
}

impl FieldCopies {
    /// Starts copying these fields after the kernels launched before. Later kernels do not wait for the copy. Fails if
    /// the device fails.
    pub fn start(
        &mut self,
        gpu: &Arc<Gpu>,
        kernels: &ReadingKernels,
        table: &Table,
        probes: &[ProbeId],
        params: &Params,
    ) -> Result<(), GpuError> {
        let kernel_params = table.kernel_params.value();
        let (n, phase_fields) = (kernel_params.n_slots as usize, phase_fields_of(&kernel_params));
        let what: Vec<u32> = probes.iter().map(|probe| column_of(*probe, params, phase_fields)).collect();
        if self.buffers.as_ref().is_none_or(|b| b.what.len() < what.len()) {
            (self.buffers, self.what) = (None, vec![]);
            self.buffers = Some(FieldBuffers::allocate(gpu, &FieldSizes { n_fields: what.len(), n_slots: n })?);
        }
        let Some(FieldBuffers { what: list, gathered, copied }) = &mut self.buffers else { return Ok(()) };
        copied.hold_kernels(gpu)?; // the copy before this one has ended long ago
        if self.what != what {
            list.write_at(0, &what)?;
        }
        (self.what, self.n_slots) = (what, n);
        let n_fields = self.what.len() as u32;
        let (population, params) = (&table.population, table.kernel_params.buf());
        GatherFields {
            population,
            params,
            what: list,
            n_fields,
            fields: &table.fields,
            tags: &table.tags,
            values: gathered,
        }
        .launch(kernels, &mut Pass::default(), n as u32)?;
        gathered.download_concurrent(0..self.what.len() * n, copied, 0, &Mark::now(gpu)?)
    }

    /// Waits for the copies. Returns the values of these fields, which must be those that were started. Fails if the
    /// device fails.
    pub fn finish(&self, probes: &[ProbeId], params: &Params) -> Result<Vec<Vec<f32>>, GpuError> {
        let Some(buffers) = &self.buffers else { return Ok(vec![]) };
        let fields = buffers.copied.get()?.chunks_exact(self.n_slots);
        let probability = |order: &f32| match order.is_nan() {
            true => f32::NAN,
            false => params.tunnelling.probability(f64::from(*order)) as f32,
        };
        let values = |(probe, field): (&ProbeId, &[f32])| match *probe {
            probes::P_FIELD => field.iter().map(probability).collect(),
            _ => field.to_vec(),
        };
        Ok(probes.iter().zip(fields).map(values).collect())
    }

    /// Adds the buffers to a memory report.
    pub fn report(&self, to: &mut MemoryReport) {
        self.buffers.report(to);
    }
}

/// Buffer sizes of [`ChosenSamples`].
pub struct SampleSizes {
    n_samples: usize,
    entries: usize,
}

buffers! {
    /// Samples of chosen nuclei, taken in every generation.
    pub struct ChosenSamples(gpu: Arc<Gpu>, s: SampleSizes) {
        "readings" {
            /// Column and slot of each sample.
            chosen: Buf<u32> = Readback "chosen nuclei" [s.n_samples, 2];
            /// `[log entries × samples]` sampled values.
            samples: Buf<f32> = Readback "samples of chosen nuclei" [s.entries, s.n_samples];
            /// Samples of one part of the log.
            copied: Pinned<f32> = Readback "copy of samples" [s.entries, s.n_samples];
        }
        plain {
            /// Probe and slot of each sample, ascending.
            lanes: Vec<(ProbeId, u32)> = vec![];
        }
    }
}

impl ChosenSamples {
    /// Allocates buffers for these probes and slots, which are ascending; `None` if there are none. `entries`:
    /// generations in the log. Fails if device memory is full or the device fails.
    pub fn new(gpu: &Arc<Gpu>, lanes: Vec<(ProbeId, u32)>, entries: usize) -> Result<Option<Self>, GpuError> {
        let sizes = (!lanes.is_empty()).then_some(SampleSizes { n_samples: lanes.len(), entries });
        let new = Option::<Self>::allocate(gpu, &sizes)?;
        Ok(new.map(|new| Self { lanes, ..new }))
    }

    /// Returns the probe and slot of each sample.
    pub fn lanes(&self) -> &[(ProbeId, u32)] {
        &self.lanes
    }

    /// Updates the columns to the parameters, which select the phase field shown. Fails if the device fails.
    pub fn set(&mut self, params: &Params, phase_fields: usize) -> Result<(), GpuError> {
        let pair = |(probe, slot): &(ProbeId, u32)| [column_of(*probe, params, phase_fields), *slot];
        let pairs: Vec<u32> = self.lanes.iter().flat_map(pair).collect();
        self.chosen.write(&pairs)
    }

    /// Samples the generation that was logged last. Fails if the device fails.
    pub fn launch(
        &mut self,
        kernels: &ReadingKernels,
        table: &Table,
        log: &Buf<EventLog>,
        pass: &mut Pass,
    ) -> Result<(), GpuError> {
        let (population, params) = (&table.population, table.kernel_params.buf());
        let n_chosen = self.lanes.len() as u32;
        let (chosen, samples) = (&self.chosen, &mut self.samples);
        SampleChosen { population, params, log, chosen, n_chosen, fields: &table.fields, tags: &table.tags, samples }
            .launch(kernels, pass, n_chosen)
    }

    /// Starts copying the samples of these entries of the log. Generations launched after the mark run concurrently.
    /// Fails if the device fails.
    pub fn start_reading(&mut self, entries: &Range<usize>, after: &Mark) -> Result<(), GpuError> {
        let n = self.lanes.len();
        self.samples.download_concurrent(entries.start * n..entries.end * n, &mut self.copied, 0, after)
    }

    /// Waits for the copy. Returns the samples of `generations` generations, generation by generation. Fails if the
    /// device fails.
    pub fn finish_reading(&self, generations: usize) -> Result<&[f32], GpuError> {
        Ok(&self.copied.get()?[..generations * self.lanes.len()])
    }

    /// Returns the sample of a probe in a slot; NaN if it is not sampled.
    pub fn value(&self, of_generation: &[f32], probe: ProbeId, slot: u32) -> f32 {
        self.lanes.binary_search(&(probe, slot)).map_or(f32::NAN, |at| of_generation[at])
    }
}
