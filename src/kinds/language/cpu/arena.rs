//! Stack allocator for tensors in one host allocation, similar to the [arena](crate::gpu::Arena) of a device.

use super::{refused, zeros};
use crate::{
    gpu::Arena,
    kinds::language::plan::{Memory, TakeFrom},
    sim::SimError,
};

/// Host memory for the activations of a pass.
#[derive(Default)]
pub struct HostArena<R>(Vec<R>);

/// Free part of an arena. Tensors taken from a nested frame are freed when its borrow ends.
pub struct HostFrame<'f, R>(&'f mut [R]);

impl<R: Copy + Default> HostArena<R> {
    /// Allocates at least `bytes` bytes. Fails if memory is exhausted.
    pub fn new(bytes: usize) -> Result<Self, SimError> {
        Ok(Self(zeros("activations", bytes.div_ceil(size_of::<R>()))?))
    }

    /// Grows the arena to at least `bytes` bytes with unspecified contents. Fails if memory is exhausted.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), SimError> {
        if bytes > self.0.len() * size_of::<R>() {
            // The old allocation is freed before the new one is made.
            self.0 = vec![];
            *self = Self::new(bytes)?;
        }
        Ok(())
    }

    /// Returns the size of the arena in bytes.
    pub const fn bytes(&self) -> u64 {
        (self.0.len() * size_of::<R>()) as u64
    }

    /// Returns a frame over the whole arena.
    pub fn frame(&mut self) -> HostFrame<'_, R> {
        HostFrame(&mut self.0)
    }
}

impl<R> HostFrame<'_, R> {
    /// Returns a frame nested in this one.
    pub fn frame(&mut self) -> HostFrame<'_, R> {
        HostFrame(self.0)
    }
}

impl<R> Memory for HostFrame<'_, R> {
    type Error = SimError;
}

impl<'f, R> TakeFrom<HostFrame<'f, R>> for &'f mut [R] {
    fn take_from(memory: &mut HostFrame<'f, R>, name: &'static str, len: usize) -> Result<Self, SimError> {
        let room = std::mem::take(&mut memory.0);
        let taken = Arena::bytes_of(&[(len, size_of::<R>())]) / size_of::<R>();
        if taken > room.len() {
            return Err(refused(format!("{name} of {len} elements, and there is room for {}", room.len())));
        }
        let (part, rest) = room.split_at_mut(taken);
        memory.0 = rest;
        Ok(&mut part[..len])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_frames_are_given_back() {
        let mut arena = HostArena::<f32>::new(1024).expect("memory");
        let mut frame = arena.frame();
        let x = <&mut [f32]>::take_from(&mut frame, "x", 65).expect("it fits");
        for _ in 0..3 {
            let mut inner = frame.frame();
            let y = <&mut [f32]>::take_from(&mut inner, "y", 128).expect("it fits");
            y.fill(2.0);
            assert!(<&mut [f32]>::take_from(&mut inner, "z", 1).is_err(), "the arena is full");
        }
        x.fill(1.0);
        let y = <&mut [f32]>::take_from(&mut frame, "y", 128).expect("it fits");
        assert!(y.iter().all(|y| *y == 2.0) && y.len() == 128);
    }
}
