//! Tests of a group of buffers in host memory.

use super::*;
use crate::num::elements::Bf16;

/// Sizes of a test layer.
struct Sizes {
    rows: usize,
    columns: usize,
    has_bias: bool,
}

buffers! {
    /// Group with a single buffer.
    #[derive(Clone, Debug, PartialEq)]
    struct Bias(memory: Host, n: usize) {
        "layer" {
            bias: Vec<f32> = State "bias" *n;
        }
    }
}

buffers! {
    /// Group with buffers of two precisions.
    #[derive(Clone, Debug, PartialEq)]
    struct Layer<T: Element>(memory: Host, s: Sizes) {
        "layer" {
            weights: Vec<Bf16> = State "weights" [s.rows, s.columns];
            master: Vec<T> = State "master" [s.rows, s.columns];
            seed: Vec<u64> = Saved "seed" 1;
        }
        "workspace" {
            sums: Vec<T> = Workspace "sums" s.rows;
        }
        groups {
            bias: Option<Bias> = s.has_bias.then_some(s.rows);
        }
        plain {
            n: usize = s.rows * s.columns;
        }
    }
}

const SIZES: Sizes = Sizes { rows: 3, columns: 5, has_bias: true };

#[test]
fn prediction_allocation_and_report_follow_from_the_declaration() {
    for has_bias in [true, false] {
        let sizes = Sizes { has_bias, ..SIZES };
        let layer = Layer::<f64>::allocate(&Host, &sizes).unwrap();
        assert_eq!((layer.n, layer.weights.len(), layer.sums.len()), (15, 15, 3));
        assert_eq!(layer.held(), Layer::<f64>::predict(&sizes));
        let bias = if has_bias { 12 } else { 0 };
        assert_eq!(layer.held().by_owner(), [("layer", 30 + 120 + 8 + bias), ("workspace", 24)]);
        assert_eq!(Layer::<f64>::state_bytes(&sizes), 150 + bias);
    }
    let huge = Sizes { rows: usize::MAX, columns: 2, has_bias: false };
    assert_eq!(Layer::<f32>::predict(&huge).total(), u64::MAX);
    assert!(Layer::<f32>::allocate(&Host, &huge).is_err());
}

#[test]
fn state_becomes_sections_and_comes_back_in_another_precision() {
    let mut layer = Layer::<f64>::allocate(&Host, &SIZES).unwrap();
    layer.master.iter_mut().enumerate().for_each(|(i, x)| *x = i as f64);
    layer.weights[4] = Bf16(0x3fc0);
    layer.bias.as_mut().unwrap().bias[2] = -1.0;
    let mut saved = Snapshot::new("layer");
    layer.clone().save(&SIZES, &mut saved).unwrap();
    let names: Vec<_> = saved.sections.iter().map(|s| format!("{s:?}")).collect();
    assert_eq!(names, ["weights Bf16[3, 5]", "master F64[3, 5]", "bias F32[3]"]);
    let mut other = Layer::<f32>::allocate(&Host, &SIZES).unwrap();
    other.check(&SIZES, &saved).unwrap();
    other.load(&SIZES, &saved).unwrap();
    assert_eq!((other.master[14], other.weights[4].0, other.bias.as_ref().unwrap().bias[2]), (14.0, 0x3fc0, -1.0));
    let turned = Sizes { rows: 5, columns: 3, has_bias: false };
    let why = Layer::<f32>::allocate(&Host, &turned).unwrap().check(&turned, &saved).unwrap_err().to_string();
    assert!(why.contains("`weights` has shape [3, 5], expected [5, 3]"), "{why}");
}

#[test]
fn any_allocation_may_fail() {
    let n_buffers = Layer::<f32>::specs(&SIZES).len() as u64;
    for n in 0..=n_buffers {
        allocation::fail_after(Some(n));
        let result = Layer::<f32>::allocate(&Host, &SIZES);
        let left = allocation::fail_after(None);
        match result {
            Ok(layer) => assert!(n == n_buffers && left == Some(0) && layer.sums.len() == 3),
            Err(error) => {
                let name = Layer::<f32>::specs(&SIZES)[n as usize].name;
                let text = error.to_string();
                assert!(text.starts_with(&format!("{name} needs 0.000 GB of memory")), "{text}");
                assert!(text.contains("make the model smaller"), "{text}");
            }
        }
    }
}
