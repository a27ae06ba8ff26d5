//! 3D points: a camera, an instanced point renderer with its own depth buffer, picking on the CPU.
//!
//! Depends on `wgpu` and `glam` only, on no simulation and no GUI toolkit: colours are byte arrays, pointer positions
//! are pixels. The window provides an encoder to draw with and a pass to blit into.

mod camera;
mod extras;
mod lights;
mod look;
mod pick;
mod pipelines;
mod points;
mod shell;
mod targets;

pub use camera::{Camera, Preset};
pub use extras::End;
pub use glam::{Vec2, Vec3};
pub use look::Look;
pub use pick::{Projector, inside_polygon};
pub use points::{Scene, selected};
pub use shell::{Mesh, shell};
pub use targets::{COLOR_FORMAT, DEPTH_FORMAT};

/// Whether an adapter is the CPU.
pub fn is_software(adapter: &wgpu::Adapter) -> bool {
    adapter.get_info().device_type == wgpu::DeviceType::Cpu
}

/// Shader of the points.
pub const POINTS_WGSL: &str = include_str!("points.wgsl");
/// Shader of surface and lines, which is appended to the shader of the points.
pub const EXTRAS_WGSL: &str = include_str!("extras.wgsl");
/// Shader that copies the finished image into the window.
pub const BLIT_WGSL: &str = include_str!("blit.wgsl");
