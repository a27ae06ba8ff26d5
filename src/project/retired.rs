//! Choices that earlier versions offered. A project that names one is refused with a message that names the choice to write
//! instead; a recorded run is displayed with that choice.

use super::{
    file::Warning,
    ron_tree::{self, Body, Node},
};
use crate::{
    kinds::Model,
    params::{ChoiceSpec, RetiredChoice},
};

/// Finds a choice of earlier versions by name, for the parameter at a path of group and field. Returns the present choice
/// and the retired choice that it replaces; `None` if the name is not retired.
pub(super) fn at(path: &[String], name: &str) -> Option<(&'static ChoiceSpec, &'static RetiredChoice)> {
    let [group, .., field] = path else { return None };
    let groups = Model::all().into_iter().flat_map(|model| model.params().groups());
    let specs = groups.filter(|of| of.is_called(group)).flat_map(|of| of.params);
    specs.filter(|spec| spec.is_called(field)).find_map(|spec| spec.kind.retired(name))
}

/// Replaces the choices of earlier versions in the text of a project. Returns the new text and a warning per replaced
/// choice.
pub(super) fn replace(text: &str) -> (String, Vec<Warning>) {
    let tree = ron_tree::scan(text);
    let mut leaves = vec![];
    add_leaves(&tree, &mut leaves);
    let (mut out, mut done, mut warnings) = (String::with_capacity(text.len()), 0, vec![]);
    for leaf in leaves {
        let start = text[..leaf.end].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        let name = &text[start..leaf.end];
        if name.is_empty() || start < done {
            continue;
        }
        let path = tree.path_to(leaf.end);
        let path = path.strip_prefix(&["model".to_owned()]).unwrap_or(&path);
        let Some((instead, retired)) = at(path, name) else { continue };
        out.push_str(&text[done..start]);
        out.push_str(instead.name);
        done = leaf.end;
        let (path, by) = (path.join("."), instead.name);
        let what = format!("{path}: `{}` is no longer offered; the run is displayed with `{by}`", retired.name);
        warnings.push(Warning { line: leaf.line, what });
    }
    out.push_str(&text[done..]);
    (out, warnings)
}

/// Adds the values without parts to `to`, in the order of the text.
fn add_leaves<'a>(node: &'a Node, to: &mut Vec<&'a Node>) {
    match &node.body {
        Body::Leaf => to.push(node),
        Body::Fields(fields) => fields.iter().for_each(|(.., value)| add_leaves(value, to)),
        Body::Items(items) => items.iter().for_each(|item| add_leaves(item, to)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{file::read_recorded, read};

    const TEXT: &str = "(\n  model: Synaptic((\n    plasticity: (\n      rule: Hebbian, // of before\n      rate: 0.25,\n    ),\n  )),\n)";

    #[test]
    fn a_project_with_a_retired_choice_is_refused_with_the_way_out() {
        let error = read(TEXT).expect_err("refused");
        assert_eq!(error.line, 4, "{error}");
        let start = "plasticity.rule: `Hebbian` is no longer offered: ";
        assert!(error.what.starts_with(start) && error.what.ends_with("Write `Delta` instead"), "{error}");
    }

    #[test]
    fn a_recorded_project_with_a_retired_choice_is_read_with_the_one_in_its_place() {
        let (project, warnings) = read_recorded(TEXT.as_bytes()).expect("it is read");
        assert_eq!(project, read(&TEXT.replace("Hebbian", "Delta")).expect("it is read").0);
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(warning.line == 4 && warning.what.contains("`Delta`"), "{warning}");
        let kept = TEXT.replace("Hebbian", "Delta");
        assert_eq!(read_recorded(kept.as_bytes()).expect("it is read").1, []);
    }
}
