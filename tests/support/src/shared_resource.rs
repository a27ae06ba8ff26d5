//! A resource that the tests of a process share, and that some need alone: the memory of a GPU. A test holds it until
//! its thread ends; helpers may ask for it again.

use std::{
    cell::RefCell,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

static RESOURCE: RwLock<()> = RwLock::new(());

enum Hold {
    Shared { _guard: RwLockReadGuard<'static, ()> },
    Alone { _guard: RwLockWriteGuard<'static, ()> },
}

thread_local! {
    static HOLD: RefCell<Option<Hold>> = const { RefCell::new(None) };
}

/// Holds the resource together with others. A test that has it alone keeps it alone.
pub fn share() {
    HOLD.with_borrow_mut(|hold| {
        hold.get_or_insert_with(|| Hold::Shared { _guard: RESOURCE.read().unwrap_or_else(PoisonError::into_inner) });
    });
}

/// Waits until no other test holds the resource, and holds it alone.
pub fn have_alone() {
    HOLD.with_borrow_mut(|hold| {
        if !matches!(hold, Some(Hold::Alone { .. })) {
            drop(hold.take());
            *hold = Some(Hold::Alone { _guard: RESOURCE.write().unwrap_or_else(PoisonError::into_inner) });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::Arc, sync::atomic::*, thread};

    #[test]
    fn one_that_needs_it_alone_waits_for_the_others() {
        let running = Arc::new(AtomicI32::new(0));
        let test = |alone: bool| {
            let running = running.clone();
            thread::spawn(move || {
                if alone {
                    have_alone()
                } else {
                    share()
                }
                share();
                let n = running.fetch_add(if alone { 100 } else { 1 }, Ordering::SeqCst);
                assert!(n < 100 && (!alone || n == 0), "{n} others");
                thread::yield_now();
                running.fetch_sub(if alone { 100 } else { 1 }, Ordering::SeqCst);
            })
        };
        let tests: Vec<_> = (0..40).map(|i| test(i % 5 == 0)).collect();
        tests.into_iter().for_each(|test| test.join().expect("it ends"));
    }
}
