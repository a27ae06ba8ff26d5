//! Tracks modules that the driver compiles for a device. The driver caches compiled modules on disk, so only the first run on a
//! machine waits for compilation. The run bar and the command line show the progress while the simulation takes no step: the
//! number of the module that is compiled, and of all modules. A simulation announces the modules that it will load by
//! [`Gpu::expect_modules`](super::Gpu::expect_modules).

use super::ModuleId;
use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Maximum load time of a module that the driver has in its cache.
const COMPILED_WITHIN: Duration = Duration::from_millis(150);

static LOADS: Mutex<Loads> = Mutex::new(Loads::new());

/// A compilation in progress.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compiling {
    /// Module that is being compiled.
    pub module: ModuleId,
    /// Number of this module among those of the simulation, from 1.
    pub number: usize,
    /// Progress over the modules of the simulation; `None` if the simulation has announced no modules.
    pub expected: Option<Expected>,
}

/// Progress over the modules that a simulation loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Number of modules.
    pub total: usize,
    /// Fraction of the modules' PTX that is loaded, 0 to 1: the driver's time grows with the length of the PTX.
    pub fraction: f32,
    /// Time spent on loads so far.
    pub spent: Duration,
}

impl Expected {
    /// Estimates the remaining time; `None` until 3 % of the PTX are loaded.
    pub fn left(self) -> Option<Duration> {
        (self.fraction >= 0.03).then(|| self.spent.mul_f32((1.0 - self.fraction).max(0.0) / self.fraction))
    }
}

impl Compiling {
    /// Formats the progress: `Compiling kernels for this GPU, once: 3 of 12, nn/softmax`.
    pub fn text(self) -> String {
        let of = self.expected.map_or(String::new(), |expected| format!(" of {}", expected.total));
        format!("Compiling kernels for this GPU, once: {}{of}, {}", self.number, self.module)
    }
}

/// Returns the compilation in progress; `None` if no load takes longer than a load from the driver's cache.
pub fn compiling() -> Option<Compiling> {
    locked(|loads| loads.compiling(Instant::now()))
}

/// Announces the modules that a simulation will load, with their bytes of PTX. Replaces earlier announcements.
pub(super) fn expect(modules: Vec<(ModuleId, u64)>) {
    locked(|loads| loads.expect(modules));
}

/// Guard of a load in progress. Dropping the guard ends the load.
pub(super) struct Load(u64);

/// Begins the load of a module with `bytes` bytes of PTX.
pub(super) fn begin(module: ModuleId, bytes: u64) -> Load {
    Load(locked(|loads| loads.begin(module, bytes, Instant::now())))
}

impl Drop for Load {
    fn drop(&mut self) {
        locked(|loads| loads.end(self.0, Instant::now()));
    }
}

fn locked<T>(work: impl FnOnce(&mut Loads) -> T) -> T {
    work(&mut LOADS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Module that the simulation has announced or requested.
struct Entry {
    module: ModuleId,
    bytes: u64,
    is_loaded: bool,
}

/// Loads in progress, oldest first, and the modules of the simulation: the announced ones, and those requested later.
struct Loads {
    running: Vec<(u64, ModuleId, Instant)>,
    next: u64,
    modules: Vec<Entry>,
    is_announced: bool,
    /// Total duration of the loads that ended since the modules were announced.
    spent: Duration,
}

impl Loads {
    const fn new() -> Self {
        Self { running: vec![], next: 0, modules: vec![], is_announced: false, spent: Duration::ZERO }
    }

    fn expect(&mut self, modules: Vec<(ModuleId, u64)>) {
        let running = |module| self.running.iter().any(|(_, running, _)| *running == module);
        self.modules.retain(|entry| !entry.is_loaded && running(entry.module));
        modules.into_iter().for_each(|(module, bytes)| self.add(module, bytes));
        (self.is_announced, self.spent) = (true, Duration::ZERO);
    }

    fn add(&mut self, module: ModuleId, bytes: u64) {
        match self.modules.iter_mut().find(|entry| entry.module == module) {
            Some(entry) => entry.is_loaded = false,
            None => self.modules.push(Entry { module, bytes, is_loaded: false }),
        }
    }

    fn begin(&mut self, module: ModuleId, bytes: u64, now: Instant) -> u64 {
        self.next += 1;
        self.running.push((self.next, module, now));
        self.add(module, bytes);
        self.next
    }

    fn end(&mut self, id: u64, now: Instant) {
        let Some(at) = self.running.iter().position(|(known, ..)| *known == id) else { return };
        let (_, module, since) = self.running.remove(at);
        self.spent += now.saturating_duration_since(since);
        self.modules.iter_mut().filter(|entry| entry.module == module).for_each(|entry| entry.is_loaded = true);
    }

    fn compiling(&self, now: Instant) -> Option<Compiling> {
        let (_, module, since) = self.running.iter().min_by_key(|(.., since)| *since)?;
        if !is_long(*since, now) {
            return None;
        }
        let loaded = || self.modules.iter().filter(|entry| entry.is_loaded);
        let bytes: u64 = self.modules.iter().map(|entry| entry.bytes).sum();
        let expected = self.is_announced.then(|| Expected {
            total: self.modules.len(),
            fraction: loaded().map(|entry| entry.bytes).sum::<u64>() as f32 / bytes.max(1) as f32,
            spent: self.spent + now.saturating_duration_since(*since),
        });
        Some(Compiling { module: *module, number: loaded().count() + 1, expected })
    }
}

fn is_long(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) >= COMPILED_WITHIN
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Compiling kernels for this GPU, once: ";

    const SINGLE: ModuleId = ModuleId { file: "spiking/step.cu", variant: "f32" };

    fn of(file: &'static str) -> ModuleId {
        ModuleId { file, variant: "" }
    }

    struct Timeline(Loads, Instant);

    impl Timeline {
        fn at(&self, ms: u64) -> Instant {
            self.1 + Duration::from_millis(ms)
        }
        fn load(&mut self, module: ModuleId, bytes: u64, ms: std::ops::Range<u64>) {
            let id = self.0.begin(module, bytes, self.at(ms.start));
            self.0.end(id, self.at(ms.end));
        }
        fn text(&self, ms: u64) -> Option<String> {
            self.0.compiling(self.at(ms)).map(|now| now.text().trim_start_matches(SAID).to_owned())
        }
        fn expected(&self, ms: u64) -> Option<(usize, f32, u128)> {
            let expected = self.0.compiling(self.at(ms))?.expected?;
            Some((expected.total, expected.fraction, expected.spent.as_millis()))
        }
    }

    #[test]
    fn only_loads_that_take_long_are_compilations() {
        let mut time = Timeline(Loads::new(), Instant::now());
        let first = time.0.begin(SINGLE, 10, time.at(0));
        assert_eq!(time.text(100), None, "it may have been compiled before");
        assert_eq!(time.text(400).as_deref(), Some("1, spiking/step_f32"), "no modules were announced");
        assert_eq!(time.expected(400), None);
        time.0.end(first, time.at(900));
        assert_eq!(time.text(1000), None);
    }

    #[test]
    fn announced_modules_are_counted_by_bytes() {
        let mut time = Timeline(Loads::new(), Instant::now());
        time.load(of("selftest.cu"), 5, 0..10);
        time.0.expect(vec![(of("a.cu"), 100), (of("b.cu"), 700), (of("c.cu"), 200), (of("b.cu"), 700)]);
        time.load(of("a.cu"), 100, 1000..1400);
        time.0.begin(of("b.cu"), 700, time.at(5000));
        assert_eq!(time.text(5600).as_deref(), Some("2 of 3, b"));
        assert_eq!(time.expected(5600), Some((3, 0.1, 1000)), "the time between loads does not count");
        time.0.expect(vec![(of("d.cu"), 100)]);
        assert_eq!(time.text(5600).as_deref(), Some("1 of 2, b"), "a load in progress is part of the next list");
    }

    #[test]
    fn a_module_that_was_not_announced_is_added() {
        let mut time = Timeline(Loads::new(), Instant::now());
        time.0.expect(vec![(of("a.cu"), 300)]);
        time.load(of("a.cu"), 300, 0..400);
        time.0.begin(of("maps.cu"), 100, time.at(500));
        assert_eq!(time.text(900).as_deref(), Some("2 of 2, maps"));
        assert_eq!(time.expected(900), Some((2, 0.75, 800)));
    }

    #[test]
    fn modules_of_one_file_are_counted_apart() {
        let double = ModuleId { variant: "f64", ..SINGLE };
        let mut time = Timeline(Loads::new(), Instant::now());
        time.0.expect(vec![(double, 300), (SINGLE, 100)]);
        time.load(double, 300, 0..400);
        time.0.begin(SINGLE, 100, time.at(500));
        assert_eq!(time.text(900).as_deref(), Some("2 of 2, spiking/step_f32"));
        assert_eq!(time.expected(900), Some((2, 0.75, 800)));
    }
}
