//! NVIDIA's run-time compiler, if installed. The compiler is needed to write kernels and to test that they compile, never to
//! run the program. Any major version works, without a GPU or a driver.

use super::Target;
use libloading::Library;
use std::{
    ffi::{CString, c_char, c_int, c_void},
    path::{Path, PathBuf},
    ptr::{null, null_mut},
};

type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

/// A loaded NVRTC library.
pub struct Nvrtc {
    library: Library,
    _builtins: Option<Library>,
}

/// Removes comments and empty lines from PTX, because comments enlarge kernels of inline assembly, and the call numbers in them
/// depend on earlier compilations. `kernels/build.py` removes the same lines.
fn without_comments(ptx: &str) -> String {
    let code = ptx.lines().map(|line| line.find("//").map_or(line, |at| &line[..at]).trim_end());
    code.filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect()
}

impl Nvrtc {
    /// Loads NVRTC from `NEUROPIL_NVRTC`, by the loader's own search, or from the usual toolkit folders, newest first. Fails if
    /// none can be loaded.
    pub fn find() -> Result<Self, String> {
        let names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];
        let named = std::env::var_os("NEUROPIL_NVRTC").map(PathBuf::from).into_iter();
        let roots = ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(std::env::var_os).map(PathBuf::from);
        let roots = roots.chain(["/usr/local/cuda".into(), "/opt/cuda".into()]);
        let installed = roots.flat_map(|root| names.map(|n| root.join("lib64").join(n)));
        let candidates = named.chain(names.map(PathBuf::from)).chain(installed);
        candidates.map(|path| Self::open(&path)).find_map(Result::ok).ok_or_else(|| {
            "no NVRTC was found: set NEUROPIL_NVRTC to a libnvrtc.so, or unset NEUROPIL_KERNELS to use the embedded kernels"
                .to_owned()
        })
    }

    /// Loads NVRTC by path or by the loader's search. Fails if the library cannot be loaded.
    pub fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: loading NVRTC runs its initialisers only.
        let library = unsafe { Library::new(path) }.map_err(|e| format!("{}: {e:?}", path.display()))?;
        Ok(Self { library, _builtins: load_builtins(path) })
    }

    /// Returns the highest target that this compiler supports and that does not exceed `capability`; 75 if it is unknown.
    pub fn target(&self, capability: u32) -> u32 {
        let (mut count, mut known) = (0, vec![0 as c_int; 256]);
        // SAFETY: signatures of nvrtc.h; every version supports far fewer than 256 targets.
        let asked = unsafe {
            match (
                self.symbol::<unsafe extern "C" fn(*mut c_int) -> c_int>("nvrtcGetNumSupportedArchs"),
                self.symbol::<unsafe extern "C" fn(*mut c_int) -> c_int>("nvrtcGetSupportedArchs"),
            ) {
                (Ok(number), Ok(list)) => {
                    number(&mut count) == 0 && (1..=256).contains(&count) && list(known.as_mut_ptr()) == 0
                }
                _ => false,
            }
        };
        known.truncate(if asked { count.unsigned_abs() as usize } else { 0 });
        known.into_iter().map(i32::unsigned_abs).filter(|k| *k <= capability).max().unwrap_or(75)
    }

    /// Compiles `source` to PTX without comments, with the flags of its module; includes are resolved under `folder`.
    /// Fails if NVRTC lacks a function or the source does not compile; then the message is the compiler's log.
    pub fn compile(
        &self,
        name: &str,
        source: &str,
        folder: &Path,
        target: Target,
        flags: &[&str],
    ) -> Result<String, String> {
        let mut options = vec![format!("--gpu-architecture={target}"), format!("-I{}", folder.display())];
        options.extend(flags.iter().map(ToString::to_string));
        let c = |s: &str| CString::new(s).map_err(|e| format!("{name}: {e}"));
        let (source, c_name) = (c(source)?, c(name)?);
        let options = options.iter().map(|o| c(o)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<_> = options.iter().map(|o| o.as_ptr()).collect();
        let mut program: Program = null_mut();
        // SAFETY: signatures of nvrtc.h; every string outlives the call that reads it, and the program is
        // destroyed exactly once.
        unsafe {
            let create = self.symbol::<Create>("nvrtcCreateProgram")?;
            let compile = self.symbol::<Compile>("nvrtcCompileProgram")?;
            let destroy = self.symbol::<Destroy>("nvrtcDestroyProgram")?;
            if create(&mut program, source.as_ptr(), c_name.as_ptr(), 0, null(), null()) != 0 {
                return Err(format!("{name}: NVRTC could not create a program"));
            }
            let compiled = compile(program, pointers.len() as c_int, pointers.as_ptr()) == 0;
            let text = self.text(program, if compiled { "PTX" } else { "ProgramLog" });
            destroy(&mut program);
            if compiled { text.map(|ptx| without_comments(&ptx)) } else { Err(text?) }
        }
    }

    /// # Safety
    /// `program` must be alive.
    unsafe fn text(&self, program: Program, what: &str) -> Result<String, String> {
        // SAFETY: the buffer has the size NVRTC asks for.
        unsafe {
            let mut size = 0;
            self.symbol::<Size>(&format!("nvrtcGet{what}Size"))?(program, &mut size);
            let mut bytes = vec![0_u8; size + 1];
            self.symbol::<Text>(&format!("nvrtcGet{what}"))?(program, bytes.as_mut_ptr().cast());
            bytes.truncate(bytes.iter().position(|b| *b == 0).unwrap_or(size));
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
    }

    /// # Safety
    /// `F` must be the signature of the symbol.
    unsafe fn symbol<F>(&self, name: &str) -> Result<libloading::Symbol<'_, F>, String> {
        // SAFETY: the caller guarantees it.
        unsafe { self.library.get(name) }.map_err(|e| format!("{name}: {e:?}"))
    }
}

/// Loads the library of built-in headers, which the NVRTC of a pip wheel finds only if it is already loaded. `None` if there is
/// no such library next to `path`.
fn load_builtins(path: &Path) -> Option<Library> {
    let is_builtins = |p: &PathBuf| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libnvrtc-builtins.so.") && !name.contains(".alt")
    };
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty())?;
    let newest = folder.read_dir().ok()?.filter_map(|e| Some(e.ok()?.path())).filter(is_builtins).max()?;
    // SAFETY: the library contains only data.
    unsafe { Library::new(newest) }.ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn comments_of_ptx_are_dropped() {
        let ptx = "// made by\n\n.version 8.0\n\t{ // callseq 76, 0\n\tmov.u32 %r1, %tid.x;\n\t} // callseq 76\n";
        assert_eq!(super::without_comments(ptx), ".version 8.0\n\t{\n\tmov.u32 %r1, %tid.x;\n\t}\n");
    }
}
