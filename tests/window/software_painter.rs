//! egui's painter and the software painter draw the same pixels.

use crate::support::harness::can_draw;
use egui::{Align2, Color32, FontId, Pos2, Rect, Stroke, Ui, pos2, vec2};
use egui_kittest::wgpu::{create_render_state, default_wgpu_setup};
use egui_wgpu::{CallbackResources, CallbackTrait, RenderState, RendererOptions, ScreenDescriptor, wgpu};
use neuropil::app::host::software::SoftwarePainter;

/// Width and height: rows of the picture are copied in multiples of 256 bytes.
const SIZE: [u32; 2] = [320, 192];

fn device() -> Option<RenderState> {
    let options = RendererOptions { dithering: false, ..RendererOptions::default() };
    can_draw().then(|| create_render_state(default_wgpu_setup(), options))
}

/// A custom paint callback between egui's meshes.
struct CustomPaint;

impl CallbackTrait for CustomPaint {
    fn paint(&self, _: egui::PaintCallbackInfo, _: &mut wgpu::RenderPass<'static>, _: &CallbackResources) {}
}

/// Fills, antialiased edges, text, clipping, a texture, and a callback between them.
fn draw(ui: &mut Ui) {
    let image = egui::ColorImage::example();
    let texture = ui.ctx().load_texture("example", image, egui::TextureOptions::LINEAR);
    let painter = ui.ctx().layer_painter(egui::LayerId::background());
    let whole = Rect::from_min_size(Pos2::ZERO, vec2(SIZE[0] as f32, SIZE[1] as f32));
    painter.rect_filled(whole, 0, Color32::DARK_BLUE);
    painter.rect_filled(whole.shrink(20.5), 8, Color32::KHAKI);
    painter.rect_filled(whole.shrink(40.0), 0, Color32::RED.gamma_multiply(0.4));
    painter.image(texture.id(), Rect::from_min_size(pos2(200.0, 30.0), vec2(90.0, 60.0)), unit(), Color32::WHITE);
    painter.add(egui_wgpu::Callback::new_paint_callback(whole.shrink(30.0), CustomPaint));
    painter.circle(pos2(90.0, 90.0), 30.0, Color32::GREEN, Stroke::new(2.0, Color32::BLACK));
    painter.line_segment([pos2(3.0, 5.0), pos2(300.0, 180.0)], Stroke::new(1.5, Color32::WHITE));
    let clipped = painter.with_clip_rect(Rect::from_min_max(pos2(60.0, 100.0), pos2(201.5, 160.0)));
    clipped.rect_filled(whole, 0, Color32::DARK_GREEN);
    clipped.text(
        pos2(120.0, 130.0),
        Align2::CENTER_CENTER,
        "Neurons, clipped",
        FontId::proportional(22.0),
        Color32::WHITE,
    );
    ui.data_mut(|d| d.insert_temp(egui::Id::unique("keep"), texture));
}

fn unit() -> Rect {
    Rect::from_min_max(Pos2::ZERO, pos2(1.0, 1.0))
}

fn picture(state: &RenderState, is_software: bool) -> Vec<u8> {
    let ctx = egui::Context::default();
    if is_software {
        ctx.add_plugin(SoftwarePainter::new(state).expect("a window of this format"));
    }
    let size = vec2(SIZE[0] as f32, SIZE[1] as f32);
    let input = egui::RawInput { screen_rect: Some(Rect::from_min_size(Pos2::ZERO, size)), ..Default::default() };
    let mut output = ctx.run_ui(input, draw);
    let jobs = ctx.tessellate(std::mem::take(&mut output.shapes), output.pixels_per_point);
    let n_callbacks = jobs.iter().filter(|j| matches!(j.primitive, egui::epaint::Primitive::Callback(_))).count();
    assert_eq!(n_callbacks, if is_software { jobs.len() } else { 1 }, "number of callbacks");

    let (device, queue) = (&state.device, &state.queue);
    let screen = ScreenDescriptor { size_in_pixels: SIZE, pixels_per_point: output.pixels_per_point };
    let mut encoder = device.create_command_encoder(&Default::default());
    {
        let mut renderer = state.renderer.write();
        for (id, deltas) in output.textures_delta.set.drain() {
            deltas.iter().for_each(|delta| renderer.update_texture(device, queue, id, delta));
        }
        output.textures_delta.clear();
        renderer.update_buffers(device, queue, &mut encoder, &jobs, &screen);
    }
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: SIZE[0], height: SIZE[1], depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: state.target_format,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    {
        let view = texture.create_view(&Default::default());
        let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations::default(),
            })],
            ..Default::default()
        });
        state.renderer.read().render(&mut pass.forget_lifetime(), &jobs, &screen);
    }
    read_back(state, encoder, &texture)
}

fn read_back(state: &RenderState, mut encoder: wgpu::CommandEncoder, texture: &wgpu::Texture) -> Vec<u8> {
    let buffer = state.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: u64::from(SIZE[0] * SIZE[1] * 4),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(SIZE[0] * 4), rows_per_image: None };
    let target = wgpu::TexelCopyBufferInfo { buffer: &buffer, layout };
    encoder.copy_texture_to_buffer(texture.as_image_copy(), target, texture.size());
    state.queue.submit([encoder.finish()]);
    buffer.slice(..).map_async(wgpu::MapMode::Read, |r| r.expect("readable"));
    state.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device answers");
    buffer.slice(..).get_mapped_range().expect("mapped").to_vec()
}

#[test]
fn both_painters_draw_the_same_pixels() {
    let Some(state) = device() else { return };
    let (egui, software) = (picture(&state, false), picture(&state, true));
    let colors = egui.chunks_exact(4).collect::<std::collections::HashSet<_>>().len();
    assert!(colors > 50, "a picture with {colors} colours shows little");
    let off = egui.iter().zip(&software).map(|(a, b)| a.abs_diff(*b)).collect::<Vec<_>>();
    // Colours are rounded once more or less.
    assert!(off.iter().all(|d| *d <= 2), "{} of {} bytes differ", off.iter().filter(|d| **d > 2).count(), off.len());
}
