//! `retreever explore`: the tree in a browser.

use super::source::Source;
use crate::progress::say;
use anyhow::{Result, anyhow};
use retreever_server::{Guard, Limits, Listener, Token, serve};
use std::net::{IpAddr, SocketAddr};

/// What to show, and where.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever explore --index index/
  retreever explore --index index/ --queries asked.txt        (shows where these users ask)
  retreever explore --index index/ --host 0.0.0.0 --token A-SECRET")]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// The port; 0 takes any that is free.
    #[arg(long, default_value_t = 7878)]
    port: u16,
    /// The address to serve on; one that other machines can reach demands a token.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// The secret that every request must carry.
    #[arg(long, env = "RETREEVER_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let guard = match &args.token {
        None => Guard::ThisMachine,
        Some(token) => {
            let token = Token::new(token);
            Guard::Token(token.ok_or_else(|| anyhow!("a token has at least 8 visible ASCII characters"))?)
        }
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let address = SocketAddr::new(args.host, args.port);
    let listener = runtime.block_on(Listener::bind(address, guard))?;
    let address = listener.address()?;
    let explorer = args.source.open()?.explorer;
    match &args.token {
        None => println!("http://{address}"),
        Some(token) => println!("http://{address}/#token={token}"),
    }
    say!("the explorer is ready; press Ctrl-C to stop");
    let stop = async {
        tokio::signal::ctrl_c().await.ok();
    };
    Ok(runtime.block_on(serve(listener, explorer, Limits::default(), stop))?)
}
