//! Functions of cuBLASLt, and one handle per device, which is kept until the program ends.
//!
//! `cublasLtDestroy` synchronises the device's context (`cuCtxSynchronize`). While other threads capture launches or
//! destroy streams, that can crash within the driver, and calls in captures fail with status 13 or 14. Therefore a handle
//! is never destroyed.

use super::{CUBLASLT, Found, LibraryError};
use crate::gpu::Gpu;
use cudarc::driver::CudaContext;
use libloading::Library;
use std::{
    collections::BTreeMap,
    ffi::{c_int, c_void},
    path::PathBuf,
    ptr::null_mut,
    sync::{Arc, Mutex, PoisonError},
};

static LOADED: Mutex<BTreeMap<usize, Arc<Loaded>>> = Mutex::new(BTreeMap::new());

/// Library handle of one device.
pub(super) struct Loaded {
    /// File that was loaded, with its version.
    pub found: Found,
    /// Version that the library reports: 130100 is 13.1.0.
    pub version: usize,
    pub api: Api,
    pub handle: Handle,
    /// Context of the handle, which must outlive every [`Gpu`] on it.
    _context: Arc<CudaContext>,
}

// SAFETY: several threads may use a handle.
unsafe impl Send for Loaded {}
// SAFETY: several threads may use a handle.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// Returns the handle of the device, created at the first call. A failure is not cached: the next call tries again.
    pub fn on(gpu: &Gpu) -> Result<Arc<Self>, LibraryError> {
        let mut all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = all.get(&gpu.ordinal) {
            return Ok(loaded.clone());
        }
        let loaded = Arc::new(Self::load(gpu)?);
        all.insert(gpu.ordinal, loaded.clone());
        Ok(loaded)
    }

    fn load(gpu: &Gpu) -> Result<Self, LibraryError> {
        let (found, library) = open_library()?;
        let api = Api::load(&library).map_err(|why| unusable(&found, why))?;
        std::mem::forget(library); // the library's functions are in use until the program ends
        gpu.bound(|| "opening cuBLASLt".to_owned())?;
        let mut handle = null_mut();
        // SAFETY: the device's context is current.
        let created = check("cublasLtCreate", unsafe { (api.create)(&mut handle) });
        created.map_err(|why| unusable(&found, why.to_string()))?;
        // SAFETY: the function has no arguments.
        let version = unsafe { (api.version)() };
        Ok(Self { found, version, api, handle, _context: gpu.context.clone() })
    }
}

fn open_library() -> Result<(Found, Library), LibraryError> {
    match CUBLASLT.find() {
        Ok(found) => {
            // SAFETY: loading the library runs its initialisers only.
            let library = unsafe { Library::new(&found.path) };
            let library = library.map_err(|e| unusable(&found, format!("{e:?}")))?;
            Ok((found, library))
        }
        Err(absent) => {
            let open = |soname: &&str| {
                // SAFETY: loading the library runs its initialisers only.
                let library = unsafe { Library::new(*soname) }.ok()?;
                Some((Found { path: PathBuf::from(soname), version: None }, library))
            };
            CUBLASLT.sonames.iter().find_map(open).ok_or(absent)
        }
    }
}

fn unusable(found: &Found, why: String) -> LibraryError {
    LibraryError::Unusable { library: found.path.display().to_string(), why }
}

pub(super) type Handle = *mut c_void;
pub(super) type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
pub(super) type Destroy = unsafe extern "C" fn(Handle) -> c_int;
pub(super) type Set = unsafe extern "C" fn(Handle, c_int, *const c_void, usize) -> c_int;
pub(super) type CreateMatmul = unsafe extern "C" fn(*mut Handle, c_int, c_int) -> c_int;
pub(super) type CreateLayout = unsafe extern "C" fn(*mut Handle, c_int, u64, u64, i64) -> c_int;
pub(super) type Heuristic = unsafe extern "C" fn(
    Handle,
    Handle,
    Handle,
    Handle,
    Handle,
    Handle,
    Handle,
    c_int,
    *mut Choice,
    *mut c_int,
) -> c_int;
pub(super) type Multiply = unsafe extern "C" fn(
    Handle,
    Handle,
    *const c_void,
    u64,
    Handle,
    u64,
    Handle,
    *const c_void,
    u64,
    Handle,
    u64,
    Handle,
    *const [u64; 8],
    u64,
    usize,
    *mut c_void,
) -> c_int;

/// Result of the heuristics, `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Choice {
    pub algorithm: [u64; 8],
    pub workspace: usize,
    pub state: c_int,
    pub waves: f32,
    pub reserved: [c_int; 4],
}

/// Functions in use, valid as long as the library, which is never unloaded.
pub(super) struct Api {
    pub create: Create,
    pub version: unsafe extern "C" fn() -> usize,
    pub matmul: CreateMatmul,
    pub set_matmul: Set,
    pub free_matmul: Destroy,
    pub layout: CreateLayout,
    pub set_layout: Set,
    pub free_layout: Destroy,
    pub preference: Create,
    pub set_preference: Set,
    pub free_preference: Destroy,
    pub heuristic: Heuristic,
    pub multiply: Multiply,
}

impl Api {
    fn load(library: &Library) -> Result<Self, String> {
        /// # Safety
        /// `F` must be the signature of the function.
        unsafe fn get<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
            // SAFETY: the caller guarantees it.
            unsafe { library.get::<F>(name) }.map(|symbol| *symbol).map_err(|_| format!("it lacks {name}"))
        }
        // SAFETY: the signatures are those of cublasLt.h.
        unsafe {
            Ok(Self {
                create: get(library, "cublasLtCreate")?,
                version: get(library, "cublasLtGetVersion")?,
                matmul: get(library, "cublasLtMatmulDescCreate")?,
                set_matmul: get(library, "cublasLtMatmulDescSetAttribute")?,
                free_matmul: get(library, "cublasLtMatmulDescDestroy")?,
                layout: get(library, "cublasLtMatrixLayoutCreate")?,
                set_layout: get(library, "cublasLtMatrixLayoutSetAttribute")?,
                free_layout: get(library, "cublasLtMatrixLayoutDestroy")?,
                preference: get(library, "cublasLtMatmulPreferenceCreate")?,
                set_preference: get(library, "cublasLtMatmulPreferenceSetAttribute")?,
                free_preference: get(library, "cublasLtMatmulPreferenceDestroy")?,
                heuristic: get(library, "cublasLtMatmulAlgoGetHeuristic")?,
                multiply: get(library, "cublasLtMatmul")?,
            })
        }
    }
}

pub(super) fn check(call: &'static str, status: c_int) -> Result<(), LibraryError> {
    match status {
        0 => Ok(()),
        15 | 7 => Err(LibraryError::Unsupported), // not supported, invalid value
        status => Err(LibraryError::Call { call, status }),
    }
}
