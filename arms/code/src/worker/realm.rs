//! What a script finds: the language, the functions that call tools, the console, timers, and the preludes that are on.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::function::{Opt, Rest};
use rquickjs::{Context, Ctx, Exception, Function, Object, Persistent, Promise, Result, Runtime, Value};

use super::line::{Lines, Out};
use super::script;
use super::shown::shown;
use super::tamper::Picture;
use crate::protocol::{FromWorker, Order, Place, Prelude};

/// Stack of the engine, in bytes: well below the smallest stack that a thread has here.
const STACK_BYTES: usize = 512 << 10;
/// Share of the memory cap, in percent, above which nothing of the realm is kept.
const FULL_PERCENT: usize = 75;

/// The engine with its globals.
pub(super) struct Realm {
    runtime: Runtime,
    context: Context,
    pub(super) shared: Rc<Shared>,
    picture: Option<Picture>,
    memory_bytes: usize,
    /// Global objects that hold functions, from the script before.
    objects: RefCell<Vec<String>>,
}

/// What the globals share with the loop around a script.
pub(super) struct Shared {
    pub(super) out: Out,
    pub(super) epoch: Cell<u64>,
    pub(super) next: Cell<u64>,
    /// Calls without an answer: how to fulfil and how to reject each.
    pub(super) open: RefCell<BTreeMap<u64, Settlers>>,
    pub(super) timers: RefCell<Vec<Timer>>,
    /// Bytes of output that may still be captured, and those that were not.
    pub(super) room: Cell<usize>,
    pub(super) lost: Cell<usize>,
    pub(super) stored: RefCell<serde_json::Map<String, serde_json::Value>>,
    /// Promises that were rejected with nobody to hear it, and why.
    pub(super) rejected: RefCell<Vec<(Persistent<Value<'static>>, String)>>,
}

/// The two functions that settle a promise.
pub(super) type Settlers = (Persistent<Function<'static>>, Persistent<Function<'static>>);

/// Something to be called later.
pub(super) struct Timer {
    pub(super) id: u64,
    pub(super) due: Instant,
    pub(super) every: Option<Duration>,
    pub(super) call: Persistent<Function<'static>>,
}

impl Realm {
    /// An engine with this cap on its memory; `None` where it cannot be made.
    pub(super) fn new(out: Out, memory_bytes: usize) -> Option<Self> {
        let runtime = Runtime::new().ok()?;
        runtime.set_memory_limit(memory_bytes);
        runtime.set_max_stack_size(STACK_BYTES);
        let context = Context::full(&runtime).ok()?;
        let shared = Rc::new(Shared {
            out,
            epoch: Cell::new(0),
            next: Cell::new(0),
            open: RefCell::default(),
            timers: RefCell::default(),
            room: Cell::new(0),
            lost: Cell::new(0),
            stored: RefCell::default(),
            rejected: RefCell::default(),
        });
        let hears = Rc::clone(&shared);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, why, handled| {
            hears.rejection(&ctx, promise, &why, handled);
        })));
        let picture = context.with(|ctx| Picture::taken(&ctx)).ok();
        Some(Self { runtime, context, shared, picture, memory_bytes, objects: RefCell::default() })
    }

    /// Runs a script to its end. False when nobody is there any more.
    pub(super) fn run(&self, order: Order, lines: &mut Lines) -> bool {
        self.shared.begin(&order);
        let Some(mut ended) = self.context.with(|ctx| script::run(self, &ctx, &order, lines)) else {
            return false;
        };
        if ended.tampered.is_none() {
            ended.tampered = self.full();
        }
        self.shared.out.say(&FromWorker::Ended(Box::new(ended)));
        true
    }

    /// Is there too little memory left for another script?
    fn full(&self) -> Option<String> {
        if !self.is_full() {
            return None;
        }
        self.runtime.run_gc();
        let used = self.used();
        let told = || format!("the script's values take {used} of {} bytes", self.memory_bytes);
        self.is_full().then(told)
    }

    /// Is most of the memory taken now?
    pub(super) fn is_full(&self) -> bool {
        self.used() > self.memory_bytes / 100 * FULL_PERCENT
    }

    fn used(&self) -> usize {
        usize::try_from(self.runtime.memory_usage().malloc_size).unwrap_or(usize::MAX)
    }

    /// Puts everything in its place that a script may use.
    pub(super) fn furnish<'js>(&self, ctx: &Ctx<'js>, order: &Order) -> Result<()> {
        let globals = ctx.globals();
        for name in self.objects.borrow_mut().drain(..) {
            globals.remove(name)?;
        }
        let mut names: Vec<String> = Vec::new();
        for place in &order.functions {
            if !names.contains(&place.object) {
                globals.set(place.object.as_str(), Object::new(ctx.clone())?)?;
                names.push(place.object.clone());
            }
            let object: Object<'js> = globals.get(place.object.as_str())?;
            object.set(place.name.as_str(), caller(ctx, &self.shared, place)?)?;
        }
        globals.set("console", console(ctx, &self.shared)?)?;
        timers(ctx, &self.shared)?;
        names.extend(
            ["console", "setTimeout", "setInterval", "clearTimeout", "clearInterval"].map(str::to_owned),
        );
        for prelude in &order.preludes {
            names.extend(self.prelude(ctx, *prelude, order)?.iter().map(|name| (*name).to_owned()));
        }
        *self.objects.borrow_mut() = names;
        Ok(())
    }

    fn prelude<'js>(
        &self,
        ctx: &Ctx<'js>,
        prelude: Prelude,
        order: &Order,
    ) -> Result<&'static [&'static str]> {
        let globals = ctx.globals();
        let shared = || Rc::clone(&self.shared);
        match prelude {
            Prelude::Output => {
                for name in ["text", "display"] {
                    globals.set(name, printer(ctx, shared())?)?;
                }
                Ok(&["text", "display"])
            }
            Prelude::Store => {
                let (kept, read) = (shared(), shared());
                let store =
                    move |ctx: Ctx<'js>, name: String, value: Value<'js>| kept.store(&ctx, name, value);
                globals.set("store", Function::new(ctx.clone(), store)?)?;
                let load = move |ctx: Ctx<'js>, name: String| read.load(&ctx, &name);
                globals.set("load", Function::new(ctx.clone(), load)?)?;
                Ok(&["store", "load"])
            }
            Prelude::Search => {
                let listed = |place: &Place| {
                    let name = format!("{}.{}", place.object, place.name);
                    serde_json::json!({"name": name, "description": place.about})
                };
                let all: serde_json::Value = order.functions.iter().map(listed).collect();
                globals.set("ALL_TOOLS", ctx.json_parse(all.to_string())?)?;
                let search = move |ctx: Ctx<'js>, words: String, limit: Opt<usize>| {
                    ctx.json_parse(found(&all, &words, limit.0.unwrap_or(8)).to_string())
                };
                globals.set("searchTools", Function::new(ctx.clone(), search)?)?;
                Ok(&["ALL_TOOLS", "searchTools"])
            }
            Prelude::Yield => {
                let shared = shared();
                let hand_over = move |ctx: Ctx<'js>| -> Result<Value<'js>> {
                    shared.out.say(&FromWorker::Yielded { epoch: shared.epoch.get() });
                    let (promise, fulfil, _) = Promise::new(&ctx)?;
                    fulfil.call::<_, ()>(())?;
                    Ok(promise.into_value())
                };
                globals.set("yield_control", Function::new(ctx.clone(), hand_over)?)?;
                Ok(&["yield_control"])
            }
        }
    }

    /// What the script changed of the language; `None` = nothing.
    pub(super) fn tampered(&self, ctx: &Ctx<'_>) -> Option<String> {
        // What this worker put there is no change of the script's.
        for name in self.objects.borrow_mut().drain(..) {
            let _ = ctx.globals().remove(name);
        }
        let changed = match &self.picture {
            Some(picture) => picture.changed(ctx)?,
            None => "what nobody could look at".to_owned(),
        };
        Some(format!("the script changed {changed}, which belongs to the language"))
    }
}

impl Shared {
    fn begin(&self, order: &Order) {
        self.out.begin(order.epoch);
        self.epoch.set(order.epoch);
        self.open.borrow_mut().clear();
        self.timers.borrow_mut().clear();
        self.rejected.borrow_mut().clear();
        self.room.set(order.output_bytes);
        self.lost.set(0);
        *self.stored.borrow_mut() = order.stored.clone();
    }

    fn rejection<'js>(&self, ctx: &Ctx<'js>, promise: Value<'js>, why: &Value<'js>, handled: bool) {
        let mut rejected = self.rejected.borrow_mut();
        if handled {
            rejected.retain(|(known, _)| known.clone().restore(ctx).map_or(true, |known| known != promise));
        } else if rejected.len() < 100 {
            rejected.push((Persistent::save(ctx, promise), super::shown::thrown(ctx, why)));
        }
    }

    /// Captures a line of output, as far as there is room.
    fn print(&self, line: &str) {
        let room = self.room.get();
        let kept = line.floor_char_boundary(room);
        self.out.print(&line[..kept]);
        self.room.set(room - kept);
        self.lost.set(self.lost.get() + (line.len() - kept));
    }

    fn store<'js>(&self, ctx: &Ctx<'js>, name: String, value: Value<'js>) -> Result<()> {
        let text = ctx.json_stringify(value)?.map(|text| text.to_string()).transpose()?;
        let value = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        self.stored.borrow_mut().insert(name, value);
        Ok(())
    }

    fn load<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Value<'js>> {
        match self.stored.borrow().get(name) {
            None => Ok(Value::new_undefined(ctx.clone())),
            Some(value) => ctx.json_parse(value.to_string()),
        }
    }
}

/// A function that calls a tool: says so and answers a promise.
fn caller<'js>(ctx: &Ctx<'js>, shared: &Rc<Shared>, place: &Place) -> Result<Function<'js>> {
    let (shared, tool) = (Rc::clone(shared), place.tool.clone());
    let call = move |ctx: Ctx<'js>, given: Rest<Value<'js>>| -> Result<Value<'js>> {
        let arguments = match given.0.first().filter(|given| !given.is_undefined()) {
            None => serde_json::json!({}),
            Some(given) => {
                let text = ctx.json_stringify(given.clone())?.map(|text| text.to_string()).transpose()?;
                let text = text.unwrap_or_else(|| "null".to_owned());
                serde_json::from_str(&text)
                    .map_err(|error| Exception::throw_type(&ctx, &format!("arguments of {tool}: {error}")))?
            }
        };
        let (promise, fulfil, reject) = Promise::new(&ctx)?;
        let number = shared.next.get();
        shared.next.set(number + 1);
        let settlers = (Persistent::save(&ctx, fulfil), Persistent::save(&ctx, reject));
        let open = shared.open.borrow().len();
        shared.open.borrow_mut().insert(number, settlers);
        let (epoch, tool) = (shared.epoch.get(), tool.clone());
        shared.out.say(&FromWorker::Call { epoch, call: number, tool, arguments, open });
        Ok(promise.into_value())
    };
    Function::new(ctx.clone(), call)?.with_name(&place.name)
}

/// A function that adds its arguments to the output, as one line.
fn printer<'js>(ctx: &Ctx<'js>, shared: Rc<Shared>) -> Result<Function<'js>> {
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, values: Rest<Value<'js>>| {
        let texts: Vec<String> = values.0.iter().map(|value| shown(&ctx, value)).collect();
        shared.print(&format!("{}\n", texts.join(" ")));
    })
}

fn console<'js>(ctx: &Ctx<'js>, shared: &Rc<Shared>) -> Result<Object<'js>> {
    let console = Object::new(ctx.clone())?;
    for name in ["log", "info", "warn", "error", "debug", "trace", "dir", "table"] {
        console.set(name, printer(ctx, Rc::clone(shared))?)?;
    }
    Ok(console)
}

fn timers<'js>(ctx: &Ctx<'js>, shared: &Rc<Shared>) -> Result<()> {
    let globals = ctx.globals();
    for (name, repeats) in [("setTimeout", false), ("setInterval", true)] {
        let shared = Rc::clone(shared);
        let set = move |ctx: Ctx<'js>, call: Function<'js>, ms: Opt<f64>| -> u64 {
            let ms = ms.0.filter(|ms| ms.is_finite()).unwrap_or(0.0).clamp(0.0, 86_400_000.0);
            let wait = Duration::from_secs_f64(ms / 1000.0);
            let id = shared.next.get() + 1;
            shared.next.set(id);
            let every = repeats.then_some(wait.max(Duration::from_millis(1)));
            let call = Persistent::save(&ctx, call);
            shared.timers.borrow_mut().push(Timer { id, due: Instant::now() + wait, every, call });
            id
        };
        globals.set(name, Function::new(ctx.clone(), set)?)?;
    }
    for name in ["clearTimeout", "clearInterval"] {
        let shared = Rc::clone(shared);
        let clear = move |id: Opt<f64>| {
            shared.timers.borrow_mut().retain(|timer| id.0 != Some(timer.id as f64));
        };
        globals.set(name, Function::new(ctx.clone(), clear)?)?;
    }
    Ok(())
}

/// The functions whose names and descriptions hold most of the words.
fn found(all: &serde_json::Value, words: &str, limit: usize) -> serde_json::Value {
    let words: Vec<String> = words.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let score = |entry: &serde_json::Value| {
        let text = entry.to_string().to_lowercase();
        words.iter().filter(|word| text.contains(word.as_str())).count()
    };
    let mut hits: Vec<(usize, &serde_json::Value)> =
        all.as_array().into_iter().flatten().map(|entry| (score(entry), entry)).collect();
    hits.retain(|(score, _)| *score > 0);
    hits.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    hits.into_iter().take(limit).map(|(_, entry)| entry.clone()).collect()
}
