//! New projects, which are small, driven, and recording events or curves, so that results are visible within a second.

use super::{Project, read};
use crate::kinds::Model;

/// Returns a new project of a kind, which is the template of the kind, or its defaults; or a further template by its name.
/// `None` if there is neither.
pub fn new_project(name: &str) -> Option<Project> {
    let further = Model::all().into_iter().flat_map(|model| model.templates()).find(|template| template.name == name);
    if let Some((project, _)) = further.and_then(|template| read(template.file).ok()) {
        return Some(project);
    }
    let model = Model::by_name(name)?;
    let template = Some(model.template()).filter(|file| !file.is_empty()).and_then(|file| read(file).ok());
    Some(template.map_or_else(|| Project { model, ..Project::default() }, |(project, _)| project))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{DeviceKind, Progress, Shape};
    use std::path::Path;

    #[test]
    fn further_templates_are_readable_and_named_apart() {
        for template in Model::all().into_iter().flat_map(|model| model.templates()) {
            assert!(Model::by_name(template.name).is_none(), "{}", template.name);
            let project = new_project(template.name).expect("a readable file");
            assert_ne!(project.model, Model::by_name(project.model.name()).unwrap(), "{}", template.name);
        }
    }

    #[test]
    fn new_projects_are_small_driven_and_recorded() {
        for model in Model::all().into_iter().filter(|model| !model.template().is_empty()) {
            let project = new_project(model.name()).unwrap();
            assert_eq!(project.model.name(), model.name());
            let has_events =
                |p: &crate::sim::ProbeSpec| matches!(p.shape, Shape::Spikes { .. } | Shape::Lineage { .. });
            let probes = project.model.probes();
            let needs_events = probes.iter().any(has_events);
            let mut wanted = probes.iter().filter(|p| has_events(p) || !needs_events).map(|p| p.name);
            assert!(
                wanted.any(|name| project.record.iter().any(|r| r == name)),
                "{}: events are recorded, or curves where there are none",
                model.name()
            );
            let prepared = project.model.prepare(&project.build_context(Path::new(".")), &Progress::default()).unwrap();
            let bytes: u64 = prepared.predict(DeviceKind::Cpu { threads: 1 }).total();
            assert!(bytes < 64 << 20, "{}: {bytes} bytes", model.name());
        }
    }
}
