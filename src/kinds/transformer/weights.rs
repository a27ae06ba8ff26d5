//! Reads initial weights from files of this program and from GPT-2 checkpoints of Hugging Face.
//!
//! | file | subject |
//! | --- | --- |
//! | [`gpt2`] | names, orientation and `config.json` of Hugging Face |
//! | [`shape`] | shape of the model in a file |
//! | [`publish`] | weights of a saved state under the names of Hugging Face |
//!
//! No tensor's shape depends on the number of heads. The number is compared with `config.json` in the folder of the
//! weights, if there is one.

pub mod gpt2;
pub mod publish;
mod shape;

use super::{
    Params,
    model::{Config, Layout, VOCAB_ALIGN},
};
use crate::{
    data::{DataError, tensors::TensorFile},
    kinds::shared::weights::{self, TensorSource},
    nn::parameters::{Parameters, View},
    sim::{BuildContext, FileValues, Progress, SimError},
};
use shape::FileShape;
use std::path::Path;

/// Ways to take the shape of a model from its file, for messages.
const WAY_OUT: &str = "“Use the shape of this file” below Data › Initial weights does it, and so does `neuropil new PROJECT \
                       --weights FILE`";

fn failed(error: DataError) -> SimError {
    match error {
        DataError::Cancelled => SimError::Cancelled,
        other => SimError::Input(other.to_string()),
    }
}

/// Reads the weights of a model. If the file has more learned positions than the context, the first ones are used. Padding
/// rows of the vocabulary are zero.
///
/// # Errors
/// The error names all settings that contradict the file, or else all tensors that are missing, unknown or of another shape.
pub fn load(path: &Path, config: &Config, layout: &Layout, progress: &Progress) -> Result<Parameters<f32>, SimError> {
    let watch = |what: &str, part: f32| progress.report(what, part).is_ok();
    let file = TensorFile::open(path).map_err(failed)?;
    let wrong = FileShape::read(&file)?.mismatches(config);
    if !wrong.is_empty() {
        let what = format!("the weights are of another model: {}. {WAY_OUT}", wrong.join("; "));
        return Err(SimError::Input(format!("{}: {what}", path.display())));
    }
    let is_gpt2 = gpt2::is_gpt2(&file);
    let (prefix, has_head) = (gpt2::prefix_of(&file), file.contains(gpt2::HEAD));
    let source = |view: &View| {
        let mut source = TensorSource::same(view);
        source.rows = match &view.name[..] {
            "wte.weight" | gpt2::HEAD => Some((config.vocab, VOCAB_ALIGN - 1)),
            "wpe.weight" => Some((config.context, usize::MAX)),
            _ => None,
        };
        match is_gpt2 {
            true => gpt2::source(source, prefix, has_head),
            false => source,
        }
    };
    // Other tensors of this program are moments and counters.
    let is_other = |name: &str| match is_gpt2 {
        true => gpt2::is_other(name, config.tied),
        false => name.contains('/') || !name.contains('.'),
    };
    weights::read(&file, &layout.map, source, is_other, &watch).map_err(failed)
}

/// Reads the shape of the model in the file of initial weights. Fails if no file is chosen, or it is unreadable or not a
/// transformer.
pub fn values_of_file(params: &Params, context: &BuildContext) -> Result<FileValues, SimError> {
    let typed = params.data.weights.0.trim();
    if typed.is_empty() {
        return Err(SimError::Input("choose a file of weights first".to_owned()));
    }
    let shape = FileShape::read(&TensorFile::open(&context.resolve(typed)).map_err(failed)?)?;
    let beside = Path::new(typed).with_file_name("tokenizer.json").to_string_lossy().into_owned();
    let tokenizer = Some(beside).filter(|path| context.resolve(path).is_file());
    Ok(shape.values(params, tokenizer))
}

#[cfg(test)]
mod tests {
    use super::{gpt2::MATRICES, *};
    use crate::{
        data::tensors::{Dtype, TensorBytes, write},
        kinds::transformer::{
            Params, Positions,
            model::{Layout, init},
        },
        params::one_of::NoParameters,
    };
    use neuropil_test_support::temp::TempFolder;
    use std::fs;

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
        assert!(
            other.contains("another model: set model.heads=4, model.activation=GeluErf. “Use the shape"),
            "{other}"
        );
        fs::write(at.join("config.json"), "{\"n_head\": 2, \"activation_function\": \"gelu_new\"}").unwrap();
        assert!(load(&path, &config, &layout, &Progress::default()).unwrap() == made);
        let (wider, layout) =
            model(|p| (p.model.width, p.model.heads, p.model.layers, p.model.bias) = (16, 4, 3, false));
        let all = error(&wider, &layout);
        let set = "set model.layers=2, model.width=8, model.bias=true, model.heads=2. “Use";
        assert!(all.contains(set), "{all}");
        for damaged in ["{", "{\"model_type\": \"llama\"}", "{\"activation_function\": \"mish\"}"] {
            fs::write(at.join("config.json"), damaged).unwrap();
            assert!(error(&config, &layout).contains("config.json: "), "{damaged}");
        }
    }

    #[test]
    fn the_shape_of_a_file_is_taken_in_one_step() {
        let (config, layout) = model(|p| p.model.activation = super::super::choices::ActivationFunction::GeluErf);
        let at = TempFolder::new("weights-shape");
        let (path, made) = (at.join("model.safetensors"), init(&config, &layout, 3));
        save(&path, &hugging_face(&made, "transformer."));
        let taken = || {
            let mut params = Params::default();
            params.data.weights.0 = path.display().to_string();
            let values = values_of_file(&params, &BuildContext::default()).unwrap();
            let lines = values.apply(&mut params).unwrap();
            (params, lines, values.notes)
        };
        let (params, lines, notes) = taken();
        assert!(lines.iter().any(|line| line == "model.layers: 3 → 2"), "{lines:?}");
        assert!(notes[0].starts_with("The file does not say the number of heads; it is assumed to be 1."), "{notes:?}");
        assert!(notes[1].starts_with("The vocabulary has 70 tokens; choose the tokenizer.json"), "{notes:?}");
        assert_eq!((params.model.width, params.model.context, params.model.bias), (8, 9, true));
        fs::write(at.join("config.json"), "{\"n_head\": 2, \"activation_function\": \"gelu\"}").unwrap();
        fs::write(at.join("tokenizer.json"), "{}").unwrap();
        let (params, _, notes) = taken();
        assert_eq!((notes, params.model.heads), (vec![], 2));
        assert!(params.data.tokenizer_file.0.ends_with("tokenizer.json"), "{}", params.data.tokenizer_file.0);
        // All positions of the file are used: 9, where the model above has 6.
        let (config, layout) =
            (Config::new(&params, 70).unwrap(), Layout::new(&Config::new(&params, 70).unwrap()).unwrap());
        let loaded = load(&path, &config, &layout, &Progress::default()).unwrap();
        assert_eq!(loaded.get(layout.wte), made.get(layout.wte));
        let untaken = Params::default();
        assert!(values_of_file(&untaken, &BuildContext::default()).unwrap_err().to_string().contains("choose a file"));
    }

    #[test]
    fn own_files_give_their_shape() {
        let (config, layout) = model(|p| {
            (p.model.tied, p.model.bias) = (false, false);
            (p.model.activation, p.model.placement) =
                (super::super::choices::ActivationFunction::SwiGlu, super::super::choices::NormPlacement::Post);
        });
        let at = TempFolder::new("weights-own-shape");
        let (path, made) = (at.join("checkpoint.safetensors"), init(&config, &layout, 4));
        let view = |view: &View| (view.name.clone(), view.shape.clone(), made.values()[view.range()].to_vec());
        save(&path, &layout.map.views().map(view).collect::<Vec<_>>());
        let mut params = Params::default();
        (params.data.weights.0, params.model.heads) = (path.display().to_string(), 2);
        let values = values_of_file(&params, &BuildContext::default()).unwrap();
        values.apply(&mut params).unwrap();
        assert_eq!(Config::new(&params, 70).unwrap(), config);
        assert!(load(&path, &config, &layout, &Progress::default()).unwrap() == made);
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
