//! Every embedded translation takes the parameters that are declared: one made from an older declaration is named at once,
//! with neither a compiler nor a GPU.

use crate::kernels::modules;
use neuropil::gpu::{ModuleSpec, module, selftest};
use std::collections::BTreeMap;

/// What a launch relies on: types of the parameters in PTX, then the size of blocks. A source may ask for more blocks at once.
type Entry = Vec<String>;

/// The entries of a translation, by name.
fn translated(ptx: &str) -> BTreeMap<String, Entry> {
    let entry = |text: &str| {
        let (head, _) = text.split_once('{').unwrap_or((text, ""));
        let (name, rest) = head.split_once('(').unwrap_or((head, ""));
        let (parameters, bounds) = rest.split_once(')').unwrap_or((rest, ""));
        // `.param .align 8 .b8 name_param_0[152]`: without its name.
        let type_of = |line: &str| {
            let at = line.find(&format!("{name}_param_"))?;
            let size = line[at..].find('[').map_or("", |size| &line[at + size..]);
            Some(format!("{}{size}", line[..at].trim().trim_start_matches(".param ")))
        };
        let block = bounds.lines().find(|line| line.starts_with(".maxntid")).unwrap_or_default();
        let types = parameters.split(',').filter_map(|line| type_of(line.trim()));
        (name.to_owned(), types.chain([block.to_owned()]).collect())
    };
    ptx.split(".visible .entry ").skip(1).map(entry).collect()
}

/// The entries a module declares, by name.
fn declared(spec: &ModuleSpec) -> BTreeMap<String, Entry> {
    let structs: String = (spec.structs)().into_iter().map(|definition| definition.text).collect();
    let entry = |prototype: String| {
        let (bounds, rest) = prototype.split_once("__launch_bounds__(").unwrap().1.split_once(") ").unwrap();
        let (name, parameters) = rest.trim_end_matches(");").split_once('(').unwrap();
        let block = format!(".maxntid {}, 1, 1", bounds.split_once(", ").unwrap().0);
        let types = parameters.split(", ").filter(|p| !p.is_empty()).map(|parameter| {
            let (c, _) = parameter.rsplit_once(' ').unwrap();
            let c = c.trim_start_matches("const __grid_constant__ ");
            type_in_ptx(c, &structs).unwrap_or_else(|| panic!("{}: {name} takes a {c}", spec.file))
        });
        (name.to_owned(), types.chain([block]).collect())
    };
    spec.kernels.iter().map(|kernel| entry((kernel.prototype)())).collect()
}

/// A parameter's type as PTX has it; a struct has the alignment and the size that its definition asserts.
fn type_in_ptx(c: &str, structs: &str) -> Option<String> {
    let simple = match c {
        pointer if pointer.contains('*') => ".u64",
        "unsigned long long" => ".u64",
        "long long" => ".u64",
        "unsigned int" | "int" => ".u32",
        "unsigned short" | "short" => ".u16",
        "unsigned char" | "signed char" => ".u8",
        "float" => ".f32",
        "double" => ".f64",
        name => {
            let before = structs.split_once(&format!(") {name} {{"))?.0;
            let align = &before[before.rfind('(')? + 1..];
            let size = structs.split_once(&format!("static_assert(sizeof({name}) == "))?.1.split_once(',')?.0;
            return Some(format!(".align {align} .b8[{size}]"));
        }
    };
    Some(simple.to_owned())
}

/// Entries that differ.
fn differences(spec: &ModuleSpec, ptx: &str) -> Vec<String> {
    let (got, want) = (translated(ptx), declared(spec));
    let names = got.keys().chain(want.keys().filter(|name| !got.contains_key(*name)));
    let differing = names.filter(|name| got.get(*name) != want.get(*name));
    differing.map(|name| format!("{name} takes {:?}, declared is {:?}", got.get(name), want.get(name))).collect()
}

#[test]
fn translations_take_the_declared_parameters() {
    let mut old = vec![];
    for spec in modules() {
        for built in module::PREBUILT.iter().filter(|built| built.stem == spec.stem()) {
            let found = differences(&spec, &built.ptx()).into_iter();
            old.extend(found.map(|what| format!("kernels/prebuilt/{}.{}.ptx: {what}", built.stem, built.target)));
        }
    }
    assert!(old.is_empty(), "made from other declarations; run `python3 kernels/build.py`:\n{}", old.join("\n"));
}

#[test]
fn an_older_translation_is_noticed() {
    let (spec, ptx) = (selftest::Kernels::SPEC, module::choose("selftest", 75).unwrap().ptx());
    assert!(differences(&spec, &ptx).is_empty());
    for (from, to) in [
        (".param .u32 sum_fixed_param_1", ".param .u64 sum_fixed_param_1"),
        (".param .u64 sum_fixed_param_3", ".param .u64 sum_fixed_param_3,\n\t.param .u64 sum_fixed_param_4"),
        (".entry sum_fixed(", ".entry sum_other("),
        (".maxntid 1024, 1, 1", ".maxntid 512, 1, 1"),
    ] {
        let older = ptx.replace(from, to);
        assert_ne!(ptx, older, "{from}");
        assert!(!differences(&spec, &older).is_empty(), "{from}");
    }
}
