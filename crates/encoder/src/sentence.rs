//! The files of sentence-transformers beside a model: how to pool, whether to normalise, prompts, lengths.
//!
//! `modules.json` lists the steps; `1_Pooling/config.json` names the pooling; `sentence_bert_config.json` has the
//! longest input; `config_sentence_transformers.json` has prompts. A model without `modules.json` is a plain
//! transformer: the mean of its tokens, not normalised.

use crate::config::read_json;
use crate::pooling::{Normalise, Pooling};
use crate::{EncoderError, Role};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What surrounds the transformer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sentence {
    pub(crate) pooling: Pooling,
    pub(crate) normalise: Normalise,
    /// The longest input in tokens, if the files say.
    pub(crate) longest: Option<usize>,
    pub(crate) lower_case: LowerCase,
    pub(crate) query_prompt: String,
    pub(crate) document_prompt: String,
    /// Whether the tokens of a prompt are pooled too.
    pub(crate) pool_prompt: PoolPrompt,
}

/// Whether texts are put into lower case before the tokeniser sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LowerCase {
    Yes,
    No,
}

/// Whether the tokens of a prompt take part in pooling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolPrompt {
    Include,
    Exclude,
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize, Default)]
struct Lengths {
    max_seq_length: Option<usize>,
    #[serde(default)]
    do_lower_case: bool,
}

#[derive(Deserialize, Default)]
struct Prompts {
    #[serde(default)]
    prompts: BTreeMap<String, String>,
    default_prompt_name: Option<String>,
}

impl Sentence {
    pub(crate) fn read(dir: &Path) -> Result<Self, EncoderError> {
        let mut pooling = Pooling::Mean;
        let mut pool_prompt = PoolPrompt::Include;
        let mut normalise = Normalise::No;
        let modules_path = dir.join("modules.json");
        let modules: Vec<Module> = read_json(&modules_path)?.unwrap_or_default();
        for module in &modules {
            match module.kind.rsplit('.').next() {
                Some("Transformer") => {}
                Some("Pooling") => {
                    (pooling, pool_prompt) = read_pooling(&dir.join(&module.path).join("config.json"))?;
                }
                Some("Normalize") => normalise = Normalise::Yes,
                _ => {
                    return Err(EncoderError::Unsupported {
                        path: modules_path,
                        what: format!("module `{}`", module.kind),
                        known: "Transformer, Pooling and Normalize are",
                    });
                }
            }
        }
        let lengths: Lengths = read_json(&dir.join("sentence_bert_config.json"))?.unwrap_or_default();
        let prompts: Prompts = read_json(&dir.join("config_sentence_transformers.json"))?.unwrap_or_default();
        let prompt = |names: &[&str]| {
            let named = names.iter().find_map(|&name| prompts.prompts.get(name));
            let default = || prompts.prompts.get(prompts.default_prompt_name.as_ref()?);
            named.or_else(default).cloned().unwrap_or_default()
        };
        Ok(Self {
            pooling,
            normalise,
            longest: lengths.max_seq_length,
            lower_case: if lengths.do_lower_case { LowerCase::Yes } else { LowerCase::No },
            query_prompt: prompt(&["query"]),
            document_prompt: prompt(&["document", "passage", "corpus"]),
            pool_prompt,
        })
    }

    pub(crate) fn prompt(&self, role: Role) -> &str {
        match role {
            Role::Query => &self.query_prompt,
            Role::Document => &self.document_prompt,
        }
    }
}

fn read_pooling(path: &Path) -> Result<(Pooling, PoolPrompt), EncoderError> {
    let fields: BTreeMap<String, serde_json::Value> =
        read_json(path)?.ok_or_else(|| EncoderError::Missing {
            path: path.to_owned(),
            advice: "modules.json names it; fetch the encoder again",
        })?;
    let is_on = |name: &str| fields.get(name).and_then(serde_json::Value::as_bool).unwrap_or(false);
    // Older files have one switch per mode, newer ones may name the mode.
    let named = fields.get("pooling_mode").and_then(serde_json::Value::as_str);
    let modes: Vec<Pooling> =
        Pooling::ALL.into_iter().filter(|mode| is_on(mode.switch()) || named == Some(mode.name())).collect();
    let [pooling] = modes[..] else {
        return Err(EncoderError::Unsupported {
            path: path.to_owned(),
            what: format!("{} pooling modes at once", modes.len()),
            known: "one of cls, mean, max, mean_sqrt_len, weightedmean and lasttoken is",
        });
    };
    let exclude = fields.get("include_prompt").and_then(serde_json::Value::as_bool) == Some(false);
    Ok((pooling, if exclude { PoolPrompt::Exclude } else { PoolPrompt::Include }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_plain_transformer_is_averaged() {
        let dir = tempfile::tempdir().unwrap();
        let sentence = Sentence::read(dir.path()).unwrap();
        assert_eq!((sentence.pooling, sentence.normalise), (Pooling::Mean, Normalise::No));
        assert_eq!(sentence.prompt(Role::Query), "");
    }

    #[test]
    fn files_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        fs::create_dir(dir.path().join("1_Pooling")).unwrap();
        write(
            "modules.json",
            r#"[{"idx":0,"path":"","type":"sentence_transformers.models.Transformer"},
                {"idx":1,"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
                {"idx":2,"path":"2_Normalize","type":"sentence_transformers.models.Normalize"}]"#,
        );
        write("1_Pooling/config.json", r#"{"pooling_mode_cls_token":true,"include_prompt":false}"#);
        write("sentence_bert_config.json", r#"{"max_seq_length":77,"do_lower_case":false}"#);
        write(
            "config_sentence_transformers.json",
            r#"{"prompts":{"query":"query: ","passage":"passage: "},"default_prompt_name":null}"#,
        );
        let sentence = Sentence::read(dir.path()).unwrap();
        assert_eq!((sentence.pooling, sentence.normalise), (Pooling::Cls, Normalise::Yes));
        assert_eq!(sentence.longest, Some(77));
        assert_eq!(sentence.prompt(Role::Query), "query: ");
        assert_eq!(sentence.prompt(Role::Document), "passage: ");
        assert_eq!(sentence.pool_prompt, PoolPrompt::Exclude);

        write("modules.json", r#"[{"path":"2_Dense","type":"sentence_transformers.models.Dense"}]"#);
        let error = Sentence::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("Dense"), "{error}");
    }
}
