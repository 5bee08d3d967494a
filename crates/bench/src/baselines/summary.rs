//! Summaries of a cluster's texts: by a language model behind any OpenAI-compatible endpoint, or extractive, which is
//! the beginning of the passages nearest the cluster's centre.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::env;
use std::time::Duration;

/// A chat endpoint and the model to ask for.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Address up to and without `/chat/completions`.
    pub url: String,
    /// Name of the model.
    pub model: String,
    /// Sent as a bearer token if there is one.
    pub key: Option<String>,
}

impl Endpoint {
    /// What `RETREEVER_LLM`, `RETREEVER_LLM_MODEL` and `RETREEVER_LLM_KEY` say; nothing without the first.
    pub fn from_env() -> Result<Option<Self>> {
        let set = |name| env::var(name).ok().filter(|value| !value.is_empty());
        let Some(url) = set("RETREEVER_LLM") else { return Ok(None) };
        let model = set("RETREEVER_LLM_MODEL")
            .context("RETREEVER_LLM is set: set RETREEVER_LLM_MODEL to the model's name too")?;
        Ok(Some(Self { url, model, key: set("RETREEVER_LLM_KEY") }))
    }
}

/// Who writes the summaries.
#[derive(Clone, Debug)]
pub enum Summariser {
    /// The passages themselves.
    Extractive,
    /// A language model.
    Endpoint(Endpoint),
}

/// Passages that an extractive summary quotes, and words of all of them together.
const QUOTED: usize = 3;
const QUOTED_WORDS: usize = 120;
/// Words of a cluster that a language model is given.
const GIVEN_WORDS: usize = 2000;
const TIMEOUT: Duration = Duration::from_secs(120);

impl Summariser {
    /// What the table says about it.
    pub fn name(&self) -> String {
        match self {
            Self::Extractive => "extractive summaries".into(),
            Self::Endpoint(endpoint) => format!("summaries by {}", endpoint.model),
        }
    }

    /// Summarises texts that come nearest the centre first.
    pub fn summarise(&self, texts: &[&str]) -> Result<String> {
        match self {
            Self::Extractive => {
                let quoted = &texts[..texts.len().min(QUOTED)];
                let words = QUOTED_WORDS / quoted.len().max(1);
                let beginnings: Vec<String> = quoted.iter().map(|text| first_words(text, words)).collect();
                Ok(beginnings.join(" "))
            }
            Self::Endpoint(endpoint) => {
                let given = first_words(&texts.join("\n\n"), GIVEN_WORDS);
                ask(
                    endpoint,
                    &format!(
                        "Write a summary of the following, including as many key details as possible, in at most 120 words:\n\n{given}"
                    ),
                )
            }
        }
    }
}

fn first_words(text: &str, count: usize) -> String {
    text.split_whitespace().take(count).collect::<Vec<_>>().join(" ")
}

fn ask(endpoint: &Endpoint, prompt: &str) -> Result<String> {
    let url = format!("{}/chat/completions", endpoint.url.trim_end_matches('/'));
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(TIMEOUT))
        .http_status_as_error(false)
        .build()
        .into();
    let mut request = agent.post(&url);
    if let Some(key) = &endpoint.key {
        request = request.header("Authorization", &format!("Bearer {key}"));
    }
    let body = json!({
        "model": endpoint.model,
        "messages": [{ "role": "user", "content": prompt }],
        "temperature": 0,
        "max_tokens": 300,
    });
    let mut response = request
        .header("Content-Type", "application/json")
        .send(body.to_string())
        .with_context(|| format!("cannot reach {url}: is the server of RETREEVER_LLM running?"))?;
    let status = response.status();
    let text = response.body_mut().read_to_string().with_context(|| format!("{url}: no readable answer"))?;
    ensure!(status.is_success(), "{url} answered {status}: {}", first_words(&text, 60));
    let answer: Value =
        serde_json::from_str(&text).with_context(|| format!("{url}: the answer is not JSON"))?;
    match answer.pointer("/choices/0/message/content").and_then(Value::as_str) {
        Some(content) if !content.trim().is_empty() => Ok(content.trim().to_owned()),
        _ => bail!("{url}: the answer has no choices[0].message.content"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::thread;

    /// Answers one request and returns what was asked.
    fn serve(status: &'static str, answer: &'static str) -> (Endpoint, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head += &line;
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let size = answer.len();
            write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n{answer}"
            )
            .unwrap();
            head + &String::from_utf8(body).unwrap()
        });
        (Endpoint { url, model: "tiny".into(), key: Some("secret".into()) }, server)
    }

    #[test]
    fn an_endpoint_is_asked_for_a_summary() {
        let (endpoint, server) = serve("200 OK", r#"{"choices":[{"message":{"content":" Short. "}}]}"#);
        let summary = Summariser::Endpoint(endpoint).summarise(&["one text", "another"]).unwrap();
        assert_eq!(summary, "Short.");
        let asked = server.join().unwrap();
        assert!(asked.starts_with("POST /v1/chat/completions"), "{asked}");
        assert!(asked.to_lowercase().contains("authorization: bearer secret"));
        assert!(asked.contains("one text") && asked.contains(r#""model":"tiny""#));
    }

    #[test]
    fn a_refusal_is_passed_on() {
        let (endpoint, server) = serve("429 Too Many Requests", "slow down");
        let error = Summariser::Endpoint(endpoint).summarise(&["text"]).unwrap_err().to_string();
        assert!(error.contains("429") && error.contains("slow down"), "{error}");
        server.join().unwrap();
    }

    #[test]
    fn an_extract_quotes_the_nearest_passages() {
        let long = "word ".repeat(500);
        let summary =
            Summariser::Extractive.summarise(&["first  passage", &long, "third", "fourth"]).unwrap();
        assert!(summary.starts_with("first passage word") && summary.ends_with("third"));
        assert!(summary.split(' ').count() <= QUOTED_WORDS);
    }
}
