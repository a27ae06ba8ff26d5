//! Render pipelines of points: the three passes of points.wgsl and their bindings.

use super::{
    POINTS_WGSL,
    lights::LIGHT,
    targets::{COLOR_FORMAT, DEPTH_FORMAT},
};
use std::borrow::Cow;

/// Vertex attributes of a [`Light`](super::lights::Light).
const LIGHT_ATTRIBUTES: [wgpu::VertexAttribute; 4] =
    wgpu::vertex_attr_array![0 => Float32x3, 1 => Uint32, 2 => Float32, 3 => Float32];

pub(super) fn texture_binding(filterable: bool) -> wgpu::BindingType {
    wgpu::BindingType::Texture {
        sample_type: wgpu::TextureSampleType::Float { filterable },
        view_dimension: wgpu::TextureViewDimension::D2,
        multisampled: false,
    }
}

pub(super) fn bind_layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let uniform = wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Uniform,
        has_dynamic_offset: false,
        min_binding_size: None,
    };
    let kinds = [uniform, texture_binding(false), texture_binding(false)];
    let entries = [0, 1, 2].map(|binding| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
        ty: kinds[binding as usize],
        count: None,
    });
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("points"), entries: &entries })
}

pub(super) fn bind(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    look: &wgpu::Buffer,
    palette: &wgpu::Texture,
    ramp: &wgpu::Texture,
) -> wgpu::BindGroup {
    let (palette, ramp) = (palette.create_view(&Default::default()), ramp.create_view(&Default::default()));
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("points"),
        layout,
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: look.as_entire_binding() },
            wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::TextureView(&palette) },
            wgpu::BindGroupEntry { binding: 2, resource: wgpu::BindingResource::TextureView(&ramp) },
        ],
    })
}

/// Creates the pipelines of body, glow of all points, glow of lights, and halo.
pub(super) fn pipelines(device: &wgpu::Device, layout: &wgpu::BindGroupLayout) -> [wgpu::RenderPipeline; 4] {
    let shader = Shader::new(device, layout, "points.wgsl", POINTS_WGSL.into());
    let attribute = |array_stride, attributes| {
        Some(wgpu::VertexBufferLayout { array_stride, step_mode: wgpu::VertexStepMode::Instance, attributes })
    };
    let of_points = [
        attribute(12, &wgpu::vertex_attr_array![0 => Float32x3]),
        attribute(4, &wgpu::vertex_attr_array![1 => Uint32]),
        attribute(4, &wgpu::vertex_attr_array![2 => Float32]),
        attribute(4, &wgpu::vertex_attr_array![3 => Float32]),
    ];
    let of_lights = [attribute(LIGHT, &LIGHT_ATTRIBUTES)];
    let strip = wgpu::PrimitiveTopology::TriangleStrip;
    let solid = Some((wgpu::CompareFunction::Less, true));
    let (points, lights) = (&of_points[..], &of_lights[..]);
    [("body", points, solid), ("glow", points, None), ("glow", lights, None), ("halo", lights, None)]
        .map(|(name, buffers, depth)| shader.pipeline(device, name, strip, buffers, depth))
}

/// A shader with entry points `NAME_vertex` and `NAME_fragment`.
pub(super) struct Shader {
    module: wgpu::ShaderModule,
    layout: wgpu::PipelineLayout,
}

impl Shader {
    pub fn new(device: &wgpu::Device, layout: &wgpu::BindGroupLayout, name: &str, source: Cow<'_, str>) -> Self {
        let source = wgpu::ShaderSource::Wgsl(source);
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(name), source });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(name),
            bind_group_layouts: &[Some(layout)],
            immediate_size: 0,
        });
        Self { module, layout }
    }

    /// Creates a pipeline with alpha blending. `depth` holds the comparison and whether depth is written; `None` for a pass
    /// without a depth buffer.
    pub fn pipeline(
        &self,
        device: &wgpu::Device,
        name: &str,
        topology: wgpu::PrimitiveTopology,
        buffers: &[Option<wgpu::VertexBufferLayout<'_>>],
        depth: Option<(wgpu::CompareFunction, bool)>,
    ) -> wgpu::RenderPipeline {
        device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(name),
            layout: Some(&self.layout),
            vertex: wgpu::VertexState {
                module: &self.module,
                entry_point: Some(&format!("{name}_vertex")),
                compilation_options: Default::default(),
                buffers,
            },
            primitive: wgpu::PrimitiveState { topology, ..Default::default() },
            depth_stencil: depth.map(|(compare, writes)| wgpu::DepthStencilState {
                format: DEPTH_FORMAT,
                depth_write_enabled: Some(writes),
                depth_compare: Some(compare),
                stencil: Default::default(),
                bias: Default::default(),
            }),
            multisample: Default::default(),
            fragment: Some(wgpu::FragmentState {
                module: &self.module,
                entry_point: Some(&format!("{name}_fragment")),
                compilation_options: Default::default(),
                targets: &[Some(wgpu::ColorTargetState {
                    format: COLOR_FORMAT,
                    blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                    write_mask: wgpu::ColorWrites::ALL,
                })],
            }),
            multiview_mask: None,
            cache: None,
        })
    }
}
