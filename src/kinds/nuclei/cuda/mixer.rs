//! Coupling sums of several phase fields: J is applied to every field by the kernels of one field, then G combines them.

use super::{
    couple_kernels::{CoupleKernels, GatherField, MixField, SendField},
    coupling::Coupling,
    memory::Table,
};
use crate::gpu::{Buf, Gpu, GpuError, Pass};
use std::sync::Arc;

/// Coupling between phase fields.
pub struct Mixer {
    kernels: CoupleKernels,
    fields: u32,
    n_slots: u32,
    /// `[F × F]` G.
    mixing: Buf<f32>,
    /// `[F × n_slots]` complex sums of every field, in order of occupied slots.
    mixed: Buf<f32>,
}

impl Mixer {
    /// For tables of this size; `None` with one field.
    pub fn new(gpu: &Arc<Gpu>, fields: usize, n_slots: u32) -> Result<Option<Self>, GpuError> {
        if fields < 2 {
            return Ok(None);
        }
        Ok(Some(Self {
            kernels: CoupleKernels::load(gpu)?,
            fields: fields as u32,
            n_slots,
            mixing: Buf::zeros(gpu, "coupling between fields", fields * fields)?,
            mixed: Buf::zeros(gpu, "sums of fields", 2 * fields * n_slots as usize)?,
        }))
    }

    /// Sets G.
    pub fn set(&mut self, g: &[f64]) -> Result<(), GpuError> {
        self.mixing.write(&g.iter().map(|g| *g as f32).collect::<Vec<_>>())
    }

    /// Number of phase fields.
    pub const fn fields(&self) -> u32 {
        self.fields
    }

    /// Coupling sums of all fields; [`Mixer::gather_field`] returns those of one.
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

    /// Gathers the sums of one field, with its phases in the sites.
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

    /// Bytes on the device.
    pub fn n_bytes(&self) -> u64 {
        self.mixing.bytes() + self.mixed.bytes()
    }

    /// Bytes for tables of this size.
    pub const fn bytes_of(fields: usize, n_slots: usize) -> u64 {
        if fields > 1 { (4 * fields * fields + 8 * fields * n_slots) as u64 } else { 0 }
    }
}
