//! Graphics processors without a window: each draws frames into a texture, which can be read.

use crate::app::{host::software, shell::figure::offscreen};
use egui_wgpu::{RenderState, RendererOptions, WgpuConfiguration, WgpuSetup, wgpu};
use std::{
    sync::{Arc, mpsc::channel},
    time::Instant,
};

/// Width and height of the frames, pixels.
pub const SIZE_PX: [u32; 2] = [1440, 900];

/// A graphics adapter with a texture in place of a window.
pub struct Graphics {
    /// Name of the adapter, with its driver.
    pub name: String,
    pub is_software: bool,
    pub state: RenderState,
    target: wgpu::Texture,
}

/// Pixels of a frame, 8-bit RGB.
pub type Picture = Vec<[u8; 3]>;

/// Creates a device on the first graphics processor and on the software renderer; only those that exist.
///
/// # Errors
/// Fails if no adapter exists or a device cannot be created.
pub fn all() -> Result<Vec<Graphics>, String> {
    let WgpuSetup::CreateNew(mut setup) = WgpuSetup::without_display_handle() else {
        return Err("no new graphics device is created".into());
    };
    setup.instance_descriptor.backends = wgpu::Backends::VULKAN;
    let instance = pollster::block_on(WgpuSetup::CreateNew(setup.clone()).new_instance());
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
    let at = |wants_software| adapters.iter().position(|a| crate::view3d::is_software(a) == wants_software);
    let chosen: Vec<usize> = [at(false), at(true)].into_iter().flatten().collect();
    if chosen.is_empty() {
        return Err("no Vulkan driver was found; a software renderer is in the package mesa-vulkan-drivers".into());
    }
    chosen.into_iter().map(|at| Graphics::new(setup.clone(), &instance, at)).collect()
}

impl Graphics {
    fn new(mut setup: egui_wgpu::WgpuSetupCreateNew, instance: &wgpu::Instance, at: usize) -> Result<Self, String> {
        setup.native_adapter_selector = Some(Arc::new(move |adapters, _| {
            adapters.get(at).cloned().ok_or_else(|| "the adapter is gone".to_owned())
        }));
        let config = WgpuConfiguration { wgpu_setup: WgpuSetup::CreateNew(setup), ..WgpuConfiguration::default() };
        let options = RendererOptions { dithering: false, ..RendererOptions::default() };
        let state =
            pollster::block_on(RenderState::create(&config, instance, None, options)).map_err(|e| e.to_string())?;
        let info = state.adapter.get_info();
        let target = offscreen::target(&state.device, state.target_format, SIZE_PX);
        let name = format!("{} ({} {})", info.name, info.driver, info.driver_info).replace("  ", " ");
        Ok(Self { name, is_software: software::is_software(&state), state, target })
    }

    /// Draws one frame and waits until it is finished. `prepare` records what precedes the pass of the window, `paint` the pass.
    /// Returns the time, ms: longer than that of a frame on screen, because recording and drawing do not overlap.
    ///
    /// # Errors
    /// Fails if the device is lost.
    pub fn frame(
        &self,
        prepare: impl FnOnce(&mut wgpu::CommandEncoder) -> Vec<wgpu::CommandBuffer>,
        paint: impl FnOnce(&mut wgpu::RenderPass<'static>),
    ) -> Result<f64, String> {
        let since = Instant::now();
        let mut encoder = self.state.device.create_command_encoder(&Default::default());
        let mut commands = prepare(&mut encoder);
        let view = self.target.create_view(&Default::default());
        let ops = wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store };
        let attachment = wgpu::RenderPassColorAttachment { view: &view, depth_slice: None, resolve_target: None, ops };
        let mut pass = encoder
            .begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("frame"),
                color_attachments: &[Some(attachment)],
                ..Default::default()
            })
            .forget_lifetime();
        paint(&mut pass);
        drop(pass);
        commands.push(encoder.finish());
        self.state.queue.submit(commands);
        self.state.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| e.to_string())?;
        Ok(since.elapsed().as_secs_f64() * 1e3)
    }

    /// Returns the pixels of the last frame.
    ///
    /// # Errors
    /// Fails if the device is lost.
    pub fn picture(&self) -> Result<Picture, String> {
        let (outbox, inbox) = channel();
        let mut encoder = self.state.device.create_command_encoder(&Default::default());
        let reading = offscreen::copy(&self.state, &mut encoder, &self.target)?;
        self.state.queue.submit([encoder.finish()]);
        reading.read(move |picture| drop(outbox.send(picture)));
        self.state.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| e.to_string())?;
        let picture = inbox.try_recv().map_err(|e| e.to_string())??;
        Ok(picture.pixels.iter().map(|p| [p.r(), p.g(), p.b()]).collect())
    }
}
