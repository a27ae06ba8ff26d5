//! Draws egui's output with a shader suited to software renderers. One callback replaces each run of egui's meshes;
//! other callbacks keep their order.

use egui::{
    ClippedPrimitive, Color32, Context, FullOutput, Mesh, PaintCallbackInfo, Plugin, Rect, Shape, TextureId,
    epaint::{ClippedShape, PaintCallback, Primitive, Vertex, WHITE_UV, mutex::RwLock},
};
use egui_wgpu::{
    CallbackResources, CallbackTrait, RenderState, Renderer, ScreenDescriptor,
    wgpu::{self, util::DeviceExt as _},
};
use std::{ops::Range, sync::Arc};

pub const WINDOW_WGSL: &str = include_str!("window.wgsl");

/// Area, in square points, above which opaque triangles are drawn without texture and blending. With a lower limit, the
/// pipeline switches take longer than the blending.
const SOLID_FROM: f32 = 500.0;

/// Painter as an egui plugin.
pub struct SoftwarePainter {
    renderer: Arc<RwLock<Renderer>>,
}

impl SoftwarePainter {
    /// Creates the painter and its pipelines on the device; `None` for an sRGB target, which the shader does not support.
    pub fn new(state: &RenderState) -> Option<Self> {
        if state.target_format.is_srgb() {
            return None;
        }
        let pipelines = Pipelines::new(&state.device, state.target_format);
        state.renderer.write().callback_resources.insert(pipelines);
        Some(Self { renderer: state.renderer.clone() })
    }

    fn repack(&self, screen: Rect, primitives: Vec<ClippedPrimitive>) -> Vec<ClippedShape> {
        let mut frame_mesh = FrameMesh::default();
        let mut others = vec![];
        for ClippedPrimitive { clip_rect, primitive } in primitives {
            match primitive {
                Primitive::Mesh(mesh) => frame_mesh.add(clip_rect, mesh),
                Primitive::Callback(other) => others.push((frame_mesh.draws.len(), clip_rect, other)),
            }
        }
        let frame_mesh = Arc::new(frame_mesh);
        let callback = |draws: Range<usize>| {
            let part = Part { frame_mesh: frame_mesh.clone(), draws, renderer: self.renderer.clone() };
            shape(screen, egui_wgpu::Callback::new_paint_callback(screen, part))
        };
        let (mut shapes, mut done) = (vec![], 0);
        for (until, clip, other) in others {
            if done < until {
                shapes.push(callback(done..until));
            }
            shapes.push(shape(clip, other));
            done = until;
        }
        if done < frame_mesh.draws.len() {
            shapes.push(callback(done..frame_mesh.draws.len()));
        }
        shapes
    }
}

fn shape(clip_rect: Rect, callback: PaintCallback) -> ClippedShape {
    ClippedShape { clip_rect, shape: Shape::Callback(callback), transform_after_tessellation: Default::default() }
}

impl Plugin for SoftwarePainter {
    fn debug_name(&self) -> &'static str {
        "software painter"
    }

    fn output_hook(&mut self, ctx: &Context, output: &mut FullOutput) {
        let primitives = ctx.tessellate(std::mem::take(&mut output.shapes), output.pixels_per_point);
        output.shapes = self.repack(ctx.viewport_rect(), primitives);
    }
}

/// Triangles of a frame. Meshes are copied unchanged to the device, into one vertex buffer and one index buffer.
#[derive(Default)]
struct FrameMesh {
    meshes: Vec<Mesh>,
    n_vertices: u32,
    n_indices: u32,
    draws: Vec<Draw>,
}

struct Draw {
    clip: Rect,
    texture: TextureId,
    is_solid: bool,
    /// First vertex of the mesh that contains the triangles.
    base: u32,
    indices: Range<u32>,
}

impl FrameMesh {
    fn add(&mut self, clip: Rect, mesh: Mesh) {
        let (base, texture) = (self.n_vertices, mesh.texture_id);
        let mut open = None;
        for (at, corners) in (self.n_indices..).step_by(3).zip(mesh.indices.chunks_exact(3)) {
            let is_solid = texture == TextureId::default() && is_solid(&mesh.vertices, corners);
            match self.draws.last_mut() {
                Some(draw) if open == Some(is_solid) => draw.indices.end = at + 3,
                _ => self.draws.push(Draw { clip, texture, is_solid, base, indices: at..at + 3 }),
            }
            open = Some(is_solid);
        }
        self.n_vertices += mesh.vertices.len() as u32;
        self.n_indices += mesh.indices.len() as u32;
        self.meshes.push(mesh);
    }
}

/// Whether a triangle with egui's texture is opaque, samples only the white texel, and is large.
fn is_solid(vertices: &[Vertex], corners: &[u32]) -> bool {
    let is_opaque = |i: &u32| {
        let v = &vertices[*i as usize];
        v.uv == WHITE_UV && v.color.a() == Color32::BLACK.a()
    };
    // Nearly all triangles are text, and their first corner excludes them.
    if !corners.iter().all(is_opaque) {
        return false;
    }
    let [a, b, c] = [0, 1, 2].map(|i| vertices[corners[i] as usize].pos);
    let (ab, ac) = (b - a, c - a);
    (ab.x * ac.y - ab.y * ac.x).abs() * 0.5 > SOLID_FROM
}

/// Range of a frame's draws between two callbacks of egui, painted by one callback.
struct Part {
    frame_mesh: Arc<FrameMesh>,
    draws: Range<usize>,
    /// Renderer of egui, which has the textures.
    renderer: Arc<RwLock<Renderer>>,
}

impl CallbackTrait for Part {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        screen: &ScreenDescriptor,
        _: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        // The first part uploads the whole frame.
        if let Some(pipelines) = resources.get_mut::<Pipelines>().filter(|_| self.draws.start == 0) {
            pipelines.upload(device, queue, &self.frame_mesh, screen);
        }
        vec![]
    }

    fn paint(&self, info: PaintCallbackInfo, pass: &mut wgpu::RenderPass<'static>, resources: &CallbackResources) {
        let Some(pipelines) = resources.get::<Pipelines>() else { return };
        let renderer = self.renderer.read();
        let [width, height] = info.screen_size_px.map(|px| px as f32);
        pass.set_viewport(0.0, 0.0, width, height, 0.0, 1.0);
        pass.set_bind_group(0, &pipelines.locals_bind, &[]);
        pass.set_vertex_buffer(0, pipelines.vertices.slice(..));
        pass.set_index_buffer(pipelines.indices.slice(..), wgpu::IndexFormat::Uint32);
        // State is set only when it changes: wgpu validates and records every call.
        let mut now = (None, None, None);
        for draw in &self.frame_mesh.draws[self.draws.clone()] {
            let clip = PaintCallbackInfo { clip_rect: draw.clip, ..info }.clip_rect_in_pixels();
            if clip.width_px <= 0 || clip.height_px <= 0 {
                continue;
            }
            let [x, y, w, h] = [clip.left_px, clip.top_px, clip.width_px, clip.height_px].map(|px| px.max(0) as u32);
            if now.0.replace(draw.is_solid) != Some(draw.is_solid) {
                pass.set_pipeline(if draw.is_solid { &pipelines.solid } else { &pipelines.textured });
            }
            if now.1 != Some(draw.texture) {
                let Some(texture) = renderer.texture(&draw.texture) else { continue };
                pass.set_bind_group(1, &texture.bind_group, &[]);
                now.1 = Some(draw.texture);
            }
            if now.2.replace([x, y, w, h]) != Some([x, y, w, h]) {
                pass.set_scissor_rect(x, y, w, h);
            }
            pass.draw_indexed(draw.indices.clone(), draw.base as i32, 0..1);
        }
    }
}

/// Pipelines and buffers on the device.
struct Pipelines {
    textured: wgpu::RenderPipeline,
    solid: wgpu::RenderPipeline,
    locals: wgpu::Buffer,
    locals_bind: wgpu::BindGroup,
    vertices: wgpu::Buffer,
    indices: wgpu::Buffer,
}

impl Pipelines {
    fn new(device: &wgpu::Device, format: wgpu::TextureFormat) -> Self {
        let locals_layout = layout(device, "window", &[uniform(8, wgpu::ShaderStages::VERTEX)]);
        let layouts = [&locals_layout, &texture_layout(device)];
        let [textured, solid] = [("textured", true), ("solid", false)]
            .map(|(entry, is_blended)| pipeline(device, format, layouts, entry, is_blended));
        let locals = buffer(device, &[0; 8], wgpu::BufferUsages::UNIFORM);
        let locals_bind = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("window"),
            layout: &locals_layout,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: locals.as_entire_binding() }],
        });
        let vertices = buffer(device, &[0; 4], wgpu::BufferUsages::VERTEX);
        let indices = buffer(device, &[0; 4], wgpu::BufferUsages::INDEX);
        Self { textured, solid, locals, locals_bind, vertices, indices }
    }

    fn upload(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        frame_mesh: &FrameMesh,
        screen: &ScreenDescriptor,
    ) {
        let size = screen.size_in_pixels.map(|px| px as f32 / screen.pixels_per_point);
        queue.write_buffer(&self.locals, 0, bytemuck::cast_slice(&size));
        let vertices = || frame_mesh.meshes.iter().map(|m| bytemuck::cast_slice(&m.vertices));
        let indices = || frame_mesh.meshes.iter().map(|m| bytemuck::cast_slice(&m.indices));
        fill(device, queue, &mut self.vertices, vertices, wgpu::BufferUsages::VERTEX);
        fill(device, queue, &mut self.indices, indices, wgpu::BufferUsages::INDEX);
    }
}

fn buffer(device: &wgpu::Device, contents: &[u8], usage: wgpu::BufferUsages) -> wgpu::Buffer {
    let usage = usage | wgpu::BufferUsages::COPY_DST;
    device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: Some("window"), contents, usage })
}

/// Writes parts one after the other into a buffer, which is replaced by a larger one if necessary.
fn fill<'a, P: Iterator<Item = &'a [u8]>>(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    into: &mut wgpu::Buffer,
    parts: impl Fn() -> P,
    usage: wgpu::BufferUsages,
) {
    let n_bytes = parts().map(|p| p.len() as u64).sum();
    if n_bytes > into.size() {
        *into = buffer(device, &vec![0; (n_bytes as usize * 3 / 2).next_multiple_of(4)], usage);
    }
    let Some(mut staged) = wgpu::BufferSize::new(n_bytes).and_then(|n| queue.write_buffer_with(into, 0, n)) else {
        return;
    };
    let mut at = 0;
    for part in parts() {
        staged.slice(at..at + part.len()).copy_from_slice(part);
        at += part.len();
    }
}

fn layout(
    device: &wgpu::Device,
    label: &str,
    kinds: &[(wgpu::BindingType, wgpu::ShaderStages)],
) -> wgpu::BindGroupLayout {
    let entry = |(binding, (ty, visibility)): (usize, &(wgpu::BindingType, wgpu::ShaderStages))| {
        wgpu::BindGroupLayoutEntry { binding: binding as u32, visibility: *visibility, ty: *ty, count: None }
    };
    let entries: Vec<_> = kinds.iter().enumerate().map(entry).collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(label), entries: &entries })
}

fn uniform(n_bytes: u64, stages: wgpu::ShaderStages) -> (wgpu::BindingType, wgpu::ShaderStages) {
    let min_binding_size = std::num::NonZeroU64::new(n_bytes);
    (
        wgpu::BindingType::Buffer { ty: wgpu::BufferBindingType::Uniform, has_dynamic_offset: false, min_binding_size },
        stages,
    )
}

/// Creates the layout of egui's texture bind groups. The layout includes the flags that this shader ignores, because a bind
/// group requires an equal layout.
fn texture_layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let stages = wgpu::ShaderStages::FRAGMENT;
    let texture = wgpu::BindingType::Texture {
        sample_type: wgpu::TextureSampleType::Float { filterable: true },
        view_dimension: wgpu::TextureViewDimension::D2,
        multisampled: false,
    };
    let sampler = wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering);
    layout(device, "texture", &[(texture, stages), (sampler, stages), uniform(16, stages)])
}

fn pipeline(
    device: &wgpu::Device,
    format: wgpu::TextureFormat,
    layouts: [&wgpu::BindGroupLayout; 2],
    entry: &str,
    is_blended: bool,
) -> wgpu::RenderPipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("window.wgsl"),
        source: wgpu::ShaderSource::Wgsl(WINDOW_WGSL.into()),
    });
    let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some("window"),
        bind_group_layouts: &layouts.map(Some),
        immediate_size: 0,
    });
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(entry),
        layout: Some(&layout),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("corner"),
            compilation_options: Default::default(),
            buffers: &[Some(wgpu::VertexBufferLayout {
                array_stride: size_of::<Vertex>() as u64,
                step_mode: wgpu::VertexStepMode::Vertex,
                attributes: &wgpu::vertex_attr_array![0 => Float32x2, 1 => Float32x2, 2 => Unorm8x4],
            })],
        },
        primitive: Default::default(),
        depth_stencil: None,
        multisample: Default::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some(entry),
            compilation_options: Default::default(),
            targets: &[Some(wgpu::ColorTargetState {
                format,
                blend: is_blended.then_some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                write_mask: wgpu::ColorWrites::ALL,
            })],
        }),
        multiview_mask: None,
        cache: None,
    })
}
