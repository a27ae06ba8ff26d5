//! The floors inside `app`, and circles of files that use each other. The bounds of circles may only fall.

use crate::imports::{File, circles, graph};
use std::path::Path;

/// The floors of `app`, lowest first. A file names only its own floor and those below.
const APP: [&str; 5] = ["kit", "host", "document", "views", "shell"];
/// A floor, and one below it that it does not name either.
const APART: (&str, &str) = ("views", "host");
/// Largest numbers of files in circles, largest first; there are no larger ones.
const CIRCLES: &[usize] = &[58, 18];

fn files() -> Vec<File> {
    graph(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

fn floor_of(path: &str) -> Option<(usize, &str)> {
    let name = path.strip_prefix("app/")?.split('/').next()?;
    APP.iter().position(|floor| *floor == name).map(|i| (i, name)).or((name == "mod.rs").then_some((APP.len(), name)))
}

#[test]
fn floors_of_app_name_only_those_below() {
    let files = files();
    let mut against = vec![];
    for file in files.iter().filter(|file| file.path.starts_with("app/")) {
        let (own, name) = floor_of(&file.path).unwrap_or_else(|| panic!("src/{} is in no floor of app", file.path));
        for used in file.uses.iter().map(|i| &files[*i].path) {
            let Some((floor, used_name)) = floor_of(used) else { continue };
            if floor > own || (name, used_name) == APART {
                against.push(format!("src/{} uses src/{used}", file.path));
            }
        }
    }
    assert_eq!(against, [""; 0], "{} uses against the order {APP:?}", against.len());
}

#[test]
fn circles_of_files_do_not_grow() {
    let files = files();
    let circles = circles(&files);
    for (i, circle) in circles.iter().enumerate() {
        let bound = CIRCLES.get(i).copied().unwrap_or(10);
        let names: Vec<&str> = circle.iter().map(|i| files[*i].path.as_str()).collect();
        assert!(circle.len() <= bound, "a circle of {} files, at most {bound}: {}", circle.len(), names.join(" "));
    }
}
