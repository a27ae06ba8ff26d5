//! Measures the fastest implementation of a multiplication, once per device and driver.
//!
//! [`CudaGemm::tune`] times all implementations by events, on its own buffers, outside of any graph capture. It is called for
//! each multiplication of a step before the step is captured, or, after [`CudaGemm::tune_automatically`], at the first `run` of
//! a multiplication. [`CudaGemm::write_choices`] saves the table to a file given by the caller. Implementations round
//! differently. A run that must be reproducible bit by bit therefore stores [`CudaGemm::choices`] in its manifest and sets them
//! again, or never tunes, because the default is a function of sizes and device.

use super::{
    Backend, CudaGemm, CudaGemmError, Format, Implementation, Operand, Options, Output, Scale, call::Call, call_of,
};
use crate::{
    gpu::{Buf, Gpu, GpuError, Pass},
    nn::gemm::{Codes, Epilogue, Gemm, Order, Split},
};
use std::{
    collections::{BTreeMap, HashMap},
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Number of warm-up launches and of timed launches per implementation.
const LAUNCHES: (u32, u32) = (3, 10);
/// Prefix of the names of choices.
const NAME: &str = "gemm ";
/// Separator of the file's columns: GPU, driver, multiplication, implementation.
const COLUMN: &str = " | ";

impl fmt::Display for Implementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CublasLt => "cublaslt",
            Self::Wgmma => "wgmma",
            Self::LargeTiles => "mma_large",
            Self::SmallTiles => "mma_small",
            Self::Wmma => "wmma",
            Self::Simt => "simt",
            Self::Dp4a => "dp4a",
            Self::PackedLarge => "packed_large",
            Self::PackedSmall => "packed_small",
            Self::PackedDp4a => "packed_dp4a",
        })
    }
}

impl Implementation {
    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.to_string() == name)
    }
}

/// Properties of a multiplication that determine a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    sizes: [usize; 5],
    orders: [Order; 3],
    lds: [usize; 3],
    formats: (Format, Format),
    codes: Option<Codes>,
    epilogue: Epilogue,
    split: Option<Split>,
    has_beta: bool,
    is_aligned: bool,
    is_scaled: bool,
    tf32: bool,
}

impl<S: Scale> Call<'_, S> {
    pub(super) fn key(&self) -> Key {
        let g = &self.gemm;
        Key {
            sizes: [g.m, g.n, g.k, g.batch, g.outer],
            orders: [g.a.order, g.b.order, g.c.order],
            lds: [g.a.ld, g.b.ld, g.c.ld],
            formats: self.formats,
            codes: self.codes,
            epilogue: self.epilogue,
            split: self.split,
            has_beta: g.beta != S::ZERO,
            is_aligned: self.is_aligned(),
            is_scaled: self.is_scaled,
            tf32: self.tf32,
        }
    }
}

/// Format such as `8192x768x3072 nt bf16>bf16 bias`: `t` is a matrix that is stored as its transpose; unusual properties follow.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [m, n, k, batch, outer] = self.sizes;
        write!(f, "{m}x{n}x{k}")?;
        if batch * outer > 1 {
            write!(f, " batch {outer}x{batch}")?;
        }
        f.write_str(" ")?;
        for order in self.orders {
            f.write_str(if order == Order::RowMajor { "n" } else { "t" })?;
        }
        let [a, b, c] = self.lds;
        let format = |format: Format| format!("{format:?}").to_lowercase();
        write!(f, " ld {a},{b},{c} {}>{}", format(self.formats.0), format(self.formats.1))?;
        if let Some(codes) = self.codes {
            write!(f, " codes {}", format!("{codes:?}").replace(['(', ')'], "").to_lowercase())?;
        }
        match self.epilogue {
            Epilogue::None => {}
            other => write!(f, " {}", format!("{other:?}").replace(['(', ')'], "").to_lowercase())?,
        }
        if let Some(split) = self.split {
            write!(f, " groups of {split:?}")?;
        }
        for (is, word) in [
            (self.has_beta, " beta"),
            (!self.is_aligned, " unaligned"),
            (self.is_scaled, " scaled"),
            (self.tf32, " tf32"),
        ] {
            f.write_str(if is { word } else { "" })?;
        }
        Ok(())
    }
}

/// Table of choices by multiplication.
#[derive(Default)]
pub(super) struct Tuning {
    table: Mutex<Table>,
    /// Set while multiplications are timed at their first run; holds the file of the choices.
    automatic: Mutex<Option<Kept>>,
}

#[derive(Clone)]
struct Kept {
    file: Option<PathBuf>,
}

#[derive(Default)]
struct Table {
    /// Choices by the text of the key, as in the file.
    choices: BTreeMap<String, Implementation>,
    /// Lookups by key, including those without a choice.
    known: HashMap<Key, Option<Implementation>>,
}

impl Tuning {
    pub fn choice(&self, key: &Key) -> Option<Implementation> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let Table { choices, known } = &mut *table;
        *known
            .entry(*key)
            .or_insert_with(|| if choices.is_empty() { None } else { choices.get(&key.to_string()).copied() })
    }

    fn add(&self, choices: impl IntoIterator<Item = (String, Implementation)>) -> usize {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let Table { choices: all, known } = &mut *table;
        let before = all.len();
        all.extend(choices);
        known.iter_mut().for_each(|(key, by)| *by = all.get(&key.to_string()).copied());
        all.len() - before
    }

    fn automatic(&self) -> MutexGuard<'_, Option<Kept>> {
        self.automatic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> BTreeMap<String, Implementation> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).choices.clone()
    }
}

impl CudaGemm {
    /// Returns all choices, for a manifest: (`gemm 8192x768x3072 …`, `mma_large`).
    pub fn choices(&self) -> Vec<(String, String)> {
        self.tuning.all().into_iter().map(|(key, by)| (format!("{NAME}{key}"), by.to_string())).collect()
    }

    /// Returns the choices of the multiplications that were run.
    pub fn used_choices(&self) -> Vec<(String, String)> {
        let table = self.tuning.table.lock().unwrap_or_else(PoisonError::into_inner);
        let used = table.known.iter().filter_map(|(key, by)| Some((format!("{NAME}{key}"), by.as_ref()?.to_string())));
        let mut used: Vec<_> = used.collect();
        used.sort();
        used
    }

    /// Sets choices recorded by another run; ignores those of other operations and unknown implementations.
    pub fn set_choices<'a>(&self, choices: impl IntoIterator<Item = (&'a str, &'a str)>) {
        self.tuning.add(choices.into_iter().filter_map(|(name, by)| {
            let key = name.strip_prefix(NAME)?;
            Some((key.to_owned(), Implementation::named(by)?))
        }));
    }

    /// Adds the choices of this device and driver from a file. Returns the number of new ones; 0 if there is no file. Fails if
    /// an existing file cannot be read.
    pub fn read_choices(&self, path: &Path) -> io::Result<usize> {
        let text = match fs::read_to_string(path) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(0),
            text => text?,
        };
        Ok(self.tuning.add(lines_of(&text, &device(&self.gpu))))
    }

    /// Writes the choices to a file, keeping those of other devices and drivers in it. Fails if the file cannot be written.
    pub fn write_choices(&self, path: &Path) -> io::Result<()> {
        let (device, mut out) = (device(&self.gpu), String::new());
        if let Ok(text) = fs::read_to_string(path) {
            let others = text.lines().filter(|line| !line.starts_with(&device));
            out.extend(others.flat_map(|line| [line, "\n"]));
        }
        for (key, by) in self.tuning.all() {
            out += &format!("{device}{key}{COLUMN}{by}\n");
        }
        let part = path.with_extension("part");
        fs::write(&part, out)?;
        fs::rename(part, path)
    }

    /// Enables tuning: multiplications are timed at their first run without a required backend and outside of a capture, and
    /// the choices are saved to `file`, if any. Returns the number of choices in it. Results may then depend on timings: see
    /// the [module](self). Fails if an existing file cannot be read.
    pub fn tune_automatically(&self, file: impl Into<Option<PathBuf>>) -> io::Result<usize> {
        let file = file.into();
        let known = file.as_deref().map_or(Ok(0), |file| self.read_choices(file))?;
        *self.tuning.automatic() = Some(Kept { file });
        Ok(known)
    }

    /// Disables tuning: multiplications without a choice use the default.
    pub fn stop_tuning(&self) {
        *self.tuning.automatic() = None;
    }

    /// Times a multiplication without a choice if tuning is enabled. Makes no choice if memory is insufficient.
    pub(super) fn tune_first<S: Scale>(
        &self,
        call: &Call<'_, S>,
        options: Options,
        tune: impl FnOnce() -> Result<Implementation, CudaGemmError>,
    ) {
        let Some(Kept { file }) = self.tuning.automatic().clone() else { return };
        let is_unknown = options.backend.is_none() && self.tuning.choice(&call.key()).is_none();
        if !is_unknown || self.gpu.is_capturing() {
            return;
        }
        if let Ok(by) = tune() {
            // A multiplication whose buffers have another alignment than those of tuning has its own key.
            self.tuning.add([(call.key().to_string(), by)]);
            // If the cache cannot be written, the next run measures again.
            if let Some(file) = file {
                let _ = self.write_choices(&file);
            }
        }
    }

    /// Times every implementation on its own buffers and stores the fastest, unless a choice exists. Waits for the device.
    /// Fails if the buffers do not fit into memory, or no implementation supports the multiplication.
    pub fn tune<I: Operand, O: Output<Sum = I::Sum>>(
        &self,
        gemm: &Gemm<I::Sum>,
        epilogue: Epilogue,
        options: Options,
    ) -> Result<Implementation, CudaGemmError> {
        let gemm = gemm.with_fewer_levels();
        let extent = |layout: &super::Layout, rows: usize, columns: usize| {
            layout.extent(rows, columns, gemm.batches()).ok_or(super::GemmError::TooLarge)
        };
        let (a_len, b_len) = (extent(&gemm.a, gemm.m, gemm.k)?, extent(&gemm.b, gemm.k, gemm.n)?);
        let c_len = extent(&gemm.c, gemm.m, gemm.n)?;
        let a = Buf::from_slice(&self.gpu, "A of tuning", &numbers::<I>(a_len))?;
        let b = Buf::from_slice(&self.gpu, "B of tuning", &numbers::<I>(b_len))?;
        let mut c = Buf::<O>::zeros(&self.gpu, "C of tuning", c_len)?;
        let mut aux = Buf::<O>::zeros(&self.gpu, "epilogue of tuning", c_len)?;
        let extra = Buf::<O>::zeros(&self.gpu, "epilogue of tuning", c_len.max(gemm.n))?;
        let epilogue = match epilogue {
            Epilogue::None => Epilogue::None,
            Epilogue::Bias(()) => Epilogue::Bias(&*extra),
            Epilogue::Residual(()) => Epilogue::Residual(&*extra),
            Epilogue::BiasResidual((), ()) => Epilogue::BiasResidual(&*extra, &*extra),
            Epilogue::Gradient { f, aux: () } => Epilogue::Gradient { f, aux: &*extra },
            Epilogue::Activation { f, bias, aux: kept } => {
                Epilogue::Activation { f, bias: bias.map(|()| &*extra), aux: kept.map(|()| &mut *aux) }
            }
        };
        let mut call = call_of(gemm, (&a, &b), &mut c, epilogue, 1, options)?;
        self.choose(&mut call, I::FORMAT == Format::F32 && !options.tf32)
    }

    /// Times every implementation that can compute a call, those with tensor cores only unless `is_exact`, and stores the fastest,
    /// unless a choice exists. Fails if none can, or the device fails.
    pub(super) fn choose<S: Scale>(
        &self,
        call: &mut Call<'_, S>,
        is_exact: bool,
    ) -> Result<Implementation, CudaGemmError> {
        let key = call.key();
        if let Some(by) = self.tuning.choice(&key) {
            return Ok(by);
        }
        let mut best: Option<(u64, Implementation)> = None;
        for by in Implementation::ALL {
            if is_exact && matches!(by.backend(), Backend::TensorCores | Backend::Wgmma | Backend::Wmma) {
                continue;
            }
            match self.time(call, by) {
                Ok(nanos) if best.is_none_or(|(least, _)| nanos < least) => best = Some((nanos, by)),
                Ok(_) | Err(CudaGemmError::Unable { .. } | CudaGemmError::Library(_)) => {}
                Err(why) => return Err(why),
            }
        }
        let (_, by) = best.ok_or(CudaGemmError::Unable { backend: Backend::Simt, why: "nothing could be timed" })?;
        self.tuning.add([(key.to_string(), by)]);
        Ok(by)
    }

    /// Measures the median time of a launch, ns.
    fn time<S: Scale>(&self, call: &mut Call<'_, S>, by: Implementation) -> Result<u64, CudaGemmError> {
        for _ in 0..LAUNCHES.0 {
            self.run_by(&mut Pass::default(), call, by)?;
        }
        let mut pass = Pass::measuring();
        for _ in 0..LAUNCHES.1 {
            self.run_by(&mut pass, call, by)?;
        }
        self.gpu.synchronize()?;
        pass.collect()?;
        let times = pass.timings.first().ok_or_else(|| GpuError::Driver {
            doing: "timing a multiplication".to_owned(),
            why: "no launch was measured".to_owned(),
        })?;
        Ok(times.spread.quantile(0.5))
    }
}

/// Returns the prefix of a device's lines in the file: GPU and driver.
fn device(gpu: &Gpu) -> String {
    format!("{}{COLUMN}{}{COLUMN}", gpu.name, gpu.driver)
}

fn lines_of(text: &str, device: &str) -> Vec<(String, Implementation)> {
    let choice = |line: &str| {
        let (key, by) = line.strip_prefix(device)?.rsplit_once(COLUMN)?;
        Some((key.to_owned(), Implementation::named(by)?))
    };
    text.lines().filter_map(choice).collect()
}

/// Returns operands with varied bits: the clock, and with it the time, depends on the operands.
pub(super) fn numbers<T: bytemuck::Pod>(len: usize) -> Vec<T> {
    let one = |i: u32| {
        let bits = i.wrapping_mul(2_654_435_761) ^ i >> 7;
        // Values of magnitude 0.5 to 2, for each of the formats.
        let word =
            if size_of::<T>() == 4 { bits & 0x807f_ffff | 0x3f00_0000 } else { bits & 0x80ff_80ff | 0x3e00_3e00 };
        let word = if size_of::<T>() == 1 { bits } else { word };
        bytemuck::pod_read_unaligned(&word.to_le_bytes()[..size_of::<T>()])
    };
    (0..len as u32).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::activation::Activation;

    fn key() -> Key {
        Key {
            sizes: [8192, 3072, 768, 1, 1],
            orders: [Order::RowMajor, Order::ColMajor, Order::RowMajor],
            lds: [768, 768, 3072],
            formats: (Format::Bf16, Format::Bf16),
            codes: None,
            epilogue: Epilogue::Activation { f: Activation::GeluTanh, bias: Some(()), aux: None },
            split: None,
            has_beta: false,
            is_aligned: true,
            is_scaled: false,
            tf32: false,
        }
    }

    #[test]
    fn keys_differ_in_everything_a_choice_depends_on() {
        let key = key();
        let others = [
            Key { sizes: [8192, 3072, 768, 2, 1], ..key },
            Key { sizes: [8192, 3072, 768, 1, 2], ..key },
            Key { orders: [Order::RowMajor; 3], ..key },
            Key { lds: [768, 768, 3080], ..key },
            Key { formats: (Format::Bf16, Format::F32), ..key },
            Key { epilogue: Epilogue::None, ..key },
            Key { codes: Some(Codes::ALL[0]), ..key },
            Key { codes: Some(Codes::ALL[1]), ..key },
            Key { codes: Some(Codes::Fp4), ..key },
            Key { split: Some(Split::Rows), ..key },
            Key { has_beta: true, ..key },
            Key { is_aligned: false, ..key },
            Key { is_scaled: true, ..key },
            Key { tf32: true, ..key },
        ];
        let mut texts: Vec<String> = others.iter().chain([&key]).map(ToString::to_string).collect();
        assert!(texts.iter().all(|text| !text.contains(COLUMN)), "{texts:?}");
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), others.len() + 1);
    }

    #[test]
    fn a_file_holds_the_choices_of_several_devices() {
        let text = "GPU A | 13000 | 1x2x3 nnn | simt\nGPU B | 13000 | 1x2x3 nnn | wmma\nGPU A | 12040 | 1x2x3 nnn | wmma\n\
                    GPU A | 13000 | 4x5x6 nnn | unheard_of\n";
        assert_eq!(lines_of(text, "GPU A | 13000 | "), [("1x2x3 nnn".to_owned(), Implementation::Simt)]);
        assert!(Implementation::ALL.iter().all(|by| Implementation::named(&by.to_string()) == Some(*by)));
    }

    #[test]
    fn a_choice_that_is_added_is_found() {
        let (tuning, key) = (Tuning::default(), key());
        assert_eq!(tuning.choice(&key), None);
        assert_eq!(tuning.add([(key.to_string(), Implementation::LargeTiles)]), 1);
        assert_eq!(tuning.choice(&key), Some(Implementation::LargeTiles));
        let other = Key { has_beta: true, ..key };
        assert_eq!(tuning.choice(&other), None);
        tuning.add([(other.to_string(), Implementation::Simt)]);
        assert_eq!(tuning.choice(&other), Some(Implementation::Simt));
        assert_eq!(tuning.choice(&key), Some(Implementation::LargeTiles));
    }
}
