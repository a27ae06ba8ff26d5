//! Words on screen, in every workspace and every view of every kind: no paths of parameters, no names of types, no words of the
//! program's inside, no nouns of another kind, and no plural after 1. `floors/labels` reads the sources.

use crate::support::{
    harness::{self, Window, is_built, until},
    words,
};
use neuropil::{
    app::{Start, document::command::UiCommand, views},
    kinds::Model,
    params::{ChoiceSpec, Params, ValueType, path},
    project::{self, PlanTree, Project},
    sim::Device,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

/// Words of the program's inside, for which the user has the noun of a set, *row* or *curve*.
const INSIDE: [&str; 4] = ["lane", "lanes", "element", "elements"];
const OF_NEURONS: [&str; 4] = ["neuron", "neurons", "spike", "spikes"];
const OF_NUCLEI: [&str; 4] = ["nucleus", "nuclei", "generation", "generations"];
const OF_EXPERTS: [&str; 2] = ["expert", "experts"];

/// Project of a kind, small enough for a test.
struct Subject {
    project: Project,
    /// Step after which the simulation pauses.
    steps: u64,
    /// Nouns of other kinds.
    foreign: Vec<&'static str>,
}

impl Subject {
    fn example(file: &str, changes: &[&str], steps: u64, foreign: &[&[&'static str]]) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("projects");
        let mut project = project::open(&root.join(file)).expect(file).0;
        changes.iter().for_each(|text| project.set(text, &root).expect(text));
        Self { project, steps, foreign: foreign.concat() }
    }

    fn open(&self) -> Window {
        let build = |project: &Project, context: &_, progress: &_| {
            project.model.build(context, &Device::Cpu { threads: 1 }, progress)
        };
        let mut w = harness::open(Start {
            engine: true,
            project: Some(self.project.clone()),
            native_dialogs: false,
            state_dir: None,
            config_dir: None,
            builder: Some(Arc::new(build)),
            ..Start::default()
        });
        // A project that is not a file is built by its first run.
        command(&mut w, UiCommand::RunPause);
        until(&mut w, "it has run", |w| is_built(w) && w.state().session().live.clock.step >= self.steps);
        command(&mut w, UiCommand::RunPause);
        until(&mut w, "it pauses", |w| !w.state().session().live.running);
        w
    }

    /// Draws every workspace, with one thing selected, then every view. Returns the offending texts with their places.
    fn offences(&self) -> Vec<String> {
        let mut w = self.open();
        let rules = Rules::of(&w, &self.foreign);
        let mut out = BTreeMap::new();
        let mut look = |w: &mut Window, place: &str| {
            w.run_steps(3);
            for (text, why) in rules.offences(w) {
                out.entry(text).or_insert_with(|| format!("{place}: {why}"));
            }
        };
        look(&mut w, "nothing selected");
        let first = w.state().session().live.schema.sets.first().map(|set| set.name);
        if let Some(set) = first {
            w.state_mut().session_mut().selection.replace(set, vec![1]);
        }
        let names: Vec<String> = w.state().workspaces().map(ToOwned::to_owned).collect();
        for (at, name) in names.iter().enumerate() {
            command(&mut w, UiCommand::Workspace(at));
            look(&mut w, name);
        }
        command(&mut w, UiCommand::Workspace(0));
        let schema = w.state().session().live.schema.clone();
        for view in views::suggest(&schema) {
            command(&mut w, UiCommand::ShowView(view));
            look(&mut w, view);
        }
        command(&mut w, UiCommand::Requests);
        look(&mut w, "questions");
        out.into_iter().map(|(text, why)| format!("{why}: “{text}”")).collect()
    }
}

fn command(w: &mut Window, command: UiCommand) {
    let ctx = w.ctx.clone();
    w.state_mut().command(&ctx, command);
    w.run_steps(2);
}

/// What texts on screen do not contain.
struct Rules {
    model: Model,
    /// Names of choices in camel case, all kinds; without those that are also the title, such as AdamW.
    types: BTreeSet<&'static str>,
    foreign: BTreeSet<&'static str>,
}

impl Rules {
    fn of(w: &Window, foreign: &[&'static str]) -> Self {
        let mut types = BTreeSet::new();
        for model in Model::all() {
            choices(model.params(), &mut types);
        }
        choices(&PlanTree::default(), &mut types);
        types.retain(|name| words::is_camel_case(name));
        Self { model: w.state().session().project.model.clone(), types, foreign: foreign.iter().copied().collect() }
    }

    /// Returns the offending texts of a frame, with the reason. Fields of parameters have their path as the name for assistive
    /// tools, which is not drawn.
    fn offences(&self, w: &Window) -> Vec<(String, String)> {
        let labels = words::labels(w.root()).into_iter().filter(|label| !self.names_field(label));
        let all: BTreeSet<String> = words::painted(w).into_iter().chain(labels).collect();
        all.into_iter().filter_map(|text| self.offence(&text).map(|why| (text.clone(), why))).collect()
    }

    fn offence(&self, text: &str) -> Option<String> {
        let parts =
            || text.split(|c: char| !(c.is_alphanumeric() || "_.".contains(c))).map(|word| word.trim_matches('.'));
        if let Some(path) = parts().find(|word| self.is_path(word)) {
            return Some(format!("{path} is the path of a parameter"));
        }
        let words = || text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        if let Some(word) = words().find(|word| self.types.contains(word)) {
            return Some(format!("{word} is the name of a type"));
        }
        if let Some(word) = words().find(|word| INSIDE.contains(&word.to_lowercase().as_str())) {
            return Some(format!("{word} is a word of the program's inside"));
        }
        if let Some(word) = words().find(|word| self.foreign.contains(word.to_lowercase().as_str())) {
            return Some(format!("{word} is a noun of another kind"));
        }
        words::plural_of_one(text).map(|found| format!("{found} is a plural after 1"))
    }

    fn is_path(&self, word: &str) -> bool {
        let is_parameter = |params: &dyn Params| path::find(params, word).is_ok();
        word.contains('.') && (is_parameter(self.model.params()) || is_parameter(&PlanTree::default()))
            || words::is_item_path(word)
    }

    /// Whether a label is the name of a field: the path of a parameter, with words for its parts.
    fn names_field(&self, label: &str) -> bool {
        let mut words: Vec<&str> = label.split(' ').collect();
        words.retain(|word| {
            !["Reset", "Choose", "Unlink", "Formula", "Distribution", "of", "value", "bounds"].contains(word)
        });
        matches!(words[..], [path] if self.is_path(path))
    }
}

fn choices(params: &dyn Params, out: &mut BTreeSet<&'static str>) {
    for spec in params.groups().iter().flat_map(|group| group.params) {
        let choices: Vec<&ChoiceSpec> = match spec.kind {
            ValueType::Choice(choices) => choices.iter().collect(),
            ValueType::OneOf(variants) => variants.iter().map(|variant| &variant.choice).collect(),
            _ => vec![],
        };
        out.extend(choices.into_iter().filter(|choice| choice.label() != choice.name).map(|choice| choice.name));
    }
}

fn check(subject: &Subject) {
    let offences = subject.offences();
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

#[test]
fn neurons_are_described_in_their_words() {
    let changes = ["network.n_neurons=200", "network.in_degree=10", "interventions.0.enabled=true"];
    check(&Subject::example("balanced.ron", &changes, 300, &[&OF_NUCLEI, &OF_EXPERTS]));
}

#[test]
fn nuclei_are_described_in_their_words() {
    let changes = ["population.capacity=64", "population.n_start=32"];
    check(&Subject::example("nuclei.ron", &changes, 12, &[&OF_NEURONS, &OF_EXPERTS]));
}

#[test]
fn language_models_are_described_in_their_words() {
    let changes =
        ["model.layers=2", "model.width=24", "model.context=16", "data.grammar_bytes=20000", "training.batch=1"];
    check(&Subject::example("nano.ron", &changes, 3, &[&OF_NEURONS, &OF_NUCLEI, &OF_EXPERTS]));
}

#[test]
fn experts_are_described_in_their_words() {
    let changes =
        ["model.layers=2", "experts.count=4", "model.context=16", "data.grammar_bytes=20000", "training.batch=1"];
    check(&Subject::example("synaptic-nano16.ron", &changes, 3, &[&OF_NEURONS, &OF_NUCLEI]));
}

#[test]
fn networks_from_rules_are_described_in_their_words() {
    let changes = ["populations.0.size=160", "populations.1.size=40"];
    check(&Subject::example("cuba.ron", &changes, 300, &[&OF_NUCLEI, &OF_EXPERTS]));
}

#[test]
fn evolved_models_are_described_in_their_words() {
    let changes = ["strategy.population=64", "model.width=16", "model.context=16", "data.grammar_bytes=20000"];
    check(&Subject::example("evolution-nano.ron", &changes, 3, &[&OF_NEURONS, &OF_NUCLEI[..2], &OF_EXPERTS]));
}

/// The rules themselves.
#[test]
fn texts_that_break_the_rules_are_found() {
    let subject = Subject::example("balanced.ron", &[], 0, &[&OF_NUCLEI]);
    let mut types = BTreeSet::new();
    choices(subject.project.model.params(), &mut types);
    types.retain(|name| words::is_camel_case(name));
    let rules = Rules { model: subject.project.model, types, foreign: OF_NUCLEI.into_iter().collect() };
    for text in [
        "set lif.tau_m to 3 ms",
        "interventions.0.rate_hz: 3",
        "run.threads = 2",
        "Model ExponentialLif",
        "12 lanes",
        "3 nuclei",
        "CPU, 1 threads",
        "1 spikes in view",
    ] {
        assert!(rules.offence(text).is_some(), "{text}");
    }
    for text in
        ["balanced.ron", "LIF neuron › Rate", "1 thread", "11 threads", "0.1 s", "1 ms", "1 is less", "1 × 3 rows"]
    {
        assert_eq!(rules.offence(text), None, "{text}");
    }
    assert!(rules.names_field("Reset lif.tau_m") && rules.names_field("lif.tau_m value"));
    assert!(!rules.names_field("lif.tau_m is too small"));
}
