//! Any chat endpoint that speaks as OpenAI's does, for labels of nodes and for questions about documents.

use crate::progress::{self, say};
use anyhow::Result;
use retreever_inspect::llm::{Budget, Chat, ChatError, Reply};
use retreever_server::Explorer;
use serde_json::{Value, json};
use std::time::Duration;

/// Which model is asked, and what it may cost.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A chat endpoint such as http://127.0.0.1:8080/v1: names nodes, or asks questions of documents to train on.
    #[arg(long, env = "RETREEVER_LLM", requires = "llm_model")]
    llm: Option<String>,
    /// The model to ask there.
    #[arg(long, env = "RETREEVER_LLM_MODEL")]
    llm_model: Option<String>,
    /// The endpoint's key.
    #[arg(long, env = "RETREEVER_LLM_KEY", hide_env_values = true)]
    llm_key: Option<String>,
    /// At most so many calls; 0 prints the estimate and only uses what earlier runs kept.
    #[arg(long, default_value_t = 0)]
    llm_calls: usize,
    /// At most so many tokens.
    #[arg(long, default_value_t = 2_000_000)]
    llm_tokens: u64,
}

impl Args {
    /// The endpoint and what it may cost, if one was given.
    pub(crate) fn endpoint(&self) -> Option<(Endpoint, Budget)> {
        let (address, model) = (self.llm.as_ref()?, self.llm_model.as_ref()?);
        let endpoint = Endpoint {
            address: format!("{}/chat/completions", address.trim_end_matches('/')),
            model: model.clone(),
            key: self.llm_key.clone(),
            agent: ureq::Agent::config_builder()
                .timeout_global(Some(Duration::from_secs(120)))
                .build()
                .into(),
        };
        let budget = Budget {
            calls: self.llm_calls,
            tokens: self.llm_tokens,
            tries: 4,
            pause: Duration::from_secs(2),
        };
        Some((endpoint, budget))
    }

    /// Names the nodes, if an endpoint was given: says what it would take first, and what it took afterwards.
    pub(crate) fn name(&self, explorer: &mut Explorer) -> Result<()> {
        let Some((endpoint, budget)) = self.endpoint() else { return Ok(()) };
        let estimate = explorer.naming_estimate()?;
        say!(
            "naming every node takes {} calls and about {} tokens, less what earlier runs kept",
            estimate.calls,
            estimate.tokens
        );
        match self.llm_calls {
            0 => say!("no calls are allowed; allow some with --llm-calls N"),
            calls => say!("at most {calls} calls and {} tokens are spent", self.llm_tokens),
        }
        let cache = retreever_fetch::cache_dir().join("labels");
        let outcome =
            explorer.name_nodes((&endpoint, &cache), budget, &mut progress::naming(estimate.calls))?;
        say!(
            "{} nodes named by {} calls and {} kept replies; {} keep their keywords ({} tokens)",
            outcome.asked + outcome.kept,
            outcome.asked,
            outcome.kept,
            outcome.left,
            outcome.tokens
        );
        if outcome.left > 0 && self.llm_calls > 0 {
            say!("run the same command again to go on; what was named is kept in {}", cache.display());
        }
        if let Some(failure) = outcome.failure {
            say!("the last failure: {failure}");
        }
        Ok(())
    }
}

/// A model behind an address.
pub(crate) struct Endpoint {
    address: String,
    model: String,
    key: Option<String>,
    agent: ureq::Agent,
}

impl Chat for Endpoint {
    fn model(&self) -> &str {
        &self.model
    }

    fn complete(&self, prompt: &str) -> Result<Reply, ChatError> {
        let body = json!({
            "model": self.model,
            "temperature": 0,
            "messages": [{ "role": "user", "content": prompt }],
        });
        let mut request = self.agent.post(&self.address).header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut response = request.send(body.to_string()).map_err(|error| match error {
            ureq::Error::StatusCode(status)
                if (400..500).contains(&status) && ![408, 429].contains(&status) =>
            {
                ChatError::Refused(format!("status {status}"))
            }
            error => ChatError::Again(error.to_string()),
        })?;
        let answer =
            response.body_mut().read_to_string().map_err(|error| ChatError::Again(error.to_string()))?;
        let answer: Value =
            serde_json::from_str(&answer).map_err(|error| ChatError::Again(error.to_string()))?;
        let text = answer["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned();
        Ok(Reply {
            text,
            tokens: answer["usage"]["total_tokens"].as_u64().unwrap_or(prompt.len() as u64 / 4),
        })
    }
}
