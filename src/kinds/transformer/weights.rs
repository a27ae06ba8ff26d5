//! Reads initial weights from files of this program and from GPT-2 checkpoints of Hugging Face.
//!
//! Hugging Face's GPT-2 has the names below, with or without the prefix `transformer.`. Matrices of blocks are `[in, out]`
//! (Conv1D), embedding and logits share one matrix, and the buffers `attn.bias` and `attn.masked_bias` are masks:
//!
//! | this program | Hugging Face |
//! | --- | --- |
//! | `h.0.attn.qkv` | `h.0.attn.c_attn` |
//! | `h.0.attn.proj` | `h.0.attn.c_proj` |
//! | `h.0.mlp.fc` | `h.0.mlp.c_fc` |
//! | `h.0.mlp.proj` | `h.0.mlp.c_proj` |
//!
//! No tensor's shape depends on the number of heads. The number is compared with `config.json` in the folder of the
//! weights, if there is one.

use super::{
    choices::ActivationFunction,
    model::{Config, Layout, VOCAB_ALIGN},
};
use crate::{
    data::{DataError, input_file, tensors::TensorFile},
    kinds::shared::weights::{self, TensorSource},
    nn::parameters::{Parameters, View},
    sim::{Progress, SimError},
};
use std::{fs, path::Path};

/// Names of matrices in blocks: in this program and at Hugging Face.
const MATRICES: &[(&str, &str)] =
    &[("attn.qkv", "attn.c_attn"), ("attn.proj", "attn.c_proj"), ("mlp.fc", "mlp.c_fc"), ("mlp.proj", "mlp.c_proj")];
/// Size limit of `config.json` in bytes.
const MAX_CONFIG: u64 = 1 << 20;

/// Reads the weights of a model. If the file has more learned positions than the context, the first ones are used. Padding
/// rows of the vocabulary are zero.
///
/// # Errors
/// The error names all tensors that are missing, unknown or of another shape, and all settings that contradict
/// `config.json`.
pub fn load(path: &Path, config: &Config, layout: &Layout, progress: &Progress) -> Result<Parameters<f32>, SimError> {
    let watch = |what: &str, part: f32| progress.report(what, part).is_ok();
    let failed = |error: DataError| match error {
        DataError::Cancelled => SimError::Cancelled,
        other => SimError::Input(other.to_string()),
    };
    let file = TensorFile::open(path).map_err(failed)?;
    let names = file.names();
    let is_gpt2 = names.iter().any(|name| name.ends_with("attn.c_attn.weight"));
    let prefix = if is_gpt2 && file.contains("transformer.wte.weight") { "transformer." } else { "" };
    if is_gpt2 {
        compare(path, config)?;
    }
    let has_head = file.contains("lm_head.weight");
    let source = |view: &View| {
        let mut source = TensorSource::same(view);
        source.rows = match &view.name[..] {
            "wte.weight" | "lm_head.weight" => Some((config.vocab, VOCAB_ALIGN - 1)),
            "wpe.weight" => Some((config.context, usize::MAX)),
            _ => None,
        };
        match is_gpt2 {
            true => gpt2(source, prefix, has_head),
            false => source,
        }
    };
    // Some files store a tied head twice.
    let is_other = |name: &str| match is_gpt2 {
        true => {
            name.ends_with(".attn.bias")
                || name.ends_with(".attn.masked_bias")
                || config.tied && name == "lm_head.weight"
        }
        false => name.contains('/') || !name.contains('.'),
    };
    weights::read(&file, &layout.map, source, is_other, &watch).map_err(failed)
}

/// Maps a tensor to its name and orientation at Hugging Face.
fn gpt2(mut source: TensorSource, prefix: &str, has_head: bool) -> TensorSource {
    if source.name == "lm_head.weight" {
        if !has_head {
            source.name = format!("{prefix}wte.weight");
        }
        return source;
    }
    if let Some((ours, theirs)) = MATRICES.iter().find(|(ours, _)| source.name.contains(ours)) {
        source.name = source.name.replace(ours, theirs);
        source.is_transposed = source.name.ends_with(".weight");
    }
    source.name.insert_str(0, prefix);
    source
}

/// Fields of `config.json` that are compared. Missing fields are not compared.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Gpt2Config {
    n_head: Option<usize>,
    layer_norm_epsilon: Option<f64>,
    activation_function: Option<String>,
}

/// Compares the model with the `config.json` in the folder of the weights. Fails if a setting differs or the file is
/// invalid.
fn compare(path: &Path, config: &Config) -> Result<(), SimError> {
    let beside = path.with_file_name("config.json");
    let Ok(about) = fs::metadata(&beside) else { return Ok(()) };
    let wrong = |what: String| SimError::Input(format!("{}: {what}", beside.display()));
    if about.len() > MAX_CONFIG {
        return Err(wrong(format!("more than {} KiB, the limit of a configuration", MAX_CONFIG >> 10)));
    }
    let text = input_file::read_to_string(&beside).map_err(|e| wrong(e.to_string()))?;
    let there: Gpt2Config = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let mut set = vec![];
    set.extend(there.n_head.filter(|n| *n != config.heads).map(|n| format!("model.heads={n}")));
    let eps = there.layer_norm_epsilon.filter(|eps| (eps - config.eps).abs() > 1e-3 * config.eps.abs());
    set.extend(eps.map(|eps| format!("model.eps={eps:e}")));
    let activation = match there.activation_function.as_deref() {
        Some("gelu_new" | "gelu_pytorch_tanh") => Some((ActivationFunction::GeluTanh, "GeluTanh")),
        Some("gelu") => Some((ActivationFunction::GeluErf, "GeluErf")),
        Some("relu") => Some((ActivationFunction::Relu, "Relu")),
        Some(other) => return Err(wrong(format!("the activation function `{other}` is not known"))),
        None => None,
    };
    let other = activation.filter(|(activation, _)| *activation != config.activation);
    set.extend(other.map(|(_, name)| format!("model.activation={name}")));
    match set.is_empty() {
        true => Ok(()),
        false => Err(wrong(format!("the weights are of another model; set {}", set.join(" and ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::tensors::{Dtype, TensorBytes, write},
        kinds::transformer::{
            Params, Positions,
            model::{Layout, init},
        },
        params::one_of::NoParameters,
    };
    use neuropil_test_support::temp::TempFolder;

    fn model(change: impl FnOnce(&mut Params)) -> (Config, Layout) {
        let mut params = Params::default();
        (params.model.layers, params.model.heads, params.model.width, params.model.context) = (2, 2, 8, 6);
        (params.model.positions, params.model.bias) = (Positions::Learned(NoParameters::default()), true);
        change(&mut params);
        let config = Config::new(&params, 70).unwrap();
        let layout = Layout::new(&config).unwrap();
        (config, layout)
    }

    /// Name, shape and values of a tensor.
    type Tensor = (String, Vec<usize>, Vec<f32>);

    fn save(path: &Path, tensors: &[Tensor]) {
        let bytes: Vec<Vec<u8>> = tensors.iter().map(|t| t.2.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
        let tensors: Vec<TensorBytes> = tensors
            .iter()
            .zip(&bytes)
            .map(|((name, shape, _), bytes)| TensorBytes { name, dtype: Dtype::F32, shape: shape.clone(), bytes })
            .collect();
        write(&mut fs::File::create(path).unwrap(), &tensors, &[]).unwrap();
    }

    /// Returns the parameters of a model as Hugging Face stores them: 70 rows, 9 positions, transposed matrices, masks.
    fn hugging_face(parameters: &Parameters<f32>, prefix: &str) -> Vec<Tensor> {
        let mut tensors = vec![];
        for view in parameters.map().views() {
            let (mut shape, mut values) = (view.shape.clone(), parameters.values()[view.range()].to_vec());
            let mut name = view.name.clone();
            for (ours, theirs) in MATRICES {
                name = name.replace(ours, theirs);
            }
            if name == "wte.weight" {
                shape[0] = 70;
                values.truncate(70 * 8);
            } else if name == "wpe.weight" {
                shape[0] = 9;
                values.resize(9 * 8, 0.5);
            } else if name.contains(".c_") && name.ends_with(".weight") {
                let [rows, columns] = shape[..] else { panic!("a matrix") };
                values = (0..columns * rows).map(|i| values[i % rows * columns + i / rows]).collect();
                shape = vec![columns, rows];
            }
            tensors.push((format!("{prefix}{name}"), shape, values));
        }
        tensors.push((format!("{prefix}h.0.attn.bias"), vec![1, 1, 2, 2], vec![1.0, 0.0, 1.0, 1.0]));
        tensors
    }

    #[test]
    fn gpt_2_of_hugging_face_is_mapped() {
        let (config, layout) = model(|_| {});
        let mut made = init(&config, &layout, 3);
        made.for_each_mut(|view, values| {
            if view.name.ends_with("bias") {
                values.iter_mut().enumerate().for_each(|(i, v)| *v = i as f32);
            }
        });
        let at = TempFolder::new("weights-gpt2");
        let path = at.join("model.safetensors");
        for prefix in ["", "transformer."] {
            let mut tensors = hugging_face(&made, prefix);
            save(&path, &tensors);
            let loaded = load(&path, &config, &layout, &Progress::default()).unwrap();
            assert!(loaded == made, "prefix {prefix:?}");
            // The tied head is loaded into an untied model as a copy of the embedding.
            let (untied, separate) = model(|p| p.model.tied = false);
            let loaded = load(&path, &untied, &separate, &Progress::default()).unwrap();
            let head = separate.lm_head.unwrap();
            assert_eq!(loaded.get(head), loaded.get(separate.wte));
            tensors.push(("lm_head.weight".to_owned(), tensors[0].1.clone(), tensors[0].2.clone()));
            save(&path, &tensors);
            assert!(
                load(&path, &config, &layout, &Progress::default()).unwrap() == made,
                "a head that is stored twice"
            );
        }
        let error = |config: &Config, layout: &Layout| {
            load(&path, config, layout, &Progress::default()).unwrap_err().to_string()
        };
        fs::write(at.join("config.json"), "{\"n_head\": 4, \"activation_function\": \"gelu\"}").unwrap();
        let other = error(&config, &layout);
        assert!(other.ends_with("set model.heads=4 and model.activation=GeluErf"), "{other}");
        fs::write(at.join("config.json"), "{\"n_head\": 2, \"activation_function\": \"gelu_new\"}").unwrap();
        assert!(load(&path, &config, &layout, &Progress::default()).unwrap() == made);
        let (wider, layout) = model(|p| (p.model.width, p.model.layers, p.model.bias) = (16, 3, false));
        let all = error(&wider, &layout);
        for part in [
            "missing: transformer.h.2.ln_1.weight",
            "not of the model: transformer.",
            "of another shape: transformer.wte.weight [70, 8] for [128, 16]",
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
    }

    #[test]
    fn own_files_are_read_back() {
        let (config, layout) = model(|p| p.model.tied = false);
        let made = init(&config, &layout, 4);
        let at = TempFolder::new("weights-own");
        let path = at.join("checkpoint.safetensors");
        let view = |view: &View| (view.name.clone(), view.shape.clone(), made.values()[view.range()].to_vec());
        let mut tensors: Vec<Tensor> = layout.map.views().map(view).collect();
        tensors.push(("first_moment/wte.weight".to_owned(), vec![1], vec![0.0]));
        tensors.push(("step".to_owned(), vec![], vec![7.0]));
        save(&path, &tensors);
        assert!(load(&path, &config, &layout, &Progress::default()).unwrap() == made);
        tensors.push(("h.7.attn.qkv.weight".to_owned(), vec![1], vec![0.0]));
        save(&path, &tensors);
        let error = load(&path, &config, &layout, &Progress::default()).unwrap_err().to_string();
        assert!(
            error.ends_with("these weights do not fit the model; not of the model: h.7.attn.qkv.weight"),
            "{error}"
        );
        let cancelled = load(&path, &config, &layout, &Progress::cancelled_at(1));
        assert!(cancelled.is_err());
    }
}
