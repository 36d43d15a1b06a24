//! A chat template as transformers' apply_chat_template renders it.

use crate::python::{self, LocalTime};
use crate::{Failure, Kind};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};
use serde_json::{Map, Value as Json};
use std::cell::Cell;

const NAME: &str = "chat template";

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Limits {
    pub fuel: u64,
    pub output_bytes: u64,
    pub memory_bytes: u64,
}

thread_local! {
    /// What the functions of the running render need and a template must not see.
    static NOW: Cell<Option<LocalTime>> = const { Cell::new(None) };
    static REFUSED: Cell<bool> = const { Cell::new(false) };
    static OUTPUT_LIMIT: Cell<usize> = const { Cell::new(0) };
}

/// Cheap to clone.
#[derive(Clone)]
pub struct ChatTemplate {
    environment: Environment<'static>,
}

impl ChatTemplate {
    pub fn compile(source: &str) -> Result<ChatTemplate, Failure> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| Failure::invalid(describe(&error)))?);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        minijinja_contrib::add_to_environment(&mut environment);
        environment.set_unknown_method_callback(|state, value, method, args| {
            python::string_method(value, method, args)
                .unwrap_or_else(|| minijinja_contrib::pycompat::unknown_method_callback(state, value, method, args))
        });
        environment.set_formatter(|out, state, value| match value.kind() {
            ValueKind::Number if !value.is_integer() => {
                let number = f64::try_from(value.clone())?;
                out.write_str(&python::float_repr(number)).map_err(Error::from)
            }
            _ => minijinja::escape_formatter(out, state, value),
        });
        add_python_tests(&mut environment);
        add_jinja2_filters(&mut environment);
        environment.add_filter("tojson", |value: &Value, positional: Rest<Value>, kwargs: Kwargs| {
            python::to_json(value, &positional, &kwargs, OUTPUT_LIMIT.get())
        });
        environment.add_function("raise_exception", |message: &Value| -> Result<Value, Error> {
            REFUSED.set(true);
            Err(Error::new(ErrorKind::InvalidOperation, message.to_string()))
        });
        environment.add_function("strftime_now", |format: &str| {
            let now = NOW.get().ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "strftime_now: no time"))?;
            python::strftime(format, &now)
        });
        environment
            .add_template_owned(NAME, without_generation_tags(source))
            .map_err(|error| Failure::invalid(describe(&error)))?;
        Ok(ChatTemplate { environment })
    }

    pub fn render(&self, mut variables: Map<String, Json>, now: LocalTime, limits: Limits) -> Result<Vec<u8>, Failure> {
        if let Some(messages) = variables.get_mut("messages") {
            normalize_messages(messages)?;
        }
        NOW.set(Some(now));
        REFUSED.set(false);
        OUTPUT_LIMIT.set(usize::try_from(limits.output_bytes).unwrap_or(usize::MAX));
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(limits.fuel));
        let template = environment.get_template(NAME).map_err(|error| Failure::invalid(describe(&error)))?;
        let mut output = Bounded { bytes: Vec::new(), limit: limits.output_bytes, exceeded: false };
        let rendered = template.render_captured_to(to_value(Json::Object(variables)), &mut output);
        match rendered {
            Ok(_) => Ok(output.bytes),
            Err(_) if output.exceeded => Err(exhausted(format!("its output is above {} bytes", limits.output_bytes))),
            Err(error) => Err(failure_of(&error, limits)),
        }
    }
}

/// serde_json's parser bounds the depth.
fn to_value(json: Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(value) => value.into(),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(signed), _) => signed.into(),
            (None, Some(unsigned)) => unsigned.into(),
            (None, None) => number.as_f64().unwrap_or(f64::NAN).into(),
        },
        Json::String(text) => text.into(),
        Json::Array(items) => items.into_iter().map(to_value).collect::<Vec<Value>>().into(),
        Json::Object(members) => Value::from_pairs(members.into_iter().map(|(key, item)| (key, to_value(item)))),
    }
}

fn exhausted(message: String) -> Failure {
    Failure { kind: Kind::Exhausted, message }
}

fn failure_of(error: &Error, limits: Limits) -> Failure {
    if error.kind() == ErrorKind::OutOfFuel {
        return exhausted(format!("it does more than {} steps", limits.fuel));
    }
    if REFUSED.get() {
        let message = innermost(error).detail().unwrap_or("").to_string();
        return Failure { kind: Kind::Refused, message };
    }
    Failure::invalid(describe(error))
}

/// The chain of causes, the innermost of which says most.
fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

fn innermost(error: &Error) -> &Error {
    let mut found = error;
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        found = inner.downcast_ref::<Error>().unwrap_or(found);
        cause = inner.source();
    }
    found
}

/// Output that ends the render instead of growing without bound.
struct Bounded {
    bytes: Vec<u8>,
    limit: u64,
    exceeded: bool,
}

impl std::io::Write for Bounded {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() as u64 + piece.len() as u64 > self.limit {
            self.exceeded = true;
            return Err(std::io::Error::other("output limit"));
        }
        self.bytes.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What transformers does to a conversation before a template sees it: members that are null are left out, and a message's
/// reasoning is there under every name that templates read.
fn normalize_messages(messages: &mut Json) -> Result<(), Failure> {
    let list = messages.as_array_mut().ok_or_else(|| Failure::invalid("messages: expected a list"))?;
    if list.is_empty() {
        return Err(Failure::invalid("messages: expected at least one message, got none"));
    }
    for message in list {
        let members = message.as_object_mut().ok_or_else(|| Failure::invalid("messages: expected a list of objects"))?;
        members.retain(|_, value| !value.is_null());
        let reasoning = ["reasoning_content", "thinking", "reasoning"].iter().find_map(|name| members.get(*name)).cloned();
        if let Some(reasoning) = reasoning {
            if !members.contains_key("thinking") {
                members.shift_insert(0, "thinking".into(), reasoning.clone());
            }
            members.insert("reasoning_content".into(), reasoning);
        }
    }
    Ok(())
}

/// Filters whose parameters or fallbacks differ from Jinja2's.
fn add_jinja2_filters(environment: &mut Environment<'static>) {
    fn fallback(value: &Value, otherwise: Option<Value>, kwargs: Kwargs) -> Result<Value, Error> {
        // default(value, default_value="", boolean=False)
        let otherwise = match kwargs.get::<Option<Value>>("default_value")? {
            Some(named) => named,
            None => otherwise.unwrap_or_else(|| Value::from("")),
        };
        let falsy = kwargs.get::<Option<bool>>("boolean")?.unwrap_or(false);
        kwargs.assert_all_used()?;
        Ok(if value.is_undefined() || (falsy && !value.is_true()) { otherwise } else { value.clone() })
    }
    let default = |value: &Value, otherwise: Option<Value>, boolean: Option<Value>, kwargs: Kwargs| {
        if boolean.is_some_and(|flag| flag.is_true()) && !value.is_true() {
            return Ok(otherwise.unwrap_or_else(|| Value::from("")));
        }
        fallback(value, otherwise, kwargs)
    };
    environment.add_filter("escape", |value: &Value| python::escape(&value.to_string()));
    environment.add_filter("e", |value: &Value| python::escape(&value.to_string()));
    environment.add_filter("default", default);
    environment.add_filter("d", default);
    environment.add_filter("int", |value: &Value, otherwise: Option<Value>, kwargs: Kwargs| {
        let named = kwargs.get::<Option<Value>>("default")?;
        kwargs.assert_all_used()?;
        Ok::<Value, Error>(python::to_int(value).unwrap_or_else(|| named.or(otherwise).unwrap_or_else(|| Value::from(0))))
    });
    environment.add_filter("float", |value: &Value, otherwise: Option<Value>, kwargs: Kwargs| {
        let named = kwargs.get::<Option<Value>>("default")?;
        kwargs.assert_all_used()?;
        Ok::<Value, Error>(python::to_float(value).unwrap_or_else(|| named.or(otherwise).unwrap_or_else(|| Value::from(0.0))))
    });
}

/// Tests whose answer differs from Jinja2's for Python values.
fn add_python_tests(environment: &mut Environment<'static>) {
    environment.add_test("sequence", |value: &Value| {
        matches!(value.kind(), ValueKind::Seq | ValueKind::String | ValueKind::Map | ValueKind::Undefined)
    });
    environment.add_test("iterable", |value: &Value| {
        matches!(
            value.kind(),
            ValueKind::Seq | ValueKind::Iterable | ValueKind::String | ValueKind::Map | ValueKind::Undefined
        )
    });
}

/// transformers' {% generation %} blocks mark what an assistant wrote; they print their body, in a scope of its own. Here they
/// become {% with %} blocks. Comments, expressions and raw blocks are passed over.
fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut raw = false;
    while let Some(start) = rest.find('{') {
        let (before, tag) = rest.split_at(start);
        out.push_str(before);
        let length = match tag.as_bytes().get(1) {
            Some(b'%') => block_end(tag, "%}"),
            Some(b'#') if !raw => tag.find("#}").map(|end| end + 2),
            Some(b'{') if !raw => block_end(tag, "}}"),
            _ => Some(1),
        };
        let (whole, after) = tag.split_at(length.unwrap_or(tag.len()));
        let name = whole.strip_prefix("{%").map(|body| body.trim_start_matches(['-', '+']).trim_start()).map_or("", first_word);
        raw = name == "raw" || (raw && name != "endraw");
        match name {
            "generation" if !raw => out.push_str(&whole.replacen("generation", "with", 1)),
            "endgeneration" if !raw => out.push_str(&whole.replacen("endgeneration", "endwith", 1)),
            _ => out.push_str(whole),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn first_word(text: &str) -> &str {
    text.split(|character: char| !character.is_alphanumeric() && character != '_').next().unwrap_or("")
}

/// The length of `tag` up to and with `close`, which counts only outside quotes.
fn block_end(tag: &str, close: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (index, character) in tag.char_indices().skip(2) {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if character == '\\' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if character == '"' || character == '\'' => quote = Some(character),
            None if tag[index..].starts_with(close) => return Some(index + close.len()),
            None => {}
        }
    }
    None
}
