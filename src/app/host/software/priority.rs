//! Thread priorities under software rendering: the rasteriser threads have a lower priority than the window's thread, and
//! the engine threads have the lowest.

/// Name prefix of the threads of Mesa's software renderer.
#[cfg(target_os = "linux")]
const NAME: &str = "llvmpipe";
/// Nice value of the rasteriser threads, between the window (0) and the engine. A scheduled thread keeps its core for a
/// time slice that is long compared with a frame, so these threads must be scheduled rarely.
#[cfg(target_os = "linux")]
const NICE: i32 = 12;
/// Nice value of the engine's threads.
pub const ENGINE_NICE: i32 = 14;

/// Lowers the priority of the renderer's threads, which exist once the device is created.
pub(super) fn lower_rasteriser_priority() {
    #[cfg(target_os = "linux")]
    for thread in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let name = std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        let id = thread.file_name().to_str().and_then(|id| id.parse::<u32>().ok());
        if let Some(id) = id.filter(|_| name.starts_with(NAME)) {
            // SAFETY: a system call with plain numbers. On Linux, `PRIO_PROCESS` takes the id of a thread.
            unsafe {
                libc::setpriority(libc::PRIO_PROCESS, id, NICE);
            }
        }
    }
}
