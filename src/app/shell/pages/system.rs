//! System information for reports.

use crate::{
    app::{
        host::{device::Devices, system},
        kit::text,
    },
    gpu::library::{CUBLASLT, VARIABLE},
};
use std::path::Path;

/// Environment variables that influence the program.
const VARIABLES: [&str; 9] = [
    "NEUROPIL_LOG",
    VARIABLE,
    "RUST_LOG",
    "NO_COLOR",
    "WGPU_BACKEND",
    "CUDA_VISIBLE_DEVICES",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "WAYLAND_DISPLAY",
];

/// Describes program, processor, devices, graphics, folders and environment as Markdown.
pub fn describe(
    devices: &Devices,
    graphics: Option<&egui_wgpu::RenderState>,
    (config_dir, state_dir): (Option<&Path>, Option<&Path>),
) -> String {
    let mut lines = vec![
        "# Program".to_owned(),
        format!("Neuropil {} ({} {})", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH),
        "# Compute".to_owned(),
    ];
    let device = devices.chosen();
    lines.push(format!("{}. {}", device.name, text::unwrap(&device.details)));
    lines.push(format!("CUDA: {}", devices.cuda()));
    lines.push(format!("cuBLASLt: {}", CUBLASLT.find().map_or_else(|why| why.to_string(), |found| found.to_string())));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = text::plural(threads, "thread", "threads");
    lines.push(format!("Processor: {}, {threads}", system::processor().unwrap_or_else(|| "unknown".into())));
    if let Some(memory) = system::memory() {
        lines.push(format!("Memory: {}", text::bytes(memory)));
    }
    lines.push("# Graphics".to_owned());
    lines.push(match graphics {
        Some(state) => {
            let info = state.adapter.get_info();
            let driver = [info.driver.as_str(), info.driver_info.as_str()].join(" ");
            format!("{} ({}, {}), driver {}", info.name, info.backend, device_type(info.device_type), driver.trim())
        }
        None => "no device".to_owned(),
    });
    lines.push("# Folders".to_owned());
    let folder = |dir: Option<&Path>| dir.map_or("none".into(), |d| d.display().to_string());
    lines.push(format!("Settings, shortcuts, layouts: {}", folder(config_dir)));
    lines.push(format!("Journal, recent projects, window: {}", folder(state_dir)));
    lines.push("# Environment".to_owned());
    for name in VARIABLES {
        let value = std::env::var(name).unwrap_or_else(|_| "not set".into());
        lines.push(format!("- `{name}` {value}"));
    }
    lines.join("\n")
}
/// Returns the name of a type of graphics device.
const fn device_type(of: egui_wgpu::wgpu::DeviceType) -> &'static str {
    match of {
        egui_wgpu::wgpu::DeviceType::DiscreteGpu => "discrete GPU",
        egui_wgpu::wgpu::DeviceType::IntegratedGpu => "integrated GPU",
        egui_wgpu::wgpu::DeviceType::VirtualGpu => "virtual GPU",
        egui_wgpu::wgpu::DeviceType::Cpu => "software renderer",
        egui_wgpu::wgpu::DeviceType::Other => "other device",
    }
}
