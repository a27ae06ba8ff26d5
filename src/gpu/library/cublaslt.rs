//! cuBLASLt, NVIDIA's library of matrix multiplication, with algorithms chosen by its heuristics. Signatures and the
//! numbers of attributes and types are those of cublasLt.h, equal in versions 12 and 13.
//!
//! A repeated multiplication gives equal bits, whatever else the device computes. The heuristics depend on the
//! version, the device and the fields of [`Matmul`]. Split-K algorithms are limited to those that reduce partial sums from
//! the workspace in a fixed order, in a second kernel; in-place reduction, whose order depends on when blocks end, is
//! excluded. A failed call is not a rejection: see [`LibraryError::Call`].

use super::{
    LibraryError, Wanted,
    loaded::{Choice, Destroy, Handle, Loaded, check},
    matmul::{Fused, Matmul, Matrix, Scalar},
};
use crate::gpu::{Any, AnyMut, Buf, Gpu, Pass, graph::relaxed};
use std::{
    collections::HashMap,
    ffi::{c_int, c_void},
    ptr::null_mut,
    sync::{Arc, Mutex, PoisonError},
};

/// Names by which the library is searched.
pub const CUBLASLT: Wanted = Wanted {
    name: "cuBLASLt",
    sonames: if cfg!(windows) {
        &["cublasLt64_13.dll", "cublasLt64_12.dll"]
    } else {
        &["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"]
    },
    wheel: "cublas",
};

/// Size of the library's workspace in bytes, as its documentation recommends for Hopper.
pub const WORKSPACE: usize = 32 << 20;
/// Maximum number of multiplications whose plans are kept.
const KEPT: usize = 4096;

/// Multiplication, and alignments in bytes: of A, of B, and of C, the added matrix and aux together.
type PlanKey = (Matmul, [u32; 3]);

/// The loaded library with its workspace, for one device.
pub struct CublasLt {
    loaded: Arc<Loaded>,
    gpu: Arc<Gpu>,
    workspace: Buf<u8>,
    /// Plans by multiplication and alignment; `None` if the library has no algorithm.
    plans: Mutex<HashMap<PlanKey, Option<Arc<Plan>>>>,
}

// SAFETY: plans are behind a lock and constant after creation, except for the address of the bias, which is set under the lock;
// all work is issued to one stream.
unsafe impl Send for CublasLt {}
// SAFETY: plans are used under a lock only, as for `Send`.
unsafe impl Sync for CublasLt {}

/// Descriptors of a multiplication, and its algorithm.
struct Plan {
    matmul: Handle,
    layouts: [Handle; 3],
    algorithm: [u64; 8],
    free: (Destroy, Destroy),
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: each handle was created by the matching function and is destroyed once; null handles were not created.
        unsafe {
            if !self.matmul.is_null() {
                (self.free.0)(self.matmul);
            }
            self.layouts.iter().filter(|l| !l.is_null()).for_each(|l| _ = (self.free.1)(*l));
        }
    }
}

impl CublasLt {
    /// Finds and loads the library, which takes some milliseconds the first time. Fails if the library is missing or unusable.
    pub fn open(gpu: &Arc<Gpu>) -> Result<Self, LibraryError> {
        let loaded = Loaded::on(gpu)?;
        let workspace = Buf::zeros(gpu, "cuBLASLt workspace", WORKSPACE)?;
        Ok(Self { loaded, gpu: gpu.clone(), workspace, plans: Mutex::default() })
    }

    /// Returns name, version and path: `cuBLASLt 13.1.0 (/usr/local/cuda/lib64/libcublasLt.so.13)`.
    pub fn describe(&self) -> String {
        format!("{} ({})", self.name(), self.loaded.found.path.display())
    }

    /// Returns name and version: `cuBLASLt 13.1.0`. Algorithms, and therefore bits, depend on the version.
    pub fn name(&self) -> String {
        let v = self.loaded.version;
        // Versions up to 12 are encoded as 1000 major + 100 minor + patch, version 13 as 10000 major + 100 minor + patch.
        let (major, minor, patch) =
            if v >= 100_000 { (v / 10_000, v / 100 % 100, v % 100) } else { (v / 1000, v / 100 % 10, v % 100) };
        format!("cuBLASLt {major}.{minor}.{patch}")
    }

    /// Issues a multiplication after all earlier work. `added` replaces C as the matrix that beta scales. Scales are (f32,
    /// integer) pairs, of which integer sums use the second. `fused` holds bias and aux if [`Matmul::fused`] needs them; aux is
    /// an output unless the epilogue reads it. Fails with [`LibraryError::Unsupported`] if the library has no algorithm.
    #[expect(clippy::too_many_arguments, reason = "the arguments of the library's one function")]
    pub fn multiply(
        &self,
        pass: &mut Pass,
        matmul: &Matmul,
        (alpha, beta): ((f32, i32), (f32, i32)),
        (a, b): (Any<'_>, Any<'_>),
        c: &mut AnyMut<'_>,
        added: Option<Any<'_>>,
        fused: [Any<'_>; 2],
    ) -> Result<(), LibraryError> {
        let stream = self.gpu.bound(|| "multiplying with cuBLASLt".to_owned())?.cu_stream();
        let alignment = |address: u64| 1_u32 << address.trailing_zeros().min(8);
        let added = added.map_or(c.ptr, |added| added.ptr);
        let [bias, aux] = fused.map(|data| data.ptr);
        let key = (*matmul, [alignment(a.ptr), alignment(b.ptr), alignment(c.ptr | added | aux)]);
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if plans.len() >= KEPT {
            plans.clear();
        }
        let plan = match plans.get(&key) {
            Some(plan) => plan.clone(),
            None => {
                let plan = match relaxed(|| self.plan(&key.0, key.1, (bias, aux))) {
                    #[allow(
                        clippy::arc_with_non_send_sync,
                        reason = "used under the lock only: see SAFETY of CublasLt"
                    )]
                    Ok(plan) => Some(Arc::new(plan)),
                    Err(LibraryError::Unsupported) => None,
                    Err(why) => return Err(why),
                };
                plans.insert(key, plan.clone());
                plan
            }
        };
        let plan = plan.ok_or(LibraryError::Unsupported)?;
        self.set_fused(plan.matmul, matmul.fused, (bias, aux))?;
        let is_integer = matmul.out == Scalar::S32;
        let scale = |s: &(f32, i32)| if is_integer { (&raw const s.1).cast() } else { (&raw const s.0).cast() };
        let [la, lb, lc] = plan.layouts;
        let workspace = self.workspace.ptr;
        let call = || {
            // SAFETY: layouts and lengths were checked by the caller against the memory, which outlives the call as
            // it is issued in the stream's order; handles are alive.
            let status = unsafe {
                (self.loaded.api.multiply)(
                    self.loaded.handle,
                    plan.matmul,
                    scale(&alpha),
                    a.ptr,
                    la,
                    b.ptr,
                    lb,
                    scale(&beta),
                    added,
                    lc,
                    c.ptr,
                    lc,
                    &plan.algorithm,
                    workspace,
                    WORKSPACE,
                    stream.cast(),
                )
            };
            check("cublasLtMatmul", status)
        };
        let mut result = Ok(());
        pass.device_span(&self.gpu, "cublasLtMatmul", || {
            result = relaxed(call);
            Ok(())
        })?;
        if matches!(result, Err(LibraryError::Unsupported)) {
            plans.insert(key, None);
        }
        result
    }

    fn set_matmul<T>(&self, matmul: Handle, attribute: c_int, value: T) -> Result<(), LibraryError> {
        // SAFETY: the attribute has the size of `T`.
        let status =
            unsafe { (self.loaded.api.set_matmul)(matmul, attribute, (&raw const value).cast(), size_of::<T>()) };
        check("cublasLtMatmulDescSetAttribute", status)
    }

    /// Sets the addresses of the epilogue's operands.
    fn set_fused(&self, matmul: Handle, fused: Fused, (bias, aux): (u64, u64)) -> Result<(), LibraryError> {
        if fused.has_bias() {
            self.set_matmul(matmul, BIAS, bias)?;
        }
        if fused.has_aux() { self.set_matmul(matmul, AUX, aux) } else { Ok(()) }
    }

    fn layout(&self, of: Scalar, rows: u64, columns: u64, m: &Matrix, batch: usize) -> Result<Handle, LibraryError> {
        let mut layout = null_mut();
        // SAFETY: signatures of cublasLt.h; values outlive the calls.
        unsafe {
            check(
                "cublasLtMatrixLayoutCreate",
                (self.loaded.api.layout)(&mut layout, of as c_int, rows, columns, m.ld),
            )?;
            if batch > 1 {
                let count = i32::try_from(batch).map_err(|_| LibraryError::Unsupported)?;
                let set = self.loaded.api.set_layout;
                check("cublasLtMatrixLayoutSetAttribute", set(layout, BATCH, (&raw const count).cast(), 4))?;
                check("cublasLtMatrixLayoutSetAttribute", set(layout, STRIDE, (&raw const m.stride).cast(), 8))?;
            }
        }
        Ok(layout)
    }

    /// Creates the descriptors of a multiplication, and selects the algorithm that the heuristics rank first.
    fn plan(&self, m: &Matmul, alignment: [u32; 3], fused: (u64, u64)) -> Result<Plan, LibraryError> {
        let (compute, scale) = match m.operands {
            Scalar::S8 => (72, Scalar::S32),
            Scalar::F32 if m.is_tf32 => (77, Scalar::F32),
            _ => (68, Scalar::F32),
        };
        let free = (self.loaded.api.free_matmul, self.loaded.api.free_layout);
        let mut plan = Plan { matmul: null_mut(), layouts: [null_mut(); 3], algorithm: [0; 8], free };
        // SAFETY: signatures of cublasLt.h.
        let status = unsafe { (self.loaded.api.matmul)(&mut plan.matmul, compute, scale as c_int) };
        check("cublasLtMatmulDescCreate", status)?;
        self.set_matmul(plan.matmul, TRANSPOSE_A, i32::from(m.a.is_transposed))?;
        self.set_matmul(plan.matmul, TRANSPOSE_B, i32::from(m.b.is_transposed))?;
        self.set_matmul(plan.matmul, EPILOGUE, m.fused as c_int)?;
        if m.fused.has_aux() {
            self.set_matmul(plan.matmul, AUX_LD, m.c.ld)?;
            self.set_matmul(plan.matmul, AUX_STRIDE, m.c.stride)?;
        }
        self.set_fused(plan.matmul, m.fused, fused)?;
        let stored = |rows, columns, is_transposed| if is_transposed { (columns, rows) } else { (rows, columns) };
        let (rows, columns) = stored(m.rows, m.k, m.a.is_transposed);
        plan.layouts[0] = self.layout(m.operands, rows, columns, &m.a, m.batch)?;
        let (rows, columns) = stored(m.k, m.columns, m.b.is_transposed);
        plan.layouts[1] = self.layout(m.operands, rows, columns, &m.b, m.batch)?;
        plan.layouts[2] = self.layout(m.out, m.rows, m.columns, &m.c, m.batch)?;
        plan.algorithm = self.algorithm(&plan, alignment)?;
        Ok(plan)
    }

    fn algorithm(&self, plan: &Plan, [a, b, c]: [u32; 3]) -> Result<[u64; 8], LibraryError> {
        let (mut preference, mut choice, mut count) = (null_mut(), Choice::default(), 0);
        let [la, lb, lc] = plan.layouts;
        // SAFETY: signatures of cublasLt.h; values outlive the calls, and the preference is freed once.
        unsafe {
            check("cublasLtMatmulPreferenceCreate", (self.loaded.api.preference)(&mut preference))?;
            let set = |attribute: c_int, value: *const c_void, size: usize| {
                (self.loaded.api.set_preference)(preference, attribute, value, size)
            };
            let mut status = set(PREFER_WORKSPACE, std::ptr::from_ref(&WORKSPACE).cast(), size_of::<usize>());
            status |= set(PREFER_REDUCTIONS, std::ptr::from_ref(&IN_FIXED_ORDER).cast(), 4);
            for (i, alignment) in [a, b, c, c].iter().enumerate() {
                status |= set(PREFER_ALIGNMENT + i as c_int, std::ptr::from_ref(alignment).cast(), 4);
            }
            if status == 0 {
                let (handle, matmul) = (self.loaded.handle, plan.matmul);
                let ask = self.loaded.api.heuristic;
                status = ask(handle, matmul, la, lb, lc, lc, preference, 1, &mut choice, &mut count);
            }
            (self.loaded.api.free_preference)(preference);
            check("cublasLtMatmulAlgoGetHeuristic", status)?;
        }
        if count == 0 || choice.state != 0 { Err(LibraryError::Unsupported) } else { Ok(choice.algorithm) }
    }
}

/// Attributes `CUBLASLT_MATMUL_DESC_…` of a multiplication.
const TRANSPOSE_A: c_int = 3;
const TRANSPOSE_B: c_int = 4;
const EPILOGUE: c_int = 7;
const BIAS: c_int = 8;
const AUX: c_int = 11;
const AUX_LD: c_int = 12;
const AUX_STRIDE: c_int = 13;
/// Attributes `CUBLASLT_MATRIX_LAYOUT_…` of a matrix.
const BATCH: c_int = 5;
const STRIDE: c_int = 6;
/// Attributes `CUBLASLT_MATMUL_PREF_…` of the preference. `PREFER_ALIGNMENT` is the alignment of A; the alignments of B, C and
/// D have the next numbers.
const PREFER_WORKSPACE: c_int = 1;
const PREFER_REDUCTIONS: c_int = 3;
const PREFER_ALIGNMENT: c_int = 5;
/// Reduction schemes `CUBLASLT_REDUCTION_SCHEME_…`: `COMPUTE_TYPE` and `OUTPUT_TYPE`, without `INPLACE`.
const IN_FIXED_ORDER: u32 = 2 | 4;
