//! Notes how the module is built, which `headend._engine.build()` gives.

use std::env;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HEADEND_COMMIT");
    println!("cargo::rustc-env=HEADEND_PROFILE={}", profile());
    println!("cargo::rustc-env=HEADEND_TARGET={}", variable("TARGET"));
}

/// The profile's own name: `PROFILE` holds only "debug" or "release", and profiles of our own
/// inherit from these.
fn profile() -> String {
    // …/PROFILE/build/PACKAGE-HASH/out
    let folder = variable("OUT_DIR");
    let profile = Path::new(&folder).ancestors().nth(3);
    let name = profile
        .and_then(Path::file_name)
        .and_then(|name| name.to_str());
    name.map_or_else(|| variable("PROFILE"), str::to_owned)
}

fn variable(name: &str) -> String {
    env::var(name).expect("Cargo sets it")
}
