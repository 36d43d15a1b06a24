//! What Python writes where a template shows a value: json.dumps, repr of a float, strftime.

use minijinja::value::{Kwargs, Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct LocalTime {
    pub year: i32,
    pub month: i32,
    pub day: i32,
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
    pub weekday: i32,
    pub yearday: i32,
}

fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// repr(float): the shortest digits that read back, with an exponent below 1e-4 and from 1e16 on.
pub fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{value}");
    if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    }
}

/// How json.dumps was asked to write.
struct Style {
    ensure_ascii: bool,
    sort_keys: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    limit: usize,
}

/// The filter `tojson` of transformers: json.dumps with ensure_ascii=False unless the template says otherwise.
pub fn to_json(value: &Value, positional: &[Value], kwargs: &Kwargs, limit: usize) -> Result<String, Error> {
    let option = |index: usize, name: &str| -> Result<Value, Error> {
        Ok(match kwargs.get::<Option<Value>>(name)? {
            Some(value) => value,
            None => positional.get(index).cloned().unwrap_or(Value::from(())),
        })
    };
    let indent = read_indent(&option(1, "indent")?)?;
    let (item_separator, key_separator) = read_separators(&option(2, "separators")?, indent.is_some())?;
    let style = Style {
        ensure_ascii: option(0, "ensure_ascii")?.is_true(),
        sort_keys: option(3, "sort_keys")?.is_true(),
        indent,
        item_separator,
        key_separator,
        limit,
    };
    kwargs.assert_all_used()?;
    let mut out = String::new();
    write_json(value, &style, 0, &mut out)?;
    Ok(out)
}

fn read_indent(value: &Value) -> Result<Option<String>, Error> {
    if value.is_none() {
        return Ok(None);
    }
    if let Some(text) = value.as_str() {
        return Ok(Some(text.to_string()));
    }
    let width = i64::try_from(value.clone()).map_err(|_| bad("tojson: indent must be a number or a string"))?;
    if width > 64 {
        return Err(bad("tojson: indent is above 64"));
    }
    Ok(Some(" ".repeat(width.max(0) as usize)))
}

fn read_separators(value: &Value, indented: bool) -> Result<(String, String), Error> {
    if value.is_none() {
        return Ok((if indented { "," } else { ", " }.to_string(), ": ".to_string()));
    }
    let parts: Vec<String> = value.try_iter()?.map(|part| part.to_string()).collect();
    match <[String; 2]>::try_from(parts) {
        Ok([item, key]) => Ok((item, key)),
        Err(_) => Err(bad("tojson: separators must be two strings")),
    }
}

fn write_json(value: &Value, style: &Style, depth: usize, out: &mut String) -> Result<(), Error> {
    if out.len() > style.limit || depth > 200 {
        return Err(Error::new(ErrorKind::OutOfFuel, "tojson: the value is too large"));
    }
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&json_number(value)),
        ValueKind::String => write_string(value.as_str().unwrap_or_default(), style, out),
        ValueKind::Seq | ValueKind::Iterable => {
            write_items(value.try_iter()?.map(|item| (None, item)).collect(), ['[', ']'], style, depth, out)?
        }
        ValueKind::Map => {
            let mut members = Vec::new();
            for key in value.try_iter()? {
                let item = value.get_item(&key)?;
                members.push((Some(json_key(&key)?), item));
            }
            if style.sort_keys {
                members.sort_by(|left, right| left.0.cmp(&right.0));
            }
            write_items(members, ['{', '}'], style, depth, out)?
        }
        kind => return Err(bad(format!("Object of type {kind} is not JSON serializable"))),
    }
    Ok(())
}

fn write_items(
    items: Vec<(Option<String>, Value)>,
    brackets: [char; 2],
    style: &Style,
    depth: usize,
    out: &mut String,
) -> Result<(), Error> {
    out.push(brackets[0]);
    let new_line = |depth: usize, out: &mut String| {
        if let Some(indent) = &style.indent {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(indent));
        }
    };
    let filled = !items.is_empty();
    for (index, (key, item)) in items.into_iter().enumerate() {
        if index > 0 {
            out.push_str(&style.item_separator);
        }
        new_line(depth + 1, out);
        if let Some(key) = key {
            write_string(&key, style, out);
            out.push_str(&style.key_separator);
        }
        write_json(&item, style, depth + 1, out)?;
    }
    if filled {
        new_line(depth, out);
    }
    out.push(brackets[1]);
    Ok(())
}

fn json_number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    match f64::try_from(value.clone()) {
        Ok(number) if number.is_nan() => "NaN".into(),
        Ok(number) if number.is_infinite() => if number > 0.0 { "Infinity".into() } else { "-Infinity".into() },
        Ok(number) => float_repr(number),
        Err(_) => value.to_string(),
    }
}

fn json_key(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.to_string()),
        ValueKind::None => Ok("null".into()),
        ValueKind::Bool => Ok(if key.is_true() { "true" } else { "false" }.into()),
        ValueKind::Number => Ok(json_number(key)),
        _ => Err(bad("keys must be str, int, float, bool or None")),
    }
}

fn write_string(text: &str, style: &Style, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", control as u32)),
            wide if style.ensure_ascii && !wide.is_ascii() => {
                let mut units = [0u16; 2];
                wide.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
];

/// datetime.now().strftime(format) in the C locale, for a time without a zone.
pub fn strftime(format: &str, now: &LocalTime) -> Result<String, Error> {
    let mut out = String::new();
    let mut rest = format.chars();
    while let Some(character) = rest.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        let mut directive = rest.next().ok_or_else(|| bad("strftime_now: a lone % at the end"))?;
        let unpadded = directive == '-';
        if unpadded {
            directive = rest.next().ok_or_else(|| bad("strftime_now: a lone % at the end"))?;
        }
        let field = directive_text(directive, now)
            .ok_or_else(|| bad(format!("strftime_now: unknown directive %{directive}")))?;
        let trimmed = field.trim_start_matches(['0', ' ']);
        out.push_str(match (unpadded, trimmed.is_empty()) {
            (false, _) => &field,
            (true, true) => "0",
            (true, false) => trimmed,
        });
    }
    Ok(out)
}

fn directive_text(directive: char, now: &LocalTime) -> Option<String> {
    let day_name = DAYS[now.weekday.rem_euclid(7) as usize];
    let month_name = MONTHS[(now.month - 1).rem_euclid(12) as usize];
    let hour12 = (now.hour + 11).rem_euclid(12) + 1;
    let half = if now.hour < 12 { "AM" } else { "PM" };
    Some(match directive {
        '%' => "%".into(),
        'A' => day_name.into(),
        'B' => month_name.into(),
        'D' | 'x' => format!("{:02}/{:02}/{:02}", now.month, now.day, now.year.rem_euclid(100)),
        'F' => format!("{}-{:02}-{:02}", now.year, now.month, now.day),
        'H' => format!("{:02}", now.hour),
        'I' => format!("{hour12:02}"),
        'M' => format!("{:02}", now.minute),
        'R' => format!("{:02}:{:02}", now.hour, now.minute),
        'S' => format!("{:02}", now.second),
        'T' | 'X' => format!("{:02}:{:02}:{:02}", now.hour, now.minute, now.second),
        'U' => format!("{:02}", (now.yearday + 7 - now.weekday) / 7),
        'W' => format!("{:02}", (now.yearday + 7 - (now.weekday + 6) % 7) / 7),
        'Y' => now.year.to_string(),
        'Z' | 'z' => String::new(),
        'a' => day_name[..3].into(),
        'b' | 'h' => month_name[..3].into(),
        'c' => format!(
            "{} {} {:2} {:02}:{:02}:{:02} {}",
            &day_name[..3], &month_name[..3], now.day, now.hour, now.minute, now.second, now.year
        ),
        'd' => format!("{:02}", now.day),
        'e' => format!("{:2}", now.day),
        'f' => "000000".into(),
        'j' => format!("{:03}", now.yearday + 1),
        'm' => format!("{:02}", now.month),
        'n' => "\n".into(),
        'p' => half.into(),
        't' => "\t".into(),
        'u' => ((now.weekday + 6) % 7 + 1).to_string(),
        'w' => now.weekday.to_string(),
        'y' => format!("{:02}", now.year.rem_euclid(100)),
        _ => return None,
    })
}

/// Jinja2's int filter: int(value), or of the number that a text spells.
pub fn to_int(value: &Value) -> Option<Value> {
    if value.kind() == ValueKind::Bool {
        return Some(Value::from(i64::from(value.is_true())));
    }
    if value.is_integer() {
        return Some(value.clone());
    }
    let text = value.as_str().map(|text| text.trim().replace('_', ""));
    if let Some(whole) = text.as_ref().and_then(|text| text.parse::<i128>().ok()) {
        return Some(Value::from(whole));
    }
    let number = to_float(value).and_then(|float| f64::try_from(float).ok())?;
    (number.is_finite() && number.abs() < 1e18).then(|| Value::from(number.trunc() as i64))
}

pub fn to_float(value: &Value) -> Option<Value> {
    match value.kind() {
        ValueKind::Number | ValueKind::Bool => f64::try_from(value.clone()).ok(),
        ValueKind::String => value.as_str().and_then(|text| text.trim().replace('_', "").parse().ok()),
        _ => None,
    }
    .map(Value::from)
}

/// Methods of Python's str that templates use and the compatibility layer lacks; None for all others.
pub fn string_method(value: &Value, method: &str, args: &[Value]) -> Option<Result<Value, Error>> {
    let text = value.as_str()?;
    let argument = |index: usize| args.get(index).and_then(|value| value.as_str());
    let tuple = |parts: [&str; 3]| Value::from(Tuple::from(parts.map(Value::from).to_vec()));
    let result = match (method, args.len()) {
        ("removeprefix", 1) => Value::from(text.strip_prefix(argument(0)?).unwrap_or(text)),
        ("removesuffix", 1) => Value::from(text.strip_suffix(argument(0)?).unwrap_or(text)),
        ("partition", 1) => match text.split_once(argument(0)?) {
            Some((before, after)) => tuple([before, argument(0)?, after]),
            None => tuple([text, "", ""]),
        },
        ("rpartition", 1) => match text.rsplit_once(argument(0)?) {
            Some((before, after)) => tuple([before, argument(0)?, after]),
            None => tuple(["", "", text]),
        },
        ("rsplit", 1 | 2) if !argument(0)?.is_empty() => {
            let most = args.get(1).and_then(|count| usize::try_from(count.clone()).ok()).unwrap_or(usize::MAX - 1);
            let mut parts: Vec<Value> = text.rsplitn(most.saturating_add(1), argument(0)?).map(Value::from).collect();
            parts.reverse();
            Value::from(parts)
        }
        ("index", 1) => match text.find(argument(0)?) {
            Some(byte) => Value::from(text[..byte].chars().count()),
            None => return Some(Err(bad("substring not found"))),
        },
        ("zfill", 1) => {
            let width = usize::try_from(args[0].clone()).ok()?;
            let missing = width.min(1 << 16).saturating_sub(text.chars().count());
            let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
            Value::from(format!("{sign}{}{digits}", "0".repeat(missing)))
        }
        _ => return None,
    };
    Some(Ok(result))
}

/// markupsafe.escape.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}
