//! Parameters of a demo project.

use super::{cpu::TABLE, source::N_SYMBOLS};
use crate::{
    interventions, one_of, param_tree, params,
    params::{Distribution, ParamGroup as _, PathText, Selection},
};

params! {
    /// Experts and their weights.
    pub struct Experts {
        /// Size of the weights, in bfloat16. Tables of experts that do not exist yet are zero.
        #[param(title = "Weights", range = 1.0..=1024.0, hard = 1.0..=65_536.0, scale = Log, apply = Rebuild)]
        weights_mib: u32 = 16,

        /// Experts at step 0.
        #[param(title = "Initial experts", range = 1.0..=27.0, hard = 1.0..=27.0, apply = Rewind)]
        n_start: u32 = 2,

        /// Weights of the initial experts, drawn for each on its own; rounded to bfloat16.
        #[param(title = "Initial weights", range = -2.0..=2.0, hard = -60.0..=60.0, apply = Rewind)]
        initial_weight: Distribution = Distribution::constant(0.0),

        /// Step size of the gradient step after every token.
        #[param(title = "Learning rate", range = 0.0..=1.0, hard = 0.0..=100.0, symbol = "η")]
        learning_rate: f64 = 0.1,

        /// Steps at which the learning rate is halved.
        #[param(title = "Halve rate at", unit = Steps, range = 0.0..=100_000.0, hard = 0.0..=1e9)]
        halve_at: Vec<u32> = vec![],
    }
}

params! {
    /// Splits by load.
    pub struct ByLoad {
        /// Experts with a lower load do not split.
        #[param(title = "Minimum load", range = 0.0..=1.0)]
        minimum: f64 = 0.0,
    }
}

params! {
    /// Splits by age.
    pub struct ByAge {
        /// Younger experts do not split, tokens.
        #[param(title = "Minimum age", range = 0.0..=100_000.0, hard = 0.0..=1e9)]
        minimum: u32 = 1000,

        /// Whether experts that have predicted none of the recent tokens split too.
        #[param(title = "Idle experts too")]
        idle: bool = false,
    }
}

one_of! {
    /// Choice of the expert that splits.
    pub enum SplitRule {
        /// The expert with the highest load.
        #[title("Highest load")]
        Load(ByLoad),
        /// The oldest expert.
        #[title("Oldest")]
        Age(ByAge),
    }
}

params! {
    /// Source of the symbols.
    pub struct SourceParams {
        /// Text whose letters and spaces are read one by one, from its beginning again after its end. Without a file, a
        /// random source emits the symbols.
        #[param(title = "Text file", apply = Data)]
        text: PathText = PathText::default(),
    }
}

params! {
    /// Growth of the set of experts.
    pub struct Growth {
        /// Tokens between two splits; 0: never.
        #[param(title = "Split interval", range = 0.0..=100_000.0, hard = 0.0..=1e9, zero = "Never")]
        split_every: u32 = 4000,

        /// The number of experts does not exceed this.
        #[param(title = "Maximum experts", range = 1.0..=27.0, hard = 1.0..=27.0)]
        most: u32 = 16,

        /// Choice of the expert that splits, among the experts that own at least two symbols.
        #[param(title = "Split rule")]
        rule: SplitRule = SplitRule::Load(ByLoad::default()),
    }
}

params! {
    /// Sampling of curves and texts.
    pub struct Measure {
        /// Tokens between two samples of curves.
        #[param(title = "Sample interval", range = 1.0..=10_000.0, hard = 1.0..=1e9, scale = Log)]
        every: u32 = 100,

        /// Tokens between two generated texts; 0: never.
        #[param(title = "Text interval", range = 0.0..=100_000.0, hard = 0.0..=1e9, zero = "Never")]
        text_every: u32 = 2000,

        /// Symbols of a generated text.
        #[param(title = "Text length", range = 8.0..=512.0, hard = 1.0..=65_536.0)]
        text_length: u32 = 120,
    }
}

interventions! {
    /// Effect of an intervention while it is active.
    pub enum Effect {}

    /// An intervention over a span of tokens.
    pub struct Intervention(u64, Count("tokens")) {}
}

param_tree! {
    /// Parameters of a demo project.
    pub struct Params {
        /// Experts and their weights.
        #[title("Experts")]
        experts: Experts,
        /// Growth of the set of experts.
        #[title("Growth")]
        growth: Growth,
        /// Named sets of experts, for use in views.
        #[title("Selections")]
        #[role(Selections)]
        selections: [Selection],
        /// Values of parameters over spans of tokens.
        #[title("Interventions")]
        #[role(Interventions)]
        interventions: [Intervention],
        /// Sampling of curves and texts.
        #[title("Recording")]
        measure: Measure,
        /// Source of the symbols.
        #[title("Source")]
        source: SourceParams,
    }
}

impl Params {
    /// Distribution of initial weights, within the accepted range.
    pub fn initial_weight(&self) -> Distribution {
        self.experts.initial_weight.within(Experts::accepted("initial_weight"))
    }

    /// Learning rate of step `step`.
    pub fn rate_at(&self, step: u64) -> f32 {
        let halvings = self.experts.halve_at.iter().filter(|at| u64::from(**at) <= step).count();
        (self.experts.learning_rate * 0.5_f64.powi(halvings as i32)) as f32
    }

    /// Number of bfloat16 weights: at least a table for every symbol.
    pub fn n_weights(&self) -> usize {
        (self.experts.weights_mib as usize) << 19
    }
}

// The smallest state holds a table for each symbol.
const _: () = assert!(N_SYMBOLS * TABLE <= 1 << 19);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kinds::Model,
        params::{Change, Params as _, Value, named, path, reference},
        project::{self, Project, clipboard},
    };

    fn params() -> super::Params {
        super::Params::default()
    }

    fn set(params: &mut super::Params, text: &str) -> Result<Change, String> {
        let change = path::parse(params, text).map_err(|e| e.to_string())?;
        assert!(params.set(&change), "{text}");
        Ok(change)
    }

    fn shown(params: &super::Params, name: &str) -> String {
        let (id, spec) = path::find(params, name).unwrap();
        path::show(spec, &params.get(id))
    }

    #[test]
    fn a_group_is_chosen_and_its_parameters_have_paths() {
        let mut params = params();
        set(&mut params, "growth.rule.minimum=0.25").unwrap();
        assert_eq!(params.growth.rule, SplitRule::Load(ByLoad { minimum: 0.25 }));
        set(&mut params, "growth.rule=Load").unwrap();
        assert_eq!(shown(&params, "growth.rule"), "Load(minimum: 0.25)", "choosing what is chosen keeps its values");
        set(&mut params, "growth.rule=oldest").unwrap();
        assert_eq!(shown(&params, "growth.rule"), "Age(minimum: 1000, idle: false)");
        set(&mut params, "growth.rule.Age.minimum=7").unwrap();
        assert_eq!(shown(&params, "growth.rule.minimum"), "7");
        set(&mut params, "growth.rule=Age(idle: true)").unwrap();
        assert_eq!(params.growth.rule, SplitRule::Age(ByAge { minimum: 1000, idle: true }));
        let paths: Vec<String> = params.ids().into_iter().map(|id| params.path(id)).collect();
        let at = paths.iter().position(|p| p == "growth.rule").unwrap();
        assert_eq!(paths[at + 1..at + 3], ["growth.rule.minimum", "growth.rule.idle"]);
        assert_eq!(paths.iter().filter(|p| *p == "growth.rule.minimum").count(), 1);
    }

    #[test]
    fn a_number_may_be_a_distribution_everywhere() {
        let mut params = params();
        let change = set(&mut params, "experts.initial_weight=normal(0, 1/2) in -1..1").unwrap();
        assert_eq!(shown(&params, "experts.initial_weight"), "normal(0, 0.5) in -1..1");
        let (name, value) = named::name(&params, &change).unwrap();
        assert_eq!(named::resolve(&params, &name, &value), Ok(change));
        let before = Project { model: Model::Demo(Box::new(params.clone())), ..Project::default() };
        let text = project::write(&before).unwrap();
        assert!(text.contains("initial_weight: \"normal(0, 0.5) in -1..1\""), "{text}");
        assert_eq!(project::read(&text), Ok((before, vec![])));
        let line = |value: &named::NamedValue| project::to_line(value).unwrap();
        assert_eq!(line(&value), "Distribution(\"normal(0, 0.5) in -1..1\")");
        assert_eq!(project::from_ron(&line(&value)), Ok(value));
        let number = named::resolve(&params, &name, &named::NamedValue::Int(1)).unwrap();
        assert_eq!(number.value, Value::Distribution(Distribution::constant(1.0)), "a number in an old log");
        let read =
            |value: &str| project::read(&format!("(version: 1, model: Demo((experts: (\ninitial_weight: {value}))))"));
        let of = |read: Project| {
            let Model::Demo(params) = read.model else { panic!("a demo") };
            params.experts.initial_weight
        };
        assert_eq!(of(read("1").unwrap().0), Distribution::constant(1.0), "a number in an old file");
        let error = read("\"norml(0, 1)\"").unwrap_err();
        assert!(error.line == 2 && error.what.contains("`norml` is none of constant, uniform"), "{error}");
        let (project, warnings) = read("\"normal(0, -1)\"").unwrap();
        assert_eq!(of(project), Distribution::normal(0.0, 0.0));
        assert!(
            warnings[0].to_string().starts_with("line 2: experts.initial_weight: normal(0, -1) is not accepted: sd")
        );
        let text = clipboard::copy(&params, "demo", |_| true);
        let mut other = super::Params::default();
        assert!(clipboard::paste(&mut other, &text).unwrap().1.is_empty());
        assert_eq!(other, params);
    }

    #[test]
    fn lists_of_numbers_have_units_and_places() {
        let mut params = params();
        let change = set(&mut params, "experts.halve_at=100, 2e3").unwrap();
        assert_eq!(shown(&params, "experts.halve_at"), "[100, 2000] steps");
        assert_eq!([50, 100, 5000].map(|step| params.rate_at(step)), [0.1, 0.05, 0.025]);
        let (name, value) = named::name(&params, &change).unwrap();
        assert_eq!(named::resolve(&params, &name, &value), Ok(change));
        let project = Project { model: Model::Demo(Box::new(params.clone())), ..Project::default() };
        assert_eq!(project::read(&project::write(&project).unwrap()), Ok((project, vec![])));
        for (text, why) in [("1, -2", "number 2: -2 is below 0 steps"), ("1, 2.5", "number 2: `2.5` is not a whole")] {
            let error = set(&mut params, &format!("experts.halve_at={text}")).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let mut params = params();
        for (text, why) in [
            ("growth.rule=Lode", "`Lode` is none of Load, Age; did you mean `Load`?"),
            ("growth.rule.idle=true", "`idle` belongs to Age, and growth.rule is Load; set growth.rule=Age first"),
            ("growth.rule.Age.minimum=3", "set growth.rule=Age first"),
            ("growth.rule.minimun=3", "did you mean `growth.rule.minimum`?"),
            ("growth.rule.minimum=3", "3 is out of range. Enter a value from 0 to 1"),
            ("growth.rule=Load(minimum: 3)", "minimum: 3 is above 1"),
            ("growth.rule=Age(minimum: x)", "minimum: `x` is not a number"),
            ("growth.rule=Age(young: 1)", "Age has no `young`; it has minimum, idle"),
            ("growth.rule=Age(idle", "parenthesis"),
        ] {
            let error = set(&mut params, text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let part = path::find(&params, "growth.rule.minimum").unwrap().0;
        set(&mut params, "growth.rule=Age").unwrap();
        assert!(!params.set(&Change { id: part, value: Value::Real(0.5) }), "of the group that was chosen before");
    }

    #[test]
    fn another_group_is_one_change_and_a_parameter_of_the_same_is_its_own() {
        let old = params();
        let mut new = params();
        let whole = set(&mut new, "growth.rule=Age(minimum: 5)").unwrap();
        assert_eq!(new.changes_since(&old), [whole]);
        let mut newer = new.clone();
        let part = set(&mut newer, "growth.rule.minimum=6").unwrap();
        assert_eq!(newer.changes_since(&new), [part]);
        let projects = [old, new, newer].map(|p| Project { model: Model::Demo(Box::new(p)), ..Project::default() });
        let lines = |i: usize| -> Vec<String> {
            project::diff(&projects[i], &projects[i + 1]).iter().map(ToString::to_string).collect()
        };
        assert_eq!(lines(0), ["growth.rule: Load(minimum: 0) → Age(minimum: 5, idle: false)"]);
        assert_eq!(lines(1), ["growth.rule.minimum: 5 → 6"]);
    }

    #[test]
    fn logs_name_the_group() {
        let mut params = params();
        for (text, path) in [
            ("growth.rule.minimum=0.5", "growth.rule.Load.minimum"),
            ("growth.rule=Age(minimum: 5)", "growth.rule"),
            ("growth.rule.minimum=9", "growth.rule.Age.minimum"),
        ] {
            let change = set(&mut params, text).unwrap();
            let (name, value) = named::name(&params, &change).unwrap();
            assert_eq!(name, path);
            // A log is read with the initial parameters.
            assert_eq!(named::resolve(&super::Params::default(), &name, &value), Ok(change));
        }
        let lost = named::resolve(&params, "growth.rule.Lode.minimum", &named::NamedValue::Real(1.0)).unwrap_err();
        assert_eq!(lost, "there is no parameter `growth.rule.Lode.minimum`");
        let widened = named::resolve(&params, "growth.rule", &named::NamedValue::Choice("Age".into())).unwrap();
        assert!(params.set(&widened));
        assert_eq!(params.growth.rule, SplitRule::Age(ByAge::default()), "a choice that got parameters since");
    }

    #[test]
    fn files_hold_the_chosen_group() {
        let mut params = params();
        set(&mut params, "growth.rule=Age(minimum: 5)").unwrap();
        let before = Project { model: Model::Demo(Box::new(params)), ..Project::default() };
        let text = project::write(&before).unwrap();
        assert!(text.contains("rule: Age(\n"), "{text}");
        assert_eq!(project::read(&text), Ok((before, vec![])));
        let read = |rule: &str| project::read(&format!("(version: 1, model: Demo((growth: (\nrule: {rule}))))"));
        let rule = |read: Project| {
            let Model::Demo(params) = read.model else { panic!("a demo") };
            params.growth.rule
        };
        let (partial, warnings) = read("Age(idle: true)").unwrap();
        assert_eq!((rule(partial), warnings), (SplitRule::Age(ByAge { minimum: 1000, idle: true }), vec![]));
        let error = read("Lode(minimum: 1)").unwrap_err();
        assert!(error.line == 2 && error.what.contains("did you mean `Load`?"), "{error}");
        let (_, warnings) = read("Load(minimun: 1)").unwrap();
        assert_eq!(warnings[0].to_string(), "line 2: unknown field `minimun` is ignored; did you mean `minimum`?");
        let (project, warnings) = read("Load(minimum: 3)").unwrap();
        assert_eq!(rule(project), SplitRule::Load(ByLoad { minimum: 1.0 }));
        assert!(warnings[0].what.contains("growth.rule.minimum: 3 is out of range"), "{warnings:?}");
    }

    #[test]
    fn the_clipboard_and_the_reference_hold_the_groups() {
        let mut params = params();
        set(&mut params, "growth.rule=Age(idle: true)").unwrap();
        let text = clipboard::copy(&params, "demo", |id| params.get(id) != super::Params::default().get(id));
        let mut other = super::Params::default();
        assert_eq!(clipboard::paste(&mut other, &text), Ok((1, vec![])), "{text}");
        assert_eq!(other, params);
        let reference = reference::markdown(&params);
        assert!(reference.contains("`rule: Age` has\n\n| name"), "{reference}");
        assert_eq!(reference.matches("| `idle` |").count(), 1);
    }
}
