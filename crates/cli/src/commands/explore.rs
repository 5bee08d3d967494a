//! `retreever explore`: the tree in a browser.

use crate::{chat, progress};
use anyhow::{Context, Result, anyhow};
use retreever::{Assignments, BadLines, Retriever, Role};
use retreever_server::{Explorer, Guard, Known, Limits, Listener, RouteError, Token, serve};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// What to show, and where.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  retreever explore --index index/
  retreever explore --index index/ --data insuranceqa/        (also shows where users ask)
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

/// What is looked into, for this command and `inspect`.
#[derive(clap::Args)]
pub(super) struct Source {
    /// The index.
    #[arg(long)]
    pub(super) index: PathBuf,
    /// Data whose queries show where users ask.
    #[arg(long)]
    data: Option<PathBuf>,
    /// At most so many of those queries are read.
    #[arg(long, default_value_t = 2000)]
    queries: usize,
    #[command(flatten)]
    chat: chat::Args,
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
    let explorer = open(&args.source)?;
    match &args.token {
        None => println!("http://{address}"),
        Some(token) => println!("http://{address}/#token={token}"),
    }
    eprintln!("the explorer is ready; press Ctrl-C to stop");
    let stop = async {
        tokio::signal::ctrl_c().await.ok();
    };
    Ok(runtime.block_on(serve(listener, explorer, Limits::default(), stop))?)
}

/// Opens an index and inspects it.
pub(super) fn open(source: &Source) -> Result<Explorer> {
    let Source { index, data, queries, chat } = source;
    let retriever = Retriever::open(index, &mut progress::fetching())?;
    eprintln!("reading {}", index.display());
    let snapshot = retriever.snapshot()?;
    let known = data.as_deref().map(|data| known(&retriever, data, *queries)).transpose()?;
    let name =
        index.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let route = move |text: &str| -> Result<Assignments, RouteError> { Ok(retriever.route(text)?) };
    let name = name.unwrap_or_else(|| "ReTreever".to_owned());
    let mut explorer = Explorer::new(name, snapshot, Some(Box::new(route)), known)?;
    chat.name(&mut explorer)?;
    Ok(explorer)
}

/// Some of the queries of `data`, evenly taken, and where they are.
fn known(retriever: &Retriever, data: &Path, most: usize) -> Result<Known> {
    let data = retreever::open(data, BadLines::Stop)
        .with_context(|| format!("cannot read the queries of {}", data.display()))?;
    let queries = data.queries.items();
    let step = queries.len().div_ceil(most.max(1)).max(1);
    let texts: Vec<String> = queries.iter().step_by(step).map(|query| query.text.clone()).collect();
    let mut assignments: Option<Assignments> = None;
    for some in texts.chunks(128) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        let more = retriever.assign(&some, Role::Query)?;
        match &mut assignments {
            None => assignments = Some(more),
            Some(all) => all.extend(&more),
        }
    }
    let assignments = assignments.ok_or_else(|| anyhow!("there are no queries in the data"))?;
    Ok(Known { texts, assignments })
}
