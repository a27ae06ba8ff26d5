//! Page-locked host memory, which is used again: while the driver locks or unlocks pages, the other threads that call it wait.

use super::{Gpu, GpuError, error::Doing as _};
use cudarc::driver::PinnedHostSlice;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Size of the memory from which blocks are taken, bytes.
const SLAB: usize = 4 << 20;
/// Maximum size of a block that is taken from a slab and used again, bytes. Larger ones are allocated each time.
const MAX_SHARED: usize = 1 << 20;

/// Page-locked memory of a device.
#[derive(Default)]
pub(super) struct PinnedPool(Mutex<Slabs>);

#[derive(Default)]
struct Slabs {
    slabs: Vec<PinnedHostSlice<u64>>,
    /// Unused bytes at the end of the last slab.
    left: usize,
    /// Unused blocks by size.
    unused: HashMap<usize, Vec<Address>>,
}

/// Address of a block.
#[derive(Clone, Copy)]
struct Address(*mut u8);

// SAFETY: an address is used by the owner of the block alone.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// Block of page-locked memory. Its contents are undefined when it is allocated.
pub(super) struct Block {
    address: Address,
    bytes: usize,
    owner: Owner,
}

enum Owner {
    /// The pool, to which the block returns.
    Pool(Arc<PinnedPool>),
    /// The block itself.
    Block { _memory: PinnedHostSlice<u64> },
}

impl PinnedPool {
    /// Returns a block of at least `bytes` bytes, aligned to 256. Fails if host memory cannot be page-locked.
    pub fn block(gpu: &Gpu, bytes: usize, doing: impl Fn() -> String + Copy) -> Result<Block, GpuError> {
        let bytes = bytes.max(1).next_multiple_of(if bytes < 1 << 16 { 1 << 8 } else { 1 << 14 });
        if bytes > MAX_SHARED {
            let (memory, address) = lock_pages(gpu, bytes).doing(doing)?;
            return Ok(Block { address, bytes, owner: Owner::Block { _memory: memory } });
        }
        let pool = &gpu.pinned;
        let mut slabs = pool.0.lock().unwrap_or_else(PoisonError::into_inner);
        let address = match slabs.unused.get_mut(&bytes).and_then(Vec::pop) {
            Some(address) => address,
            None => slabs.take(gpu, bytes).doing(doing)?,
        };
        Ok(Block { address, bytes, owner: Owner::Pool(pool.clone()) })
    }
}

impl Slabs {
    /// Returns a new block of a slab. Fails if host memory cannot be page-locked.
    fn take(&mut self, gpu: &Gpu, bytes: usize) -> Result<Address, cudarc::driver::DriverError> {
        if self.left < bytes || self.slabs.is_empty() {
            self.slabs.push(lock_pages(gpu, SLAB)?.0);
            self.left = SLAB;
        }
        let slab = self.slabs.last_mut().expect("one was added").as_mut_ptr()?;
        // SAFETY: the last `left` bytes of the slab belong to no block, and the block fits into them.
        let address = Address(unsafe { slab.cast::<u8>().add(SLAB - self.left) });
        self.left -= bytes;
        Ok(address)
    }
}

fn lock_pages(gpu: &Gpu, bytes: usize) -> Result<(PinnedHostSlice<u64>, Address), cudarc::driver::DriverError> {
    // SAFETY: the memory is initialised before it can be read.
    let mut memory = unsafe { gpu.context.alloc_pinned_with_flags::<u64>(bytes / size_of::<u64>(), 0) }?;
    let address = Address(memory.as_mut_ptr()?.cast());
    Ok((memory, address))
}

impl Block {
    /// Returns the address of the first byte, for the owner of the block.
    pub fn address(&self) -> *mut u8 {
        self.address.0
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Owner::Pool(pool) = &self.owner {
            let mut slabs = pool.0.lock().unwrap_or_else(PoisonError::into_inner);
            slabs.unused.entry(self.bytes).or_default().push(self.address);
        }
    }
}
