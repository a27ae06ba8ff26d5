//! Readers of old project files. Each version has a typed reader whose result is converted to the next version.

use super::{Project, VERSION, file::options, ron_tree::Node, schema::Step};
use crate::{
    kinds::Model,
    params::{Role, interventions, named},
};
use ron::error::SpannedResult;
use serde::Deserialize;

/// Field that all versions have.
#[derive(Deserialize)]
#[serde(default)]
struct Header {
    version: u32,
}

impl Default for Header {
    fn default() -> Self {
        Self { version: VERSION }
    }
}

/// Returns the version of a file; a file without the field has the present version. Fails if the text cannot be parsed.
pub(super) fn version_of(text: &str) -> SpannedResult<u32> {
    Ok(options().from_str::<Header>(text)?.version)
}

/// Reads a file of a version up to [`VERSION`] and converts it. The versions differ only in a default. If the meaning of a
/// field changes, keep the old structs of the field here and select them by `version`. Fails if the text cannot be parsed.
pub(super) fn read(version: u32, text: &str, tree: &Node) -> SpannedResult<Project> {
    let mut project: Project = options().from_str(text)?;
    // Before version 2, *Run* continued beyond the duration.
    if version < 2 && tree.at(&["run", "continuous"]).is_none() {
        project.run.continuous = true;
    }
    Ok(Project { version: VERSION, ..project })
}

/// Whether a field of a list item was removed from the format, and is not mistyped.
pub(super) fn is_former(path: &[Step], field: &str) -> bool {
    let [.., Step::Field(list), Step::Item] = path else { return false };
    let models = Model::all();
    let mut groups = models.iter().flat_map(|model| model.params().groups());
    groups.any(|group| group.is_called(list) && named::is_former(group, field))
}

/// Colours of the former parameter of selections, of which the first means no colour.
const COLORS: [&str; 8] = ["Plain", "Amber", "Sky", "Green", "Straw", "Blue", "Rust", "Plum"];

/// Moves colours from the parameters of selections to the view.
pub(super) fn colors(project: &mut Project, text: &str, tree: &Node) {
    let params = project.model.params();
    let Some(group) = interventions::list(params, Role::Selections) else { return };
    let list = params.groups()[group].name;
    for (item, selection) in interventions::selections(params).into_iter().enumerate() {
        let Some(node) = tree.at(&["model", list, &item.to_string(), "color"]) else { continue };
        let value = text[..node.end].rsplit("color").next().unwrap_or_default();
        let mut words = value.split(|c: char| !c.is_alphanumeric());
        if let Some(color) = words.find_map(|word| COLORS.iter().position(|name| *name == word).filter(|c| *c > 0)) {
            project.view.set_color(&selection.name, Some(color as u8));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::project::read;

    #[test]
    fn run_continues_beyond_the_duration_in_files_of_version_1_only() {
        for (text, continuous) in [
            ("(version: 1, run: (duration_ms: 500.0))", true),
            ("(version: 1)", true),
            ("(version: 1, run: (continuous: false))", false),
            ("(version: 2, run: (duration_ms: 500.0))", false),
            ("(version: 2, run: (continuous: true))", true),
            ("(name: \"without a version\")", false),
        ] {
            let (project, warnings) = read(text).unwrap();
            assert_eq!((project.run.continuous, warnings), (continuous, vec![]), "{text}");
            let written = super::super::write(&project).unwrap();
            assert_eq!(read(&written).unwrap(), (project, vec![]), "{text}");
        }
    }

    #[test]
    fn colours_of_selections_move_from_the_parameters_to_the_view() {
        let text = r#"(model: Spiking((selections: [
            (name: "sugar", query: "class = gustatory", color: Sky),
            (name: "none", color: Plain),
            (name: "MN9", color: Plum /* dark */,),
            (name: "bare"),
        ])))"#;
        let (project, warnings) = read(text).unwrap();
        assert_eq!(warnings, []);
        let colors: Vec<(&str, u8)> = project.view.colors.iter().map(|(name, color)| (name.as_str(), *color)).collect();
        assert_eq!(colors, [("MN9", 7), ("sugar", 2)]);
        let written = super::super::write(&project).unwrap();
        assert!(!written.contains("color:") && written.contains("\"sugar\": 2"), "{written}");
        assert_eq!(read(&written).unwrap(), (project, vec![]));
    }
}
