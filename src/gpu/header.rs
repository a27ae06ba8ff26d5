//! Generates CUDA headers from the declarations of modules: a `.cu` file that disagrees with its declaration does not
//! compile.

use super::{
    ModuleSpec,
    compile::DEVICES,
    layout::{Definition, comment},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

const HEAD: &str =
    "// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.\n#pragma once\n";

/// Returns the contents of the files under `kernels/gen`, by name: one header per `.cu` file (the modules compiled from it
/// share it) with structs, constants and prototypes, and one per definition that several headers need.
pub fn all(modules: &[ModuleSpec]) -> BTreeMap<String, String> {
    let of_header: BTreeMap<String, ModuleSpec> = modules.iter().map(|module| (file(module), *module)).collect();
    let (mut once, mut shared) = (BTreeSet::new(), BTreeMap::new());
    for module in of_header.values() {
        for definition in definitions(module) {
            if !once.insert(definition.text.clone()) {
                shared.entry(definition.text).or_insert(format!("shared/{}.cuh", definition.name));
            }
        }
    }
    let mut files: BTreeMap<String, String> =
        of_header.iter().map(|(file, module)| (file.clone(), text(module, &shared))).collect();
    for (text, file) in shared {
        let other = files.insert(file.clone(), format!("{HEAD}\n{text}"));
        assert!(other.is_none(), "two definitions would be in kernels/gen/{file}: rename one");
    }
    files
}

/// Returns the expected contents of `kernels/gen/modules.txt`.
pub fn list(modules: &[ModuleSpec]) -> String {
    let spaced = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let mut out = String::from(
        "# Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`, read by kernels/build.py.\n\
         # Architectures every module is assembled for, then a module per line: stem | file | targets | flags.\n",
    );
    let _ = writeln!(out, "{}", spaced(DEVICES));
    for module in modules {
        let targets: Vec<String> = module.compile.targets.iter().map(ToString::to_string).collect();
        let (stem, flags) = (module.stem(), module.flags().join(" "));
        let _ = writeln!(out, "{stem} | {} | {} | {flags}", module.file, targets.join(" "));
    }
    out
}

/// Returns the name of a module's header under `kernels/gen`.
fn file(module: &ModuleSpec) -> String {
    module.file_stem() + ".cuh"
}

fn definitions(module: &ModuleSpec) -> Vec<Definition> {
    let folder = module.file.split('/').next().unwrap_or_default();
    let constants = module.constants.iter().map(|constants| Definition {
        name: format!("{folder}-{}", constants.name),
        text: constants.list.iter().map(|constant| (constant.definition)()).collect(),
    });
    constants.chain((module.structs)()).collect()
}

/// Returns the text of a module's header; `shared` maps each definition that several headers need to its file.
fn text(module: &ModuleSpec, shared: &BTreeMap<String, String>) -> String {
    let definitions = definitions(module);
    let (included, own): (Vec<_>, Vec<_>) =
        definitions.iter().partition(|definition| shared.contains_key(&definition.text));
    let mut out = format!("{HEAD}#include \"common/elements.cuh\"\n");
    for definition in included {
        let _ = writeln!(out, "#include \"gen/{}\"", shared[&definition.text]);
    }
    for definition in own {
        let _ = write!(out, "\n{}", definition.text);
    }
    for kernel in module.kernels {
        let _ = write!(out, "\n{}{}\n", comment(kernel.docs), (kernel.prototype)());
    }
    out
}
