//! Modules that the driver compiles for a device. It keeps the result on disk, so that only the first run on a machine waits
//! for it. The list of loads in progress tells the run bar and the command line why the simulation takes no step.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// A module that was compiled before loads in less time.
const COMPILED_WITHIN: Duration = Duration::from_millis(150);

static LOADS: Mutex<Loads> = Mutex::new(Loads::new());

/// A compilation in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compiling {
    /// File of the module.
    pub file: &'static str,
    /// Number of this compilation in this program, from 1.
    pub number: u32,
}

impl Compiling {
    /// `Compiling kernels for this GPU, once: 3, nn/softmax`.
    pub fn text(self) -> String {
        format!("Compiling kernels for this GPU, once: {}, {}", self.number, self.file.trim_end_matches(".cu"))
    }
}

/// The module that is being compiled, if that takes long.
pub fn compiling() -> Option<Compiling> {
    locked(|loads| loads.compiling(Instant::now()))
}

/// A load in progress; it ends when this is dropped.
pub(super) struct Load(u64);

/// Adds the load of a module.
pub(super) fn begin(file: &'static str) -> Load {
    Load(locked(|loads| loads.begin(file, Instant::now())))
}

impl Drop for Load {
    fn drop(&mut self) {
        locked(|loads| loads.end(self.0, Instant::now()));
    }
}

fn locked<T>(work: impl FnOnce(&mut Loads) -> T) -> T {
    work(&mut LOADS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The loads in progress, oldest first.
struct Loads {
    running: Vec<(u64, &'static str, Instant)>,
    next: u64,
    /// Loads that took long.
    n_compiled: u32,
}

impl Loads {
    const fn new() -> Self {
        Self { running: vec![], next: 0, n_compiled: 0 }
    }

    fn begin(&mut self, file: &'static str, now: Instant) -> u64 {
        self.next += 1;
        self.running.push((self.next, file, now));
        self.next
    }

    fn end(&mut self, id: u64, now: Instant) {
        let Some(at) = self.running.iter().position(|(known, ..)| *known == id) else { return };
        let (.., since) = self.running.remove(at);
        self.n_compiled += u32::from(is_long(since, now));
    }

    fn compiling(&self, now: Instant) -> Option<Compiling> {
        let (_, file, since) = self.running.iter().min_by_key(|(.., since)| *since)?;
        is_long(*since, now).then_some(Compiling { file, number: self.n_compiled + 1 })
    }
}

fn is_long(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) >= COMPILED_WITHIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loads_that_take_long_are_compilations() {
        let (mut loads, start) = (Loads::new(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        let text = |loads: &Loads, ms| loads.compiling(at(ms)).map(Compiling::text);
        let first = loads.begin("spiking/step_f32.cu", at(0));
        assert_eq!(text(&loads, 100), None, "it may have been compiled before");
        let said = "Compiling kernels for this GPU, once: ".to_owned();
        assert_eq!(text(&loads, 400), Some(said.clone() + "1, spiking/step_f32"));
        loads.end(first, at(900));
        assert_eq!(text(&loads, 1000), None);
        let short = loads.begin("add_losses", at(1000));
        loads.end(short, at(1020));
        loads.begin("hopper_forward_64", at(1020));
        assert_eq!(text(&loads, 1300), Some(said + "2, hopper_forward_64"));
    }
}
