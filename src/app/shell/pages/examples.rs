//! Example projects of all kinds, one card each on the home page.

pub use crate::sim::Example;
use crate::{
    kinds::Model,
    project::{self, Project},
};
use std::sync::LazyLock;

/// All examples, in the order of the home page.
pub static ALL: LazyLock<Vec<&'static Example>> = LazyLock::new(|| {
    let mut all: Vec<&Example> = Model::all().iter().flat_map(Model::examples).collect();
    all.sort_by_key(|example| example.place);
    all
});

/// Returns the example of a name.
pub fn by_name(name: &str) -> Option<&'static Example> {
    ALL.iter().find(|e| e.name == name).copied()
}

/// Returns the project of an example; `None` if its file is damaged.
pub fn project_of(example: &Example) -> Option<Project> {
    project::read(example.file).ok().map(|(project, _)| project)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_opens_and_has_a_picture() {
        for example in ALL.iter() {
            let project = project_of(example).expect(example.name);
            assert!(!project.name.is_empty());
            assert!(example.about.len() <= 90, "{}: the card has room for two lines", example.name);
            if example.needs_files {
                continue;
            }
            let picture = image::load_from_memory(example.picture).expect(example.name);
            assert_eq!((picture.width(), picture.height()), (432, 243), "{}", example.name);
        }
        assert!(by_name("fly").is_some_and(|e| !e.needs_files));
    }
}
