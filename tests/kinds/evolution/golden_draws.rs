//! Draws, initial weights, schedules and shaping.

use super::golden_files::{near, same};
use neuropil::kinds::evolution::{
    choices::{Form, Generator, Shaping},
    model::{Matrix, Role, Sizes, Vector},
    noise::{mix, pair_seed, splitmix64, starts, ternary},
    schedule::Schedule,
    strategy::shape,
};
use neuropil_test_support::golden::Golden;

fn matrix(role: Role, layer: usize, rows: usize, columns: usize) -> Matrix {
    Matrix { role, layer, rows, columns }
}

pub fn check_draws(golden: &Golden) {
    for ((a, b), out) in golden.words("mix_a").iter().zip(golden.words("mix_b")).zip(golden.words("mix_out")) {
        assert_eq!(mix(*a, *b), *out, "mix({a}, {b})");
    }
    let rows = golden.words("splitmix_out").chunks_exact(8);
    for (seed, row) in golden.words("splitmix_seed").iter().zip(rows) {
        let mut state = *seed;
        assert!(row.iter().all(|want| splitmix64(&mut state) == *want), "splitmix64 from {seed}");
    }
    same(golden, "ternary_out", golden.words("ternary_in").iter().map(|word| ternary(*word).into()));
    for (name, generator) in [("noise_clt4", Generator::SumOfFour), ("noise_clt0", Generator::Ternary)] {
        let n = golden.shape(name)[1] as u64;
        let seeds = golden.words("noise_seed").iter();
        same(golden, name, seeds.flat_map(|seed| (0..n).map(|i| generator.element(*seed, i).into())));
    }
    for (args, want) in golden.words("pair_seed_args").chunks_exact(3).zip(golden.words("pair_seed_out")) {
        assert_eq!(pair_seed(args[0], args[1], args[2]), *want);
    }
    check_salts(golden);
    same(golden, "init_emb_256x64", matrix(Role::Embedding, 0, 256, 64).initial().into_iter().map(i64::from));
    same(golden, "init_wq_l1_64x64", matrix(Role::Query, 1, 64, 64).initial().into_iter().map(i64::from));
    let sizes = Sizes { vocabulary: 256, width: 64, layers: 1, mlp_multiple: 2, steps: 16 };
    near(golden, "pos_init_16x64", Vector::Positions.initial(&sizes).into_iter().map(f64::from), 1e-7);
    let len = golden.get("sample_text").len();
    for (seed, name) in [("sample_seed", "sample_start_B8_T16"), ("sample_seed_mix", "sample_start_mix_B8_T16")] {
        let seed = golden.words(seed)[0];
        same(golden, name, starts(seed, 8, 16, len).into_iter().map(|start| start as i64));
    }
    assert_eq!(golden.words("sample_seed_mix")[0], mix(golden.words("sample_seed")[0], 0));
}

fn check_salts(golden: &Golden) {
    let word = |name: &str| golden.words(name)[0];
    for role in [Role::Embedding, Role::Input, Role::Head] {
        assert_eq!(matrix(role, 0, 1, 1).salt(), word(&format!("salt_{}", role.name())), "{role:?}");
    }
    for role in Role::LAYER {
        assert_eq!(matrix(role, 5, 1, 1).salt(), mix(5, word(&format!("salt_{}", role.name()))), "{role:?}");
    }
    for vector in Vector::ALL {
        assert_eq!(vector.salt(), word(&format!("salt_{}", vector.name())), "{vector:?}");
    }
    assert_eq!(matrix(Role::Query, 0, 1, 1).salt(), word("layer_salt_wq_l0"));
    assert_eq!(matrix(Role::Down, 3, 1, 1).salt(), word("layer_salt_ff2_l3"));
}

pub fn check_schedules(golden: &Golden) {
    let n = golden.get("t").len() as u64;
    near(golden, "t", (0..n).map(|g| g as f64 / (n - 1) as f64), 1e-15);
    let course = |name: &str, form, first, last| {
        near(golden, name, (0..n).map(|g| Schedule { form, first, last }.at(g, n)), 1e-12);
    };
    course("lr_exp_030_005", Form::Exponential, 0.30, 0.05);
    course("lr_cos_080_005", Form::Cosine, 0.80, 0.05);
    course("th_exp_005_001", Form::Exponential, 0.05, 0.01);
    let shift = Schedule { form: Form::Exponential, first: 3.0, last: 4.0 };
    same(golden, "sigma_3_4", (0..n).map(|g| shift.whole_at(g, n).into()));
    let fitness = golden.get("rank_in");
    for (name, shaping) in [("rank_out", Shaping::CentredRank), ("z_out", Shaping::ZScore), ("sign_out", Shaping::Sign)]
    {
        near(golden, name, shape(fitness, shaping, 3.0), 1e-12);
    }
}
