//! Start of the window.

use super::{
    App,
    actions::{documents, open, unrecorded},
    figure::stage::HiddenPointer,
    flow::{Flow, Opening},
    frame_times,
    host::Host,
    jobs::Done,
    keymap,
    messages::Messages,
    overlays::Overlays,
    panels::state::Panels,
    preferences::Preferences,
    workspace::{Workspaces, saved},
};
use crate::{
    app::{
        document::{
            journal::Journal,
            live::{self, Builder},
            open_document::Document,
            session::Session,
            settings,
            time::Time,
        },
        host::{attention, consent, crash, device, file_watch, jobs, placement, recent, software, system},
        kit::style,
    },
    project::Project,
};
use etcetera::BaseStrategy;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Application id for desktops. It equals the file name of the launcher.
pub const APP_ID: &str = "neuropil";

/// Options of the window.
pub struct Start {
    /// Project file to open; `None`: the home page or `project`.
    pub path: Option<PathBuf>,
    /// Document to open instead of a file; `None`: the default project.
    pub project: Option<Project>,
    /// Whether to start the engine. It is off in tests of the window alone.
    pub engine: bool,
    /// Whether to run the project as soon as it is loaded.
    pub run: bool,
    /// Whether to use the system's file dialogs; otherwise a text field asks for paths.
    pub native_dialogs: bool,
    /// Folder of the journal, recent projects and window placement; `None`: they are not saved.
    pub state_dir: Option<PathBuf>,
    /// Folder of settings, shortcuts and layouts; `None`: they are not saved.
    pub config_dir: Option<PathBuf>,
    /// Whether to ignore saved panel layouts and window placement.
    pub reset_layout: bool,
    /// Whether to reset settings and shortcuts; the old files are renamed to `.bak`.
    pub reset_settings: bool,
    /// Whether to ignore saved settings and layouts, and to render in software.
    pub safe_mode: bool,
    /// Opens a project in a second window.
    pub second_window: fn(&Path) -> std::io::Result<()>,
    /// Program that executes the runs of a sweep; `None`: this program.
    pub program: Option<PathBuf>,
    /// Function that builds simulations; `None`: the default.
    pub builder: Option<Builder>,
}

impl Default for Start {
    fn default() -> Self {
        Self {
            path: None,
            project: None,
            engine: true,
            run: false,
            native_dialogs: true,
            state_dir: None,
            config_dir: None,
            reset_layout: false,
            reset_settings: false,
            safe_mode: false,
            second_window,
            program: None,
            builder: None,
        }
    }
}

impl Start {
    /// Returns the default options with the user's folders for settings and state.
    pub fn of_user() -> Self {
        let dirs = etcetera::choose_base_strategy().ok();
        Self {
            state_dir: dirs.as_ref().map(|d| d.state_dir().unwrap_or_else(|| d.data_dir()).join(APP_ID)),
            config_dir: dirs.map(|d| d.config_dir().join(APP_ID)),
            ..Self::default()
        }
    }
}

/// Starts the program again with a project file.
fn second_window(path: &Path) -> std::io::Result<()> {
    let exe = std::env::current_exe()?;
    std::process::Command::new(exe).arg(path).spawn().map(drop)
}

impl Start {
    /// Applies the reset options, before any file is read.
    fn prepare(mut self) -> Self {
        if self.safe_mode {
            (self.reset_layout, self.config_dir) = (true, None);
        }
        for name in [settings::FILE, keymap::FILE].iter().filter(|_| self.reset_settings) {
            if let Some(file) = self.config_dir.as_ref().map(|d| d.join(name)).filter(|f| f.exists()) {
                std::fs::rename(&file, file.with_extension("ron.bak")).ok();
            }
        }
        self
    }
}

/// Creates the window's content and starts its threads. Fails if a thread cannot be started.
pub fn create(cc: &eframe::CreationContext<'_>, mut start: Start) -> Result<App, String> {
    let ctx = cc.egui_ctx.clone();
    style::apply(&ctx);
    ctx.add_plugin(HiddenPointer);
    ctx.options_mut(|o| o.zoom_with_keyboard = false); // UiCommand::ZoomIn and ZoomOut replace it
    let preferences = preferences(&ctx, &start);
    let is_home = start.path.is_none() && start.project.is_none() && !start.run;
    let project = start.project.take().unwrap_or_else(crate::project::default_project);
    let devices = Arc::new(device::Devices::default());
    let live = live(cc, &mut start, &devices)?;
    let journal = Journal::new(start.state_dir.as_deref());
    let mut workspace = Workspaces::default();
    workspace.is_home = is_home;
    let mut app = App {
        document: Document::new(Session::new(project, None, live), Time::with_indexer(ctx), journal),
        workspace,
        panels: Panels::default(),
        overlays: Overlays::default(),
        messages: Messages::default(),
        preferences,
        flow: Flow { opening: start.path.clone().map(Opening::new), ..Flow::default() },
        host: host(cc, &start, devices)?,
    };
    let limit_bytes = app.preferences.settings.unrecorded_bytes();
    unrecorded::look_for_left_work(&mut app.parts(), start.state_dir, limit_bytes)?;
    if let Some(folder) = start.config_dir.map(|d| d.join("layouts")) {
        let read = move || saved::read_folder(&folder);
        app.host.try_job("layouts", read, |parts, layouts| parts.workspace.layouts.user = layouts)?;
    }
    if let Some(path) = start.path {
        open::open_path(&mut app.parts(), path);
    } else if start.run {
        app.document.session.build(true);
    }
    Ok(app)
}

/// Reads settings and shortcuts, and applies the settings.
fn preferences(ctx: &egui::Context, start: &Start) -> Preferences {
    let settings = settings::Settings::load(start.config_dir.as_deref());
    if settings != settings::Settings::default() {
        settings.apply(ctx);
    }
    Preferences {
        applied: settings.clone(),
        settings,
        keymap: keymap::Keymap::load(start.config_dir.as_deref()),
        reset_layout: start.reset_layout || start.safe_mode,
    }
}

/// Starts the loader, and the engine unless it is off. Fails if a thread cannot be started.
fn live(
    cc: &eframe::CreationContext<'_>,
    start: &mut Start,
    devices: &Arc<device::Devices>,
) -> Result<live::Live, String> {
    let builder = start.builder.take().unwrap_or_else(|| {
        let devices = devices.clone();
        Arc::new(move |project, context, progress| devices.build(&project.model, context, &project.run, progress))
    });
    let is_software = cc.wgpu_render_state.as_ref().is_some_and(software::is_software);
    let nice = if is_software { software::ENGINE_NICE } else { live::ENGINE_NICE };
    live::Live::new(start.engine.then_some(nice), builder, cc.egui_ctx.clone())
}

/// Reads the data kept between sessions, and starts the watch of the project's file.
fn host(cc: &eframe::CreationContext<'_>, start: &Start, devices: Arc<device::Devices>) -> Result<Host, String> {
    if let Some(state) = cc.wgpu_render_state.as_ref() {
        crash::remember_adapter(state.adapter.get_info().name);
    }
    let jobs = jobs::Jobs::new(cc.egui_ctx.clone());
    let (outbox, wake) = (jobs.outbox(), cc.egui_ctx.clone());
    let changed = move |path, found: Box<Project>| {
        let done: Done = Box::new(|parts| documents::file_changed(parts.document, parts.overlays, path, *found));
        outbox.try_send(done).ok();
        wake.request_repaint();
    };
    Ok(Host {
        jobs,
        devices,
        recent: recent::Recent::load(start.state_dir.as_deref()),
        used: recent::RecentCommands::load(start.state_dir.as_deref()),
        consent: consent::Consent::load(start.state_dir.as_deref()),
        file_watch: file_watch::FileWatch::new(changed)?,
        config_dir: start.config_dir.clone(),
        state_dir: start.state_dir.clone(),
        placement: placement::Placement::default(),
        process_memory: system::ProcessMemory::default(),
        render_state: cc.wgpu_render_state.clone(),
        program: start.program.clone(),
        second_window: start.second_window,
        native_dialogs: start.native_dialogs,
        attention: attention::Attention::default(),
        frames: frame_times::FrameTimes::default(),
        title: String::new(),
    })
}

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
        Ok(Box::new(create(cc, start)?))
    };
    eframe::run_native(APP_ID, options, Box::new(create)).map_err(|e| {
        format!("The window could not be opened: {e}. It needs a display, and Vulkan or OpenGL; without them use `neuropil run`")
    })
}

/// Returns the program's icon; an empty icon if the file is damaged.
fn icon() -> egui::IconData {
    eframe::icon_data::from_png_bytes(include_bytes!("../../../assets/icon.png")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use neuropil_test_support::temp::TempFolder;

    fn files(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn resets_apply_before_files_are_read_and_keep_backups() {
        let folder = TempFolder::new("start");
        for file in [settings::FILE, keymap::FILE] {
            std::fs::write(folder.join(file), "()").unwrap();
        }
        // Tests of the window use these defaults, so they neither read nor write the user's saved data.
        assert_eq!((Start::default().config_dir, Start::default().state_dir), (None, None));
        let fresh = || Start { config_dir: Some(folder.to_path_buf()), ..Start::default() };
        let plain = fresh().prepare();
        assert!(!plain.reset_layout && files(&folder) == ["keymap.ron", "settings.ron"]);
        let safe = Start { safe_mode: true, ..fresh() }.prepare();
        assert!(safe.reset_layout && safe.config_dir.is_none(), "nothing that was kept is read or written");
        assert_eq!(files(&folder), ["keymap.ron", "settings.ron"]);
        let reset = Start { reset_settings: true, ..fresh() }.prepare();
        assert!(reset.config_dir.is_some() && !reset.reset_layout);
        assert_eq!(files(&folder), ["keymap.ron.bak", "settings.ron.bak"], "what was set is kept beside");
    }
}
