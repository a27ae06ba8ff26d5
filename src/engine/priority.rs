//! Who gives way to whom on a machine with few processors.

/// Lowers the priority of the calling thread, and of those it will start. Does nothing where the system has no
/// priorities per thread.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
pub fn give_way(nice: i32) {
    #[cfg(target_os = "linux")]
    // SAFETY: a system call with plain numbers. On Linux, `PRIO_PROCESS` with 0 is the calling thread alone, and new
    // threads inherit its priority. A refusal leaves things as they are.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, nice);
    }
}
