//! Every shader parses, validates and makes a pipeline; and the scene draws what it is told, as seldom as it may.

use crate::support::harness::can_draw;
use egui_kittest::wgpu::{create_render_state, default_wgpu_setup};
use egui_wgpu::{RenderState, RendererOptions, wgpu};
use neuropil::{
    app::host::software::WINDOW_WGSL,
    view3d::{
        BLIT_WGSL, COLOR_FORMAT, Camera, EXTRAS_WGSL, End, Look, Mesh, POINTS_WGSL, Projector, Scene, Vec2, selected,
    },
};
use neuropil_test_support::{allocator::resident, alone};

fn device() -> Option<RenderState> {
    can_draw().then(|| create_render_state(default_wgpu_setup(), RendererOptions::PREDICTABLE))
}

#[test]
fn shaders_validate() {
    let Some(state) = device() else { return };
    let extras = [POINTS_WGSL, EXTRAS_WGSL].concat();
    let all = [
        ("points.wgsl", POINTS_WGSL),
        ("extras.wgsl", &extras),
        ("blit.wgsl", BLIT_WGSL),
        ("window.wgsl", WINDOW_WGSL),
    ];
    for (name, source) in all {
        let scope = state.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let source = wgpu::ShaderSource::Wgsl(source.into());
        let _module = state.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(name), source });
        let error = wait(scope.pop());
        assert!(error.is_none(), "{name}: {error:?}");
    }
}

/// Blocks on a future that is ready as soon as the device was polled.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::yield_now();
    }
}

const SIZE: u32 = 64;

/// Draws into a window of our own and reads it back.
fn picture(state: &RenderState, scene: &mut Scene, look: &Look) -> Vec<[u8; 4]> {
    let texture = state.device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: SIZE, height: SIZE, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: COLOR_FORMAT,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let view = texture.create_view(&Default::default());
    let buffer = state.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::from(SIZE * SIZE * 4),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = state.device.create_command_encoder(&Default::default());
    scene.draw(&state.device, &state.queue, &mut encoder, look);
    {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations::default(),
            })],
            ..Default::default()
        });
        scene.blit(&mut pass);
    }
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(SIZE * 4), rows_per_image: None };
    let target = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
    encoder.copy_texture_to_buffer(texture.as_image_copy(), target, texture.size());
    state.queue.submit([encoder.finish()]);
    buffer.slice(..).map_async(wgpu::MapMode::Read, |r| r.expect("readable"));
    state.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device answers");
    let bytes = buffer.slice(..).get_mapped_range().expect("mapped");
    bytes.chunks_exact(4).map(|c| [c[0], c[1], c[2], c[3]]).collect()
}

#[test]
fn a_scene_draws_classes_values_glow_and_only_when_needed() {
    let Some(state) = device() else { return };
    let mut scene = Scene::new(&state.device, COLOR_FORMAT);
    let points = [[0.0, 0.0, -0.4], [0.0, 0.0, 0.4]];
    scene.set_points(&state.device, &points);
    scene.set_codes(&state.queue, &[selected(0, false), selected(1, false)]);
    scene.set_palette(&state.device, &state.queue, &[[255, 0, 0, 255], [0, 0, 255, 255]]);
    scene.set_ramp(&state.queue, &std::array::from_fn(|i| [0, i as u8, 0, 255]));
    let camera = Camera::default();
    let size = Vec2::splat(SIZE as f32);
    let mut look = Look::new(&camera, size, 0.3, 1.0);
    look.fog[2] = 0.0;
    let middle = (SIZE * SIZE / 2 + SIZE / 2) as usize;

    assert_eq!(picture(&state, &mut scene, &look)[middle], [0, 0, 255, 255], "the nearer one hides the other");
    assert_eq!(scene.redraws(), 1);
    picture(&state, &mut scene, &look);
    assert_eq!(scene.redraws(), 1, "nothing changed, nothing drawn");

    scene.set_palette(&state.device, &state.queue, &[[255, 0, 0, 255], [0, 0, 255, 0]]);
    assert_eq!(picture(&state, &mut scene, &look)[middle], [255, 0, 0, 255], "a hidden class is not drawn");
    scene.set_values(&[1.0, 0.0]);
    look.flags[0] = 1;
    assert_eq!(picture(&state, &mut scene, &look)[middle], [0, 254, 0, 255], "a value is coloured by the map");
    scene.set_values(&[1.01, 0.0]);
    assert_eq!(
        picture(&state, &mut scene, &look)[middle],
        [0, 255, 0, 255],
        "what lies above its range has a colour of its own"
    );
    scene.set_values(&[-0.01, 0.0]);
    assert_eq!(picture(&state, &mut scene, &look)[middle], [0, 0, 0, 255], "and what lies below");
    scene.set_values(&[0.0, 0.0]);
    assert_eq!(picture(&state, &mut scene, &look)[middle], [0, 1, 0, 255], "the lowest value does not");
    scene.set_values(&[1.0, 0.0]);
    look.flags[0] = 2;
    look.range[2] = 100.0;
    let glowing = picture(&state, &mut scene, &look)[middle];
    assert!(glowing[1] > 20, "what was just active is light: {glowing:?}");

    look.flags = [0, 0, 0, 1];
    let projector = Projector::new(&camera, size);
    let drawn = picture(&state, &mut scene, &look);
    for (x, y) in [(32, 32), (5, 5), (40, 30), (60, 60)] {
        let pointer = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
        let picked = projector.pick(&points, |i| i == 0, |depth| look.radius_px(depth), pointer, 0.0);
        let is_drawn = drawn[y * SIZE as usize + x][0] > 128;
        assert_eq!(picked.is_some(), is_drawn, "pick and picture disagree at {x}, {y}");
    }
}

/// The surface is drawn where the look says so, over what lies behind it and under what lies before; lines go through.
#[test]
fn a_surface_and_lines_are_drawn_around_the_points() {
    let Some(state) = device() else { return };
    let mut scene = Scene::new(&state.device, COLOR_FORMAT);
    scene.set_points(&state.device, &[[0.0, 0.0, 0.6], [0.5, 0.5, -0.6]]);
    scene.set_palette(&state.device, &state.queue, &[[255, 0, 0, 255]]);
    let facing =
        |z: f32| [[-0.8, -0.8, z], [0.8, -0.8, z], [0.8, 0.8, z], [-0.8, 0.8, z]].map(|p| [p, [0.0, 0.0, 1.0]]);
    let mesh = Mesh { corners: facing(0.0).to_vec(), triangles: vec![[0, 1, 2], [0, 2, 3]] };
    let mut look = Look::new(&Camera::default(), Vec2::splat(SIZE as f32), 0.1, 1.0);
    look.fog[2] = 0.0;
    look.shell = [0.0, 1.0, 0.0, 1.0];
    let at = |x: usize, y: usize| y * SIZE as usize + x;
    let (middle, beside) = (at(32, 32), at(20, 40));
    assert_eq!(picture(&state, &mut scene, &look)[beside], [0, 0, 0, 255], "no surface yet");
    scene.set_shell(&state.device, &mesh);
    let drawn = picture(&state, &mut scene, &look);
    assert!((25..40).contains(&drawn[beside][1]), "thin where one looks straight at it: {:?}", drawn[beside]);
    assert!(drawn[middle][0] > 250 && drawn[middle][1] == 0, "a point before it is not covered: {:?}", drawn[middle]);
    look.shell[3] = 0.0;
    assert_eq!(picture(&state, &mut scene, &look)[beside], [0, 0, 0, 255], "switched off");

    let end = |x: f32| End { position: [x, 0.0, -0.9], color: [0, 0, 255, 255] };
    scene.set_lines(&state.device, &[end(-5.0), end(5.0)]);
    let drawn = picture(&state, &mut scene, &look);
    let row = (0..SIZE as usize).map(|y| (0..SIZE as usize).filter(|x| drawn[at(*x, y)][2] == 255).count()).max();
    assert_eq!(row, Some(SIZE as usize), "a line passes through the point before it");
    scene.set_lines(&state.device, &[]);
    assert!(picture(&state, &mut scene, &look).iter().all(|p| p[2] == 0));
}

/// A uniform that alone decides a branch makes lavapipe compile the shader again for every picture and keep each result
/// until the pipeline ends: 0.3 MB per picture. The driver's memory is not in the counting allocator.
#[test]
fn a_picture_keeps_no_memory() {
    if !alone("shaders::a_picture_keeps_no_memory") {
        return;
    }
    let Some(state) = device() else { return };
    let mut scene = Scene::new(&state.device, COLOR_FORMAT);
    scene.set_points(&state.device, &[[0.0, 0.0, -0.4], [0.0, 0.0, 0.4]]);
    scene.set_codes(&state.queue, &[selected(0, false), selected(1, true)]);
    scene.set_palette(&state.device, &state.queue, &[[255, 0, 0, 255], [0, 0, 255, 255]]);
    scene.set_values(&[0.5, 0.2]);
    let mut look = Look::new(&Camera::default(), Vec2::splat(SIZE as f32), 0.3, 1.0);
    let mut draw = |pictures: u32| {
        for n in 0..pictures {
            look.flags = [n % 3, n / 3 % 2, 0, 1];
            look.fog[2] = n as f32 * 1e-3;
            picture(&state, &mut scene, &look);
        }
        resident()
    };
    let (Some(few), Some(more)) = (draw(24), draw(120)) else { return };
    let grown = more.saturating_sub(few) as f64 * 1e-6;
    assert!(grown < 8.0, "120 pictures keep {grown:.1} MB");
}
