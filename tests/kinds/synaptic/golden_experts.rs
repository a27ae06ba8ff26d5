//! Genomes, the router and the mixture of experts in reference form.

use super::{
    earlier::{
        linear::Gradients,
        mixture::ReferenceMixture,
        router::{self, EMBEDDING_PUSH},
    },
    golden_files::{SEQUENCE, TOLERANCE, compare, compare_whole, index},
    golden_postsynaptic::linear,
};
use neuropil::kinds::synaptic::experts::{FEATURES, GENES, Phenotype, Router, RouterState, aux_loss};
use neuropil_test_support::golden::Golden;

fn f32s(values: &[f64]) -> Vec<f32> {
    values.iter().map(|x| *x as f32).collect()
}

fn f64s(values: &[f32]) -> Vec<f64> {
    values.iter().map(|x| f64::from(*x)).collect()
}

/// The file of genomes.
pub fn check_phenotype(file: &Golden) {
    let decode = |genes: &[f64]| Phenotype::of(&f32s(genes)).values();
    let got: Vec<f64> = file.get("xi").chunks_exact(GENES).flat_map(decode).collect();
    compare(file, "phenotype", &got, TOLERANCE);
}

/// The file of the rule of embeddings.
pub fn check_contrastive(file: &Golden) {
    let (rate, push) = (file.one("lr"), file.one("push"));
    compare(file, "push", &[EMBEDDING_PUSH], 1e-7);
    let mut embeddings = f32s(file.get("emb0"));
    let experts = embeddings.len() / FEATURES;
    let mut got = Vec::new();
    for gates in file.get("pe").chunks_exact(experts) {
        router::move_embeddings(&mut embeddings, gates, rate, push);
        got.extend(f64s(&embeddings));
    }
    compare(file, "emb", &got, SEQUENCE);
}

/// A mixture from arrays whose names begin like that.
pub fn mixture(file: &Golden, start: &str, top_k: usize) -> ReferenceMixture<f32> {
    let read = |name: &str| f32s(file.get(&format!("{start}{name}")));
    let [experts, width] = file.shape(&format!("{start}router__weight"))[..] else { panic!("a matrix") };
    let state = RouterState {
        embeddings: read("router_embeddings"),
        fatigue: read("fatigue"),
        energy: read("energy"),
        balance: vec![0.0; experts],
        alive: vec![1; experts],
    };
    let layer = |e: usize, fc: usize| linear(file, &format!("{start}experts__{e}__fc{fc}__"));
    ReferenceMixture {
        op: Router::new(experts, top_k, width),
        router: read("router__weight"),
        probe: read("router_probe__weight"),
        genome: read("Xi"),
        state,
        experts: (0..experts).map(|e| [layer(e, 1), layer(e, 2)]).collect(),
    }
}

/// Compares gradients of a layer of an expert; `start` is that of its arrays.
pub fn compare_linear(file: &Golden, start: &str, gradients: &Gradients<f32>) {
    let of = |name: &str, got: &[f32]| compare(file, &format!("{start}{name}"), &f64s(got), TOLERANCE);
    of("w_slow", &gradients.w_slow);
    of("w_fast", &gradients.w_fast);
    of("bias", &gradients.bias);
    of("post__fast", &gradients.unit.gain);
    of("post__slow", &gradients.unit.gain);
    of("post__U", &gradients.unit.u);
    of("post__V", &gradients.unit.v);
}

/// The file of the mixture: three calls, the first with gradients.
pub fn check_mixture(file: &Golden) {
    let all = index("default_config");
    assert_eq!((all["router_embed_dim"].as_u64(), all["xi_dim"].as_u64()), (Some(FEATURES as u64), Some(GENES as u64)));
    assert_eq!((all["router_contrastive_lr"].as_f64(), all["enable_metabolism"].as_bool()), (Some(1e-4), Some(true)));
    let top_k = file.shape("s0_indices")[2];
    let mut mixture = mixture(file, "init_", top_k);
    let inputs = f32s(file.get("x"));
    for (step, x) in inputs.chunks_exact(inputs.len() / 3).enumerate() {
        let pass = mixture.forward(x).expect("it fits");
        let routing = &pass.routing;
        let compare_all = |name: &str, got: &[f32]| compare(file, &format!("s{step}_{name}"), &f64s(got), TOLERANCE);
        compare_all("router_raw", &routing.z);
        compare_all("router_logits", &routing.logits);
        compare_all("gates", &routing.gates);
        compare_all("out", &pass.out);
        let indices: Vec<i64> = routing.indices.iter().map(|e| i64::from(*e)).collect();
        compare_whole(file, &format!("s{step}_indices"), &indices);
        compare(file, &format!("s{step}_aux"), &[aux_loss(routing)], TOLERANCE);
        if step == 0 {
            let gradients = mixture.backward(x, &pass, &f32s(file.get("R")), 1.0).expect("it fits");
            let of = |name: &str, got: &[f32]| compare(file, &format!("grad_{name}"), &f64s(got), TOLERANCE);
            of("x", &gradients.x);
            of("Xi", &gradients.genome);
            of("router__weight", &gradients.router);
            of("router_probe__weight", &gradients.probe);
            for (e, layers) in gradients.experts.iter().enumerate() {
                for (fc, layer) in layers.iter().enumerate() {
                    let start = format!("grad_experts__{e}__fc{}__", fc + 1);
                    // Those of the first expert alone are stored.
                    if file.has(&format!("{start}w_slow")) {
                        compare_linear(file, &start, layer);
                    }
                }
            }
        }
        mixture.update(&pass);
        compare_all("fatigue", &mixture.state.fatigue);
        compare_all("energy", &mixture.state.energy);
        compare_all("router_embeddings", &mixture.state.embeddings);
    }
}
