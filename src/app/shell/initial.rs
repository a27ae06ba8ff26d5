//! Initial parts of the window, which depend on the options of its start.

use super::{
    actions::{documents, open, unrecorded},
    figure::stage::HiddenPointer,
    flow::{Flow, Opening},
    frame_times,
    host::Host,
    jobs::Done,
    keymap,
    parts::ActionParts,
    preferences::Preferences,
    start::Start,
    workspace::{Workspaces, saved},
};
use crate::{
    app::{
        document::{
            journal::Journal,
            live::{self, Live},
            open_document::Document,
            session::Session,
            settings,
            time::Time,
        },
        host::{attention, consent, crash, device, file_watch, jobs, kept_about, placement, recent, software, system},
        kit::style,
    },
    project::{self, Project},
};
use std::sync::Arc;

/// Applies the style, and replaces functions of egui by those of the window.
pub fn set_up(ctx: &egui::Context) {
    style::apply(ctx);
    ctx.add_plugin(HiddenPointer);
    ctx.options_mut(|o| o.zoom_with_keyboard = false); // UiCommand::ZoomIn and ZoomOut replace it
}

/// Reads settings and shortcuts, and applies the settings.
pub fn preferences(ctx: &egui::Context, start: &Start) -> Preferences {
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

/// Returns the workspaces; Home is shown if the options name no project and start no run.
pub fn workspaces(start: &Start) -> Workspaces {
    let mut workspace = Workspaces::default();
    workspace.is_home = start.path.is_none() && start.project.is_none() && !start.run;
    workspace
}

/// Returns the pending work: the file that the options name is being opened.
pub fn flow(start: &Start) -> Flow {
    Flow { opening: start.path.clone().map(Opening::new), ..Flow::default() }
}

/// Takes the project of the options, or the default project, as the open document. Starts the loader, and the engine unless it
/// is off. Fails if a thread cannot be started.
pub fn document(
    cc: &eframe::CreationContext<'_>,
    start: &mut Start,
    devices: &Arc<device::Devices>,
) -> Result<Document, String> {
    let project = start.project.take().unwrap_or_else(project::default_project);
    let session = Session::new(project, None, live(cc, start, devices)?);
    let journal = Journal::new(start.state_dir.as_deref());
    Ok(Document::new(session, Time::with_indexer(cc.egui_ctx.clone()), journal))
}

/// Starts the loader, and the engine unless it is off. Fails if a thread cannot be started.
fn live(cc: &eframe::CreationContext<'_>, start: &mut Start, devices: &Arc<device::Devices>) -> Result<Live, String> {
    let builder = start.builder.take().unwrap_or_else(|| {
        let devices = devices.clone();
        Arc::new(move |project, context, progress| devices.build(&project.model, context, &project.run, progress))
    });
    let is_software = cc.wgpu_render_state.as_ref().is_some_and(software::is_software);
    let nice = if is_software { software::ENGINE_NICE } else { live::ENGINE_NICE };
    Live::new(start.engine.then_some(nice), builder, cc.egui_ctx.clone())
}

/// Reads the data kept between sessions, and starts the watch of the project's file.
pub fn host(cc: &eframe::CreationContext<'_>, start: &Start, devices: Arc<device::Devices>) -> Result<Host, String> {
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
        about: kept_about::KeptAbout::load(start.config_dir.as_deref()),
        file_watch: file_watch::FileWatch::new(changed)?,
        config_dir: start.config_dir.clone(),
        state_dir: start.state_dir.clone(),
        placement: placement::Placement::default(),
        process_memory: system::ProcessMemory::default(),
        render_state: cc.wgpu_render_state.clone(),
        second_window: start.second_window,
        native_dialogs: start.native_dialogs,
        attention: attention::Attention::default(),
        frames: frame_times::FrameTimes::default(),
        title: String::new(),
    })
}

/// Searches for data that a crashed window left, reads the user's layouts, and opens or runs the project of the options. Safety
/// recordings hold at most `limit_bytes`. Fails if a thread cannot be started.
pub fn begin(parts: &mut ActionParts<'_>, start: Start, limit_bytes: u64) -> Result<(), String> {
    unrecorded::look_for_left_work(parts, start.state_dir, limit_bytes)?;
    if let Some(folder) = start.config_dir.map(|d| d.join("layouts")) {
        let read = move || saved::read_folder(&folder);
        parts.host.try_job("layouts", read, |parts, layouts| parts.workspace.layouts.user = layouts)?;
    }
    if let Some(path) = start.path {
        open::open_path(parts, path);
    } else if start.run {
        parts.document.session.build(true);
    }
    Ok(())
}
