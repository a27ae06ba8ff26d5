//! Rust and `kernels/common` return the same bits, for a million words. The headers are plain C++ but for a
//! few intrinsics, so a host compiler stands in for the GPU here: `--fmad=false` there and
//! `-ffp-contract=off` here leave neither anything to round differently. `tests/kinds/gpu.rs` repeats it on one.

use neuropil::{
    gpu::selftest::twins_of,
    num::{
        exact,
        rng::{Draw, Purpose},
        trains::{Chances, TRAIN_STEPS, Train},
    },
};
use neuropil_test_support::{Need, skip};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const SEED: u64 = 0x0123_4567_89ab_cdef;
const STEP: u64 = 0x1_0000_0002;
/// Words the C++ side writes for each word it reads.
const OUTPUTS: usize = 13;

const HARNESS: &str = r"
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#define __device__
static int __float_as_int(float x) { int i; memcpy(&i, &x, 4); return i; }
static float __int_as_float(int i) { float x; memcpy(&x, &i, 4); return x; }
using std::fabs; using std::trunc;
static unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
#include <common/exact.cuh>
#include <common/fixed.cuh>
#include <common/trains.cuh>
int main() {
    uint32_t w;
    unsigned long long at_most[64]; // as many events as steps, all counts alike
    for (int k = 0; k < 64; ++k) at_most[k] = (k + 1) * (0x100000000ull / 65);
    while (fread(&w, 4, 1, stdin) == 1) {
        const Words d = draw(0x0123456789abcdefull, 1u, 0x100000002ull, w);
        const float positive = __int_as_float((int)(0x00800000u + w % 0x7f000000u));
        const float signed_unit = 2.0f * exact::unit(w) - 1.0f;
        const unsigned long long events = events_of_block(0x0123456789abcdefull, 0x302u, at_most, 0x100000000ull + w % 5, w);
        const uint32_t out[13] = {
            d.x, d.y, d.z, d.w,
            draw_of_step(0x0123456789abcdefull, 2u, w, 77u),
            (uint32_t)__float_as_int(exact::normal(w)),
            (uint32_t)__float_as_int(exact::ln(positive)),
            (uint32_t)__float_as_int(exact::exp(signed_unit * 128.0f)),
            (uint32_t)fixed::from_real((double)(signed_unit * 65536.0f)),
            (uint32_t)events, (uint32_t)(events >> 32),
            events_of_steps(0x0123456789abcdefull, 0x302u, at_most, w, 1 + w % 32, 77u),
            (uint32_t)__float_as_int(exact::one_minus_exp(fabs(signed_unit) * 2.0f)),
        };
        fwrite(out, 4, 13, stdout);
    }
}
";

/// Compiles the harness; `None` without a host compiler.
fn harness() -> Option<PathBuf> {
    if Command::new("g++").arg("--version").stdout(Stdio::null()).status().is_err() {
        skip(Need::Tool, "the CUDA twins were not compared, there is no g++");
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, binary) = (folder.join("twins.cpp"), folder.join("twins"));
    fs::write(&source, HARNESS).unwrap();
    let mut compiler = Command::new("g++");
    compiler.args(["-O2", "-ffp-contract=off", "-std=c++17", "-I", concat!(env!("CARGO_MANIFEST_DIR"), "/kernels")]);
    compiler.arg(format!("-DTRAIN_STEPS={TRAIN_STEPS}"));
    assert!(compiler.arg(&source).arg("-o").arg(&binary).status().unwrap().success());
    Some(binary)
}

fn run(binary: &Path, words: &[u32]) -> Vec<u32> {
    let mut child = Command::new(binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let feeder = std::thread::Builder::new().name("feeder".into()).spawn(move || stdin.write_all(&bytes).unwrap());
    let output = child.wait_with_output().unwrap().stdout;
    feeder.unwrap().join().unwrap();
    output.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn words() -> Vec<u32> {
    let spread = (0..1_000_000_u32).map(|i| i.wrapping_mul(2_654_435_761));
    let edges = [0, 1, 511, 512, u32::MAX, u32::MAX - 511, 1 << 31, (1 << 31) - 1, 0x7eff_ffff, 0x7f00_0000];
    spread.chain(edges).collect()
}

#[test]
fn twins_agree_bit_for_bit() {
    let Some(binary) = harness() else { return };
    let words = words();
    let found = run(&binary, &words);
    assert_eq!(found.len(), words.len() * OUTPUTS);
    let at_most = std::array::from_fn(|k| (k as u64 + 1) * ((1 << 32) / 65));
    let train = Train { seed: SEED, address: 0x302, chances: Chances(at_most.into()) };
    for (word, out) in words.iter().zip(found.chunks_exact(OUTPUTS)) {
        let drawn = Draw { seed: SEED, purpose: Purpose::Noise, step: STEP, lane: *word }.words();
        assert_eq!(drawn, out[..4], "draw of lane {word:#x}");
        assert_eq!(Draw::of_step(SEED, Purpose::Stimulus, u64::from(*word), 77), out[4], "draw of step {word:#x}");
        assert_eq!(twins_of(*word), out[5..9], "normal, ln, exp, Q16 of {word:#x}");
        let events = train.events((1 << 32) + u64::from(word % 5), *word);
        assert_eq!([events as u32, (events >> 32) as u32], out[9..11], "events of lane {word:#x}");
        let steps =
            |n: u32| (0..n).fold(0, |bits, i| bits | u32::from(train.event(u64::from(*word) + u64::from(i), 77)) << i);
        let x = (2.0 * exact::unit(*word) - 1.0).abs() * 2.0;
        assert_eq!(exact::one_minus_exp(x).to_bits(), out[12], "1 - exp of {word:#x}");
        if word % 16 == 3 {
            assert_eq!(steps(1 + word % 32), out[11], "events from step {word:#x}");
        }
    }
}

#[test]
fn normal_draws_are_normal() {
    let words = words();
    let mut moments = [0.0_f64; 3];
    for word in &words {
        let z = f64::from(exact::normal(*word));
        for (sum, power) in moments.iter_mut().zip([1, 2, 4]) {
            *sum += z.powi(power);
        }
    }
    let [mean, variance, kurtosis] = moments.map(|m| m / words.len() as f64);
    assert!(mean.abs() < 2e-3 && (variance - 1.0).abs() < 2e-3 && (kurtosis - 3.0).abs() < 0.02);
}
