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

/// Makes the window cheaper to draw, when it is drawn by the processor.
pub(super) fn adapt(ctx: &egui::Context, state: Option<&RenderState>) {
    let Some(state) = state.filter(|s| is_software(s)) else { return };
    priority::rasteriser_gives_way();
    if let Some(painter) = LeanPainter::new(state) {
        ctx.add_plugin(painter);
    }
}
