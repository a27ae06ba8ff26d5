//! What arrives between two frames: events of the engine, and results of jobs.

use super::{profiling, recording, resume, unrecorded};
use crate::app::{
    document::{activity::ActivityCheck, checkpoints, live, live::Live, time},
    kit::level::Level,
    shell::{App, dialogs::paths, workspace::Workspaces},
};

/// Takes up everything that has arrived.
pub fn take(app: &mut App) {
    app.messages.log.drain();
    let events = app.document.session.live.poll();
    app.document.session.live.schema.unused = app.document.session.project.model.unused_probes();
    events.into_iter().for_each(|event| take_event(app, event));
    let document = &mut app.document;
    if document.session.live.progress().is_none() && !document.session.live.is_loaded() {
        app.flow.resuming = None; // the simulation of the run could not be built
    }
    document.time.past.update();
    ActivityCheck::update(&mut document.time, &document.session);
    feed_new_panels(&mut document.session.live, &mut app.workspace);
    while let Some(done) = app.host.jobs.poll() {
        done(app);
    }
    if app.document.session.live.is_loaded() {
        app.document.update_marks();
    }
}

fn take_event(app: &mut App, event: live::LiveEvent) {
    let App { document, workspace, overlays, messages, flow, .. } = app;
    match event {
        live::LiveEvent::Loaded => loaded(app),
        live::LiveEvent::Frame(mut frame) => {
            let is_new_epoch = document.absorb(&mut frame);
            workspace.absorb(&document.session.live.schema, &frame, is_new_epoch);
            document.session.live.give_back(frame);
        }
        live::LiveEvent::SchemaChanged(changes) => {
            changes.sets.iter().for_each(|set| document.session.selection.follow(set));
            document.time.past.schema_changed(&document.session.live.schema, &changes);
            workspace.schema_changed(&document.session.live.schema, &changes);
        }
        live::LiveEvent::Message(Level::Info, text) => messages.log.add(Level::Info, text),
        live::LiveEvent::Message(level, text) => messages.notify(level, text),
        live::LiveEvent::Answered(progress, clock, answer) => overlays.requests.answered(&progress, clock, answer),
        live::LiveEvent::Repeated(change) => document.session.follow_repeated(&change),
        live::LiveEvent::Recorded(folder, took) => recording::recorded(app, &folder, took),
        live::LiveEvent::Ended => {
            let now = document.session.live.clock.step as f64;
            document.time.axis.fit_run(document.time.past.first() as f64, now);
        }
        live::LiveEvent::RecordingFailed(why) if flow.keeping.is_some() => unrecorded::run_not_kept(app, &why),
        live::LiveEvent::RecordingFailed(why) => messages.notify(Level::Error, why),
    }
}

/// A simulation was loaded.
fn loaded(app: &mut App) {
    let App { document, workspace, overlays, messages, preferences, host, .. } = app;
    overlays.requests.forget();
    document.session.leave_run();
    paths::forget(&mut overlays.requests.paths, &mut document.session.selection);
    let layout = document.session.layout.take().filter(|_| !preferences.reset_layout);
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
    resume::continue_recording(app);
}

/// Reads the shown run again for panels that were opened after it was read.
fn feed_new_panels(live: &mut Live, workspace: &mut Workspaces) {
    if live.playback.is_none() {
        return workspace.unfed.clear();
    }
    workspace.list_behind();
    let panes = live.read_again(&mut workspace.unfed);
    workspace.reset_views(&panes, &live.schema);
    let (panes, frames) = live.take_again();
    frames.iter().for_each(|frame| workspace.absorb_into(&panes, &live.schema, frame));
}
