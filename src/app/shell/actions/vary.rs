//! Variation of parameters from their menus: the dialog, and the experiment that it starts.

use super::experiment;
use crate::{
    app::{
        document::{
            experiment::{Estimate, edit},
            open_document::Document,
            varied::VariedParameter,
        },
        kit::{self, level::Level},
        shell::{
            dialogs::{
                Dialog,
                vary::{VaryContext, VaryForm},
            },
            messages::Messages,
            overlays::Overlays,
            parts::ActionParts,
        },
        views::experiment::EffectPlot,
    },
    params::ParamId,
    project::{Project, experiment::Experiment},
};

/// Returns the parameters that can be varied: those in use that are not linked to another one.
fn varied(project: &Project) -> Vec<VariedParameter> {
    let params = project.model.params();
    let is_free = |id: &ParamId| {
        let follows = || project.links.iter().any(|link| link.path == params.path(*id));
        params.is_shown(*id) && !follows()
    };
    params.ids().into_iter().filter(is_free).flat_map(|id| VariedParameter::all(params, id)).collect()
}

/// Opens the dialog for the values of a parameter, unless an experiment is running or the document is a finished run.
pub fn ask(document: &Document, overlays: &mut Overlays, messages: &mut Messages, id: ParamId) {
    if document.experiments.running.is_some() {
        return messages.notify(Level::Warning, experiment::RUNNING);
    }
    if document.session.live.playback.is_some() {
        return messages.notify(Level::Warning, experiment::READ_ONLY);
    }
    let (session, project) = (&document.session, &document.session.project);
    let steps = project.planned_steps();
    let shown = document.experiments.results();
    let context = VaryContext {
        base: session.folder(),
        each: steps.map(|steps| kit::steps(steps as f64, project.model.time_base())),
        estimate: steps.and_then(|steps| Estimate::of(shown.as_deref(), &document.library.runs, &project.model, steps)),
        project: project.clone(),
    };
    let form = VaryForm::new(context, VariedParameter::all(project.model.params(), id), varied(project));
    overlays.dialog = form.map(|form| Dialog::Vary(Box::new(form)));
}

/// Replaces the experiment of the document by one with the conditions of the dialog, starts it and shows its plot.
pub fn run(parts: &mut ActionParts<'_>, new: Experiment) {
    if parts.document.experiments.running.is_some() {
        return parts.messages.notify(Level::Warning, experiment::RUNNING);
    }
    let session = &mut parts.document.session;
    let old = session.project.experiment.replace(new);
    if old != session.project.experiment {
        session.history.commit_as(&session.project, "set up the experiment");
        if old.is_some_and(|old| !old.conditions.is_empty()) {
            parts.messages.notify(Level::Info, "Replaced the conditions of the experiment. Undo restores them");
        }
    }
    experiment::start(parts);
    experiment::show(parts.workspace, parts.document, EffectPlot::DECLARATION.name);
}

/// Adds the conditions of the dialog to the experiment of the document; without conditions, it becomes that of the dialog.
pub fn add(parts: &mut ActionParts<'_>, new: Experiment) {
    let Experiment { conditions, .. } = &new;
    match &mut parts.document.session.project.experiment {
        Some(known) if !known.conditions.is_empty() => {
            conditions.iter().for_each(|rule| edit::add(known, rule.clone()));
        }
        experiment => *experiment = Some(new),
    }
    experiment::added(parts);
}
