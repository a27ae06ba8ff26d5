//! Opening of the native window.

use super::{
    app,
    start::{APP_ID, Start},
};
use crate::app::host::{crash, placement, software};
use std::path::PathBuf;

/// Opens the window and returns when it is closed. Fails if there is no display or graphics device.
pub fn open(path: Option<PathBuf>, start: Start) -> Result<(), String> {
    let start = start.prepare();
    let placed = if start.reset_layout { None } else { start.state_dir.as_deref() };
    let viewport = egui::ViewportBuilder::default()
        .with_title("Neuropil")
        .with_app_id(APP_ID)
        .with_min_inner_size([900.0, 560.0])
        .with_icon(icon());
    // Dithering is off, because there are no wide gradients and it is expensive in software rendering.
    let viewport = placement::Placement::load(placed).build(viewport);
    let mut wgpu_options = egui_wgpu::WgpuConfiguration::default();
    if start.safe_mode {
        software::choose(&mut wgpu_options);
    }
    let options = eframe::NativeOptions {
        wgpu_options,
        renderer: eframe::Renderer::Wgpu,
        viewport,
        dithering: false,
        ..Default::default()
    };
    let start = Start { path: path.or(start.path), ..start };
    if let Some(folder) = start.state_dir.clone() {
        crash::install(folder);
    }
    let create = |cc: &eframe::CreationContext<'_>| -> Result<Box<dyn eframe::App>, _> {
        software::adapt(&cc.egui_ctx, cc.wgpu_render_state.as_ref());
        Ok(Box::new(app::create(cc, start)?))
    };
    eframe::run_native(APP_ID, options, Box::new(create)).map_err(|e| {
        format!("The window could not be opened: {e}. It needs a display, and Vulkan or OpenGL; without them use `neuropil run`")
    })
}

/// Returns the program's icon; an empty icon if the file is damaged.
fn icon() -> egui::IconData {
    eframe::icon_data::from_png_bytes(include_bytes!("../../../assets/icon.png")).unwrap_or_default()
}
