//! Values of the language as text: for the console, for results, for errors.

use rquickjs::{Coerced, Ctx, Exception, FromJs as _, Value};

/// A value as the console shows it.
pub(super) fn shown<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    if let Some(text) = value.as_string() {
        return text.to_string().unwrap_or_else(|_| "[a text that is no Unicode]".to_owned());
    }
    if value.is_error() {
        return error_text(value);
    }
    if let Some(function) = value.as_function() {
        let name: String = function.get("name").unwrap_or_default();
        return format!("[function {name}]");
    }
    if value.is_object() {
        return match ctx.json_stringify(value.clone()) {
            Ok(Some(text)) => text.to_string().unwrap_or_else(|_| "[object]".to_owned()),
            Ok(None) => "undefined".to_owned(),
            Err(_) => {
                ctx.catch();
                "[an object that JSON cannot hold]".to_owned()
            }
        };
    }
    if value.is_symbol() {
        return "[symbol]".to_owned();
    }
    match Coerced::<String>::from_js(ctx, value.clone()) {
        Ok(text) => text.0,
        Err(_) => {
            ctx.catch();
            "[value]".to_owned()
        }
    }
}

/// What a script returned, as the model is to see it; `None` = nothing.
///
/// # Errors
/// A value that JSON cannot hold.
pub(super) fn returned<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Option<String>, String> {
    if value.is_undefined() {
        return Ok(None);
    }
    if value.is_string() || value.is_error() || value.is_function() || value.is_big_int() || value.is_symbol()
    {
        return Ok(Some(shown(ctx, value)));
    }
    match ctx.json_stringify(value.clone()) {
        Ok(Some(text)) => Ok(text.to_string().ok()),
        Ok(None) => Ok(None),
        Err(_) => {
            let why = ctx.catch();
            Err(format!("what the script returned cannot be written as JSON: {}", shown(ctx, &why)))
        }
    }
}

/// What was thrown, as text.
pub(super) fn thrown<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    if value.is_error() { error_text(value) } else { format!("thrown: {}", shown(ctx, value)) }
}

/// The place in the code where an error came up, as line and column.
pub(super) fn place(value: &Value<'_>, file: &str) -> Option<(u32, u32)> {
    let stack = Exception::from_object(value.as_object()?.clone())?.stack()?;
    let (_, after) = stack.split_once(&format!("{file}:"))?;
    let mut numbers = after.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().unwrap_or(0)))
}

fn error_text(value: &Value<'_>) -> String {
    let Some(error) = value.as_object() else { return "an error".to_owned() };
    let text = |key: &str| -> String { error.get(key).unwrap_or_default() };
    let (name, message) = (text("name"), text("message"));
    // A getter of the script's own may have thrown.
    error.ctx().catch();
    match (name.as_str(), message.as_str()) {
        ("", message) => format!("Error: {message}"),
        (name, "") => name.to_owned(),
        (name, message) => format!("{name}: {message}"),
    }
}
