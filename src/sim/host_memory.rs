//! Host memory available to this program, limited by the machine and its control groups.

use super::{MemoryReport, SimError};

/// Amounts of host memory, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostMemory {
    /// Memory that can still be allocated.
    pub available: u64,
    /// Limit of the machine or of a control group (container).
    pub total: u64,
}

impl HostMemory {
    /// Reads the amounts from the system; `None` if `/proc/meminfo` does not contain them.
    pub fn now() -> Option<Self> {
        Self::read(|path| std::fs::read_to_string(path).ok())
    }

    /// Returns the amounts of the machine or of a control group of this process, whichever has the least available memory;
    /// `None` if `/proc/meminfo` does not contain them. `file` reads a text file and returns `None` if it does not exist.
    fn read(file: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let meminfo = file("/proc/meminfo")?;
        let kib = |name: &str| Some(number(line(&meminfo, name)?)? * 1024);
        let machine = Self { available: kib("MemAvailable:")?, total: kib("MemTotal:")? };
        let groups = file("/proc/self/cgroup").unwrap_or_default();
        let limits = groups.lines().flat_map(|group| limits(group, &file));
        Some(limits.fold(machine, |least, group| if group.available < least.available { group } else { least }))
    }

    /// Fails if a predicted memory report exceeds the available memory. The error contains sizes, the largest owner and
    /// advice.
    pub fn check(self, predicted: &MemoryReport) -> Result<(), SimError> {
        let needed = predicted.total();
        if needed <= self.available {
            return Ok(());
        }
        let gb = |bytes: u64| format!("{:.1} GB", bytes as f64 * 1e-9);
        let largest = predicted.largest();
        Err(SimError::Input(format!(
            "needs about {} of memory, most of it for {largest}; {} of {} are available: make the model smaller or \
             close other programs. On the command line, --force tries anyway",
            gb(needed),
            gb(self.available),
            gb(self.total)
        )))
    }
}

/// Reads the limits of a control group and its parents, given as a line of `/proc/self/cgroup` of version 1 or 2. Groups
/// that do not limit memory are omitted.
fn limits(group: &str, file: &impl Fn(&str) -> Option<String>) -> Vec<HostMemory> {
    let mut parts = group.splitn(3, ':');
    let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { return vec![] };
    let (root, limit, used, cache) = if controllers.is_empty() {
        ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file ")
    } else if controllers.split(',').any(|c| c == "memory") {
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ")
    } else {
        return vec![];
    };
    let mut folder = path.trim_end_matches('/');
    let mut found = vec![];
    loop {
        let read = |name: &str| file(&format!("{root}{folder}/{name}"));
        if let (Some(total), Some(used)) =
            (read(limit).as_deref().and_then(number), read(used).as_deref().and_then(number))
        {
            // The system frees the file cache if memory runs short, so the cache counts as available.
            let stat = read("memory.stat").unwrap_or_default();
            let cached = line(&stat, cache).and_then(number).unwrap_or(0);
            found.push(HostMemory { available: total.saturating_sub(used.saturating_sub(cached)), total });
        }
        let Some((parent, _)) = folder.rsplit_once('/') else { return found };
        folder = parent;
    }
}

/// Returns the rest of the first line that begins with `beginning`; `None` if there is no such line.
fn line<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    text.lines().find_map(|l| l.strip_prefix(beginning))
}

/// Parses the number at the start of a text; `None` if there is no number, as in `max`.
fn number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:        8000000 kB\nMemFree:          100 kB\nMemAvailable:    6000000 kB\n";

    fn of(files: &[(&str, &str)]) -> Option<HostMemory> {
        HostMemory::read(|path| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned()))
    }

    #[test]
    fn the_machine_and_its_control_groups_limit_memory() {
        assert_eq!(of(&[]), None);
        let machine = HostMemory { available: 6_144_000_000, total: 8_192_000_000 };
        assert_eq!(of(&[("/proc/meminfo", MEMINFO)]), Some(machine));
        let v2 = [
            ("/proc/meminfo", MEMINFO),
            ("/proc/self/cgroup", "0::/jobs/one\n"),
            ("/sys/fs/cgroup/jobs/one/memory.max", "max\n"),
            ("/sys/fs/cgroup/jobs/one/memory.current", "5\n"),
            ("/sys/fs/cgroup/jobs/memory.max", "2000000000\n"),
            ("/sys/fs/cgroup/jobs/memory.current", "1500000000\n"),
            ("/sys/fs/cgroup/jobs/memory.stat", "anon 7\ninactive_file 500000000\n"),
        ];
        assert_eq!(of(&v2), Some(HostMemory { available: 1_000_000_000, total: 2_000_000_000 }));
        let v1 = [
            ("/proc/meminfo", MEMINFO),
            ("/proc/self/cgroup", "5:cpu:/x\n4:memory,hugetlb:/box\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "3000000000\n"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000000000\n"),
        ];
        assert_eq!(of(&v1), Some(HostMemory { available: 2_000_000_000, total: 3_000_000_000 }));
    }

    #[test]
    fn a_model_beyond_the_available_memory_is_refused() {
        let memory = HostMemory { available: 6_000_000_000, total: 8_000_000_000 };
        assert!(memory.check(&[("connectivity", 5_000_000_000)].into()).is_ok() && memory.check(&[].into()).is_ok());
        let why = memory
            .check(&[("neurons", 1_000_000_000), ("connectivity", 16_000_000_000)].into())
            .unwrap_err()
            .to_string();
        assert_eq!(
            why,
            "needs about 17.0 GB of memory, most of it for connectivity; 6.0 GB of 8.0 GB are available: make the model \
             smaller or close other programs. On the command line, --force tries anyway"
        );
    }
}
