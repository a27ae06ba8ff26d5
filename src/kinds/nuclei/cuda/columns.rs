//! Tapped columns of the table in page-locked memory, instead of the whole table.

use super::memory::{FIELDS, Table, column, phase_fields_of, tag};
use crate::{
    gpu::{Gpu, GpuError, Mark, Pinned, Slice, layout::CudaType},
    kinds::nuclei::{Params, fields::Slots, probes},
    sim::ProbeId,
};
use std::ops::Range;

/// The float array that a field is computed from.
fn column_of(probe: ProbeId, params: &Params, phase_fields: usize) -> Option<usize> {
    Some(match probe {
        probes::PHASE | probes::PHASE_OF => match (params.measure.field as usize).clamp(1, phase_fields) {
            1 => column::PHI,
            field => FIELDS + field - 2,
        },
        probes::OMEGA => column::OMEGA,
        probes::FITNESS_FIELD | probes::FITNESS_OF => column::F,
        probes::ENTROPY_FIELD => column::H,
        probes::LOCAL_ORDER | probes::P_FIELD => column::R_LOCAL,
        _ => return None,
    })
}

/// Copies of columns.
#[derive(Default)]
pub struct Columns {
    fields: Option<Pinned<f32>>,
    tags: Option<Pinned<u32>>,
    columns: Vec<usize>,
    with_births: bool,
    phase: Option<usize>,
    n_slots: usize,
}

impl Columns {
    /// Starts copying what these probes are computed from, after the kernels so far and before those to come.
    pub fn start(
        &mut self,
        gpu: &Gpu,
        table: &Table,
        probes: impl Iterator<Item = ProbeId> + Clone,
        params: &Params,
    ) -> Result<(), GpuError> {
        let kernel_params = table.kernel_params.value();
        let (n, phase_fields) = (kernel_params.n_slots as usize, phase_fields_of(&kernel_params));
        self.n_slots = n;
        self.columns = probes.clone().filter_map(|probe| column_of(probe, params, phase_fields)).collect();
        self.columns.sort_unstable();
        self.columns.dedup();
        self.with_births = probes.clone().any(|probe| probe == probes::AGE);
        self.phase = column_of(probes::PHASE, params, phase_fields);
        let tags: &[usize] = if self.with_births { &[tag::ALIVE, tag::BIRTH] } else { &[tag::ALIVE] };
        let mark = Mark::now(gpu)?;
        copy(gpu, &table.fields, &self.columns, n, &mut self.fields, &mark)?;
        copy(gpu, &table.tags, tags, n, &mut self.tags, &mark)
    }

    /// Waits for the copies.
    pub fn get(&self) -> Result<CopiedColumns<'_>, GpuError> {
        let none = CopiedColumns::default();
        let (Some(tags), n) = (&self.tags, self.n_slots) else { return Ok(none) };
        let (fields, tags) = (self.fields.as_ref().map_or(Ok(&[][..]), Pinned::get)?, tags.get()?);
        let of = |column: usize| match self.columns.iter().position(|c| *c == column) {
            Some(at) => &fields[at * n..(at + 1) * n],
            None => &[],
        };
        Ok(CopiedColumns {
            alive: &tags[..n],
            birth: if self.with_births { &tags[n..2 * n] } else { &[] },
            phase: self.phase.map_or(&[], of),
            omega: of(column::OMEGA),
            f: of(column::F),
            h: of(column::H),
            r_local: of(column::R_LOCAL),
        })
    }
}

/// Copies columns one behind the other.
fn copy<T: CudaType>(
    gpu: &Gpu,
    from: &Slice<T>,
    columns: &[usize],
    n: usize,
    to: &mut Option<Pinned<T>>,
    mark: &Mark,
) -> Result<(), GpuError> {
    if columns.is_empty() {
        return Ok(());
    }
    let to = match to {
        Some(pinned) if pinned.len() >= columns.len() * n => pinned,
        other => other.insert(Pinned::zeros(gpu, columns.len() * n)?),
    };
    for (at, column) in columns.iter().enumerate() {
        let range: Range<usize> = column * n..(column + 1) * n;
        from.download_beside(range, to, at * n, mark)?;
    }
    to.hold_kernels(gpu)
}

/// Columns in host memory; those not requested are empty.
#[derive(Default)]
pub struct CopiedColumns<'a> {
    alive: &'a [u32],
    birth: &'a [u32],
    phase: &'a [f32],
    omega: &'a [f32],
    f: &'a [f32],
    h: &'a [f32],
    r_local: &'a [f32],
}

/// NaN where a column was not copied.
fn number(column: &[f32], slot: usize) -> f64 {
    column.get(slot).map_or(f64::NAN, |x| f64::from(*x))
}

impl Slots for CopiedColumns<'_> {
    fn capacity(&self) -> usize {
        self.alive.len()
    }
    fn is_alive(&self, slot: usize) -> bool {
        self.alive.get(slot).is_some_and(|alive| *alive != 0)
    }
    fn birth(&self, slot: usize) -> u32 {
        self.birth.get(slot).copied().unwrap_or(0)
    }
    fn omega(&self, slot: usize) -> f64 {
        number(self.omega, slot)
    }
    /// The field of `measure.field` is the one that was copied.
    fn phase(&self, _field: usize, slot: usize) -> f64 {
        number(self.phase, slot)
    }
    fn f(&self, slot: usize) -> f64 {
        number(self.f, slot)
    }
    fn h(&self, slot: usize) -> f64 {
        number(self.h, slot)
    }
    fn r_local(&self, slot: usize) -> f64 {
        number(self.r_local, slot)
    }
}
