//! Variables of the paths in a configuration, such as `$NETWORK_DIR`.

use super::item::Item;
use crate::data::{DataError, messages};
use std::path::{Path, PathBuf};

/// Variable that is the folder of the configuration, as in bmtk.
const CONFIG_DIR: &str = "configdir";
/// Maximum number of variables in a manifest.
const MAX_VARIABLES: usize = 1024;
/// Maximum depth of variables in the values of other variables.
const MAX_DEPTH: usize = 32;
/// Maximum number of variables that a path is made of.
const MAX_EXPANSIONS: u32 = 256;
/// Maximum length of a path, bytes.
const MAX_PATH: usize = 4096;

/// Manifest of a configuration.
pub struct Manifest {
    folder: PathBuf,
    /// Names without `$`, and values.
    variables: Vec<(String, String)>,
}

impl Manifest {
    /// Reads the manifest of a configuration; empty if there is none. Fails if a value is not a text.
    pub fn read(root: &Item<'_>) -> Result<Self, DataError> {
        let folder = root.file().parent().unwrap_or(Path::new(".")).to_owned();
        let mut variables = vec![];
        if let Some(manifest) = root.get("manifest")? {
            let names = manifest.keys();
            if names.len() > MAX_VARIABLES {
                return Err(manifest.error(&format!("{} variables; at most {MAX_VARIABLES} are read", names.len())));
            }
            for name in names {
                if let Some(value) = manifest.get(&name)? {
                    variables.push((name.trim_start_matches('$').to_owned(), value.text()?.to_owned()));
                }
            }
        }
        Ok(Self { folder, variables })
    }

    /// Returns the path that a text names. Relative paths begin at the folder of the configuration. Fails if a variable is unknown,
    /// variables refer to each other in a cycle, or the path is too long.
    pub fn path(&self, item: &Item<'_>) -> Result<PathBuf, DataError> {
        let text = item.text()?;
        let mut left = MAX_EXPANSIONS;
        let path = self
            .expand(text, &mut vec![], &mut left)
            .map_err(|why| item.error(&format!("`{}`: {why}", messages::truncated(text))))?;
        Ok(self.folder.join(path).components().collect())
    }

    fn expand(&self, text: &str, open: &mut Vec<String>, left: &mut u32) -> Result<String, String> {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let (name, after) = variable(&rest[at + 1..]);
            out.push_str(&self.value(name, open, left)?);
            rest = after;
            if out.len() > MAX_PATH {
                break;
            }
        }
        out.push_str(rest);
        if out.len() > MAX_PATH {
            return Err(format!("the path is longer than {MAX_PATH} bytes"));
        }
        Ok(out)
    }

    fn value(&self, name: &str, open: &mut Vec<String>, left: &mut u32) -> Result<String, String> {
        let shown = messages::truncated(name);
        if name == CONFIG_DIR {
            return Ok(self.folder.display().to_string());
        }
        let Some((_, value)) = self.variables.iter().find(|(known, _)| known == name) else {
            let known: Vec<String> =
                self.variables.iter().take(24).map(|(name, _)| format!("${}", messages::truncated(name))).collect();
            let there = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(format!("the manifest has no variable `${shown}` (it has: {there}); add it to \"manifest\""));
        };
        if let Some(first) = open.iter().position(|known| known == name) {
            let cycle: Vec<String> =
                open[first..].iter().chain([&name.to_owned()]).map(|of| format!("${of}")).collect();
            let cycle = messages::truncated(&cycle.join(" → "));
            return Err(format!("circular reference of variables ({cycle}); give one of them a folder"));
        }
        *left = left.saturating_sub(1);
        if open.len() >= MAX_DEPTH || *left == 0 {
            return Err(format!("`${shown}` is made of too many variables"));
        }
        open.push(name.to_owned());
        let value = self.expand(value, open, left)?;
        open.pop();
        Ok(value)
    }
}

/// Returns the name at the start of a text, `NAME` or `{NAME}`, and the text after it.
fn variable(text: &str) -> (&str, &str) {
    if let Some((name, after)) = text.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        return (name, after);
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn path(manifest: Value, text: &str) -> Result<String, String> {
        let config = json!({ "manifest": manifest, "file": text });
        let root = Item::root(Path::new("/net/c.json"), &config);
        let manifest = Manifest::read(&root).map_err(|e| e.to_string())?;
        let item = root.get("file").expect("an object").expect("a file");
        manifest.path(&item).map(|path| path.display().to_string()).map_err(|e| e.to_string())
    }

    #[test]
    fn variables_are_resolved_and_cycles_are_refused() {
        let manifest = json!({ "$BASE": ".", "$NET": "$BASE/network", "LONG": "${NET}/x" });
        assert_eq!(path(manifest.clone(), "$NET/a.h5"), Ok("/net/network/a.h5".to_owned()));
        assert_eq!(path(manifest.clone(), "${LONG}/a.h5"), Ok("/net/network/x/a.h5".to_owned()));
        assert_eq!(path(manifest.clone(), "${configdir}/a.h5"), Ok("/net/a.h5".to_owned()));
        assert_eq!(path(manifest.clone(), "/abs/a.h5"), Ok("/abs/a.h5".to_owned()));
        let why = path(manifest, "$OTHER/a.h5").expect_err("unknown");
        assert!(why.starts_with("/net/c.json: file: `$OTHER/a.h5`: the manifest has no variable `$OTHER`"), "{why}");
        let why = path(json!({ "$A": "$B", "$B": "$A/x" }), "$A").expect_err("a cycle");
        assert!(why.contains("circular reference of variables ($A → $B → $A)"), "{why}");
        let many: Value = (0..40).map(|i| (format!("$V{i}"), json!(format!("$V{0}$V{0}", i + 1)))).collect();
        assert!(path(many, "$V0").expect_err("too many").contains("too many variables"));
        assert!(
            path(json!({ "$A": 7 }), "$A").expect_err("a number").contains("manifest.$A: a text expected, found `7`")
        );
        assert!(path(json!({ "$A": "x".repeat(5000) }), "$A").expect_err("long").contains("longer than 4096"));
    }
}
