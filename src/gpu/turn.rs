//! One thread of the process at a time captures launches into a graph or calls a library. cublasLtMatmul returns errors
//! (status 13 or 14) in captures, and only there, while other threads of the process capture and multiply, too.

use std::{
    cell::Cell,
    sync::{Mutex, MutexGuard, PoisonError},
};

static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    static IS_MINE: Cell<bool> = const { Cell::new(false) };
}

/// This thread's turn, until it is dropped.
pub(super) struct Turn {
    /// `None` within another turn of this thread.
    lock: Option<MutexGuard<'static, ()>>,
}

impl Turn {
    /// Waits until no other thread has its turn. A thread that has it may ask again.
    pub(super) fn take() -> Self {
        if IS_MINE.get() {
            return Self { lock: None };
        }
        let lock = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        IS_MINE.set(true);
        Self { lock: Some(lock) }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.lock.is_some() {
            IS_MINE.set(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn one_thread_has_its_turn_and_may_ask_again() {
        let (inside, entered) = (AtomicU32::new(0), AtomicU32::new(0));
        let enter = || {
            let _turn = Turn::take();
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "another thread has its turn");
            std::thread::yield_now();
            drop(Turn::take());
            assert!(IS_MINE.get(), "the inner turn does not end the outer one");
            entered.fetch_add(1, Ordering::SeqCst);
            inside.fetch_sub(1, Ordering::SeqCst);
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| enter()));
            }
        });
        assert_eq!(entered.into_inner(), 200);
    }

    #[test]
    fn a_panic_ends_the_turn() {
        let ended = std::panic::catch_unwind(|| {
            let _turn = Turn::take();
            panic!("inside");
        });
        assert!(ended.is_err() && !IS_MINE.get());
        std::thread::scope(|scope| {
            scope.spawn(|| drop(Turn::take()));
        });
    }
}
