//! Weights of a saved state as a GPT-2 of Hugging Face, so that `GPT2LMHeadModel.from_pretrained(folder)` reads them.

use super::gpt2::{self, HEAD, PREFIX};
use crate::{
    kinds::transformer::{
        Params,
        choices::{NormFunction, NormPlacement},
        model::{Config, Layout, Position, VOCAB_ALIGN},
    },
    nn::parameters::View,
    sim::{HuggingFaceModel, NamedTensor, SimError, Snapshot},
};
use serde_json::json;

/// Vocabulary and end-of-text token of the published GPT-2 models.
const GPT2_VOCAB: usize = 50_257;

/// Converts the weights of a saved state. Missing biases are zero, and padding rows of the vocabulary are left out.
///
/// # Errors
/// The error names all parameters with which GPT-2 has no such model. Fails also if the state is not that of the model.
pub fn hugging_face(params: &Params, state: &Snapshot) -> Result<HuggingFaceModel, SimError> {
    let rows = state.get("wte.weight").and_then(|section| section.shape.first().copied()).unwrap_or(0) as usize;
    let config = Config::new(params, rows)?;
    let other = not_in_gpt2(&config);
    if !other.is_empty() {
        let what = format!("GPT-2 of Hugging Face has no such model; it needs {}", other.join(", "));
        return Err(SimError::Input(what));
    }
    let layout = Layout::new(&config)?;
    let mut read: Vec<(&View, Vec<f32>)> = vec![];
    for view in layout.map.views() {
        read.push((view, state.read(&view.name, &view.shape)?));
    }
    let is_vocab = |view: &View| matches!(&view.name[..], "wte.weight" | HEAD);
    let used = |(_, values): &(&View, Vec<f32>)| used_rows(values, config.width);
    let vocab = read.iter().filter(|(view, _)| is_vocab(view)).map(used).max().unwrap_or(0);
    let vocab = vocab.max(rows.saturating_sub(VOCAB_ALIGN - 1));
    let mut tensors = vec![];
    for (view, mut values) in read {
        if !config.bias && has_bias(view) {
            let name = published(&view.name.replace(".weight", ".bias")).0;
            tensors.push(NamedTensor { name, shape: vec![view.shape[0]], values: vec![0.0; view.shape[0]] });
        }
        let (name, is_transposed) = published(&view.name);
        let mut shape = view.shape.clone();
        if is_vocab(view) {
            shape[0] = vocab;
            values.truncate(vocab * config.width);
        } else if is_transposed {
            values = transposed(&values, shape[0], shape[1]);
            shape.reverse();
        }
        tensors.push(NamedTensor { name, shape, values });
    }
    Ok(HuggingFaceModel { config: format!("{:#}\n", description(params, &config, vocab)), tensors })
}

/// Returns the parameters that a model must change to be a GPT-2, in the syntax of `--set`.
fn not_in_gpt2(c: &Config) -> Vec<&'static str> {
    let wanted = [
        (c.positions == Position::Learned, "model.positions=Learned"),
        (c.kv_heads == c.heads, "model.kv_heads=0"),
        (c.norm == NormFunction::Layer, "model.norm=Layer"),
        (c.placement == NormPlacement::Pre, "model.placement=Pre"),
        (gpt2::activation_name(c.activation).is_some(), "model.activation=GeluTanh"),
        (c.scale == 1.0 || c.scale == 1.0 / (c.head_dim() as f32).sqrt(), "model.scale=0"),
        (c.causal, "mask.causal=true"),
        (c.window.is_none(), "mask.window=0"),
    ];
    wanted.into_iter().filter(|(is_met, _)| !is_met).map(|(_, text)| text).collect()
}

/// Returns the name of a tensor at Hugging Face with its prefix, and whether the matrix is transposed there.
fn published(ours: &str) -> (String, bool) {
    let (name, is_transposed) = gpt2::name_of(ours);
    (if ours == HEAD { name } else { format!("{PREFIX}{name}") }, is_transposed)
}

/// Whether GPT-2 has a bias for a matrix or a norm.
fn has_bias(view: &View) -> bool {
    view.name.ends_with(".weight") && !matches!(&view.name[..], "wte.weight" | "wpe.weight" | HEAD)
}

/// Returns the number of rows up to the last one that is not zero; rows after the vocabulary are zero.
fn used_rows(values: &[f32], width: usize) -> usize {
    values.iter().rposition(|value| *value != 0.0).map_or(0, |last| last / width + 1)
}

fn transposed(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| (0..rows).map(move |row| values[row * columns + column])).collect()
}

/// Returns the content of `config.json`.
fn description(params: &Params, c: &Config, vocab: usize) -> serde_json::Value {
    let end_of_text = (vocab >= GPT2_VOCAB).then_some(GPT2_VOCAB - 1);
    json!({
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": vocab,
        "n_positions": c.context,
        "n_embd": c.width,
        "n_layer": c.layers,
        "n_head": c.heads,
        "n_inner": c.hidden,
        "activation_function": gpt2::activation_name(c.activation),
        "layer_norm_epsilon": c.eps,
        "scale_attn_weights": c.scale != 1.0 || c.head_dim() == 1,
        "tie_word_embeddings": c.tied,
        "resid_pdrop": params.training.dropout,
        "embd_pdrop": params.training.dropout,
        "attn_pdrop": params.training.attention_dropout,
        "bos_token_id": end_of_text,
        "eos_token_id": end_of_text,
        "torch_dtype": "float32",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::tensors::{Dtype, TensorBytes, write},
        kinds::transformer::{Positions, model::init, weights},
        nn::parameters::Parameters,
        params::one_of::NoParameters,
        sim::{BuildContext, Progress},
    };
    use neuropil_test_support::temp::TempFolder;
    use std::fs;

    fn params(change: impl FnOnce(&mut Params)) -> Params {
        let mut params = Params::default();
        (params.model.layers, params.model.heads, params.model.width, params.model.context) = (2, 2, 8, 6);
        params.model.positions = Positions::Learned(NoParameters::default());
        change(&mut params);
        params
    }

    fn trained(params: &Params) -> (Config, Layout, Parameters<f32>) {
        let config = Config::new(params, 70).unwrap();
        let layout = Layout::new(&config).unwrap();
        let mut made = init(&config, &layout, 3);
        made.for_each_mut(|view, values| {
            if view.name.ends_with("bias") {
                values.iter_mut().enumerate().for_each(|(i, v)| *v = i as f32 - 1.5);
            }
        });
        (config, layout, made)
    }

    fn state(layout: &Layout, made: &Parameters<f32>) -> Snapshot {
        let mut state = Snapshot::new("transformer");
        layout.map.views().for_each(|v| state.array(&v.name, &v.shape, made.values()[v.range()].to_vec()));
        state
    }

    /// Writes the model as an export does.
    fn save(folder: &TempFolder, model: &HuggingFaceModel) -> std::path::PathBuf {
        let bytes = |t: &NamedTensor| t.values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let bytes: Vec<Vec<u8>> = model.tensors.iter().map(bytes).collect();
        let of = |(t, bytes): (&'_ NamedTensor, &'_ Vec<u8>)| (t.name.clone(), t.shape.clone(), bytes.clone());
        let parts: Vec<_> = model.tensors.iter().zip(&bytes).map(of).collect();
        let tensors: Vec<TensorBytes> = parts
            .iter()
            .map(|(name, shape, bytes)| TensorBytes { name, dtype: Dtype::F32, shape: shape.clone(), bytes })
            .collect();
        let path = folder.join("model.safetensors");
        write(&mut fs::File::create(&path).unwrap(), &tensors, &[("format", "pt".to_owned())]).unwrap();
        fs::write(folder.join(gpt2::CONFIG_FILE), &model.config).unwrap();
        path
    }

    #[test]
    fn an_exported_model_is_imported_with_equal_weights() {
        for change in [
            |p: &mut Params| p.model.bias = true,
            |p: &mut Params| (p.model.bias, p.model.tied, p.model.eps) = (true, false, 1e-6),
        ] {
            let (folder, params) = (TempFolder::new("published"), params(change));
            let (config, layout, made) = trained(&params);
            let path = save(&folder, &hugging_face(&params, &state(&layout, &made)).unwrap());
            assert!(weights::load(&path, &config, &layout, &Progress::default()).unwrap() == made);
            // A default project takes the shape of the exported file, without an assumption about heads.
            let mut other = Params::default();
            other.data.weights.0 = path.display().to_string();
            let values = weights::values_of_file(&other, &BuildContext::default()).unwrap();
            values.apply(&mut other).unwrap();
            assert_eq!(Config::new(&other, 70).unwrap(), config);
            assert_eq!(values.notes.len(), 1, "of the tokenizer only: {:?}", values.notes);
        }
    }

    #[test]
    fn names_and_layout_are_those_of_transformers() {
        let params = params(|_| {});
        let (_, layout, made) = trained(&params);
        let model = hugging_face(&params, &state(&layout, &made)).unwrap();
        let tensor = |name: &str| model.tensors.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(tensor("transformer.wte.weight").shape, [70, 8], "without padding");
        let (ours, theirs) = (made.get(layout.blocks[0].qkv.weight), tensor("transformer.h.0.attn.c_attn.weight"));
        assert_eq!((&theirs.shape[..], theirs.values[24 * 5 + 2]), (&[8, 24][..], ours[8 * 2 + 5]), "[in, out]");
        // GPT-2 always has biases.
        assert_eq!(tensor("transformer.h.1.mlp.c_fc.bias").values, [0.0; 32]);
        assert_eq!(tensor("transformer.ln_f.bias").values, [0.0; 8]);
        assert_eq!(model.tensors.len(), 2 + 2 * 12 + 2);
        let config: serde_json::Value = serde_json::from_str(&model.config).unwrap();
        let sizes =
            ["vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner"].map(|key| config[key].clone());
        assert_eq!(sizes.map(|n| n.as_u64().unwrap()), [70, 6, 8, 2, 2, 32]);
        assert_eq!(
            (&config["activation_function"], &config["tie_word_embeddings"]),
            (&"gelu_new".into(), &true.into())
        );
    }

    #[test]
    fn other_models_are_refused_with_all_reasons() {
        let params = params(|p| {
            p.model.positions = Positions::Rope(Default::default());
            (p.model.kv_heads, p.mask.window) = (1, 3);
        });
        let (_, layout, made) = trained(&params);
        let why = hugging_face(&params, &state(&layout, &made)).unwrap_err().to_string();
        assert!(why.ends_with("it needs model.positions=Learned, model.kv_heads=0, mask.window=0"), "{why}");
    }
}
