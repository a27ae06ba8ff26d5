//! The current problems of the open document: what is wrong now, not what was logged. Mended problems and those of other
//! documents are not among them.

use super::{App, commands::UiCommand};

/// A problem, and the command that may mend it.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What is wrong, a sentence.
    pub text: String,
    /// Label of the remedy, and its command.
    pub remedy: Option<(&'static str, UiCommand)>,
}

impl Problem {
    const fn plain(text: String) -> Self {
        Self { text, remedy: None }
    }
}

impl App {
    /// The current problems: the file given at start, the build, the simulation, rejected edits, open error messages.
    pub fn problems(&self) -> Vec<Problem> {
        let (session, live) = (&self.session, &self.session.live);
        let mut all: Vec<Problem> = vec![];
        if let Some(error) = self.opening.as_ref().and_then(|opening| opening.error()) {
            all.push(Problem::plain(error.to_owned()));
        }
        if let Some(error) = &live.error {
            all.push(Problem {
                text: format!("{}: {error}", super::live::BUILD_FAILED),
                remedy: Some(("Try again", UiCommand::Rebuild)),
            });
        }
        if let Some(failure) = &live.checkpoints.failure {
            let remedy = Some(("Continue on CPU", UiCommand::ContinueOnCpu));
            all.push(Problem { text: failure.text.clone(), remedy });
        } else if let Some(trouble) = &live.stop_reason {
            all.push(Problem {
                text: format!("{}: {}", super::live::STOPPED, trouble.why),
                remedy: Some(trouble.remedy.clone()),
            });
        }
        let params = session.project.model.params();
        all.extend(live.acks.rejections().iter().map(|rejection| {
            let id = rejection.change.id;
            let place = match params.spec(id) {
                Some(_) => params.path(id),
                None => params.groups().get(usize::from(id.group)).map_or_else(String::new, |g| g.label().into_owned()),
            };
            Problem::plain(format!("{place} is not applied: {}", rejection.why))
        }));
        for error in self.toasts.errors() {
            if !all.iter().any(|known| known.text.contains(error) || error.contains(&known.text)) {
                all.push(Problem::plain(error.to_owned()));
            }
        }
        all
    }
}
