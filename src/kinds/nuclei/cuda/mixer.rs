//! Coupling sums of several phase fields: the kernels of one field apply J to each field, then G combines the results.

use super::{
    couple_kernels::{CoupleKernels, GatherField, MixField, SendField},
    coupling::Coupling,
    memory::Table,
};
use crate::{
    buffers,
    gpu::{Buf, Gpu, GpuError, Pass},
};
use std::sync::Arc;

/// Buffer sizes of a [`Mixer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MixerSizes {
    /// Number of phase fields, at least 2.
    pub fields: usize,
    /// Number of slots.
    pub n_slots: usize,
}

impl MixerSizes {
    /// Returns the sizes for `fields` phase fields; `None` for one field.
    pub fn of(fields: usize, n_slots: usize) -> Option<Self> {
        (fields > 1).then_some(Self { fields, n_slots })
    }
}

buffers! {
    /// Coupling between phase fields.
    pub struct Mixer(gpu: Arc<Gpu>, s: MixerSizes) {
        "coupling" {
            /// `[F × F]` coupling matrix G.
            mixing: Buf<f32> = Derived "coupling between fields" [s.fields, s.fields];
            /// `[F × n_slots]` complex sums of every field, in order of occupied slots.
            mixed: Buf<f32> = Workspace "sums of fields" [s.fields, s.n_slots, 2];
        }
        plain {
            kernels: CoupleKernels = CoupleKernels::load(gpu)?;
            /// Number of phase fields.
            fields: u32 = s.fields as u32;
            /// Number of slots.
            n_slots: u32 = s.n_slots as u32;
        }
    }
}

impl Mixer {
    /// Writes the coupling matrix G, `[F × F]`, to the device. Fails if the length differs or the copy fails.
    pub fn set(&mut self, g: &[f64]) -> Result<(), GpuError> {
        self.mixing.write(&g.iter().map(|g| *g as f32).collect::<Vec<_>>())
    }

    /// Returns the number of phase fields.
    pub const fn fields(&self) -> u32 {
        self.fields
    }

    /// Computes the coupling sums of all fields, from which [`Mixer::gather_field`] reads the sums of one field. Fails if a
    /// launch fails.
    pub fn couple(&mut self, pass: &mut Pass, coupling: &mut Coupling, table: &Table) -> Result<(), GpuError> {
        let Table { population, idx, fields, kernel_params, .. } = table;
        let (k, n, kernel_params) = (&self.kernels, self.n_slots, kernel_params.buf());
        for field in 0..self.fields {
            SendField { population, params: kernel_params, field, idx, fields, sites: &mut coupling.sites }
                .launch(k, pass, n)?;
            coupling.keep_order(pass, population)?;
            coupling.couple(pass, population, idx)?;
            let (sites, sums) = (&coupling.sites, &coupling.sums);
            MixField {
                population,
                params: kernel_params,
                field,
                mixing: &self.mixing,
                sites,
                sums,
                mixed: &mut self.mixed,
            }
            .launch(k, pass, n)?;
        }
        Ok(())
    }

    /// Writes the sums and the phasors of one field to the sums and sites of `coupling`. Fails if the launch fails.
    pub fn gather_field(
        &self,
        pass: &mut Pass,
        field: u32,
        coupling: &mut Coupling,
        table: &Table,
    ) -> Result<(), GpuError> {
        let Table { population, idx, fields, kernel_params, .. } = table;
        let (n, kernel_params, sites, sums) =
            (self.n_slots, kernel_params.buf(), &mut coupling.sites, &mut coupling.sums);
        GatherField { population, params: kernel_params, field, idx, fields, mixed: &self.mixed, sites, sums }.launch(
            &self.kernels,
            pass,
            n,
        )
    }
}
