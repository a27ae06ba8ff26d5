//! Projects of kinds that train: the shape is taken from a file of weights in one click, and checkpoints are described.

use crate::support::window::{Window, open, set, start, until, value};
use egui_kittest::kittest::Queryable;
use neuropil::{
    app::Start,
    data::tensors::{Dtype, TensorBytes, write},
    project::{Project, new_project},
};
use neuropil_test_support::temp::TempFolder;
use std::fs;

const BUTTON: &str = "Use the shape of this file";

/// Writes weights of one block of width 8 in the names of Hugging Face.
fn save(folder: &TempFolder) -> String {
    let tensors: [(&str, &[usize]); 4] = [
        ("transformer.wte.weight", &[256, 8]),
        ("transformer.wpe.weight", &[20, 8]),
        ("transformer.h.0.attn.c_attn.weight", &[8, 24]),
        ("transformer.h.0.mlp.c_proj.weight", &[32, 8]),
    ];
    let zeros = vec![0; 256 * 8 * 4];
    let tensor = |(name, shape): (&'static str, &[usize])| {
        let n_bytes = 4 * shape.iter().product::<usize>();
        TensorBytes { name, dtype: Dtype::F32, shape: shape.to_vec(), bytes: &zeros[..n_bytes] }
    };
    let path = folder.join("model.safetensors");
    write(&mut fs::File::create(&path).unwrap(), &tensors.map(tensor), &[]).unwrap();
    fs::write(folder.join("config.json"), r#"{"n_head": 2, "activation_function": "gelu"}"#).unwrap();
    path.display().to_string()
}

/// Clicks the button, which may be below the visible part of the inspector.
fn take_shape(w: &mut Window) {
    w.get_by_label(BUTTON).click_accesskit();
    w.run_steps(3);
}

fn opened() -> Window {
    let project = Project { seed: 3, ..new_project("transformer").expect("a kind") };
    let mut w = open(Start { project: Some(project), ..start(false) });
    w.run();
    w
}

#[test]
fn the_shape_of_a_file_is_taken_in_one_click_and_undone_in_one() {
    let folder = TempFolder::new("window-shape");
    let (mut w, file) = (opened(), save(&folder));
    assert!(w.query_by_label(BUTTON).is_none(), "no file is chosen");
    set(&mut w, &format!("data.weights={file}"));
    let before = ["model.layers", "model.heads", "model.width", "model.context"].map(|name| value(&w, name));
    take_shape(&mut w);
    until(&mut w, "the shape is taken", |w| value(w, "model.layers") == "1");
    let of_file = ["model.heads", "model.width", "model.context", "model.activation"].map(|name| value(&w, name));
    assert_eq!(of_file, ["2", "8", "20", "GeluErf"]);
    let messages = w.state().messages();
    assert!(messages.iter().any(|m| m.contains("Model › Layers: ") && m.contains(" → 1")), "{messages:?}");
    assert!(!messages.iter().any(|m| m.contains("vocabulary")), "a tokenizer of bytes fits: {messages:?}");
    w.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Z);
    w.run();
    assert_eq!(["model.layers", "model.heads", "model.width", "model.context"].map(|name| value(&w, name)), before);
    // A file that is not of a transformer changes nothing, and says why.
    fs::write(&file, "no tensors").unwrap();
    take_shape(&mut w);
    until(&mut w, "the reason is shown", |w| {
        w.state()
            .messages()
            .iter()
            .any(|m| m.starts_with("Could not read the shape") && m.contains("not a safetensors"))
    });
    assert_eq!(value(&w, "model.layers"), before[0]);
}

#[test]
fn the_run_settings_say_when_checkpoints_are_taken_and_how_many_are_kept() {
    let mut w = opened();
    let said = |w: &Window, text: &str| w.query_by_label_contains(text).is_some();
    assert!(said(&w, "Checkpoints every 10 min (automatic) and at the end, the newest 3 kept"));
    w.state_mut().session_mut().project.run.checkpoint_steps = 500;
    w.run();
    assert!(said(&w, "Checkpoints every 500 steps and at the end, the newest 3 kept"));
}
