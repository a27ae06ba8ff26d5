//! What follows from the declarations alone, for every kind: files round trip, defaults are legal, everything
//! is documented, what is shown can be typed, and the reference is fresh.

use neuropil::{
    kinds::Model,
    params::{ChoiceSpec, ParamId, ParamSpec, Scale, Unit, Value, ValueType, path, reference},
    project::PlanTree,
};
use std::collections::HashSet;

/// Every kind, with one item in every list.
fn models() -> Vec<Model> {
    let mut models = Model::all();
    for params in models.iter_mut().map(Model::params_mut) {
        for (group, _) in params.groups().iter().enumerate().filter(|(_, g)| g.list) {
            assert!(params.push(group as u8));
        }
    }
    models
}

/// Every declaration of a kind with a readable address: parameters, and arguments of actions.
fn specs(model: &Model) -> Vec<(String, &'static ParamSpec)> {
    let groups = model.params().groups().iter();
    let params = groups.enumerate().flat_map(|(g, group)| {
        let path = move |f| model.params().path(ParamId::of(g, f));
        (0..group.params.len()).map(move |f| {
            let spec = &group.params[f];
            let variant = spec.part.map(|part| format!("choice {}: ", part.variant)).unwrap_or_default();
            (variant + &path(f), spec)
        })
    });
    let arguments =
        model.actions().iter().flat_map(|a| a.params.iter().map(move |s| (format!("{}({})", a.name, s.name), s)));
    params.chain(arguments).map(|(name, spec)| (format!("{}: {name}", model.name()), spec)).collect()
}

#[test]
fn files_round_trip() {
    for model in models() {
        let text = serde_json::to_string(&model).unwrap();
        assert_eq!(serde_json::from_str::<Model>(&text).unwrap(), model, "{text}");
    }
}

#[test]
fn a_file_that_says_nothing_means_the_defaults() {
    for model in Model::all() {
        let text = serde_json::to_string(&model).unwrap();
        let variant = text.split('"').nth(1).unwrap();
        let empty = format!("{{\"{variant}\":{{}}}}");
        assert_eq!(serde_json::from_str::<Model>(&empty).unwrap(), model, "{empty}");
    }
}

#[test]
fn defaults_are_legal_and_ranges_make_sense() {
    for model in models() {
        let params = model.params();
        for id in params.ids() {
            let (path, spec) = (params.path(id), params.spec(id).unwrap());
            let value = params.get(id);
            assert!(spec.admits(&value), "{path}: its default {value:?} is outside {:?}", spec.hard);
        }
        for (name, spec) in specs(&model) {
            let (soft, hard) = (spec.soft, spec.hard);
            assert!(hard.0 <= soft.0 && soft.0 < soft.1 && soft.1 <= hard.1, "{name}: slider {soft:?} in {hard:?}");
            assert!(spec.scale == Scale::Linear || soft.0 > 0.0, "{name}: a logarithmic slider from {}", soft.0);
            let is_number = spec.kind.is_numeric();
            assert!(is_number || spec.unit == Unit::One, "{name}: a unit on something that is no number");
        }
    }
}

#[test]
fn everything_is_documented() {
    for model in Model::all() {
        let name = model.name();
        assert!(!model.title().is_empty() && model.about().trim().ends_with('.'), "{name}: ABOUT is a paragraph");
        let groups = model.params().groups().iter().map(|g| (format!("{name}: {}", g.name), g.docs));
        let params = specs(&model).into_iter().map(|(name, spec)| (name, spec.docs));
        let actions = model.actions().iter().map(|a| (format!("{name}: {}", a.name), a.docs));
        let probes = model.probes().iter().map(|p| (format!("{name}: {}", p.name), p.docs));
        for (what, docs) in groups.chain(params).chain(actions).chain(probes) {
            let docs = reference::flat(docs);
            assert!(docs.ends_with('.') && docs.len() > 8, "{what}: `{docs}` is no sentence, and it is a tooltip");
        }
        for (what, spec) in specs(&model) {
            let choices: Vec<ChoiceSpec> = match spec.kind {
                ValueType::Choice(choices) => choices.to_vec(),
                ValueType::OneOf(variants) => variants.iter().map(|v| v.choice).collect(),
                _ => continue,
            };
            for choice in choices {
                assert!(!choice.docs.trim().is_empty(), "{what}: {} has no tooltip", choice.name);
            }
        }
    }
}

#[test]
fn names_are_unique_and_stable() {
    let mut kinds = HashSet::new();
    for model in Model::all() {
        assert!(kinds.insert(model.name()), "{} twice", model.name());
        assert_eq!(Model::by_name(model.name()).as_ref(), Some(&model));
        let mut seen = HashSet::new();
        let probes = model.probes().iter().map(|p| format!("probe {}", p.name));
        let actions = model.actions().iter().map(|a| format!("action {}", a.name));
        let groups = model.params().groups().iter().map(|g| format!("group {}", g.name));
        let names = specs(&model).into_iter().map(|(name, _)| name).chain(probes).chain(actions).chain(groups);
        for name in names {
            assert!(seen.insert(name.clone()), "{name} is declared twice");
            let last = name.rsplit(['.', ' ', '(']).next().unwrap().trim_end_matches(')');
            let is_plain = last.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            assert!(is_plain, "{name}: names are written lower_case_with_underscores");
        }
    }
}

#[test]
fn every_choice_can_be_typed() {
    for model in Model::all() {
        for (name, spec) in specs(&model) {
            let ValueType::Choice(choices) = spec.kind else { continue };
            for i in 0..choices.len() {
                let value = Value::Choice(i as u16);
                let shown = path::show(spec, &value);
                assert_eq!(path::parse_value(spec, &shown).as_ref(), Ok(&value), "{name}={shown}");
                assert_eq!(path::parse_value(spec, &shown.to_lowercase()), Ok(value), "{name}: case does not matter");
            }
            let refused = path::parse_value(spec, "nonsense").unwrap_err();
            assert!(refused.contains(choices[0].name), "{name}: `{refused}` does not list the choices");
        }
    }
}

#[test]
fn what_is_shown_can_be_typed() {
    for model in models() {
        let params = model.params();
        for id in params.ids() {
            let (value, spec) = (params.get(id), params.spec(id).unwrap());
            let typed = format!("{}={}", params.path(id), path::show(spec, &value));
            let change = path::parse(params, &typed).unwrap_or_else(|e| panic!("{typed}: {e}"));
            assert_eq!((change.id, change.value), (id, value), "{typed}");
        }
    }
}

#[test]
fn a_zero_that_is_no_quantity_has_a_word() {
    for (name, spec) in models().iter().flat_map(specs) {
        let is_word =
            ["0: all", "0: never", "0: as many", "0: by ", "0 means"].iter().any(|text| spec.docs.contains(text));
        assert!(!is_word || !spec.zero.is_empty(), "{name}: {:?} needs a word for 0", spec.docs);
    }
}

#[test]
fn an_edit_arrives_and_is_a_difference() {
    for model in models() {
        let mut edited = model.clone();
        for id in model.params().ids() {
            let old = model.params().get(id);
            let new = match old.clone() {
                Value::Bool(b) => Value::Bool(!b),
                Value::Int(i) => Value::Int(i + 1),
                Value::Real(x) => Value::Real(x + 1.0),
                Value::Text(s) => Value::Text(s + "x"),
                Value::Choice(0) => Value::Choice(1),
                _ => continue,
            };
            let change = neuropil::params::Change { id, value: new };
            if !edited.params_mut().set(&change) {
                let path = model.params().path(id);
                assert!(matches!(change.value, Value::Choice(_)), "{path} refuses {:?}", change.value);
                continue;
            }
            assert_eq!(edited.params().changes_since(model.params()), [change], "{}", model.params().path(id));
            assert!(edited.params_mut().set(&neuropil::params::Change { id, value: old }));
        }
        assert_eq!(edited, model);
    }
}

#[test]
fn a_typo_gets_a_suggestion() {
    for model in models() {
        let params = model.params();
        for real in params.ids().into_iter().map(|id| params.path(id)) {
            let typo = format!("{real}x");
            let error = path::parse(params, &format!("{typo}=1")).unwrap_err().to_string();
            let nearest = path::nearest(params, &typo).unwrap();
            assert!(strsim::levenshtein(&nearest, &typo) <= 2, "{typo}: {nearest}?");
            assert!(error.contains(&format!("did you mean `{nearest}`?")), "{error}");
        }
        assert_eq!(path::nearest(params, "completely_unrelated_nonsense"), None);
    }
}

#[test]
fn the_reference_is_fresh() {
    let mut text = String::from(
        "# Parameter reference\n\nWritten from the declarations by `UPDATE=1 cargo test --test floors declarations`. \
         On the command line, `--set group.name=value`; items of a list are addressed by number or name.\n",
    );
    for model in models().into_iter().filter(|model| model.name() != "demo") {
        text += &format!("\n## {} (`{}`)\n\n{}\n\n", model.title(), model.name(), reference::flat(model.about()));
        text += &reference::markdown(model.params());
        text += &probes_and_actions(&model);
    }
    text += "\n## Run settings\n\nOf a project of any kind.\n\n";
    text += &reference::markdown(&PlanTree::default());
    let text = format!("{}\n", text.trim_end());
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/reference.md");
    let is_fresh = std::fs::read_to_string(&file).is_ok_and(|old| old == text);
    if !is_fresh && std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        return;
    }
    assert!(is_fresh, "assets/reference.md is stale; run `UPDATE=1 cargo test --test floors declarations`");
}

fn probes_and_actions(model: &Model) -> String {
    let mut out = String::new();
    if !model.probes().is_empty() {
        out += "### What can be shown and recorded\n\n| probe | unit | meaning |\n| --- | --- | --- |\n";
        for probe in model.probes() {
            out += &format!("| `{}` | {} | {} |\n", probe.name, probe.unit, reference::flat(probe.docs));
        }
        out += "\n";
    }
    if !model.actions().is_empty() {
        out += "### Actions\n\n";
        for action in model.actions() {
            out += &format!("`{}`: {}\n\n", action.name, reference::flat(action.docs));
            for spec in action.params {
                out += &format!("- `{}` ({}): {}\n", spec.name, reference::range(spec), reference::flat(spec.docs));
            }
            out += "\n";
        }
    }
    out
}

#[test]
fn presets_can_be_taken_up_and_say_where_they_are_from() {
    for model in Model::all().into_iter().filter(|model| model.name() != "demo") {
        let mut names = HashSet::new();
        for preset in model.presets() {
            assert!(names.insert(preset.name), "{} twice", preset.name);
            assert!(preset.docs.ends_with('.') && preset.source.len() > 8, "{}", preset.name);
            let mut model = model.clone();
            for text in preset.set {
                let change = path::parse(model.params(), text).unwrap_or_else(|e| panic!("{}: {e}", preset.name));
                assert!(model.params_mut().set(&change), "{}: {text}", preset.name);
            }
        }
        assert!(!names.is_empty(), "{} has no presets", model.name());
    }
}
