//! Hugging Face's tokenizer with the questions that motley asks of it.

use crate::stream;
use crate::Failure;
use serde::Deserialize;
use std::str::FromStr;
use std::sync::RwLock;
use tokenizers::{DecoderWrapper, Model};

pub struct Tokenizer {
    /// The lock guards one switch inside the crate: whether special tokens in a text are parsed. Callers that want the present
    /// setting share it; only a change of the setting is exclusive.
    inner: RwLock<tokenizers::Tokenizer>,
    pub decoder: Option<DecoderWrapper>,
    size: usize,
    highest_id: Option<u32>,
}

/// The part of a tokenizer.json that the crate reads but does not check.
#[derive(Deserialize)]
struct Declared {
    #[serde(default)]
    added_tokens: Vec<DeclaredToken>,
}

#[derive(Deserialize)]
struct DeclaredToken {
    id: u32,
    content: String,
}

impl Tokenizer {
    pub fn load(json: &[u8]) -> Result<Tokenizer, Failure> {
        let text = std::str::from_utf8(json)
            .map_err(|error| Failure::invalid(format!("not UTF-8 at byte {}", error.valid_up_to())))?;
        let mut inner = tokenizers::Tokenizer::from_str(text).map_err(Failure::invalid)?;
        // Ids of whole texts are wanted, whatever the file's training set-up cut or padded.
        inner.with_truncation(None).map_err(Failure::invalid)?;
        inner.with_padding(None);
        check_declared_ids(text, &inner)?;

        let vocabulary = inner.get_vocab(true);
        let highest_id = vocabulary.values().copied().max();
        let size = vocabulary.len();
        drop(vocabulary);
        let decoder = inner.get_decoder().cloned();
        Ok(Tokenizer { inner: RwLock::new(inner), decoder, size, highest_id })
    }

    pub fn encode(&self, text: &str, parse_special: bool, post_process: bool) -> Result<Vec<u32>, Failure> {
        loop {
            {
                let inner = self.read();
                if inner.get_encode_special_tokens() != parse_special {
                    let encoding = inner.encode_fast(text, post_process).map_err(Failure::invalid)?;
                    return Ok(encoding.get_ids().to_vec());
                }
            }
            self.inner.write().unwrap_or_else(|poison| poison.into_inner()).set_encode_special_tokens(!parse_special);
        }
    }

    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, Failure> {
        self.read().decode(ids, skip_special).map_err(Failure::invalid)
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn highest_id(&self) -> Option<u32> {
        self.highest_id
    }

    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.read().token_to_id(token)
    }

    pub fn token(&self, id: u32) -> Option<String> {
        self.read().id_to_token(id)
    }

    pub fn is_special(&self, id: u32) -> bool {
        let inner = self.read();
        inner.id_to_token(id).is_some_and(|token| inner.get_added_vocabulary().is_special_token(&token))
    }

    /// The token as `decode` feeds it to the decoder; None when there is none or it is special and those are skipped.
    pub fn token_to_decode(&self, id: u32, skip_special: bool) -> Option<String> {
        let inner = self.read();
        let added = inner.get_added_vocabulary();
        added
            .simple_id_to_token(id)
            .or_else(|| inner.get_model().id_to_token(id))
            .filter(|token| !skip_special || !added.is_special_token(token))
    }

    pub fn token_bytes(&self, id: u32) -> Option<Vec<u8>> {
        Some(stream::token_bytes(self.decoder.as_ref(), self.token_to_decode(id, false)?))
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, tokenizers::Tokenizer> {
        self.inner.read().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// The crate renumbers an added token whose declared id it cannot give it. Ids are what weights are trained on: refuse instead.
fn check_declared_ids(text: &str, inner: &tokenizers::Tokenizer) -> Result<(), Failure> {
    let declared: Declared = serde_json::from_str(text).map_err(Failure::invalid)?;
    for token in declared.added_tokens {
        let given = inner.token_to_id(&token.content);
        if given.is_some_and(|id| id != token.id) {
            return Err(Failure::invalid(format!(
                "added token {:?} is declared as id {} but its place is id {}",
                token.content,
                token.id,
                given.unwrap_or_default()
            )));
        }
    }
    Ok(())
}
