//! Programs that a task needs beyond shell and coreutils.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bench_core::Task;

/// The programs of `requires` that are in no folder of a PATH value; empty = the task can be done here.
pub fn missing_programs(task: &Task, path_env: &str) -> Vec<String> {
    let found = |program: &str| {
        path_env
            .split(':')
            .filter(|folder| folder.starts_with('/'))
            .any(|folder| is_program(&Path::new(folder).join(program)))
    };
    task.requires.iter().filter(|program| !found(program)).cloned().collect()
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
