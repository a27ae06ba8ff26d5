//! The floors inside `app`, circles of files that use each other, and the size and reach of the window's struct `App`.
//! The bounds may only fall.

use crate::imports::{File, circles, graph, tokens};
use std::{fs, path::Path};

/// The floors of `app`, lowest first. A file names only its own floor and those below.
const APP: [&str; 5] = ["kit", "host", "document", "views", "shell"];
/// A floor, and one below it that it does not name either.
const APART: (&str, &str) = ("views", "host");
/// Largest numbers of files in circles, largest first; there are no larger ones.
const CIRCLES: &[usize] = &[];

/// Largest number of fields of a struct.
const MOST_FIELDS: usize = 30;
/// Serialised file types, whose fields are those of the file.
const FILE_TYPES: [&str; 1] = ["Manifest"];
/// Fields of `App`.
const FIELDS_OF_APP: usize = 8;
/// Files of `src` that name `App`, re-exports excepted.
const FILES_NAMING_APP: usize = 2;

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

/// The tokens of a file below `src`.
fn tokens_of(path: &str) -> Vec<String> {
    tokens(&fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path)).expect("a source file"))
}

#[test]
fn app_has_few_fields() {
    let tokens = tokens_of("app/shell/app.rs");
    let start = tokens.windows(3).position(|t| t == ["struct", "App", "{"]).expect("the struct") + 3;
    let body = tokens[start..].split(|t| t == "}").next().expect("its fields");
    let fields = body.windows(2).filter(|pair| pair[1] == ":").map(|pair| pair[0].as_str());
    let names: Vec<&str> = fields.collect();
    assert!(names.len() <= FIELDS_OF_APP, "App has {} fields, at most {FIELDS_OF_APP}: {names:?}", names.len());
}

/// Whether a file names `App`, but for `eframe::App` and re-exports.
fn names_app(path: &str) -> bool {
    let tokens = tokens_of(path);
    (0..tokens.len()).filter(|i| tokens[*i] == "App").any(|i| {
        let is_of_eframe = i > 1 && tokens[i - 1] == "::" && tokens[i - 2] == "eframe";
        let item = tokens[..i].iter().rposition(|t| t == ";").map_or(0, |at| at + 1);
        let is_exported = tokens[item..].starts_with(&["pub".to_owned(), "use".to_owned()]);
        !is_of_eframe && !is_exported
    })
}

#[test]
fn few_files_name_app() {
    let files = files();
    let naming: Vec<&str> = files.iter().map(|file| file.path.as_str()).filter(|path| names_app(path)).collect();
    let (n, most) = (naming.len(), FILES_NAMING_APP);
    assert!(n <= most, "{n} files name App, at most {most}: {}", naming.join(" "));
}

/// Name and number of fields of the struct whose declaration begins at a token; `None` without named fields.
fn fields(tokens: &[String], start: usize) -> Option<(&str, usize)> {
    let name = tokens.get(start + 1).filter(|name| name.starts_with(char::is_uppercase))?;
    let open = start + tokens[start..].iter().position(|t| matches!(t.as_str(), "{" | "(" | ";"))?;
    let (mut depth, mut inner, mut n) = (0_i32, 0_i32, 0);
    for (i, token) in tokens.iter().enumerate().skip(open).take_while(|_| tokens[open] == "{") {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => return Some((name, n)),
            "}" => depth -= 1,
            "(" | "[" | "<" => inner += 1,
            ")" | "]" => inner -= 1,
            ">" if tokens[i - 1] != "-" => inner -= 1,
            ":" if depth == 1 && inner == 0 => n += 1,
            _ => {}
        }
    }
    None
}

#[test]
fn structs_have_few_fields() {
    let mut found = vec![];
    for file in files() {
        let tokens = tokens_of(&file.path);
        let structs = (0..tokens.len()).filter(|i| tokens[*i] == "struct").filter_map(|i| fields(&tokens, i));
        let large = structs.filter(|(name, n)| *n > MOST_FIELDS && !FILE_TYPES.contains(name));
        found.extend(large.map(|(name, n)| format!("{name} in src/{}: {n} fields", file.path)));
    }
    assert_eq!(found, [""; 0], "at most {MOST_FIELDS} fields");
}

#[test]
fn fields_of_a_struct_are_counted() {
    let text = "struct A { pub a: B<C>, b: fn(x: D) -> E, c: [u8; 2] } struct T(u8); struct G<K: L> { k: M::N }";
    let tokens = tokens(text);
    let structs = (0..tokens.len()).filter(|i| tokens[*i] == "struct");
    let found: Vec<_> = structs.filter_map(|i| fields(&tokens, i)).collect();
    assert_eq!(found, [("A", 3), ("G", 1)]);
}
