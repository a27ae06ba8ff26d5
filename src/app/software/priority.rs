//! The threads that compute pixels give way to the one that lays out the window and listens to the user: a picture may
//! come a little later, the next one is begun at once. The engine's threads stand behind both.

/// How the threads of Mesa's software renderer are called.
#[cfg(target_os = "linux")]
const NAME: &str = "llvmpipe";
/// Between the window, at 0, and the engine. Whoever gets a turn keeps it until the next tick of the system's clock, up
/// to 4 ms and so as much as the window's whole work on a frame: turns of these two have to be rare.
#[cfg(target_os = "linux")]
const NICE: i32 = 12;
/// How far the engine gives way.
pub const ENGINE_NICE: i32 = 14;

/// Lowers the priority of the renderer's threads; they exist as soon as there is a device. Whatever cannot be found
/// stays as it is.
pub(super) fn rasteriser_gives_way() {
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
