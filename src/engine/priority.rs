//! Thread priorities for machines with few processors.

/// Lowers the priority of the calling thread and of the threads that it starts. Does nothing on systems without
/// priorities per thread.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
pub fn lower_priority(nice: i32) {
    #[cfg(target_os = "linux")]
    // SAFETY: a system call with plain numbers. On Linux, `PRIO_PROCESS` with 0 is the calling thread alone, and new
    // threads inherit its priority. An error changes nothing.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, nice);
    }
}
