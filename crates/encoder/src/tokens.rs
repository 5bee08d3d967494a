//! Texts to token numbers, as `tokenizer.json` says.

use crate::EncoderError;
use crate::sentence::LowerCase;
use std::path::Path;
use tokenizers::{Tokenizer, TruncationParams};

/// A tokeniser that cuts at a length and never pads.
pub(crate) struct Tokens {
    tokenizer: Tokenizer,
    lower_case: LowerCase,
}

/// The tokens of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tokenised {
    pub(crate) ids: Vec<u32>,
    /// How many tokens from the front are left out of pooling.
    pub(crate) unpooled: usize,
}

impl Tokens {
    /// Reads a tokeniser; `longest` counts special tokens too.
    pub(crate) fn new(
        bytes: &[u8],
        path: &Path,
        longest: usize,
        lower_case: LowerCase,
    ) -> Result<Self, EncoderError> {
        let malformed = |reason: String| EncoderError::Malformed { path: path.to_owned(), reason };
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| malformed(error.to_string()))?;
        tokenizer.with_padding(None);
        let special = tokenizer.encode("", true).map_err(|error| malformed(error.to_string()))?.len();
        if longest <= special {
            return Err(malformed(format!("{longest} tokens leave no room beside {special} special ones")));
        }
        let truncation = TruncationParams { max_length: longest, ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| malformed(error.to_string()))?;
        Ok(Self { tokenizer, lower_case })
    }

    /// The tokens of `prompt` and `text` together.
    pub(crate) fn split(&self, prompt: &str, text: &str) -> Result<Vec<u32>, String> {
        let joined;
        let mut input = text;
        if !prompt.is_empty() {
            joined = format!("{prompt}{text}");
            input = &joined;
        }
        let lowered;
        if self.lower_case == LowerCase::Yes {
            lowered = input.to_lowercase();
            input = &lowered;
        }
        let encoding = self.tokenizer.encode_fast(input, true).map_err(|error| error.to_string())?;
        Ok(encoding.get_ids().to_vec())
    }

    /// How many tokens a prompt has in front: its own and the opening special ones.
    pub(crate) fn prompt_length(&self, prompt: &str) -> Result<usize, String> {
        if prompt.is_empty() {
            return Ok(0);
        }
        // The closing special token is not part of the prompt.
        Ok(self.split(prompt, "")?.len().saturating_sub(1))
    }
}
