//! An allocator that counts. A test binary that needs the counts makes it its global allocator.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    sync::atomic::{AtomicI64, Ordering},
};

static HELD: AtomicI64 = AtomicI64::new(0);

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting.
pub struct Counting;

// SAFETY: all calls are forwarded to the system allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + layout.size() as u64));
        HELD.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Bytes that the whole process holds.
pub fn held() -> i64 {
    HELD.load(Ordering::Relaxed)
}

/// Bytes of all allocations of this thread so far.
pub fn bytes() -> u64 {
    BYTES.with(Cell::get)
}

/// Allocations of this thread so far.
pub fn calls() -> u64 {
    CALLS.with(Cell::get)
}

/// Bytes of the process in main memory, those of drivers included; `None` where the system has no `/proc`.
pub fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}
