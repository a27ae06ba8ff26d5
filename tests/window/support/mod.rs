//! What the tests of the window share: fake simulations, and ways to drive a window or one view.

pub mod device_profile;
pub mod fake;
pub mod fake_fly;
pub mod fake_population;
pub mod harness;
pub mod many;
pub mod names;
pub mod population;
pub mod stage;
pub mod window;
pub mod words;
