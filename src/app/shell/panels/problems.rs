//! Current problems of the open document. Solved problems and those of other documents are only in the log.

use crate::{
    app::{
        document::{activity::ActivityNotice, command::UiCommand, graph, open_document::Document},
        host::device::Devices,
        shell::{flow::Flow, panels::toasts::Toasts},
    },
    params::{ParamWarning, titles},
};

/// Problem, and the command that may solve it.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Description as a sentence.
    pub text: String,
    /// Label of the remedy, and its command; `None` without a remedy.
    pub remedy: Option<(&'static str, UiCommand)>,
    /// Path of the parameter that causes the problem; `None` if no parameter causes it.
    pub parameter: Option<String>,
}

impl Problem {
    const fn plain(text: String) -> Self {
        Self { text, remedy: None, parameter: None }
    }

    fn of_parameter(warning: ParamWarning) -> Self {
        Self { text: warning.text, remedy: None, parameter: Some(warning.path.into_owned()) }
    }

    fn of_activity(notice: &ActivityNotice) -> Self {
        Self { text: notice.text.clone(), remedy: None, parameter: notice.parameter.clone() }
    }

    const fn with_remedy(text: String, remedy: (&'static str, UiCommand)) -> Self {
        Self { text, remedy: Some(remedy), parameter: None }
    }
}

/// Returns the current problems: of the file given at start, the build, the simulation, its notices and its activity, as
/// well as rejected edits, warnings about parameters and open error messages.
pub fn problems(document: &Document, flow: &Flow, devices: &Devices, toasts: &Toasts) -> Vec<Problem> {
    let (session, live) = (&document.session, &document.session.live);
    let mut all: Vec<Problem> = vec![];
    if let Some(error) = flow.opening.as_ref().and_then(|opening| opening.error.as_ref()) {
        all.push(Problem::plain(error.clone()));
    }
    if let Some(error) = &live.error {
        let text = format!("{}: {error}", crate::app::document::live::BUILD_FAILED);
        all.push(Problem::with_remedy(text, ("Try again", UiCommand::Rebuild)));
    }
    // A prediction in every frame would be slow during a run; the build checks the same.
    if !live.is_loaded() && live.error.is_none() && flow.opening.is_none() {
        all.extend(graph::refusal(&session.project.model).map(Problem::plain));
    }
    if let Some(failure) = &live.checkpoints.failure {
        all.push(Problem::with_remedy(failure.text.clone(), ("Continue on CPU", UiCommand::ContinueOnCpu)));
    } else if let Some(trouble) = &live.stop_reason {
        let text = format!("{}: {}", crate::app::document::live::STOPPED, trouble.why);
        all.push(Problem::with_remedy(text, trouble.remedy.clone()));
    }
    all.extend(live.schema.notices.iter().cloned().map(Problem::plain));
    all.extend(document.time.activity.notices().iter().map(Problem::of_activity));
    let device = devices.chosen();
    if live.is_loaded() && live.playback.is_none() && !device.is_gpu {
        all.extend(crate::app::shell::step_cost::on_cpu(&session.project.model, device.threads).map(Problem::plain));
    }
    let params = session.project.model.params();
    all.extend(live.acks.rejections().iter().map(|rejection| {
        let place = titles::title(params, rejection.change.id);
        Problem::plain(format!("{place} is not applied: {}", rejection.why))
    }));
    // A run cannot be edited, and without an open project its parameters are not displayed.
    if live.playback.is_none() && flow.opening.is_none() {
        all.extend(session.project.model.warnings().into_iter().map(Problem::of_parameter));
    }
    for problem in &mut all {
        problem.text = session.project.titled(&problem.text);
    }
    for error in toasts.errors() {
        if !all.iter().any(|known| known.text.contains(error) || error.contains(&known.text)) {
            all.push(Problem::plain(error.to_owned()));
        }
    }
    all
}
