//! Links from log lines to parameters, elements and runs.

use crate::{
    app::{document::open_document::Document, shell::queue::ShellRequest},
    params::{ParamId, Params, Value, path, titles},
    sim::ElementSet,
};
use std::{path::PathBuf, sync::Arc};

/// Target of a click on a log line.
#[derive(Clone, Debug, PartialEq)]
pub enum Link {
    Param(ParamId),
    /// Element of a set.
    Element(&'static str, u32),
    /// Folder of a recorded run.
    Run(PathBuf),
}

impl Link {
    /// Returns the run, parameter or element (as in `neuron 12`) that a line names; `None` if it names none.
    pub fn of(document: &Document, text: &str) -> Option<Self> {
        if let Some(run) = document.library.runs.iter().find(|r| text.contains(&r.name)) {
            return Some(Self::Run(run.folder.clone()));
        }
        let param = parameter(document.session.project.model.params(), text).map(Self::Param);
        param.or_else(|| element(&document.session.live.schema.sets, text))
    }

    /// Returns the request that shows the target.
    pub fn request(self, params: &dyn Params) -> ShellRequest {
        match self {
            Self::Param(id) => ShellRequest::FindParameter(params.path(id)),
            Self::Element(set, element) => ShellRequest::Select(set, vec![element]),
            Self::Run(folder) => ShellRequest::ShowRun(folder),
        }
    }
}

/// Returns the first parameter whose title or path a sentence contains, otherwise one whose file it names; `None` without any.
pub fn parameter(params: &dyn Params, text: &str) -> Option<ParamId> {
    let named = titled(params, text).or_else(|| words(text).find_map(|word| Some(path::find(params, word).ok()?.0)));
    named.or_else(|| params.ids().into_iter().find(|id| is_file_in(params, *id, text)))
}

/// Returns the parameter with the longest title that a sentence contains; `None` if it contains none.
fn titled(params: &dyn Params, text: &str) -> Option<ParamId> {
    if !text.contains(titles::SEPARATOR) {
        return None;
    }
    let all = params.ids().into_iter().map(|id| (titles::title(params, id), id));
    let (_, id) = all.filter(|(title, _)| text.contains(title.as_str())).max_by_key(|(title, _)| title.len())?;
    Some(id)
}

/// Whether the value of a parameter is a path that a sentence contains.
fn is_file_in(params: &dyn Params, id: ParamId, text: &str) -> bool {
    let is_path = |value: &str| value.contains('.') || value.contains(std::path::MAIN_SEPARATOR);
    matches!(params.get(id), Value::Text(value) if is_path(&value) && text.contains(&value))
}

/// Returns the words that could be parameter paths.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let edges = |c: char| !c.is_alphanumeric() && c != '_';
    text.split(|c: char| c.is_whitespace() || c == '=').map(move |w| w.trim_matches(edges)).filter(|w| w.contains('.'))
}

fn element(sets: &[Arc<ElementSet>], text: &str) -> Option<Link> {
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    words.windows(2).find_map(|pair| {
        let number: u32 = pair[1].parse().ok()?;
        let set = sets
            .iter()
            .find(|s| pair[0].eq_ignore_ascii_case(s.name) || pair[0].eq_ignore_ascii_case(&s.singular()))?;
        (number < set.len).then_some(Link::Element(set.name, number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_by_their_path_or_their_file() {
        let mut project = crate::project::Project::default();
        let change = path::parse(project.model.params(), "stimulus.poisson=sugar.csv").unwrap();
        assert!(project.model.params_mut().set(&change));
        let params = project.model.params();
        let found = |text: &str| parameter(params, text).map(|id| params.path(id));
        assert_eq!(found("lif.tau_m must be positive").as_deref(), Some("lif.tau_m"));
        assert_eq!(found("sugar.csv: there is no such file or folder").as_deref(), Some("stimulus.poisson"));
        assert_eq!(found("Could not apply LIF neuron › Spike threshold: too low").as_deref(), Some("lif.v_threshold"));
        assert_eq!(found("other.csv: there is no such file or folder"), None);
    }

    #[test]
    fn elements_are_found_in_sentences() {
        let set = Arc::new(ElementSet { name: "neurons", len: 20, ..ElementSet::default() });
        let found = |text: &str| element(std::slice::from_ref(&set), text);
        assert_eq!(found("v of neuron 12 is not a number"), Some(Link::Element("neurons", 12)));
        assert_eq!(found("Neurons #3"), Some(Link::Element("neurons", 3)));
        assert_eq!(found("neuron 20 is one too many"), None);
        assert_eq!(words("set lif.tau_m = 3 ms.").collect::<Vec<_>>(), ["lif.tau_m"]);
    }
}
