//! Every operation on a GPU against its definition in f64, over random sizes, alignments and options.
//!
//! An operation takes part with one line in [`OPERATIONS`] and a function `compare<T: Number>(case: &mut Case)` that draws
//! sizes, runs both and calls [`Case::agrees`].

use super::{cuda_attention, cuda_embedding, cuda_gemm, cuda_rows};
use crate::device::gpu;
use neuropil::{
    gpu::{Buf, Gpu, GpuError, View, ViewMut},
    nn::storage::{Format, Storage},
    num::elements::{Bf16, Element, F16},
};
use std::{
    any::{Any, TypeId},
    collections::{BTreeMap, HashMap},
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::Arc,
};

/// A type of tensors.
pub trait Number: Storage + Element {}
impl<T: Storage + Element> Number for T {}

/// An operation in the three formats.
struct Operation {
    name: &'static str,
    compare: [fn(&mut Case); 3],
}

macro_rules! operations {
    ($($name:literal => $($compare:ident)::+;)*) => {
        &[ $( Operation {
            name: $name,
            compare: [$($compare)::+::<f32>, $($compare)::+::<F16>, $($compare)::+::<Bf16>],
        } ),* ]
    };
}

const OPERATIONS: &[Operation] = operations! {
    "activation" => cuda_rows::compare_activation;
    "attention" => cuda_attention::compare_random;
    "cross_entropy" => cuda_embedding::compare_cross_entropy;
    "dropout" => cuda_rows::compare_dropout;
    "elementwise" => cuda_rows::compare_elementwise;
    "embedding" => cuda_embedding::compare_embedding;
    "gemm" => cuda_gemm::compare_random;
    "norm" => cuda_rows::compare_norm;
    "rope" => cuda_embedding::compare_rope;
    "softmax" => cuda_rows::compare_softmax;
};

/// Cases of each operation.
const CASES: u64 = 200;

/// One comparison.
pub struct Case {
    /// The device.
    pub gpu: Arc<Gpu>,
    /// Sizes and options, for messages.
    pub text: String,
    state: u64,
    /// Operations with their modules, which take long to load.
    loaded: HashMap<TypeId, Rc<dyn Any>>,
    /// Largest error relative to its tolerance, by result.
    worst: BTreeMap<String, (f64, f64)>,
}

impl Case {
    /// An operation that is made once for all cases.
    pub fn loaded<X: 'static>(&mut self, new: fn(&Arc<Gpu>) -> X) -> Rc<X> {
        let gpu = &self.gpu;
        let loaded = self.loaded.entry(TypeId::of::<X>()).or_insert_with(|| Rc::new(new(gpu)));
        loaded.clone().downcast().expect("the type of its key")
    }

    /// A seed, for operations with a generator of their own.
    pub fn seed(&mut self) -> u64 {
        u64::from(self.word()) << 32 | u64::from(self.word())
    }

    fn word(&mut self) -> u32 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = (self.state >> 32) as u32;
        (word ^ word >> 15).wrapping_mul(0x2c1b_3c6d) ^ word >> 12
    }

    /// One of `from..=to`.
    pub fn whole(&mut self, from: usize, to: usize) -> usize {
        from + self.word() as usize % (to - from + 1)
    }

    /// One of a list.
    pub fn one_of<X: Copy>(&mut self, of: &[X]) -> X {
        of[self.whole(0, of.len() - 1)]
    }

    /// Numbers in (-1, 1) that T holds exactly.
    pub fn numbers<T: Number>(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| T::round((self.word() >> 8) as f32 / (1 << 23) as f32 - 1.0).widen()).collect()
    }

    /// A copy on the device; every other one begins one element behind a multiple of 256 bytes.
    pub fn upload<T: Number>(&mut self, values: &[f32]) -> Placed<T> {
        let start = self.whole(0, 1);
        let padding = std::iter::repeat_n(&f32::NAN, start);
        let values: Vec<T> = padding.chain(values).map(|x| T::round(*x)).collect();
        Placed { buffer: Buf::from_slice(&self.gpu, "test", &values).expect("memory"), start }
    }

    /// A copy on the device.
    pub fn copy<T: neuropil::gpu::layout::CudaType>(&self, values: &[T]) -> Buf<T> {
        Buf::from_slice(&self.gpu, "test", values).expect("memory")
    }

    /// The root mean square of the difference, relative to that of `want` (or to 1e-3 where that is less), is at most the
    /// tolerance.
    pub fn agrees(&mut self, what: &str, got: &[f32], want: &[f64], tolerance: f64) {
        assert_eq!(got.len(), want.len(), "{what}: {}", self.text);
        let square: f64 = got.iter().zip(want).map(|(g, w)| (f64::from(*g) - w).powi(2)).sum();
        let size: f64 = want.iter().map(|w| w * w).sum();
        let error = (square / size.max(1e-6 * want.len().max(1) as f64)).sqrt();
        assert!(error <= tolerance, "{what}: {error:.1e} exceeds {tolerance:.0e}: {}", self.text);
        self.note(what, error, tolerance);
    }

    /// Remembers an error that was checked.
    pub fn note(&mut self, what: &str, error: f64, tolerance: f64) {
        let worst = self.worst.entry(what.to_owned()).or_default();
        if error >= worst.0 {
            *worst = (error, tolerance);
        }
    }
}

/// A buffer that may begin at an odd address.
pub struct Placed<T: Number> {
    buffer: Buf<T>,
    start: usize,
}

impl<T: Number> Placed<T> {
    /// To read.
    pub fn view(&self) -> View<'_, T> {
        self.buffer.part(self.start..self.buffer.len()).expect("inside")
    }

    /// To write.
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        let end = self.buffer.len();
        self.buffer.part_mut(self.start..end).expect("inside")
    }

    /// What it holds; nothing was written in front of it.
    pub fn values(&self) -> Result<Vec<f32>, GpuError> {
        let values = self.buffer.read()?;
        assert!(values[..self.start].iter().all(|x| x.widen().is_nan()), "written in front of a buffer");
        Ok(values[self.start..].iter().map(|x| x.widen()).collect())
    }
}

/// Exact in f64.
pub fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

/// A tolerance by format.
pub const fn by_format<T: Number>(of_f32: f64, of_f16: f64, of_bf16: f64) -> f64 {
    match T::STORAGE {
        Format::F32 => of_f32,
        Format::F16 => of_f16,
        Format::Bf16 => of_bf16,
    }
}

#[test]
fn cuda_every_operation_agrees() {
    let Some(gpu) = gpu() else { return };
    let mut failed = vec![];
    for operation in OPERATIONS {
        for (format, compare) in ["f32", "f16", "bf16"].into_iter().zip(operation.compare) {
            let mut case = Case {
                gpu: gpu.clone(),
                text: String::new(),
                state: 0,
                loaded: HashMap::new(),
                worst: BTreeMap::new(),
            };
            let cases = CASES.div_ceil(3);
            for number in 0..cases {
                case.state = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let name = format!("{} in {format}, case {number}", operation.name);
                case.text.clone_from(&name);
                // One operation that disagrees does not hide the others.
                if catch_unwind(AssertUnwindSafe(|| compare(&mut case))).is_err() {
                    failed.push(name);
                    break;
                }
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
