//! Sets the commit that the program names in runs. The library below the window does not depend on it, so that a commit does not
//! compile the library again; `src/build.rs` embeds the kernels. Needs no git.

use std::{env, path::Path, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let root = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo::rustc-env=NEUROPIL_GIT={}", commit(Path::new(&root)));
}

/// Short id of the commit; `unknown` outside a checkout.
fn commit(root: &Path) -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // The reflog moves with every commit and checkout; without one, the build script runs once.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).map(|p| root.join(p)).filter(|p| p.exists()) {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    git(&["rev-parse", "--short=12", "HEAD"]).filter(|hash| !hash.is_empty()).unwrap_or_else(|| "unknown".into())
}
