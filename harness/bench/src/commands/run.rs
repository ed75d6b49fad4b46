//! `bench run`: the main job in a few steps.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bench_core::{Block, Clock as _, RunEvent, Schedule, SystemClock};
use bench_proxy::{RunBudget, Spent};
use bench_record::{CellRecord, HeldLock, Journal, Lock, RunDir};
use bench_runner::{Events, Harness, Progress, RepeatRule, Run, RunEnd, RunPlan, StopWish, Ticket, salvage};

use crate::commands::report;
use crate::estimate::Estimate;
use crate::exit::{Exit, Failure, OrExit, fail};
use crate::means::{Means, require_isolation, runtime};
use crate::options::RunOptions;
use crate::place::{self, Place};
use crate::progress::{self, Board, Display, Shown};
use crate::say;
use crate::source::{ExperimentText, Source};

/// Plan, run what the journal does not hold yet, report, exit by verdict.
pub(crate) fn run(options: &RunOptions) -> Result<Exit, Failure> {
    let text = ExperimentText::read(options.file.as_deref())?.changed(&options.changes, &options.arm)?;
    let mut source = Source::open(text, &options.places)?;
    require_isolation(&source.plan)?;
    if let Some(shard) = options.shard {
        source.plan.take_shard(shard);
    }
    let place = place::choose(&mut source, options)?;
    if let Place::Finished(dir) = &place {
        say::complain(&format!(
            "{}: every cell is settled, nothing to do (--new starts another run)",
            dir.display()
        ));
        return verdict(dir, options);
    }
    Estimate::of(&source.plan, &open_cells(&source, place.path()), Path::new("runs")).agree(options.yes)?;
    let means = Means::ready(&source, &place::absolute(place.path()))?;
    let run_dir = RunDir::create(place.path()).or_exit(Exit::Usage)?;
    bench_isolation::spread(run_dir.root());
    let _held = HeldLock::take(run_dir.root()).or_exit(Exit::Environment)?;
    keep_plan(&source, &run_dir, &place)?;
    let display = show_progress(&source, &run_dir, options)?;
    let events = progress::events_file(Events::new(), options.events.as_deref())?.listen(display.listener());
    let end = runtime(options.jobs)?.block_on(async {
        let harness = means.attach(&source, run_dir.clone(), events).await?;
        go(source, harness, options, display.speaker()).await
    })?;
    drop(display);
    note_tools(&run_dir)?;
    let exit = verdict(run_dir.root(), options)?;
    match end {
        RunEnd::Complete => Ok(exit),
        RunEnd::Stopped => Ok(Exit::Interrupted),
        RunEnd::UpstreamDown { detail } => fail(
            Exit::Environment,
            format!(
                "the upstream failed several attempts in a row ({detail}); nothing further was started, and the same command goes on once it answers"
            ),
        ),
        RunEnd::LimitReached(hit) => fail(
            Exit::Environment,
            format!(
                "the limit of {} {} for the whole run (`{}`) is reached; raise it and the same command goes on",
                hit.value, hit.unit, hit.name
            ),
        ),
    }
}

/// Report and exit code of a run; a shard is a part of one and has no verdict of its own.
fn verdict(dir: &Path, options: &RunOptions) -> Result<Exit, Failure> {
    if let Some(shard) = options.shard {
        say::complain(&format!(
            "{}: shard {shard}; `bench merge` of all {} makes the run that has a verdict",
            dir.display(),
            shard.of
        ));
        return Ok(Exit::Good);
    }
    let shown = if options.json { report::Shown::Json } else { report::Shown::Table };
    report::show_run(dir, shown, options.inconclusive_as)
}

/// Blocks of which something is left to do.
fn open_cells(source: &Source, dir: &Path) -> Schedule {
    let journal = RunDir::open(dir).map(|run| bench_record::read_journal(&run.journal()));
    let records = journal.ok().and_then(Result::ok).map(|(records, _)| records).unwrap_or_default();
    let (progress, rule) = (Progress::of(&records), RepeatRule::of(&source.plan));
    let open = source.plan.schedule.blocks.iter().filter_map(|block| {
        let state = progress.open_block(rule, block)?;
        let order = block.order.iter().filter(|arm| !state.settled.contains(arm)).cloned().collect();
        Some(Block { order, ..block.clone() })
    });
    Schedule { blocks: open.collect() }
}

/// Experiment file and lock, before the first cell.
fn keep_plan(source: &Source, run_dir: &RunDir, place: &Place) -> Result<(), Failure> {
    match place {
        Place::Finished(_) => Ok(()),
        Place::Unfinished(dir) => {
            say::complain(&format!("continuing {} (--new starts another run)", dir.display()));
            Ok(())
        }
        Place::New(_) => {
            let path = run_dir.experiment();
            std::fs::write(&path, &source.text)
                .map_err(|e| anyhow::anyhow!("{}: {e}; choose another place with -o DIR", path.display()))
                .or_exit(Exit::Usage)?;
            source.plan.lock.write(&run_dir.lock()).or_exit(Exit::Usage)
        }
    }
}

/// The display, with what earlier commands have settled already on it.
fn show_progress(source: &Source, run_dir: &RunDir, options: &RunOptions) -> Result<Display, Failure> {
    let plan = &source.plan;
    let run = run_dir.root().display().to_string();
    let blocks = if options.jobs == 1 { "1 block" } else { "blocks" };
    let about = format!("{}, {}, {blocks} at a time", plan.experiment.upstream.word(), plan.site.level);
    let clock = Arc::new(SystemClock::default());
    let mut board = Board::new(&run, &about, &plan.schedule, clock.monotonic_ms());
    board.order_arms(&plan.experiment.arms.iter().map(|arm| arm.id.to_string()).collect::<Vec<_>>());
    if run_dir.journal().exists() {
        board.begin_with(&bench_record::read_journal(&run_dir.journal()).or_exit(Exit::Environment)?.0);
    }
    Ok(Display::start(Shown::choose(options.quiet), board, run_dir.root(), clock))
}

/// Which tool definitions each arm showed in its first turn, for the lock.
pub(crate) fn note_tools(run_dir: &RunDir) -> Result<(), Failure> {
    let (records, _) = bench_record::read_journal(&run_dir.journal()).or_exit(Exit::Environment)?;
    let mut seen = BTreeMap::new();
    for record in &records {
        if let Some(turn) = record.turns_series.first() {
            seen.entry(record.arm.clone()).or_insert_with(|| turn.surface_sha256.clone());
        }
    }
    Lock::note_tools(&run_dir.lock(), &seen).or_exit(Exit::Environment)
}

async fn go(
    source: Source,
    mut harness: Harness,
    options: &RunOptions,
    say: impl Fn(&str) + Send + Sync + 'static,
) -> Result<RunEnd, Failure> {
    let plan = Arc::new(source.plan);
    let (mut journal, mut records, _) =
        Journal::open(&harness.run_dir.journal()).or_exit(Exit::Environment)?;
    let before = spent_before(&records);
    let limits = plan.experiment.run_limits.clone();
    harness.spending.run = Some(Arc::new(RunBudget::new(limits, before, harness.clock.clone())));
    let harness = Arc::new(harness);
    for (cell, attempt) in salvage(&plan, harness.run_dir.root(), &records) {
        let order = plan.schedule.blocks.iter().find(|b| b.task == cell.task && b.repeat == cell.repeat);
        let ticket = Ticket {
            round: records.iter().filter(|r| r.block == cell.block_id()).map(|r| r.round).max().unwrap_or(1),
            order: order.map(|block| block.order.clone()).unwrap_or_default(),
            block_split: true,
            cell,
            attempt,
        };
        let record = bench_runner::evidence::interrupted_record(&plan, &harness, &ticket);
        journal.append(&record).or_exit(Exit::Environment)?;
        records.push(record);
    }
    let stop = Arc::new(StopWish::default());
    tokio::spawn(listen_for_interrupts(stop.clone(), say));
    if !options.no_canary {
        send_canary(&plan, &harness, &stop).await?;
    }
    let progress = Progress::of(&records);
    let run = harness.run_dir.root().display().to_string();
    harness.events.emit(&RunEvent::RunStarted {
        run: run.clone(),
        cells: plan.schedule.len() as u32,
        settled: progress.settled_cells(&plan),
    });
    let jobs = options.jobs.into();
    let end = bench_runner::run(Run { plan, harness: harness.clone(), progress, journal, stop, jobs })
        .await
        .or_exit(Exit::Environment)?;
    harness.events.emit(&RunEvent::RunEnded { run });
    Ok(end)
}

/// One trivial request per arm, before a real upstream is paid for more.
async fn send_canary(plan: &RunPlan, harness: &Harness, stop: &StopWish) -> Result<(), Failure> {
    if plan.experiment.upstream.is_deterministic() {
        return Ok(());
    }
    match bench_runner::canary(plan, harness, stop).await.or_exit(Exit::Environment)? {
        None => Ok(()),
        Some(finding) if finding.upstream_failed => fail(Exit::Environment, finding.to_string()),
        Some(finding) => fail(Exit::Usage, finding.to_string()),
    }
}

/// What earlier commands have spent on this run, superseded attempts included.
fn spent_before(records: &[CellRecord]) -> Spent {
    let sum = |value: fn(&CellRecord) -> Option<u64>| records.iter().filter_map(value).sum();
    // A metric is null where one answer stated nothing; what is surely spent counts all the same.
    let cost =
        |record: &CellRecord| record.charged.map(|charged| charged.cost_usd).or(record.metrics.cost_usd);
    Spent {
        requests: sum(|record| record.metrics.requests),
        tokens: sum(|record| record.charged.map(|charged| charged.tokens).or(record.metrics.total_tokens)),
        cost_usd: records.iter().filter_map(cost).sum(),
    }
}

async fn listen_for_interrupts(stop: Arc<StopWish>, say: impl Fn(&str)) {
    while tokio::signal::ctrl_c().await.is_ok() {
        match stop.raise() {
            1 => say("stopping: the cells in flight are finished first; press Ctrl-C again to kill them"),
            _ => say("killing the cells in flight; the same command continues the run"),
        }
    }
}
