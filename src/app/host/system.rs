//! Processor and memory of this machine.

/// Returns the name of the processor; `None` if the system does not report it.
pub fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Memory of this process, read at most once a second.
#[derive(Default)]
pub struct ProcessMemory(Option<(std::time::Instant, u64)>);

impl ProcessMemory {
    /// Returns the resident memory in bytes; 0 if the system does not report it.
    pub fn bytes(&mut self) -> u64 {
        match self.0 {
            Some((at, bytes)) if at.elapsed().as_secs() < 1 => bytes,
            _ => {
                let bytes = resident_bytes().unwrap_or(0);
                self.0 = Some((std::time::Instant::now(), bytes));
                bytes
            }
        }
    }
}

/// Reads the resident memory in bytes from `/proc/self/status`; `None` if the file or its entry is missing.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.starts_with("VmRSS"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// Returns the memory of the machine in bytes; `None` if the system does not report it.
pub fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|l| l.starts_with("MemTotal"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}
