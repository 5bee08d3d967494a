//! The command line itself: help with examples, suggestions, completions, exit codes, quiet.

use serde_json::Value;
use std::process::{Command, Output};

fn retreever(words: &[&str]) -> Output {
    let cache = std::env::temp_dir();
    Command::new(env!("CARGO_BIN_EXE_retreever")).args(words).env("RETREEVER_CACHE", cache).output().unwrap()
}

fn printed(words: &[&str]) -> String {
    let output = retreever(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The commands, as the help lists them.
fn commands() -> Vec<String> {
    let help = printed(&["--help"]);
    let list = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .filter(|c| c != "help")
        .collect()
}

#[test]
fn every_command_has_examples_and_the_flags_of_all() {
    let commands = commands();
    assert!(commands.len() >= 17, "{commands:?}");
    for command in &commands {
        let help = printed(&[command, "--help"]);
        let examples = if command == "compare" { "--budget" } else { "Example" };
        for word in [examples, "--threads", "--quiet", "--version"] {
            assert!(help.contains(word), "{command} --help lacks {word}");
        }
        let results = !["completions", "explore"].contains(&&command[..]);
        let help = if command == "data" { printed(&["data", "check", "--help"]) } else { help };
        assert_eq!(help.contains("--json"), results, "{command} --json");
    }
}

#[test]
fn what_is_misspelt_is_suggested_and_bad_usage_is_2() {
    for (words, suggestion) in [
        (&["trian"][..], "train"),
        (&["search", "words", "--explian"], "--explain"),
        (&["train", "--data", "x", "--split", "lineer"], "linear"),
    ] {
        let output = retreever(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(suggestion), "{words:?}: {said}");
    }
    let output = retreever(&["search", "words", "--index", "nowhere"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("retreever index"), "{said}");
}

#[test]
fn shells_get_completions_and_the_doctor_speaks_json() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(printed(&["completions", shell]).contains("retreever"), "{shell}");
    }
    let output = retreever(&["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ready"].as_bool(), Some(output.status.success()));
    let checks = report["checks"].as_array().unwrap();
    let names: Vec<&str> = checks.iter().filter_map(|check| check["what"].as_str()).collect();
    assert_eq!(names, ["threads", "processor", "encoder", "pip", "cache", "disk", "browser"]);
}
