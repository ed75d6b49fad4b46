//! What `bench doctor` can change on this machine for the strongest level, and its undoing. Nothing is changed unasked:
//! a plain `bench doctor` prints the same list that `--fix` prints and then carries out.

use std::fs;
use std::path::Path;

use bench_isolation::audit::switch::{self, Applied};

use crate::exit::{Exit, Failure, OrExit};
use crate::say;

/// Where what was changed is kept until it is put back.
const KEPT: &str = "audit-before.json";

/// What `--fix` would do, one line each; an error's words where that cannot be known.
pub(crate) fn changes() -> Result<Vec<String>, String> {
    switch::fix_plan().map(|plan| plan.changes).map_err(|error| {
        format!("kernel auditing cannot be asked ({error}): that takes root (CAP_AUDIT_CONTROL) outside every container")
    })
}

/// Prints what will be changed, changes it, and keeps how it was.
pub(crate) fn fix(state_dir: &Path) -> Result<Exit, Failure> {
    let kept = state_dir.join(KEPT);
    let plan = switch::fix_plan().or_exit(Exit::Environment)?;
    if plan.changes.is_empty() {
        say::line("nothing is to be changed: kernel auditing is on");
        return Ok(Exit::Good);
    }
    for change in &plan.changes {
        say::line(&format!("change  {change}"));
    }
    say::line("until   `bench doctor --undo`, or the next start of this machine");
    // A second fix must not forget how it was before the first.
    let first = earlier(&kept);
    fs::create_dir_all(state_dir).or_exit(Exit::Environment)?;
    let applied = switch::apply(&plan).or_exit(Exit::Environment)?;
    let applied = first.unwrap_or(applied);
    let text = serde_json::to_vec_pretty(&applied).expect("what was changed is a JSON value");
    if let Err(error) = fs::write(&kept, text) {
        switch::restore(&applied).or_exit(Exit::Environment)?;
        return Err(error).or_exit(Exit::Environment);
    }
    say::line("done");
    Ok(Exit::Good)
}

/// Puts back what [`fix`] changed.
pub(crate) fn undo(state_dir: &Path) -> Result<Exit, Failure> {
    let kept = state_dir.join(KEPT);
    let Some(applied) = earlier(&kept) else {
        say::line(&format!("nothing is to be undone: {} does not exist", kept.display()));
        return Ok(Exit::Good);
    };
    switch::restore(&applied).or_exit(Exit::Environment)?;
    fs::remove_file(&kept).or_exit(Exit::Environment)?;
    say::line(if applied.before.enabled == 0 {
        "kernel auditing is off again, its rule and limit as they were"
    } else {
        "kernel auditing is as it was"
    });
    Ok(Exit::Good)
}

fn earlier(kept: &Path) -> Option<Applied> {
    serde_json::from_slice(&fs::read(kept).ok()?).ok()
}
