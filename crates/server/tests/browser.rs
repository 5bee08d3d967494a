//! The explorer in a real browser: Playwright drives Chromium over the pages of a small corpus.
//!
//! The driver is installed with the machine's npm into the target directory, and Chromium with apt-get, if they
//! are not there. Where neither can be fetched the test says so and is left out.

mod served;

use retreever_server::Guard;
use served::Served;
use std::path::{Path, PathBuf};
use std::process::Command;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const DRIVER: &str = "playwright-core@1";

fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().flat_map(|name| dirs.iter().map(move |dir| dir.join(name))).find(|file| file.is_file())
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn browser() -> Option<PathBuf> {
    on_path(&BROWSERS).or_else(|| {
        let mut install = Command::new("apt-get");
        install
            .args(["install", "-y", "--no-install-recommends", "chromium"])
            .env("DEBIAN_FRONTEND", "noninteractive");
        let mut refreshed = || succeeds(Command::new("apt-get").arg("update")) && succeeds(&mut install);
        refreshed().then(|| on_path(&BROWSERS)).flatten()
    })
}

fn driver(dir: &Path) -> bool {
    if dir.join("node_modules/playwright-core/package.json").is_file() {
        return true;
    }
    let made = std::fs::create_dir_all(dir).and_then(|()| std::fs::write(dir.join("package.json"), "{}"));
    made.is_ok()
        && succeeds(Command::new("npm").args(["install", "--no-audit", "--no-fund", DRIVER]).current_dir(dir))
}

#[test]
fn the_explorer_in_a_browser() {
    let modules = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    let Some(node) = on_path(&["node"]) else {
        println!("left out: there is no node on this machine");
        return;
    };
    let (Some(browser), true) = (browser(), driver(&modules)) else {
        println!("left out: Chromium or {DRIVER} cannot be fetched here");
        return;
    };
    let served = Served::start(Guard::ThisMachine);
    let pictures = modules.join("pictures");
    std::fs::create_dir_all(&pictures).unwrap();
    let output = Command::new(node)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/tests/explorer.mjs"))
        .arg(format!("http://{}", served.address))
        .args([&modules, &browser, &pictures])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    println!("{told}");
}
