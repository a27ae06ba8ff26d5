//! How many threads a run really used.

use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

/// Most threads of the spiking kind that existed at once while `work` ran, the calling one not counted. Only in a
/// process of its own, and on Linux.
pub fn most_during<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let is_over = AtomicBool::new(false);
    let count = || {
        let tasks = fs::read_dir("/proc/self/task").expect("the threads of this process").flatten();
        tasks
            .filter(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == "spiking"))
            .count()
    };
    std::thread::scope(|scope| {
        let watch = || {
            let mut most = 0;
            while !is_over.load(Ordering::Relaxed) {
                most = most.max(count());
                std::thread::sleep(Duration::from_micros(200));
            }
            most
        };
        let watcher = std::thread::Builder::new().name("watcher".into()).spawn_scoped(scope, watch).expect("a thread");
        let result = work();
        is_over.store(true, Ordering::Relaxed);
        (result, watcher.join().expect("it counts"))
    })
}
