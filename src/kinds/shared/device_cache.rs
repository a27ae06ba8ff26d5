//! Data of a setup on devices: one copy for all simulations that use it.

use std::{
    any::Any,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// Data on devices, kept while a simulation uses them. Values of any type stand side by side, so that a setup does not name what its
/// backends upload.
#[derive(Default)]
pub struct DeviceCache(Mutex<Vec<Weak<dyn Any + Send + Sync>>>);

impl DeviceCache {
    /// Returns the value of this type that `is_wanted`, and makes it unless a simulation uses it. Simulations that start together
    /// wait until it is made. Fails as `make` does.
    pub fn share<T: Any + Send + Sync, E>(
        &self,
        is_wanted: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner); // a panic elsewhere leaves the list usable
        known.retain(|value| value.strong_count() > 0);
        let mut of_type = known.iter().filter_map(Weak::upgrade).filter_map(|value| value.downcast::<T>().ok());
        if let Some(found) = of_type.find(|value| is_wanted(value)) {
            return Ok(found);
        }
        let new = Arc::new(make()?);
        let any: Arc<dyn Any + Send + Sync> = new.clone();
        known.push(Arc::downgrade(&any));
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_shared_while_it_is_used() {
        let cache = DeviceCache::default();
        let share = |n: u32| cache.share(move |known: &u32| *known == n, || Ok::<_, ()>(n)).expect("made");
        let first = share(1);
        assert!(Arc::ptr_eq(&first, &share(1)) && !Arc::ptr_eq(&first, &share(2)));
        let text = cache.share(|_: &String| true, || Ok::<_, ()>("1".to_owned()));
        assert_eq!(text.as_deref(), Ok(&"1".to_owned()));
        drop(first);
        assert_eq!(cache.share(|_: &u32| true, || Err::<u32, _>("made again")), Err("made again"));
    }
}
