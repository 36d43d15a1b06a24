//! Decoding one id at a time. The text of all calls together equals Hugging Face's decode of all ids at once, whatever the cut,
//! and each call costs what its own token costs.
//!
//! A decoder is a chain of steps over a list of tokens. Each step is run as a stream here: most treat a token by itself, some
//! need to know the first or the last one, byte fallback needs a run of byte tokens whole, and byte-level text needs a
//! character whole. The step's own work is done by the crate's own decoder wherever that is possible. A step that needs all
//! tokens at once (none that a language model uses) holds everything until the end, so the result is right even then.

use crate::{Failure, TokenizerHandle};
use std::collections::HashMap;
use std::sync::OnceLock;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{Decoder, DecoderWrapper};

enum Step {
    /// Every token by itself.
    Each(DecoderWrapper),
    /// Only the first token is special (Metaspace, WordPiece).
    First { decoder: DecoderWrapper, seen: bool },
    /// Only the last token is special (BPEDecoder): one token waits.
    Last { decoder: DecoderWrapper, waiting: Option<String> },
    /// A run of <0xNN> tokens is text together or not at all.
    ByteRun { decoder: DecoderWrapper, run: Vec<String> },
    /// Byte-level tokens: whole characters, U+FFFD for what is none.
    Characters { pending: Vec<u8> },
    /// Up to `start` leading and `stop` trailing `content` are cut from the whole text.
    Trim { content: char, start: usize, stop: usize, trailing: usize },
    /// No decoder: tokens with spaces between them.
    Spaced { seen: bool },
    /// Needs everything: `decoders` run over `tokens` at the end.
    Hold { decoders: Vec<DecoderWrapper>, tokens: Vec<String>, joined: bool },
}

pub struct Detokenizer {
    tokenizer: TokenizerHandle,
    skip_special: bool,
    steps: Vec<Step>,
}

impl Detokenizer {
    pub fn new(tokenizer: TokenizerHandle, skip_special: bool) -> Detokenizer {
        let steps = plan(tokenizer.decoder.as_ref());
        Detokenizer { tokenizer, skip_special, steps }
    }

    pub fn feed(&mut self, id: u32) -> Result<String, Failure> {
        let Some(token) = self.tokenizer.token_to_decode(id, self.skip_special) else {
            return Ok(String::new());
        };
        let mut tokens = vec![token];
        for step in &mut self.steps {
            let mut next = Vec::new();
            for token in tokens {
                step.feed(token, &mut next)?;
            }
            tokens = next;
        }
        Ok(tokens.concat())
    }

    /// Ids before the answer: read, and what is held for them dropped.
    pub fn prime(&mut self, ids: &[u32]) -> Result<(), Failure> {
        for id in ids {
            self.feed(*id)?;
        }
        self.drain()?;
        for step in &mut self.steps {
            if let Step::Trim { trailing, .. } = step {
                *trailing = 0;
            }
        }
        Ok(())
    }

    /// What was held back. The next feed starts a new text.
    pub fn finish(&mut self) -> Result<String, Failure> {
        let text = self.drain()?;
        self.steps = plan(self.tokenizer.decoder.as_ref());
        Ok(text)
    }

    fn drain(&mut self) -> Result<String, Failure> {
        let mut tokens = Vec::new();
        for step in &mut self.steps {
            let mut next = Vec::new();
            for token in tokens {
                step.feed(token, &mut next)?;
            }
            step.finish(&mut next)?;
            tokens = next;
        }
        Ok(tokens.concat())
    }
}

fn plan(decoder: Option<&DecoderWrapper>) -> Vec<Step> {
    let Some(decoder) = decoder else {
        return vec![Step::Spaced { seen: false }];
    };
    let mut flat = Vec::new();
    flatten(decoder, &mut flat);
    let mut steps = Vec::new();
    let mut joined = false;
    for (index, decoder) in flat.iter().enumerate() {
        match stream_of(decoder, &mut joined) {
            Some(Some(step)) => steps.push(step),
            Some(None) => {}
            None => {
                steps.push(Step::Hold { decoders: flat[index..].to_vec(), tokens: Vec::new(), joined });
                break;
            }
        }
    }
    steps
}

fn flatten(decoder: &DecoderWrapper, flat: &mut Vec<DecoderWrapper>) {
    match decoder {
        DecoderWrapper::Sequence(sequence) => sequence.get_decoders().iter().for_each(|inner| flatten(inner, flat)),
        other => flat.push(other.clone()),
    }
}

/// The step for one decoder: Some(None) when there is nothing to do, None when it cannot be streamed. `joined` says whether the
/// steps before made one string of all tokens, of which a stream sees pieces.
fn stream_of(decoder: &DecoderWrapper, joined: &mut bool) -> Option<Option<Step>> {
    let own = decoder.clone();
    let step = match decoder {
        DecoderWrapper::Fuse(_) => {
            *joined = true;
            return Some(None);
        }
        DecoderWrapper::Strip(strip) if *joined => {
            Step::Trim { content: strip.content, start: strip.start, stop: strip.stop, trailing: 0 }
        }
        DecoderWrapper::Replace(_) if *joined && !replaces_one_character(decoder) => return None,
        DecoderWrapper::Replace(_) => Step::Each(own),
        _ if *joined => return None,
        DecoderWrapper::Strip(_) => Step::Each(own),
        DecoderWrapper::Metaspace(_) | DecoderWrapper::WordPiece(_) => Step::First { decoder: own, seen: false },
        DecoderWrapper::BPE(_) => Step::Last { decoder: own, waiting: None },
        DecoderWrapper::ByteFallback(_) => Step::ByteRun { decoder: own, run: Vec::new() },
        DecoderWrapper::ByteLevel(_) => {
            *joined = true;
            Step::Characters { pending: Vec::new() }
        }
        _ => return None,
    };
    Some(Some(step))
}

/// A replaced string of one character cannot lie across the border of two pieces.
fn replaces_one_character(decoder: &DecoderWrapper) -> bool {
    serde_json::to_value(decoder)
        .ok()
        .and_then(|json| json["pattern"]["String"].as_str().map(|text| text.chars().count() == 1))
        .unwrap_or(false)
}

fn run(decoder: &DecoderWrapper, tokens: Vec<String>) -> Result<Vec<String>, Failure> {
    decoder.decode_chain(tokens).map_err(Failure::invalid)
}

impl Step {
    fn feed(&mut self, token: String, out: &mut Vec<String>) -> Result<(), Failure> {
        match self {
            Step::Each(decoder) => out.extend(run(decoder, vec![token])?),
            Step::First { decoder, seen: seen @ false } => {
                *seen = true;
                out.extend(run(decoder, vec![token])?);
            }
            Step::First { decoder, .. } => out.extend(run(decoder, vec![String::new(), token])?.into_iter().skip(1)),
            Step::Last { decoder, waiting } => {
                if let Some(before) = waiting.replace(token) {
                    out.extend(run(decoder, vec![before, String::new()])?.into_iter().take(1));
                }
            }
            Step::ByteRun { run: held, .. } if fallback_byte(&token).is_some() => held.push(token),
            Step::ByteRun { .. } => {
                self.finish(out)?;
                out.push(token);
            }
            Step::Characters { pending } => {
                byte_level_bytes(&token, pending);
                let text = take_characters(pending);
                out.push(text);
            }
            Step::Trim { content, start, stop, trailing } => out.push(trim(&token, *content, start, *stop, trailing)),
            Step::Spaced { seen } => {
                out.push(if *seen { format!(" {token}") } else { token });
                *seen = true;
            }
            Step::Hold { tokens, .. } => tokens.push(token),
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<String>) -> Result<(), Failure> {
        match self {
            Step::Last { decoder, waiting } => {
                if let Some(last) = waiting.take() {
                    out.extend(run(decoder, vec![last])?);
                }
            }
            Step::ByteRun { decoder, run: held } => out.extend(run(decoder, std::mem::take(held))?),
            Step::Characters { pending } => out.push(String::from_utf8_lossy(&std::mem::take(pending)).into_owned()),
            Step::Hold { decoders, tokens, joined } => {
                let mut held = std::mem::take(tokens);
                if *joined {
                    held = vec![held.concat()];
                }
                for decoder in decoders.iter() {
                    held = run(decoder, held)?;
                }
                out.extend(held);
            }
            // Trailing characters that were held back are the ones to cut.
            Step::Trim { .. } | Step::Each(_) | Step::First { .. } | Step::Spaced { .. } => {}
        }
        Ok(())
    }
}

/// Cuts leading `content` while `start` lasts, and keeps back as many trailing ones as the end of the text would cut.
fn trim(piece: &str, content: char, start: &mut usize, stop: usize, trailing: &mut usize) -> String {
    let mut text = String::new();
    for character in piece.chars() {
        if *start > 0 && character == content {
            *start -= 1;
            continue;
        }
        *start = 0;
        if character == content && stop > 0 {
            *trailing += 1;
            if *trailing > stop {
                text.push(content);
                *trailing = stop;
            }
            continue;
        }
        text.extend(std::iter::repeat_n(content, std::mem::take(trailing)));
        text.push(character);
    }
    text
}

/// The complete characters at the front of `pending`, with U+FFFD for every stretch that is none; an unfinished one stays.
fn take_characters(pending: &mut Vec<u8>) -> String {
    let mut text = String::new();
    let mut rest: &[u8] = pending;
    loop {
        match std::str::from_utf8(rest) {
            Ok(valid) => {
                text.push_str(valid);
                rest = &[];
                break;
            }
            Err(error) => {
                let (valid, after) = rest.split_at(error.valid_up_to());
                text.push_str(&String::from_utf8_lossy(valid));
                rest = after;
                let Some(bad) = error.error_len() else { break };
                text.push(char::REPLACEMENT_CHARACTER);
                rest = &rest[bad..];
            }
        }
    }
    *pending = rest.to_vec();
    text
}

/// NN of a token <0xNN>, read as the crate's ByteFallback reads it.
fn fallback_byte(token: &str) -> Option<u8> {
    if token.len() == 6 && token.starts_with("<0x") && token.ends_with('>') {
        return token.get(3..5).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    }
    None
}

/// GPT-2's byte alphabet: each byte has a printable character. A token with any other character stands for its own UTF-8.
fn byte_level_bytes(token: &str, out: &mut Vec<u8>) {
    let table = byte_of_character();
    let start = out.len();
    for character in token.chars() {
        match table.get(&character) {
            Some(byte) => out.push(*byte),
            None => {
                out.truncate(start);
                out.extend_from_slice(token.as_bytes());
                return;
            }
        }
    }
}

fn byte_of_character() -> &'static HashMap<char, u8> {
    static TABLE: OnceLock<HashMap<char, u8>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
        let mut next_free = 256u32;
        (0..=255u8)
            .map(|byte| {
                let code = if printable(byte) { u32::from(byte) } else { next_free };
                next_free += u32::from(!printable(byte));
                (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), byte)
            })
            .collect()
    })
}

/// The bytes of one token in the middle of a text: nothing is trimmed, byte tokens are their byte.
pub fn token_bytes(decoder: Option<&DecoderWrapper>, token: String) -> Vec<u8> {
    let mut flat = Vec::new();
    if let Some(decoder) = decoder {
        flatten(decoder, &mut flat);
    }
    let mut text = token;
    for decoder in &flat {
        match decoder {
            DecoderWrapper::ByteLevel(ByteLevel { .. }) => {
                let mut bytes = Vec::new();
                byte_level_bytes(&text, &mut bytes);
                return bytes;
            }
            DecoderWrapper::ByteFallback(_) => {
                if let Some(byte) = fallback_byte(&text) {
                    return vec![byte];
                }
            }
            DecoderWrapper::Fuse(_) | DecoderWrapper::Strip(_) => {}
            // Not the first and not the last token of its text.
            other => {
                let middle = vec![String::new(), text.clone(), String::new()];
                text = other.decode_chain(middle).ok().and_then(|mut tokens| (tokens.len() == 3).then(|| tokens.remove(1))).unwrap_or(text);
            }
        }
    }
    text.into_bytes()
}
