//! Geometry drawn in addition to points: a transparent surface, and lines between points.

use super::{EXTRAS_WGSL, POINTS_WGSL, pipelines::Shader, shell::Mesh};
use wgpu::util::DeviceExt as _;

/// A vertex of a line list; two consecutive vertices form a line.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct End {
    pub position: [f32; 3],
    /// Colour, not premultiplied.
    pub color: [u8; 4],
}

/// The surface and the lines on the device.
pub(super) struct Extras {
    shell: wgpu::RenderPipeline,
    line: wgpu::RenderPipeline,
    mesh: Option<Drawn>,
    ends: Option<Drawn>,
}

struct Drawn {
    corners: wgpu::Buffer,
    indices: Option<wgpu::Buffer>,
    n: u32,
}

impl Extras {
    pub fn new(device: &wgpu::Device, layout: &wgpu::BindGroupLayout) -> Self {
        let [shell, line] = pipelines(device, layout);
        Self { shell, line, mesh: None, ends: None }
    }

    pub fn set_shell(&mut self, device: &wgpu::Device, mesh: &Mesh) {
        self.mesh = (!mesh.triangles.is_empty()).then(|| Drawn {
            corners: buffer(device, wgpu::BufferUsages::VERTEX, bytemuck::cast_slice(&mesh.corners)),
            indices: Some(buffer(device, wgpu::BufferUsages::INDEX, bytemuck::cast_slice(&mesh.triangles))),
            n: 3 * mesh.triangles.len() as u32,
        });
    }

    pub fn set_lines(&mut self, device: &wgpu::Device, ends: &[End]) {
        self.ends = (!ends.is_empty()).then(|| Drawn {
            corners: buffer(device, wgpu::BufferUsages::VERTEX, bytemuck::cast_slice(ends)),
            indices: None,
            n: ends.len() as u32,
        });
    }

    /// Whether there are lines.
    pub fn has_lines(&self) -> bool {
        self.ends.is_some()
    }

    /// Draws the lines, and the surface if `has_shell`, into a pass that has drawn the points.
    pub fn record(&self, pass: &mut wgpu::RenderPass<'_>, bind: &wgpu::BindGroup, has_shell: bool) {
        let mesh = self.mesh.as_ref().filter(|_| has_shell);
        for (pipeline, drawn) in [(&self.shell, mesh), (&self.line, self.ends.as_ref())] {
            let Some(drawn) = drawn else { continue };
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, bind, &[]);
            pass.set_vertex_buffer(0, drawn.corners.slice(..));
            match &drawn.indices {
                Some(indices) => {
                    pass.set_index_buffer(indices.slice(..), wgpu::IndexFormat::Uint32);
                    pass.draw_indexed(0..drawn.n, 0, 0..1);
                }
                None => pass.draw(0..drawn.n, 0..1),
            }
        }
    }
}

fn buffer(device: &wgpu::Device, usage: wgpu::BufferUsages, contents: &[u8]) -> wgpu::Buffer {
    device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: Some("extras"), contents, usage })
}

/// Creates the pipelines of the surface and the lines. Neither pipeline writes depth.
fn pipelines(device: &wgpu::Device, layout: &wgpu::BindGroupLayout) -> [wgpu::RenderPipeline; 2] {
    let shader = Shader::new(device, layout, "extras.wgsl", [POINTS_WGSL, EXTRAS_WGSL].concat().into());
    let corner = wgpu::vertex_attr_array![0 => Float32x3, 1 => Float32x3];
    let end = wgpu::vertex_attr_array![0 => Float32x3, 1 => Unorm8x4];
    let passes = [
        ("shell", wgpu::PrimitiveTopology::TriangleList, 24, &corner, wgpu::CompareFunction::LessEqual),
        ("line", wgpu::PrimitiveTopology::LineList, 16, &end, wgpu::CompareFunction::Always),
    ];
    passes.map(|(name, topology, array_stride, attributes, compare)| {
        let step_mode = wgpu::VertexStepMode::Vertex;
        let buffer = Some(wgpu::VertexBufferLayout { array_stride, step_mode, attributes });
        shader.pipeline(device, name, topology, &[buffer], Some((compare, false)))
    })
}
