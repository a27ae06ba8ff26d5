//! Parameters that an experiment can vary: numbers, switches, choices, and distributions as a whole or by argument.

use crate::{
    app::document::items::item_name,
    params::{ParamId, ParamSpec, Params, Value, ValueType, distribution_argument::DistributionArgument, path, titles},
};

/// Whether a parameter can be varied.
pub fn can_vary(spec: &ParamSpec) -> bool {
    use ValueType::{Bool, Choice, Distribution, Int, OneOf, Real};
    matches!(spec.kind, Real | Int | Bool | Choice(_) | Distribution | OneOf(_))
}

/// Parameter, or argument of its distribution, that conditions can vary.
#[derive(Clone, Debug)]
pub struct VariedParameter {
    pub id: ParamId,
    /// Path in the form of `--set`.
    pub path: String,
    /// Short label in names of experiments: `Membrane time constant`; with the name of its list item or of its argument, if any.
    pub label: String,
    /// Title with the group: `LIF neuron › Membrane time constant`; with the name of its argument, if any.
    pub title: String,
    pub spec: ParamSpec,
    /// Present value with its unit, in the form of `--set`.
    pub now: String,
    /// Whether this is an argument of a distribution.
    pub is_argument: bool,
}

/// Value that the dialog offers for a switch or a choice.
#[derive(Clone, Debug, PartialEq)]
pub struct VariedOption {
    /// Value in the form of `--set`.
    pub text: String,
    /// Name in the window.
    pub label: String,
    /// Documentation of a choice; may be empty.
    pub docs: &'static str,
}

impl VariedParameter {
    /// Returns the ways to vary a parameter: its value first, then the arguments of its distribution. Empty if the parameter
    /// does not exist or cannot be varied.
    pub fn all(params: &dyn Params, id: ParamId) -> Vec<Self> {
        if params.spec(id).is_some_and(can_vary) { Self::ways(params, id) } else { vec![] }
    }

    /// Finds the parameter, or the argument of a distribution, with a path in the form of `--set`; `None` if there is none.
    pub fn find(params: &dyn Params, path: &str) -> Option<Self> {
        if let Ok((id, _)) = path::find(params, path) {
            return Self::ways(params, id).into_iter().next();
        }
        let (of, argument) = path.rsplit_once('.')?;
        let ways = Self::ways(params, path::find(params, of).ok()?.0);
        ways.into_iter().find(|way| way.is_argument && way.spec.name == argument)
    }

    fn ways(params: &dyn Params, id: ParamId) -> Vec<Self> {
        let Some(spec) = params.spec(id) else { return vec![] };
        let (path, label, title) = (params.path(id), label(params, id, spec), titles::title(params, id));
        let arguments = DistributionArgument::all(params, id).into_iter().map(|argument| {
            let (spec, part) = (argument.spec, argument.spec.name);
            Self {
                id,
                path: format!("{path}.{part}"),
                label: of_argument(&label, &spec),
                title: of_argument(&title, &spec),
                now: path::show(&spec, &Value::Real(argument.value)),
                spec,
                is_argument: true,
            }
        });
        let arguments: Vec<Self> = arguments.collect();
        let now = match (params.get(id), spec.kind.variants()) {
            (Value::Variant(at, _), variants) => variants.get(usize::from(at)).map_or("", |v| v.choice.name).to_owned(),
            (value, _) => path::show(spec, &value),
        };
        let whole = Self { id, path, label, title, spec: *spec, now, is_argument: false };
        [vec![whole], arguments].concat()
    }

    /// Whether both vary the same value, so that they cannot be varied together.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.id == other.id && (self.path == other.path || !self.is_argument || !other.is_argument)
    }

    /// Returns the values of a switch, a choice or a sum type; empty for numbers.
    pub fn options(&self) -> Vec<VariedOption> {
        let of = |choice: &crate::params::ChoiceSpec| VariedOption {
            text: choice.name.to_owned(),
            label: choice.label().into_owned(),
            docs: choice.docs,
        };
        let switch = |(text, label): (&str, &str)| VariedOption { text: text.into(), label: label.into(), docs: "" };
        match self.spec.kind {
            ValueType::Bool => [("false", "Off"), ("true", "On")].map(switch).into(),
            ValueType::Choice(choices) => choices.iter().map(of).collect(),
            ValueType::OneOf(variants) => variants.iter().map(|variant| of(&variant.choice)).collect(),
            _ => vec![],
        }
    }
}

/// Returns the short label of a parameter, without its group; in a list, with the label of its item.
pub fn label(params: &dyn Params, id: ParamId, spec: &ParamSpec) -> String {
    let group = usize::from(id.group);
    match params.groups().get(group).is_some_and(|group| group.list) {
        true => format!("{}: {}", item_name(params, group, id.item.into()), spec.label()),
        false => spec.label().into_owned(),
    }
}

/// Returns the label or title of an argument of a distribution: `Synapses per inhibitory connection, mean`.
pub fn of_argument(parameter: &str, argument: &ParamSpec) -> String {
    format!("{parameter}, {}", argument.label().to_lowercase())
}

/// Returns the label of a choice, or of a group of a sum type, at an index; empty if there is none.
pub fn choice_label(spec: &ParamSpec, at: u16) -> String {
    let at = usize::from(at);
    let choice = match spec.kind {
        ValueType::Choice(choices) => choices.get(at),
        kind => kind.variants().get(at).map(|variant| &variant.choice),
    };
    choice.map_or_else(String::new, |choice| choice.label().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Project;

    fn of(project: &Project, path: &str) -> Vec<VariedParameter> {
        let params = project.model.params();
        VariedParameter::all(params, path::find(params, path).expect(path).0)
    }

    #[test]
    fn numbers_switches_choices_and_distributions_can_be_varied() {
        let mut project = Project::default();
        let g = &of(&project, "network.inhibitory_count")[..];
        assert!(matches!(g, [only] if only.options().is_empty() && !only.is_argument), "a constant is a number");
        project.set("network.inhibitory_count=normal(30, 2)", std::path::Path::new(".")).expect("a distribution");
        let g = of(&project, "network.inhibitory_count");
        let paths: Vec<&str> = g.iter().map(|p| &*p.path).collect();
        let expected = ["", ".mean", ".sd"].map(|part| format!("network.inhibitory_count{part}"));
        assert_eq!(paths, expected);
        assert_eq!((&*g[1].label, &*g[1].now), ("Synapses per inh. connection, mean", "30"));
        let found = |path: &str| VariedParameter::find(project.model.params(), path).map(|way| way.path);
        assert_eq!(
            [paths[0], paths[2], "network.sd"].map(found),
            [Some(paths[0].to_owned()), Some(paths[2].to_owned()), None]
        );
        assert!(g[0].overlaps(&g[1]) && !g[1].overlaps(&g[2]) && g[2].overlaps(&g[2]));
        let source = &of(&project, "network.source")[0];
        assert!(source.options().len() > 1 && source.options().iter().any(|option| option.text == source.now));
        let params = project.model.params();
        let kinds = |id: &ParamId| params.spec(*id).is_some_and(|spec| matches!(spec.kind, ValueType::OneOf(_)));
        for id in params.ids().into_iter().filter(kinds) {
            let sum = &VariedParameter::all(params, id)[0];
            assert!(sum.options().iter().any(|option| option.text == sum.now), "{}: {}", sum.path, sum.now);
        }
    }
}
