//! One script from its order to its end: evaluated, driven until its promise is settled and every call that it made has
//! been answered. Nothing of it goes on after that: calls and timers that are left when it ends cannot wake anything.

use std::time::{Duration, Instant};

use rquickjs::context::EvalOptions;
use rquickjs::promise::PromiseState;
use rquickjs::{Ctx, Error, Exception, Function, Promise, Value};

use super::line::{Got, Lines};
use super::realm::Realm;
use super::shown::{place, returned, thrown};
use crate::protocol::{Ended, Order, ToWorker};
use crate::strip::{Stripped, strip};

/// Name of the evaluated code in the engine's own messages.
const FILE: &str = "script";

/// Runs it and answers how it ended; `None` when nobody is there any more.
pub(super) fn run<'js>(realm: &Realm, ctx: &Ctx<'js>, order: &Order, lines: &mut Lines) -> Option<Ended> {
    let result = match strip(&order.script) {
        Err(fault) => Ok(Err(format!("SyntaxError: {fault}"))),
        Ok(stripped) => begin(realm, ctx, order, &stripped).map_or_else(
            |thrown| Ok(Err(thrown)),
            |promise| drive(realm, ctx, &promise, lines).map(|()| outcome(realm, ctx, &promise, &stripped)),
        ),
    };
    let result: Result<_, Alone> = result;
    Some(end(realm, ctx, order, result.ok()?))
}

/// Nobody is there any more.
struct Alone;

fn begin<'js>(
    realm: &Realm,
    ctx: &Ctx<'js>,
    order: &Order,
    stripped: &Stripped,
) -> Result<Promise<'js>, String> {
    let failed = |error: Error| caught(realm, ctx, &error, Some(stripped));
    realm.furnish(ctx, order).map_err(failed)?;
    let globals = ctx.globals();
    for name in &stripped.names {
        if !globals.contains_key(name.as_str()).map_err(failed)? {
            globals.set(name.as_str(), Value::new_undefined(ctx.clone())).map_err(failed)?;
        }
    }
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(FILE.to_owned());
    ctx.eval_with_options(stripped.code.as_str(), options).map_err(failed)
}

/// Runs jobs, delivers answers and calls timers until the script is over.
fn drive<'js>(realm: &Realm, ctx: &Ctx<'js>, promise: &Promise<'js>, lines: &mut Lines) -> Result<(), Alone> {
    let shared = &realm.shared;
    loop {
        while ctx.execute_pending_job() {}
        let settled = promise.state() != PromiseState::Pending;
        let open = !shared.open.borrow().is_empty();
        if settled && !open {
            return Ok(());
        }
        let due = if settled { None } else { shared.timers.borrow().iter().map(|timer| timer.due).min() };
        if !open && due.is_none() {
            // It waits for what nothing can bring any more.
            return Ok(());
        }
        shared.out.flush();
        let patience = due.map(|due| due.saturating_duration_since(Instant::now()));
        match lines.next(patience) {
            Got::Nothing => call_due(realm, ctx),
            Got::End => return Err(Alone),
            Got::Line(line) => match serde_json::from_str(&line) {
                Ok(ToWorker::Answer { call, result }) => answer(realm, ctx, call, result),
                Ok(ToWorker::Run(_)) | Err(_) => return Err(Alone),
            },
        }
        if patience == Some(Duration::ZERO) {
            call_due(realm, ctx);
        }
    }
}

fn answer<'js>(realm: &Realm, ctx: &Ctx<'js>, call: u64, result: Result<serde_json::Value, String>) {
    let Some((fulfil, reject)) = realm.shared.open.borrow_mut().remove(&call) else { return };
    let settled = match result {
        Ok(value) => {
            ctx.json_parse(value.to_string()).and_then(|value| fulfil.restore(ctx)?.call::<_, ()>((value,)))
        }
        Err(why) => Exception::from_message(ctx.clone(), &why)
            .and_then(|error| reject.clone().restore(ctx)?.call::<_, ()>((error,))),
    };
    if settled.is_err() {
        // Out of memory, most likely: the script hears of it as of any failed call, or of nothing at all.
        let why = ctx.catch();
        let _ = reject.restore(ctx).and_then(|reject| reject.call::<_, ()>((why,)));
    }
}

fn call_due(realm: &Realm, ctx: &Ctx<'_>) {
    let now = Instant::now();
    let mut timers = realm.shared.timers.borrow_mut();
    let Some(at) =
        timers.iter().enumerate().filter(|(_, t)| t.due <= now).min_by_key(|(_, t)| t.due).map(|(at, _)| at)
    else {
        return;
    };
    let call = timers[at].call.clone();
    match timers[at].every {
        Some(every) => timers[at].due = now + every,
        None => drop(timers.remove(at)),
    }
    drop(timers);
    if let Err(error) = call.restore(ctx).and_then(|call: Function<'_>| call.call::<_, ()>(())) {
        realm.shared.out.print(&format!("error in a timer: {}\n", caught(realm, ctx, &error, None)));
    }
}

fn outcome<'js>(
    realm: &Realm,
    ctx: &Ctx<'js>,
    promise: &Promise<'js>,
    stripped: &Stripped,
) -> Result<Option<String>, String> {
    // The script's own promise has somebody who hears it.
    let own = promise.as_value().clone();
    realm
        .shared
        .rejected
        .borrow_mut()
        .retain(|(known, _)| known.clone().restore(ctx).map_or(true, |known| known != own));
    match promise.result::<Value<'js>>() {
        None => {
            Err("the script waits for something that can never come: no call, no timer is left".to_owned())
        }
        Some(Ok(value)) => returned(ctx, &value),
        Some(Err(error)) => Err(caught(realm, ctx, &error, Some(stripped))),
    }
}

/// What went wrong, with the line of the script where it is known.
fn caught(realm: &Realm, ctx: &Ctx<'_>, error: &Error, stripped: Option<&Stripped>) -> String {
    if !error.is_exception() {
        return error.to_string();
    }
    let value = ctx.catch();
    // Where no memory is left for an error that says so, the engine throws nothing.
    if value.is_null() && realm.is_full() {
        return "InternalError: out of memory".to_owned();
    }
    let text = thrown(ctx, &value);
    match (place(&value, FILE), stripped) {
        (Some((line, _)), Some(stripped)) => format!("{text} (line {})", stripped.line(line)),
        (Some(_) | None, Some(_) | None) => text,
    }
}

fn end(realm: &Realm, ctx: &Ctx<'_>, order: &Order, mut result: Result<Option<String>, String>) -> Ended {
    let shared = &realm.shared;
    shared.timers.borrow_mut().clear();
    let mut remarks: Vec<String> = Vec::new();
    for (_, why) in shared.rejected.borrow_mut().drain(..) {
        remarks.push(format!("a promise was rejected and nobody handled it: {why}"));
    }
    if shared.lost.get() > 0 {
        remarks.push(format!("{} bytes of output were left out", shared.lost.get()));
    }
    if let Ok(Some(text)) = &mut result {
        let kept = text.floor_char_boundary(order.value_bytes);
        if kept < text.len() {
            remarks.push(format!("{} bytes of the returned value were left out", text.len() - kept));
            text.truncate(kept);
        }
    }
    let stored = std::mem::take(&mut *shared.stored.borrow_mut());
    Ended { epoch: order.epoch, result, remarks, stored, tampered: realm.tampered(ctx) }
}
