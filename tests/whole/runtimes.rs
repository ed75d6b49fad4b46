//! The needs of agents by what runs them (bun, node, Python) are policies as data: a small agent of each completes its task,
//! valid, with what its runtime uses of the system, at the highest level of this machine and at L1.
//!
//! The runtimes are installed by `.ci/run`; where one is not, its test names itself as skipped.

use crate::adversarial::fields;
use crate::real_agents::{agents_dir, installed};

fn completes(runtime: &str, needs: &str, script: &str, text: &str) {
    let test = format!("an_agent_of_{runtime}_completes_its_task");
    if !installed(&test, needs) {
        return;
    }
    for field in fields(&test) {
        let cell = field.with_agent(runtime, script, &agents_dir()).play_one(text);
        cell.is_valid().said("answered: done");
        assert_eq!(cell.record["metrics"]["turns"], 1, "{:#}", cell.record["metrics"]);
    }
}

#[test]
fn an_agent_of_bun_completes_its_task() {
    completes("bun", "bun/node_modules/bun", "agent.mjs", include_str!("runtimes/agent.mjs"));
}

#[test]
fn an_agent_of_node_completes_its_task() {
    completes("node", "node/node_modules/node", "agent.mjs", include_str!("runtimes/agent.mjs"));
}

#[test]
fn an_agent_of_python_completes_its_task() {
    completes("python", "python/bin", "agent.py", include_str!("runtimes/agent.py"));
}
