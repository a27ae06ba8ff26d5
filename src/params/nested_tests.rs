//! Tests of sum types whose groups contain sum types.

use super::{Change, Params as _, Value, ValueType, named, path, reference};
use crate::{one_of, param_tree, params, params::one_of::NoParameters};

params! {
    /// Equal density within the width.
    pub struct Uniform {
        /// Half the width.
        #[param(unit = Mv, range = 0.0..=10.0, hard = 0.0..=100.0)]
        half_width: f64 = 5.0,
    }
}

params! {
    /// Density of a bell curve.
    pub struct Normal {
        /// Width as standard deviation.
        #[param(unit = Mv, range = 0.0..=10.0, hard = 0.0..=100.0)]
        sigma: f64 = 3.0,

        /// Whether values are clipped.
        #[param()]
        clipped: bool = true,

        /// Distance of the clipping from the centre, in standard deviations.
        #[param(range = 0.0..=10.0, hard = 0.0..=100.0)]
        #[show_if(|s| s.clipped)]
        at: f64 = 4.0,
    }
}

one_of! {
    /// Form of the spread.
    pub enum Spread {
        /// Equal density within the width.
        Uniform(Uniform),
        /// Density of a bell curve.
        Normal(Normal),
    }
}

params! {
    /// A distribution around a centre.
    pub struct Around {
        /// Centre of the distribution.
        #[param(unit = Mv, range = -90.0..=0.0, hard = -100.0..=100.0)]
        centre: f64 = -52.0,

        /// Spread around the centre.
        #[param()]
        spread: Spread = Spread::Uniform(Uniform::default()),
    }
}

one_of! {
    /// Initial value of neurons.
    pub enum Start {
        /// Neurons start at the resting value.
        Rest(NoParameters),
        /// Neurons start around a centre.
        Around(Around),
    }
}

params! {
    /// Parameters of the neurons.
    pub struct Neurons {
        /// Membrane time constant.
        #[param(unit = Ms, range = 1.0..=100.0)]
        tau: f64 = 20.0,

        /// Initial value of neurons.
        #[param(apply = Rewind)]
        start: Start = Start::Rest(NoParameters {}),

        /// Number of the neurons.
        #[param(range = 1.0..=100.0)]
        n: u32 = 7,
    }
}

param_tree! {
    /// Tree of a test kind.
    pub struct Tree {
        /// Parameters of the neurons.
        lif: Neurons,
        /// List of several groups.
        all: [Neurons],
    }
}

fn set(tree: &mut Tree, text: &str) -> Result<Change, String> {
    let change = path::parse(tree, text).map_err(|e| e.to_string())?;
    assert!(tree.set(&change), "{text}");
    Ok(change)
}

fn shown(tree: &Tree, name: &str) -> String {
    let (id, spec) = path::find(tree, name).expect(name);
    path::show(spec, &tree.get(id))
}

fn paths(tree: &Tree) -> Vec<String> {
    tree.ids().into_iter().map(|id| tree.path(id)).collect()
}

#[test]
fn a_choice_within_a_choice_has_a_path() {
    let mut tree = Tree::default();
    assert_eq!(paths(&tree), ["lif.tau", "lif.start", "lif.n"]);
    let error = set(&mut tree, "lif.start.spread.sigma=2").expect_err("not chosen");
    assert_eq!(
        error,
        "lif.start.spread.sigma: `spread.sigma` belongs to Around, and lif.start is Rest; set lif.start=Around first"
    );
    set(&mut tree, "lif.start=around").expect("chosen");
    let error = set(&mut tree, "lif.start.spread.sigma=2").expect_err("not chosen");
    assert_eq!(
        error,
        "lif.start.spread.sigma: `sigma` belongs to Normal, and lif.start.spread is Uniform; set lif.start.spread=Normal first"
    );
    assert!(set(&mut tree, "lif.start.spread.width=2").expect_err("unknown").starts_with("there is no parameter"));
    assert_eq!(shown(&tree, "lif.start"), "Around(centre: -52 mV, spread: Uniform(half_width: 5 mV))");
    set(&mut tree, "lif.start.spread=Normal").expect("chosen");
    set(&mut tree, "lif.start.spread.sigma=2 mV").expect("set");
    assert_eq!(shown(&tree, "lif.start.spread"), "Normal(sigma: 2 mV, clipped: true, at: 4)");
    for name in
        ["lif.start.Around.spread.Normal.sigma", "lif.start.spread.Normal.sigma", "lif.start.Around.spread.sigma"]
    {
        assert_eq!(shown(&tree, name), "2 mV", "{name}");
    }
    let start = ["lif.start", "lif.start.centre", "lif.start.spread"];
    let normal = ["lif.start.spread.sigma", "lif.start.spread.clipped", "lif.start.spread.at"];
    assert_eq!(paths(&tree)[1..7], [&start[..], &normal[..]].concat());
    let text = "Around(spread: Normal(sigma: 1 mV, clipped: off))";
    set(&mut tree, &format!("lif.start={text}")).expect("a value of all levels");
    assert_eq!(shown(&tree, "lif.start.spread.sigma"), "1 mV");
    let is_shown = |tree: &Tree, name: &str| tree.is_shown(path::find(tree, name).expect(name).0);
    assert!(!is_shown(&tree, "lif.start.spread.at") && is_shown(&tree, "lif.start.spread.sigma"));
    set(&mut tree, "lif.start.spread.clipped=on").expect("set");
    assert!(is_shown(&tree, "lif.start.spread.at"));
    let error = set(&mut tree, "lif.start.spread.sigma=-1").expect_err("out of range");
    assert!(error.starts_with("lif.start.spread.sigma (Sigma): -1 mV is out of range"), "{error}");
    let error = set(&mut tree, "lif.start=Around(spread: Normal(sigma: -1))").expect_err("out of range");
    assert!(error.contains("spread: sigma: -1 is below 0 mV"), "{error}");
}

#[test]
fn differences_are_sent_at_the_level_where_they_are() {
    let mut old = Tree::default();
    set(&mut old, "lif.start=Around").expect("chosen");
    let mut new = old.clone();
    let sent = |new: &Tree, old: &Tree| -> Vec<String> {
        let changes = new.changes_since(old);
        let mut now = old.clone();
        assert!(changes.iter().all(|change| now.set(change)) && now == *new);
        changes.iter().map(|change| new.path(change.id)).collect()
    };
    set(&mut new, "lif.start.spread.half_width=1").expect("set");
    assert_eq!(sent(&new, &old), ["lif.start.spread.half_width"]);
    set(&mut new, "lif.start.spread=Normal").expect("set");
    assert_eq!(sent(&new, &old), ["lif.start.spread"]);
    assert_eq!(sent(&new, &Tree::default()), ["lif.start"]);
    let whole = old.groups()[0].params.len();
    assert_eq!(whole, 3 + 2 + 4, "fields, parameters of the first level, of the second");
}

#[test]
fn files_and_logs_hold_every_level_by_name() {
    let mut tree = Tree::default();
    tree.push(1);
    for text in
        ["all.0.start=Around(centre: -60 mV, spread: Normal(sigma: 2))", "lif.start=Around", "lif.start.spread=Normal"]
    {
        set(&mut tree, text).expect(text);
    }
    let text = serde_json::to_string(&tree).expect("written");
    assert!(text.contains(r#""start":{"Around":{"centre":-60.0,"spread":{"Normal":{"sigma":2.0,"#), "{text}");
    assert_eq!(serde_json::from_str::<Tree>(&text).expect("read"), tree);
    let short = r#"{"lif": {"start": {"Around": {"spread": {"Normal": {"sigma": 1.5}}}}}}"#;
    let read: Tree = serde_json::from_str(short).expect("missing fields have their defaults");
    assert_eq!(
        shown(&read, "lif.start"),
        "Around(centre: -52 mV, spread: Normal(sigma: 1.5 mV, clipped: true, at: 4))"
    );

    let change = set(&mut tree, "lif.start.spread.sigma=2.5").expect("set");
    let (name, value) = named::name(&tree, &change).expect("named");
    assert_eq!(name, "lif.start.Around.spread.Normal.sigma");
    assert_eq!(named::resolve(&tree, &name, &value), Ok(change));
    for path in ["lif.start", "all.0.start.spread", "lif.start.spread.at"] {
        let (id, _) = path::find(&tree, path).expect(path);
        let change = Change { id, value: tree.get(id) };
        let (name, value) = named::name(&tree, &change).expect("named");
        assert_eq!(named::resolve(&tree, &name, &value), Ok(change), "{name}");
    }
    let list = Change { id: super::ParamId::list(1), value: tree.get(super::ParamId::list(1)) };
    let (name, value) = named::name(&tree, &list).expect("named");
    assert_eq!(named::resolve(&tree, &name, &value), Ok(list));
    // The log is of a version in which the spread had no parameters.
    let older = named::NamedValue::Variant(
        "Around".into(),
        vec![("spread".into(), named::NamedValue::Choice("Normal".into()))],
    );
    let change = named::resolve(&tree, "lif.start", &older).expect("read");
    assert!(tree.set(&change));
    assert_eq!(shown(&tree, "lif.start.spread.sigma"), "3 mV");
    assert!(named::resolve(&tree, "lif.start.Around.spread.Normal", &value).is_err(), "a group is no parameter");
}

#[test]
fn values_of_the_declared_range_fit() {
    let mut tree = Tree::default();
    let (id, spec) = path::find(&tree, "lif.start").expect("declared");
    for share in [0.0, 0.1, 0.55, 0.7, 0.99] {
        let value = spec.value_at(share);
        assert!(spec.admits(&value) && tree.set(&Change { id, value: value.clone() }), "{value:?}");
        assert_eq!(tree.get(id), value);
    }
    assert!(!spec.admits(&Value::Variant(1, vec![Value::Real(0.0), Value::Variant(1, vec![Value::Real(-1.0)])])));
    assert!(matches!(spec.kind, ValueType::OneOf(v) if v[1].fields().len() == 2 && v[1].params.len() == 6));
    let text = reference::markdown(&tree);
    assert!(text.contains("`spread: Normal` has") && text.matches("| `sigma`").count() == 2, "{text}");
}
