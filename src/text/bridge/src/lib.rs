//! The C ABI of bridge.h: every function here turns pointers into Rust values, calls one of the modules and catches panics.

mod budget;
mod python;
mod stream;
mod template;
mod tokenizer;

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Once};

/// How a call ended when it did not succeed; the numbers are bridge.h's MotleyResult.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Invalid = 1,
    Exhausted = 2,
    Refused = 3,
    Panic = 4,
}

#[derive(Debug)]
pub struct Failure {
    pub kind: Kind,
    pub message: String,
}

impl Failure {
    pub fn invalid(message: impl std::fmt::Display) -> Failure {
        Failure { kind: Kind::Invalid, message: message.to_string() }
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Slice {
    data: *const u8,
    size: usize,
}

#[repr(C)]
pub struct Bytes {
    data: *mut u8,
    size: usize,
    capacity: usize,
}

#[repr(C)]
pub struct Ids {
    data: *mut u32,
    size: usize,
    capacity: usize,
}

#[repr(C)]
pub struct Variable {
    kind: i32,
    name: Slice,
    value: Slice,
}

impl Slice {
    /// SAFETY: the caller of the ABI function promises `size` readable bytes at `data` for the length of the call.
    unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.size == 0 {
            return &[];
        }
        std::slice::from_raw_parts(self.data, self.size)
    }

    unsafe fn text<'a>(self) -> Result<&'a str, Failure> {
        std::str::from_utf8(self.bytes())
            .map_err(|error| Failure::invalid(format!("not UTF-8 at byte {}", error.valid_up_to())))
    }
}

impl Bytes {
    fn from_vec(bytes: Vec<u8>) -> Bytes {
        let mut bytes = std::mem::ManuallyDrop::new(bytes);
        Bytes { data: bytes.as_mut_ptr(), size: bytes.len(), capacity: bytes.capacity() }
    }
}

impl Ids {
    fn from_vec(ids: Vec<u32>) -> Ids {
        let mut ids = std::mem::ManuallyDrop::new(ids);
        Ids { data: ids.as_mut_ptr(), size: ids.len(), capacity: ids.capacity() }
    }
}

/// A caught panic is reported as an error, so the default hook must not write to the terminal as well.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    silence_panics();
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let what = panic
            .downcast_ref::<&str>()
            .map(|text| text.to_string())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "unknown".to_string());
        Err(Failure { kind: Kind::Panic, message: format!("internal panic: {what}") })
    })
}

fn one_line(message: &str) -> String {
    message.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Runs `work` and either hands its value to `store` or fills `error`; returns bridge.h's MotleyResult.
unsafe fn call<T>(error: *mut Bytes, store: impl FnOnce(T), work: impl FnOnce() -> Result<T, Failure>) -> i32 {
    match guarded(work) {
        Ok(value) => {
            store(value);
            0
        }
        Err(failure) => {
            error.write(Bytes::from_vec(one_line(&failure.message).into_bytes()));
            failure.kind as i32
        }
    }
}

/// Like `call`, for questions whose answer may be "there is none".
unsafe fn answer(out: *mut Bytes, work: impl FnOnce() -> Option<Vec<u8>>) -> i32 {
    match guarded(|| Ok(work())) {
        Ok(Some(bytes)) => {
            out.write(Bytes::from_vec(bytes));
            1
        }
        _ => 0,
    }
}

#[no_mangle]
pub unsafe extern "C" fn motley_bytes_free(bytes: Bytes) {
    if !bytes.data.is_null() {
        drop(Vec::from_raw_parts(bytes.data, bytes.size, bytes.capacity));
    }
}

#[no_mangle]
pub unsafe extern "C" fn motley_ids_free(ids: Ids) {
    if !ids.data.is_null() {
        drop(Vec::from_raw_parts(ids.data, ids.size, ids.capacity));
    }
}

pub type TokenizerHandle = Arc<tokenizer::Tokenizer>;

#[no_mangle]
pub unsafe extern "C" fn motley_tokenizer_load(
    json: Slice,
    out: *mut *mut TokenizerHandle,
    error: *mut Bytes,
) -> i32 {
    call(
        error,
        |loaded| out.write(Box::into_raw(Box::new(Arc::new(loaded)))),
        || tokenizer::Tokenizer::load(json.bytes()),
    )
}

#[no_mangle]
pub unsafe extern "C" fn motley_tokenizer_free(tokenizer: *mut TokenizerHandle) {
    if !tokenizer.is_null() {
        drop(Box::from_raw(tokenizer));
    }
}

#[no_mangle]
pub unsafe extern "C" fn motley_tokenizer_encode(
    tokenizer: *const TokenizerHandle,
    text: Slice,
    flags: u32,
    out: *mut Ids,
    error: *mut Bytes,
) -> i32 {
    call(error, |ids| out.write(Ids::from_vec(ids)), || (*tokenizer).encode(text.text()?, flags & 1 != 0, flags & 2 != 0))
}

#[no_mangle]
pub unsafe extern "C" fn motley_tokenizer_decode(
    tokenizer: *const TokenizerHandle,
    ids: *const u32,
    count: usize,
    skip_special: i32,
    out: *mut Bytes,
    error: *mut Bytes,
) -> i32 {
    let ids = if count == 0 { &[] } else { std::slice::from_raw_parts(ids, count) };
    call(
        error,
        |text: String| out.write(Bytes::from_vec(text.into_bytes())),
        || (*tokenizer).decode(ids, skip_special != 0),
    )
}

#[no_mangle]
pub unsafe extern "C" fn motley_tokenizer_size(tokenizer: *const TokenizerHandle) -> u64 {
    (*tokenizer).size() as u64
}

#[no_mangle]
pub unsafe extern "C" fn motley_tokenizer_highest_id(tokenizer: *const TokenizerHandle) -> i64 {
    (*tokenizer).highest_id().map_or(-1, i64::from)
}

#[no_mangle]
pub unsafe extern "C" fn motley_tokenizer_id_of(tokenizer: *const TokenizerHandle, token: Slice) -> i64 {
    guarded(|| Ok((*tokenizer).id_of(token.text()?))).ok().flatten().map_or(-1, i64::from)
}

#[no_mangle]
pub unsafe extern "C" fn motley_tokenizer_is_special(tokenizer: *const TokenizerHandle, id: u32) -> i32 {
    guarded(|| Ok((*tokenizer).is_special(id))).unwrap_or(false) as i32
}

#[no_mangle]
pub unsafe extern "C" fn motley_tokenizer_token(tokenizer: *const TokenizerHandle, id: u32, out: *mut Bytes) -> i32 {
    answer(out, || (*tokenizer).token(id).map(String::into_bytes))
}

#[no_mangle]
pub unsafe extern "C" fn motley_tokenizer_token_bytes(
    tokenizer: *const TokenizerHandle,
    id: u32,
    out: *mut Bytes,
) -> i32 {
    answer(out, || (*tokenizer).token_bytes(id))
}

#[no_mangle]
pub unsafe extern "C" fn motley_detokenizer_new(
    tokenizer: *const TokenizerHandle,
    skip_special: i32,
) -> *mut stream::Detokenizer {
    Box::into_raw(Box::new(stream::Detokenizer::new((*tokenizer).clone(), skip_special != 0)))
}

#[no_mangle]
pub unsafe extern "C" fn motley_detokenizer_free(detokenizer: *mut stream::Detokenizer) {
    if !detokenizer.is_null() {
        drop(Box::from_raw(detokenizer));
    }
}

#[no_mangle]
pub unsafe extern "C" fn motley_detokenizer_feed(
    detokenizer: *mut stream::Detokenizer,
    id: u32,
    out: *mut Bytes,
    error: *mut Bytes,
) -> i32 {
    call(error, |text: String| out.write(Bytes::from_vec(text.into_bytes())), || (*detokenizer).feed(id))
}

#[no_mangle]
pub unsafe extern "C" fn motley_detokenizer_prime(
    detokenizer: *mut stream::Detokenizer,
    ids: *const u32,
    count: usize,
    error: *mut Bytes,
) -> i32 {
    let ids = if count == 0 { &[] } else { std::slice::from_raw_parts(ids, count) };
    call(error, |()| (), || (*detokenizer).prime(ids))
}

#[no_mangle]
pub unsafe extern "C" fn motley_detokenizer_finish(
    detokenizer: *mut stream::Detokenizer,
    out: *mut Bytes,
    error: *mut Bytes,
) -> i32 {
    call(error, |text: String| out.write(Bytes::from_vec(text.into_bytes())), || (*detokenizer).finish())
}

#[no_mangle]
pub unsafe extern "C" fn motley_template_compile(
    source: Slice,
    out: *mut *mut template::ChatTemplate,
    error: *mut Bytes,
) -> i32 {
    call(
        error,
        |compiled| out.write(Box::into_raw(Box::new(compiled))),
        || template::ChatTemplate::compile(source.text()?),
    )
}

#[no_mangle]
pub unsafe extern "C" fn motley_template_free(chat_template: *mut template::ChatTemplate) {
    if !chat_template.is_null() {
        drop(Box::from_raw(chat_template));
    }
}

unsafe fn read_variables(
    variables: &[Variable],
) -> Result<serde_json::Map<String, serde_json::Value>, Failure> {
    let mut members = serde_json::Map::new();
    for variable in variables {
        let name = variable.name.text()?;
        if variable.kind == 0 {
            members.insert(name.to_string(), variable.value.text()?.into());
            continue;
        }
        let value: serde_json::Value = serde_json::from_slice(variable.value.bytes())
            .map_err(|error| Failure::invalid(format!("{name}: not JSON: {error}")))?;
        match (variable.kind, value) {
            (2, serde_json::Value::Object(inner)) => members.extend(inner),
            (2, _) => return Err(Failure::invalid("template variables: not a JSON object")),
            (_, value) => {
                members.insert(name.to_string(), value);
            }
        }
    }
    Ok(members)
}

#[no_mangle]
pub unsafe extern "C" fn motley_template_render(
    chat_template: *const template::ChatTemplate,
    variables: *const Variable,
    count: usize,
    now: *const python::LocalTime,
    limits: *const template::Limits,
    out: *mut Bytes,
    error: *mut Bytes,
) -> i32 {
    let variables = if count == 0 { &[] } else { std::slice::from_raw_parts(variables, count) };
    call(
        error,
        |text: Vec<u8>| out.write(Bytes::from_vec(text)),
        || {
            let (chat_template, now, limits) = ((*chat_template).clone(), *now, *limits);
            let variables = read_variables(variables)?;
            let work = move || guarded(|| chat_template.render(variables, now, limits));
            budget::within(limits.memory_bytes, work).map_err(Failure::invalid)?.unwrap_or_else(|| {
                let message = format!("it wants more than {} bytes of memory", limits.memory_bytes);
                Err(Failure { kind: Kind::Exhausted, message })
            })
        },
    )
}
