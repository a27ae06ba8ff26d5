//! Export of the focused panel as a figure.

use super::files;
use crate::app::{
    document::{figure_settings::FigureSettings, open_document::Document},
    kit::level::Level,
    shell::{
        dialogs::answers::Purpose, figure::FigureRequest, host::Host, jobs::Done, messages::Messages,
        overlays::Overlays, workspace::Workspaces,
    },
};
use egui::Context;

/// Opens the figure dialog for the focused panel, or shows a warning without one.
pub fn export_panel(
    document: &Document,
    workspace: &mut Workspaces,
    overlays: &mut Overlays,
    settings: &FigureSettings,
    messages: &mut Messages,
) {
    let schema = &document.session.live.schema;
    let view = workspace.focused_view().map(|view| view.title(schema));
    match (view, workspace.focused_area) {
        (Some(title), Some(area)) => {
            let name = format!("{} {}", document.session.project.name, title.to_lowercase());
            let is_plain = |c: char| c.is_alphanumeric() || c == '-';
            let name = name.replace(|c| !is_plain(c), "-");
            overlays.figures.open(name, area, settings);
        }
        _ => messages.notify(Level::Warning, "No panel to export"),
    }
}

/// Draws captured shapes at the resolution of the figure, and then asks for the file.
pub fn draw(ctx: &Context, overlays: &mut Overlays, host: &mut Host, messages: &mut Messages, request: FigureRequest) {
    let Some(state) = &host.render_state else {
        return messages.notify(Level::Error, "No graphics device: figures cannot be drawn");
    };
    let (outbox, wake) = (host.jobs.outbox(), ctx.clone());
    let done = move |figure| {
        let ask: Done = Box::new(|parts| {
            parts.overlays.figures.end_drawing();
            match figure {
                Ok(figure) => files::pick(parts, Purpose::Figure(figure)),
                Err(why) => parts.messages.notify(Level::Error, format!("The figure was not drawn: {why}")),
            }
        });
        outbox.try_send(ask).ok();
        wake.request_repaint();
    };
    if let Err(why) = overlays.figures.draw(ctx, state, request, done) {
        messages.notify(Level::Error, format!("The figure was not drawn: {why}"));
    }
}
