//! Adjustments of the window for software rendering, where the CPU cores of the simulation also compute the pixels.

mod painter;
mod priority;

pub use painter::{SoftwarePainter, WINDOW_WGSL};
pub(crate) use priority::ENGINE_NICE;

use egui_wgpu::{RenderState, wgpu::DeviceType};

/// Whether the window is rendered by the CPU.
pub fn is_software(state: &RenderState) -> bool {
    crate::view3d::is_software(&state.adapter)
}

/// Selects a CPU adapter even if a GPU exists, or the first adapter if there is no CPU adapter.
pub(crate) fn choose(options: &mut egui_wgpu::WgpuConfiguration) {
    let egui_wgpu::WgpuSetup::CreateNew(setup) = &mut options.wgpu_setup else { return };
    setup.native_adapter_selector = Some(std::sync::Arc::new(|adapters, surface| {
        let fits = |a: &&egui_wgpu::wgpu::Adapter| surface.is_none_or(|s| a.is_surface_supported(s));
        let fitting = || adapters.iter().filter(fits);
        let processor = fitting().find(|a| a.get_info().device_type == DeviceType::Cpu);
        processor
            .or_else(|| fitting().next())
            .cloned()
            .ok_or_else(|| "no graphics adapter can draw a window".to_owned())
    }));
}

/// Reduces the cost of drawing under software rendering.
pub(crate) fn adapt(ctx: &egui::Context, state: Option<&RenderState>) {
    let Some(state) = state.filter(|s| is_software(s)) else { return };
    priority::lower_rasteriser_priority();
    if let Some(painter) = SoftwarePainter::new(state) {
        ctx.add_plugin(painter);
    }
}
