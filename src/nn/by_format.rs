//! Modules with the same kernels for each storage format, loaded when they are first used.

use super::storage::{Format, Storage};
use crate::gpu::{Gpu, GpuError, ModuleSpec};
use std::sync::{Arc, OnceLock};

/// The modules of f32, f16 and bf16 on one device.
pub struct ByFormat<K> {
    gpu: Arc<Gpu>,
    specs: [ModuleSpec; 3],
    load: fn(&Arc<Gpu>, &ModuleSpec) -> Result<K, GpuError>,
    loaded: [OnceLock<K>; 3],
}

impl<K> ByFormat<K> {
    /// `specs` are those of f32, f16 and bf16; `load` is the `load_as` that `kernels!` writes.
    pub fn new(
        gpu: &Arc<Gpu>,
        specs: [ModuleSpec; 3],
        load: fn(&Arc<Gpu>, &ModuleSpec) -> Result<K, GpuError>,
    ) -> Self {
        Self { gpu: gpu.clone(), specs, load, loaded: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// The device.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// The kernels of a format. The first call loads them, which cannot be captured into a graph.
    pub fn get(&self, format: Format) -> Result<&K, GpuError> {
        let place = &self.loaded[format as usize];
        if place.get().is_none() {
            let _ = place.set((self.load)(&self.gpu, &self.specs[format as usize])?);
        }
        Ok(place.get_or_init(|| unreachable!("just set")))
    }

    /// The kernels for a type.
    pub fn of<T: Storage>(&self) -> Result<&K, GpuError> {
        self.get(T::STORAGE)
    }
}
