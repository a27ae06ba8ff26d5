//! The desktop and the machine: threads for jobs, watched files, devices, crash reports, and small files kept between sessions.

pub mod attention;
pub mod consent;
pub mod crash;
pub mod device;
pub mod file_watch;
pub mod jobs;
pub mod kept_about;
pub mod placement;
pub mod recent;
pub mod software;
pub mod store;
pub mod system;
