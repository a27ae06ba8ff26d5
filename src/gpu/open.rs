//! Opens devices of the driver.

use super::{Gpu, OpenError, launch_cost, present, probe};
use cudarc::driver::CudaContext;
use std::{sync::Arc, time::Instant};

impl Gpu {
    /// Opens device `ordinal`. Never panics: a missing driver, a stub, an outdated driver, an unknown ordinal and an old device
    /// are each an [`OpenError`].
    pub fn open(ordinal: usize) -> Result<Arc<Self>, OpenError> {
        let (driver, begin) = (probe::probe()?, Instant::now());
        let refused = |e| OpenError::driver(&e);
        let present = present()?;
        if ordinal >= present.len() {
            return Err(OpenError::NoDevice { wanted: ordinal, present });
        }
        let gpu = Self::on(CudaContext::new(ordinal).map_err(refused)?, driver).map_err(refused)?;
        match gpu.capability {
            c if c < probe::OLDEST_DEVICE => Err(OpenError::old_device(&gpu.name, c)),
            _ => {
                let opened = begin.elapsed();
                gpu.added_by_events.get_or_init(|| launch_cost::nanos_added_by_events(&gpu));
                tracing::debug!("{} opened in {opened:.1?}, times of launches after {:.1?}", gpu.name, begin.elapsed());
                Ok(gpu)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_never_panics() {
        match Gpu::open(0) {
            Ok(gpu) => eprintln!("opened {}", gpu.describe()),
            Err(e) => assert!(e.to_string().contains("CPU"), "it does not say what to do: {e}"),
        }
        assert!(Gpu::open(usize::MAX).is_err());
    }
}
