//! Handling of the engine's events that arrive between two frames.

use super::{profiling, recording, resume, unrecorded};
use crate::app::{
    document::{
        activity::ActivityCheck,
        checkpoints,
        command::Intent,
        graph::GraphLists,
        live::{self, Live, LiveEvent},
        time,
    },
    kit::level::Level,
    shell::{dialogs::paths, parts::ActionParts, workspace::Workspaces},
};

/// Handles the events of the engine. Returns the action that waited for one of them. With `ignores_layout`, the layout saved with
/// a project is not opened.
pub fn take(parts: &mut ActionParts<'_>, ignores_layout: bool) -> Option<Intent> {
    parts.messages.log.drain();
    let events = parts.document.session.live.poll();
    let session = &mut parts.document.session;
    session.live.schema.unused = session.project.model.unused_probes();
    session.live.schema.has_graph = GraphLists::of(session.project.model.params()).is_some();
    let mut then = None;
    for event in events {
        match event {
            LiveEvent::Loaded => loaded(parts, ignores_layout),
            LiveEvent::Recorded(folder, took) => then = recording::recorded(parts, &folder, took).or(then),
            other => take_event(parts, other),
        }
    }
    let document = &mut *parts.document;
    let live = &document.session.live;
    if live.progress().is_none() && !live.is_load_pending() && !live.is_loaded() {
        parts.flow.resuming = None; // the simulation of the run could not be built
    }
    document.time.past.update();
    ActivityCheck::update(&mut document.time, &document.session);
    feed_new_panels(&mut document.session.live, parts.workspace);
    then
}

fn take_event(parts: &mut ActionParts<'_>, event: LiveEvent) {
    let ActionParts { document, workspace, overlays, messages, flow, .. } = &mut *parts;
    match event {
        LiveEvent::Frame(mut frame) => {
            let is_new_epoch = document.absorb(&mut frame);
            workspace.absorb(&document.session.live.schema, &frame, is_new_epoch);
            document.session.live.give_back(frame);
        }
        LiveEvent::SchemaChanged(changes) => {
            changes.sets.iter().for_each(|set| document.session.selection.follow(set));
            document.time.past.schema_changed(&document.session.live.schema, &changes);
            workspace.schema_changed(&document.session.live.schema, &changes);
        }
        LiveEvent::Message(Level::Info, text) => messages.log.add(Level::Info, text),
        LiveEvent::Message(level, text) => messages.notify(level, text),
        LiveEvent::Answered(progress, clock, answer) => overlays.requests.answered(&progress, clock, answer),
        LiveEvent::Repeated(change) => document.session.follow_repeated(&change),
        LiveEvent::Undoable(action) => document.session.add_action(action),
        LiveEvent::Rewound => document.session.history.forget_actions(),
        LiveEvent::Ended => {
            let now = document.session.live.clock.step as f64;
            document.time.axis.fit_run(document.time.past.first() as f64, now);
        }
        LiveEvent::RecordingFailed(why) if flow.keeping.is_some() => unrecorded::run_not_kept(parts, &why),
        LiveEvent::RecordingFailed(why) => messages.notify(Level::Error, why),
        LiveEvent::Loaded | LiveEvent::Recorded(..) => {}
    }
}

/// Prepares the window for a simulation that was loaded.
fn loaded(parts: &mut ActionParts<'_>, ignores_layout: bool) {
    let ActionParts { document, workspace, overlays, messages, host, .. } = &mut *parts;
    overlays.requests.forget();
    document.session.history.forget_actions();
    document.session.leave_run();
    paths::forget(&mut overlays.requests.paths, &mut document.session.selection);
    let layout = document.session.layout.take().filter(|_| !ignores_layout);
    document.time.reset();
    if std::mem::take(&mut document.session.is_new) {
        document.time.axis = time::TimeAxis::default();
    }
    let project = &document.session.project;
    document.time.expect(project.planned_steps(), project.model.time_base());
    workspace.open(layout.as_deref(), &document.session.live.schema);
    messages.toasts.resolve(&[live::BUILD_FAILED, live::STOPPED]);
    let device = host.devices.chosen();
    profiling::set_machine(document, host, &device);
    document.session.live.checkpoints.every = device.is_gpu.then_some(checkpoints::CHECKPOINT_EVERY);
    messages.log.add(Level::Info, format!("Simulation ready on {}. {}", device.name, device.details));
    resume::continue_recording(parts);
}

/// Reads the shown run again for panels that were opened after it was read.
fn feed_new_panels(live: &mut Live, workspace: &mut Workspaces) {
    if live.playback.is_none() {
        return workspace.unfed.clear();
    }
    workspace.list_stale_views();
    let panes = live.read_again(&mut workspace.unfed);
    workspace.reset_views(&panes, &live.schema);
    let (panes, frames) = live.take_again();
    frames.iter().for_each(|frame| workspace.absorb_into(&panes, &live.schema, frame));
}
