//! Named ranges on the time line of NVIDIA's profilers: `nsys profile neuropil run …` shows batches and kernels.
//!
//! NVTX 3 is header-only: a profiler names its library in `NVTX_INJECTION64_PATH`, and the program passes that library a table
//! of slots into which the library writes its functions. This module is the program's side of that protocol. Without a profiler
//! the module uses the older `libnvToolsExt.so.1`, which older toolkits install and preloading tools replace. Without either
//! library, a range costs one load and a branch.

use libloading::Library;
use std::{
    ffi::{CString, OsStr, c_char, c_int, c_uint, c_void},
    marker::PhantomData,
    ptr::{null, null_mut},
    sync::{
        OnceLock,
        atomic::{AtomicPtr, Ordering},
    },
};

/// Environment variable in which a profiler names the library to load.
pub const INJECTION_VARIABLE: &str = "NVTX_INJECTION64_PATH";

/// Library of NVTX before version 3.
const LIBRARY: &str = "libnvToolsExt.so.1";

type Push = unsafe extern "C" fn(*const c_char) -> c_int;
type Pop = unsafe extern "C" fn() -> c_int;

/// The two NVTX functions in use.
#[derive(Clone, Copy)]
struct Calls {
    push: Push,
    pop: Pop,
}

/// Named range on this thread's time line. Dropping the value ends the range. Ranges nest.
#[must_use = "the range ends when this is dropped"]
pub struct Range {
    pop: Option<Pop>,
    /// Keeps the range on its thread, because ranges nest per thread.
    _stays: PhantomData<*const ()>,
}

/// Begins a range.
#[inline]
pub fn range(name: &str) -> Range {
    range_of(|| name)
}

/// Begins a range whose name is formatted only if a profiler is attached: `range_of(|| format!("block {b}"))`.
#[inline]
pub fn range_of<N: Into<Vec<u8>>>(name: impl FnOnce() -> N) -> Range {
    static CALLS: OnceLock<Option<Calls>> = OnceLock::new();
    begin(CALLS.get_or_init(|| find(std::env::var_os(INJECTION_VARIABLE).as_deref(), LIBRARY)).as_ref(), name)
}

#[inline]
fn begin<N: Into<Vec<u8>>>(calls: Option<&Calls>, name: impl FnOnce() -> N) -> Range {
    let pop = calls.and_then(|calls| {
        let name = CString::new(name()).ok()?;
        // SAFETY: the signature of nvtxRangePushA, which copies the name.
        unsafe { (calls.push)(name.as_ptr()) };
        Some(calls.pop)
    });
    Range { pop, _stays: PhantomData }
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(pop) = self.pop {
            // SAFETY: the signature of nvtxRangePop; its push was called on this thread.
            unsafe { pop() };
        }
    }
}

/// Attaches the profiler's library if the variable names one, otherwise the older library; `None` if that fails.
fn find(injection: Option<&OsStr>, library: &str) -> Option<Calls> {
    match injection.filter(|path| !path.is_empty()) {
        Some(path) => inject(path),
        None => exported(library),
    }
}

fn exported(library: &str) -> Option<Calls> {
    // SAFETY: loading NVTX runs its initialisers only; the signatures are those of nvToolsExt.h.
    unsafe {
        let library = Library::new(library).ok()?;
        let push = *library.get::<Push>(b"nvtxRangePushA\0").ok()?;
        let pop = *library.get::<Pop>(b"nvtxRangePop\0").ok()?;
        std::mem::forget(library); // the library's functions are called until the program ends
        Some(Calls { push, pop })
    }
}

fn inject(path: &OsStr) -> Option<Calls> {
    // SAFETY: the profiler asks for its library to be loaded, and for this function to be called.
    unsafe {
        let library = Library::new(path).ok()?;
        let initialise = *library.get::<Initialise>(b"InitializeInjectionNvtx2\0").ok()?;
        let calls = attach(initialise);
        if calls.is_some() {
            std::mem::forget(library);
        }
        calls
    }
}

type GetTable = unsafe extern "C" fn(u32) -> *const c_void;
type Initialise = unsafe extern "C" fn(GetTable) -> c_int;
/// Address of a function pointer that a profiler fills.
type Slot = AtomicPtr<c_void>;

/// Number of slots per module, of which slot 0 is unused. A profiler fills the slots of functions that it supports.
const SIZES: [usize; 7] = [0, 16, 9, 15, 7, 16, 7];
/// Number of the NVTX module with range functions, and the slots of the functions in the module.
const CORE: usize = 1;
const RANGE_PUSH_A: usize = 9;
const RANGE_POP: usize = 11;

const MOST: usize = 16;
static SLOTS: [[Slot; MOST]; SIZES.len()] = [const { [const { Slot::new(null_mut()) }; MOST] }; SIZES.len()];

/// Array of pointers to slots, in the form a profiler expects.
#[repr(transparent)]
struct Table([*const Slot; MOST]);
// SAFETY: the slots are static and atomic.
unsafe impl Sync for Table {}

static TABLES: [Table; SIZES.len()] = {
    let mut tables = [const { Table([null(); MOST]) }; SIZES.len()];
    let mut module = 0;
    while module < SIZES.len() {
        let mut at = 0;
        while at < MOST {
            tables[module].0[at] = &raw const SLOTS[module][at];
            at += 1;
        }
        module += 1;
    }
    tables
};

#[repr(C)]
struct Callbacks {
    size: usize,
    table_of_module: unsafe extern "C" fn(c_uint, *mut *const Table, *mut c_uint) -> c_int,
}

#[repr(C)]
struct Version {
    size: usize,
    version: u32,
    reserved: u32,
    set_version_of_tool: unsafe extern "C" fn(u32),
}

static CALLBACKS: Callbacks = Callbacks { size: size_of::<Callbacks>(), table_of_module };
static VERSION: Version = Version { size: size_of::<Version>(), version: 3, reserved: 0, set_version_of_tool };

/// # Safety
/// Only a profiler may call this function, with pointers that are writable or null.
unsafe extern "C" fn table_of_module(module: c_uint, table: *mut *const Table, size: *mut c_uint) -> c_int {
    let module = module as usize;
    let Some(n) = SIZES.get(module).filter(|n| **n > 0) else { return 0 };
    // SAFETY: the caller guarantees it.
    unsafe {
        if !table.is_null() {
            *table = &raw const TABLES[module];
        }
        if !size.is_null() {
            *size = *n as c_uint;
        }
    }
    1
}

const unsafe extern "C" fn set_version_of_tool(_: u32) {}

const unsafe extern "C" fn export_table(id: u32) -> *const c_void {
    match id {
        1 => (&raw const CALLBACKS).cast(),
        3 => (&raw const VERSION).cast(),
        _ => null(),
    }
}

/// Lets a profiler write its functions into the slots, and reads the required functions; `None` if the profiler refuses or
/// lacks them.
///
/// # Safety
/// `initialise` must be the profiler's `InitializeInjectionNvtx2`, and its library must stay loaded.
unsafe fn attach(initialise: Initialise) -> Option<Calls> {
    // SAFETY: the caller guarantees it.
    if unsafe { initialise(export_table) } == 0 {
        return None;
    }
    let slot = |at: usize| Some(SLOTS[CORE][at].load(Ordering::Acquire)).filter(|p| !p.is_null());
    let (push, pop) = (slot(RANGE_PUSH_A)?, slot(RANGE_POP)?);
    // SAFETY: a profiler writes functions of these signatures to these slots.
    unsafe {
        Some(Calls {
            push: std::mem::transmute::<*mut c_void, Push>(push),
            pop: std::mem::transmute::<*mut c_void, Pop>(pop),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{ffi::CStr, sync::Mutex};

    static HEARD: Mutex<Vec<String>> = Mutex::new(vec![]);

    unsafe extern "C" fn push(name: *const c_char) -> c_int {
        // SAFETY: a name ends with 0.
        HEARD.lock().unwrap().push(unsafe { CStr::from_ptr(name) }.to_str().unwrap().to_owned());
        0
    }

    unsafe extern "C" fn pop() -> c_int {
        HEARD.lock().unwrap().push("/".into());
        0
    }

    /// Acts as a profiler: requests the callbacks, then the table of the core module.
    unsafe extern "C" fn tool(get: GetTable) -> c_int {
        // SAFETY: the accesses are those that the protocol allows a profiler.
        unsafe {
            assert!(get(2).is_null());
            let version = &*get(3).cast::<Version>();
            assert_eq!((version.size, version.version), (24, 3));
            (version.set_version_of_tool)(2);
            let callbacks = &*get(1).cast::<Callbacks>();
            assert_eq!(callbacks.size, 16);
            let (mut table, mut size) = (null(), 0);
            assert_eq!((callbacks.table_of_module)(0, &mut table, &mut size), 0);
            assert_eq!((callbacks.table_of_module)(7, &mut table, &mut size), 0);
            assert_eq!((callbacks.table_of_module)(1, &mut table, &mut size), 1);
            assert_eq!(size, 16);
            let slots = (*table).0;
            (*slots[9]).store(push as Push as *mut c_void, Ordering::Release);
            (*slots[11]).store(pop as Pop as *mut c_void, Ordering::Release);
        }
        1
    }

    unsafe extern "C" fn unwilling(_: GetTable) -> c_int {
        0
    }

    #[test]
    fn a_tool_hears_ranges_nest() {
        // SAFETY: both mock functions have the signature that `attach` expects.
        let (none, calls) = unsafe { (attach(unwilling), attach(tool)) };
        assert!(none.is_none());
        let outer = begin(calls.as_ref(), || "batch");
        for layer in 0..2 {
            let _layer = begin(calls.as_ref(), || format!("block {layer}"));
            drop(begin(calls.as_ref(), || "norm_forward"));
        }
        drop(begin(calls.as_ref(), || "a name\0 that C cannot say"));
        drop(outer);
        let heard = HEARD.lock().unwrap();
        assert_eq!(*heard, ["batch", "block 0", "norm_forward", "/", "/", "block 1", "norm_forward", "/", "/", "/"]);
        assert_eq!(heard.iter().filter(|h| *h == "/").count(), heard.len() / 2, "a pop per push");
    }

    #[test]
    fn without_a_library_nothing_happens() {
        assert!(find(None, "libneuropil-none.so.1").is_none());
        assert!(find(Some(OsStr::new("/nowhere/libtool.so")), "libneuropil-none.so.1").is_none());
        assert!(find(Some(OsStr::new("")), "libneuropil-none.so.1").is_none());
        let never = || -> String { unreachable!("no name is made without a profiler") };
        assert!(begin(None, never).pop.is_none());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_that_is_no_tool_is_left_alone() {
        assert!(find(None, "libm.so.6").is_none());
        assert!(find(Some(OsStr::new("libm.so.6")), "libneuropil-none.so.1").is_none());
    }
}
