//! Sums over all pairs of several fields of phases: every field is coupled by the kernels of one, then they are mixed.

use super::{couple::Couple, coupling::Coupling, memory::Table};
use crate::gpu::{Buf, Gpu, GpuError, Pass};
use std::sync::Arc;

/// Mixes fields.
pub struct Mixer {
    kernels: Couple,
    fields: u32,
    places: u32,
    /// `[F × F]` G.
    mixing: Buf<f32>,
    /// `[F × places]` complex numbers: what every field receives, in the order of the list of the living.
    mixed: Buf<f32>,
}

impl Mixer {
    /// For tables of that size; none with one field.
    pub fn new(gpu: &Arc<Gpu>, fields: usize, places: u32) -> Result<Option<Self>, GpuError> {
        if fields < 2 {
            return Ok(None);
        }
        Ok(Some(Self {
            kernels: Couple::load(gpu)?,
            fields: fields as u32,
            places,
            mixing: Buf::zeros(gpu, "coupling between fields", fields * fields)?,
            mixed: Buf::zeros(gpu, "sums of fields", 2 * fields * places as usize)?,
        }))
    }

    /// Takes another G from now on.
    pub fn take(&mut self, g: &[f64]) -> Result<(), GpuError> {
        self.mixing.write(&g.iter().map(|g| *g as f32).collect::<Vec<_>>())
    }

    /// How many there are.
    pub const fn fields(&self) -> u32 {
        self.fields
    }

    /// Sums over all pairs of every field of a population; [`Mixer::hand`] gives those of one.
    pub fn couple(&mut self, pass: &mut Pass, coupling: &mut Coupling, table: &Table) -> Result<(), GpuError> {
        let Table { census, idx, fields, rules, .. } = table;
        let (k, n, rules) = (&self.kernels, self.places, rules.buf());
        for field in 0..self.fields {
            k.send_field(pass, n, census, rules, field, idx, fields, &mut coupling.sites)?;
            coupling.keep_order(pass, census)?;
            coupling.couple(pass, census, idx)?;
            let (sites, sums) = (&coupling.sites, &coupling.sums);
            k.mix_field(pass, n, census, rules, field, &self.mixing, sites, sums, &mut self.mixed)?;
        }
        Ok(())
    }

    /// The sums one field receives, with its phases as sites.
    pub fn hand(&self, pass: &mut Pass, field: u32, coupling: &mut Coupling, table: &Table) -> Result<(), GpuError> {
        let Table { census, idx, fields, rules, .. } = table;
        let (n, rules, sites, sums) = (self.places, rules.buf(), &mut coupling.sites, &mut coupling.sums);
        self.kernels.hand_field(pass, n, census, rules, field, idx, fields, &self.mixed, sites, sums)
    }

    /// Bytes on the device.
    pub fn n_bytes(&self) -> u64 {
        self.mixing.bytes() + self.mixed.bytes()
    }

    /// The same, beforehand.
    pub const fn bytes_of(fields: usize, places: usize) -> u64 {
        if fields > 1 { (4 * fields * fields + 8 * fields * places) as u64 } else { 0 }
    }
}
