//! Has a script changed what the language brings? A later script would meet it, so nothing of such a script is kept.

use rquickjs::{Ctx, Function, Persistent};

/// Takes a picture of everything built in and answers a function that compares. It is evaluated before any script, and
/// uses nothing but syntax and functions that it took hold of then.
const PICTURE: &str = r"(() => {
  const { ownKeys, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const objects = [];
  const add = (object, name) => {
    if (object === null || (typeof object !== 'object' && typeof object !== 'function')) return;
    for (let i = 0; i < objects.length; i++) if (objects[i].object === object) return;
    const keys = ownKeys(object);
    const values = [];
    const entry = { object, name, keys, values, proto: getPrototypeOf(object) };
    objects[objects.length] = entry;
    for (let i = 0; i < keys.length; i++) {
      const d = getOwnPropertyDescriptor(object, keys[i]);
      values[i] = d.get || d.set ? d.get : d.value;
    }
    if (typeof object === 'function' && object.prototype) add(object.prototype, name + '.prototype');
    add(entry.proto, name + ' (its prototype)');
  };
  const names = ownKeys(globalThis);
  const globals = [];
  for (let i = 0; i < names.length; i++) {
    const value = globalThis[names[i]];
    if (typeof names[i] !== 'string' || names[i] === 'globalThis') continue;
    globals[globals.length] = { name: names[i], value };
    add(value, names[i]);
  }
  add(getPrototypeOf(function* () {}), 'generators');
  add(getPrototypeOf(async function () {}), 'async functions');
  add(getPrototypeOf([][Symbol.iterator]()), 'array iterators');
  const same = (a, b) => a === b || (a !== a && b !== b);
  return () => {
    for (let i = 0; i < globals.length; i++) {
      if (!same(globalThis[globals[i].name], globals[i].value)) return globals[i].name;
    }
    for (let i = 0; i < objects.length; i++) {
      const entry = objects[i];
      if (getPrototypeOf(entry.object) !== entry.proto) return entry.name;
      const keys = ownKeys(entry.object);
      if (keys.length !== entry.keys.length) return entry.name;
      for (let k = 0; k < keys.length; k++) {
        if (keys[k] !== entry.keys[k]) return entry.name;
        const d = getOwnPropertyDescriptor(entry.object, keys[k]);
        if (!same(d.get || d.set ? d.get : d.value, entry.values[k])) return entry.name;
      }
    }
    return '';
  };
})()";

/// The comparison.
pub(super) struct Picture(Persistent<Function<'static>>);

impl Picture {
    /// Takes the picture.
    pub(super) fn taken<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Self> {
        let compare: Function<'js> = ctx.eval(PICTURE)?;
        Ok(Self(Persistent::save(ctx, compare)))
    }

    /// What was changed since; `None` = nothing.
    pub(super) fn changed(&self, ctx: &Ctx<'_>) -> Option<String> {
        let compare = self.0.clone().restore(ctx).ok()?;
        match compare.call::<_, String>(()) {
            Ok(name) if name.is_empty() => None,
            Ok(name) => Some(name),
            Err(_) => {
                ctx.catch();
                Some("what is needed to find out".to_owned())
            }
        }
    }
}
