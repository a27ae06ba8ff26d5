//! Priorities of the threads of a simulation beside a window.
#![cfg(target_os = "linux")]

use neuropil::{
    engine::{Command, Engine, Event, Loader, lower_priority},
    project::{self, Project},
    sim::{Device, Progress, Seed},
};
use std::path::Path;

/// Threads of this process with a nice value, by name.
fn threads(nice: i32) -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("threads");
    let name = |task: std::fs::DirEntry| {
        // `id (name) state …`; the nice value is the 17th number after the name. A thread may have ended meanwhile.
        let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        (rest.split_whitespace().nth(16)? == nice.to_string()).then(|| name.to_owned())
    };
    tasks.flatten().filter_map(name).collect()
}
