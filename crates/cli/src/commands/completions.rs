//! `retreever completions`: what a shell needs to complete commands and options.

use anyhow::Result;
use clap_complete::Shell;

/// For which shell.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever completions bash > ~/.local/share/bash-completion/completions/retreever
  retreever completions zsh > ~/.zfunc/_retreever
  retreever completions fish > ~/.config/fish/completions/retreever.fish")]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(args: &Args, mut command: clap::Command) -> Result<()> {
    clap_complete::generate(args.shell, &mut command, "retreever", &mut std::io::stdout());
    Ok(())
}
