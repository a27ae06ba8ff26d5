//! What the window does differently on a machine without a graphics processor, where every pixel is computed by the
//! cores that also simulate.

mod painter;
mod priority;

pub use painter::{LEAN_WGSL, LeanPainter};
pub(super) use priority::ENGINE_NICE;

use egui_wgpu::{RenderState, wgpu::DeviceType};

/// Whether pictures are computed by the processor.
pub fn is_software(state: &RenderState) -> bool {
    state.adapter.get_info().device_type == DeviceType::Cpu
}

/// Takes a processor to draw with even where there is a graphics processor; the first there is when there is none.
pub(super) fn choose(options: &mut egui_wgpu::WgpuConfiguration) {
    let egui_wgpu::WgpuSetup::CreateNew(setup) = &mut options.wgpu_setup else { return };
    setup.native_adapter_selector = Some(std::sync::Arc::new(|adapters, surface| {
        let fits = |a: &&egui_wgpu::wgpu::Adapter| surface.is_none_or(|s| a.is_surface_supported(s));
        let fitting = || adapters.iter().filter(fits);
        let processor = fitting().find(|a| a.get_info().device_type == DeviceType::Cpu);
        processor.or_else(|| fitting().next()).cloned().ok_or_else(|| "nothing here can draw a window".to_owned())
    }));
}

/// Makes the window cheaper to draw, when it is drawn by the processor.
pub(super) fn adapt(ctx: &egui::Context, state: Option<&RenderState>) {
    let Some(state) = state.filter(|s| is_software(s)) else { return };
    priority::rasteriser_gives_way();
    if let Some(painter) = LeanPainter::new(state) {
        ctx.add_plugin(painter);
    }
}
