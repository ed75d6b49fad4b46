//! The engine itself, simulated: how often it PASSes though the candidate lies exactly at a limit or beyond it, and how
//! often it FAILs equal arms. The tables that it is held to are in `tables`, the populations in `draws`.
//!
//! `cargo test --release -p bench-reports --test simulation -- --ignored --nocapture`; `BENCH_SIM_REPLICATES` sets the size
//! (default 400).

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test prints its rates and may fail by panic")]

mod draws;
#[path = "../support/mod.rs"]
mod support;
mod tables;

use bench_core::Decision;
use bench_record::CellRecord;
use bench_reports::gate_decisions;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

use draws::{Cost, Loss};
use support::Plan;
use tables::{COST, COST_DESIGNS, COST_FALSE_FAIL, LOSS, LOSS_DESIGNS, WHOLE, WHOLE_DESIGNS};

/// Replicates behind the tables.
const OF_TABLE: f64 = 4_000.0;

/// Probability of a normal value more than two standard deviations above its mean.
const BEYOND_TWO_ERRORS: f64 = 0.0228;

/// Errors beyond which no rate may lie, and the probability of a normal value beyond them.
const FAR: f64 = 3.5;
const BEYOND_FAR: f64 = 0.000_233;

/// Probability of at least `count` events where `mean` are expected.
fn poisson_tail(count: u32, mean: f64) -> f64 {
    let mut term = (-mean).exp();
    let mut below = 0.0;
    for k in 0..count {
        below += term;
        term *= mean / f64::from(k + 1);
    }
    1.0 - below
}

/// How often a run ended in each way.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    pass: u32,
    fail: u32,
    all: u32,
}

impl Counts {
    fn add(&mut self, decisions: impl Iterator<Item = Decision> + Clone) {
        self.all += 1;
        self.fail += u32::from(decisions.clone().any(|d| d == Decision::Fail));
        self.pass += u32::from(decisions.into_iter().all(|d| d == Decision::Pass));
    }

    fn fail_percent(self) -> f64 {
        100.0 * f64::from(self.fail) / f64::from(self.all)
    }
}

/// Rates held against a table.
#[derive(Debug, Default)]
struct Judge {
    held: u32,
    beyond_two: Vec<String>,
    beyond_far: Vec<String>,
}

impl Judge {
    /// At most the table's percentage and two Monte-Carlo errors, ours and the table's. Where fewer than five of ours are
    /// expected an error says little, and the probability beyond it takes its place.
    fn at_most(&mut self, name: String, counts: Counts, found: u32, table: f64) {
        let all = f64::from(counts.all);
        // The table has one decimal.
        let share = (table / 100.0).max(0.0005);
        let error = (share * (1.0 - share) * (1.0 / all + 1.0 / OF_TABLE)).sqrt();
        let rate = f64::from(found) / all;
        println!("{name:<40} {:>6.2} %, table {table:>5.1} %, error {:.2}", 100.0 * rate, 100.0 * error);
        let tail = poisson_tail(found, (share + (share * (1.0 - share) / OF_TABLE).sqrt()) * all);
        let is_beyond = |errors: f64, probability: f64| match share * all < 5.0 {
            true => tail < probability,
            false => rate > share + errors * error,
        };
        self.held += 1;
        if is_beyond(2.0, BEYOND_TWO_ERRORS) {
            self.beyond_two.push(name.clone());
        }
        if is_beyond(FAR, BEYOND_FAR) {
            self.beyond_far.push(name);
        }
    }

    /// Of many rates that lie exactly at the table's, a few are beyond two errors all the same: as many as chance allows
    /// may be, none of them far.
    fn done(self) {
        let allowed =
            (0..).find(|k| poisson_tail(k + 1, BEYOND_TWO_ERRORS * f64::from(self.held)) < 0.05).unwrap();
        println!("beyond two errors: {:?}; chance allows {allowed} of {}", self.beyond_two, self.held);
        assert!(self.beyond_far.is_empty(), "far more than the tables allow: {:?}", self.beyond_far);
        assert!(self.beyond_two.len() as u32 <= allowed, "more than the tables allow: {:?}", self.beyond_two);
    }
}

fn replicates() -> u32 {
    std::env::var("BENCH_SIM_REPLICATES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

fn plan((tasks, repeats): (usize, u32)) -> Plan {
    Plan::new(tasks, repeats, &["bare", "cand"]).contrast("cand", "gate").upstream("openai-chat")
}

/// Draws and judges a plan again and again.
fn simulated(plan: &Plan, seed: u64, mut draw: impl FnMut(&mut [CellRecord], &mut ChaCha8Rng)) -> Counts {
    let (lock, mut cells) = (plan.lock(), plan.cells());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut counts = Counts::default();
    for _ in 0..replicates() {
        draw(&mut cells, &mut rng);
        counts.add(gate_decisions(&lock, &cells).unwrap().iter().map(|gate| gate.decision));
    }
    counts
}

#[test]
#[ignore = "takes minutes in a debug build; .ci/run runs it in release"]
fn false_pass_of_a_cost_is_at_most_what_the_tables_say() {
    let mut judge = Judge::default();
    for ((cost, table), hundred) in COST.into_iter().zip(1u64..) {
        for ((design, seed), table) in COST_DESIGNS.into_iter().zip(100 * hundred..).zip(table) {
            let plan = plan(design).ratio_gate("cost", "total_tokens", &["cand"]);
            let counts = simulated(&plan, seed, |cells, rng| draws::costs(cost, 1.25, cells, rng));
            judge.at_most(format!("PASS at 1.25, {cost:?} {design:?}"), counts, counts.pass, table);
        }
    }
    judge.done();
}

#[test]
#[ignore = "takes minutes in a debug build; .ci/run runs it in release"]
fn false_fail_of_equal_costs_is_at_most_what_the_tables_say() {
    let mut judge = Judge::default();
    for ((cost, table), hundred) in COST_FALSE_FAIL.into_iter().zip(11u64..) {
        for ((design, seed), table) in COST_DESIGNS.into_iter().zip(100 * hundred..).zip(table) {
            let plan = plan(design).ratio_gate("cost", "total_tokens", &["cand"]);
            let counts = simulated(&plan, seed, |cells, rng| draws::costs(cost, 1.0, cells, rng));
            judge.at_most(format!("FAIL at 1.00, {cost:?} {design:?}"), counts, counts.fail, table);
        }
    }
    judge.done();
}

#[test]
#[ignore = "takes minutes in a debug build; .ci/run runs it in release"]
fn false_pass_of_a_lost_pass_rate_is_at_most_what_the_tables_say() {
    let mut judge = Judge::default();
    for ((design, table), hundred) in LOSS_DESIGNS.into_iter().zip(LOSS).zip(21u64..) {
        for ((loss, seed), table) in Loss::ALL.into_iter().zip(100 * hundred..).zip(table) {
            let plan = plan(design).pass_gate("pass", &["cand"]);
            let counts = simulated(&plan, seed, |cells, rng| draws::passes(loss, 0.10, cells, rng));
            judge.at_most(format!("PASS at -10 points, {loss:?} {design:?}"), counts, counts.pass, table);
        }
    }
    judge.done();
}

/// The default track as a whole: six gates that all must pass.
#[test]
#[ignore = "takes minutes in a debug build; .ci/run runs it in release"]
fn false_pass_of_the_whole_rule_set_is_at_most_what_the_tables_say() {
    let mut judge = Judge::default();
    for ((truth, table), hundred) in WHOLE.into_iter().zip(41u64..) {
        for ((design, seed), (pass, fail)) in WHOLE_DESIGNS.into_iter().zip(100 * hundred..).zip(table) {
            let mut plan = plan(design).pass_gate("pass", &["cand"]);
            for metric in draws::SIX_GATES_COSTS {
                plan = plan.ratio_gate(metric, metric, &["cand"]);
            }
            let counts = simulated(&plan, seed, |cells, rng| draws::whole(truth, cells, rng));
            let name = format!("{} {design:?}", truth.name());
            if truth.is_within_limits() {
                judge.at_most(format!("six gates FAIL, {name}"), counts, counts.fail, fail);
                println!(
                    "{:<40} {:>6.2} %, table {pass:>5.1} %",
                    format!("six gates PASS, {name}"),
                    100.0 * f64::from(counts.pass) / f64::from(counts.all)
                );
            } else {
                judge.at_most(format!("six gates PASS, {name}"), counts, counts.pass, pass);
            }
        }
    }
    judge.done();
}

/// Costs at which a gate must neither sleep nor cry wolf: the rule set FAILs a candidate that is half as dear again.
#[test]
#[ignore = "takes minutes in a debug build; .ci/run runs it in release"]
fn a_candidate_that_is_much_too_dear_fails() {
    let plan = plan((12, 3)).ratio_gate("cost", "turns", &["cand"]);
    let counts = simulated(&plan, 401, |cells, rng| draws::costs(Cost::Turns, 1.5, cells, rng));
    // By the table 92.7 % for tasks in general; on these tasks more.
    assert!(counts.fail_percent() > 90.0, "{counts:?}");
}
