//! The means of a run: launcher, slots, upstream, runtime. Everything that can be refused before the first cell is
//! refused here, in this order: walls, paths, port, key, upstream.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bench_core::{Endpoint, IsolationLevel, SystemClock, Upstream as UpstreamRule};
use bench_isolation::{Launcher, LauncherSeed, Policy, Slots};
use bench_proxy::{
    EndpointSpec, EndpointUpstream, OracleBook, OracleUpstream, ReplayUpstream, RetryPolicy, Spending,
    Timeouts, Upstream,
};
use bench_record::RunDir;
use bench_runner::{Events, Harness, RunPlan};

use crate::exit::{Exit, Failure, OrExit, fail};
use crate::front;
use crate::source::Source;

/// A run's means before its runtime exists.
pub(crate) struct Means {
    seed: LauncherSeed,
    slots: Slots,
    upstream: UpstreamMeans,
    oracle: Arc<OracleBook>,
}

enum UpstreamMeans {
    Oracle(Arc<OracleUpstream>),
    Endpoint(Arc<EndpointUpstream>),
    Replay(Arc<ReplayUpstream>),
}

/// Refuses below the isolation that the experiment asks for.
pub(crate) fn require_isolation(plan: &RunPlan) -> Result<(), Failure> {
    let reachable = bench_isolation::reachable();
    let minimum = plan.experiment.min_isolation;
    if reachable.level >= minimum {
        return Ok(());
    }
    let remedy = reachable.remedy.unwrap_or_else(|| {
        format!(
            "set `min-isolation = \"{}\"` in the experiment file if that is enough for you",
            reachable.level
        )
    });
    fail(
        Exit::Isolation,
        format!(
            "isolation level {minimum} is required and {} is what this machine reaches (missing: {}); {remedy}",
            reachable.level,
            reachable.missing.join("; ")
        ),
    )
}

impl Means {
    /// Everything but the runtime. Starts the launcher, so call it while the process has one thread.
    pub(crate) fn ready(source: &Source, run_dir: &Path) -> Result<Self, Failure> {
        let plan = &source.plan;
        refuse_exposed(plan, run_dir)?;
        refuse_port_in_use(plan)?;
        refuse_barred(source)?;
        let slots = Slots::open(&source.state_dir).or_exit(Exit::Usage)?;
        let oracle = OracleBook::new();
        let upstream = match &plan.experiment.upstream {
            UpstreamRule::Oracle => {
                UpstreamMeans::Oracle(Arc::new(OracleUpstream::new(oracle.clone(), source.counter.clone())))
            }
            UpstreamRule::Endpoint(endpoint) => {
                let key = endpoint.key_env.as_deref().map(read_key).transpose()?;
                let opened = EndpointUpstream::open(endpoint_spec(endpoint), key).or_exit(Exit::Usage)?;
                UpstreamMeans::Endpoint(Arc::new(opened))
            }
            UpstreamRule::Replay { run } => {
                let recorded = ReplayUpstream::open(Path::new(run)).or_exit(Exit::Usage)?;
                for cell in plan.schedule.cells() {
                    recorded.require(&cell).or_exit(Exit::Usage)?;
                }
                UpstreamMeans::Replay(Arc::new(recorded))
            }
        };
        let seed = Launcher::start_at(plan.site.level).or_exit(Exit::Environment)?;
        Ok(Self { seed, slots, upstream, oracle })
    }

    /// Inside the runtime: the launcher answers, the upstream is reachable.
    pub(crate) async fn attach(
        self,
        source: &Source,
        run_dir: RunDir,
        events: Events,
    ) -> Result<Harness, Failure> {
        let launcher = self.seed.attach().or_exit(Exit::Environment)?;
        let upstream: Arc<dyn Upstream> = match self.upstream {
            UpstreamMeans::Oracle(oracle) => oracle,
            UpstreamMeans::Endpoint(endpoint) => {
                endpoint.preflight().await.or_exit(Exit::Usage)?;
                endpoint
            }
            UpstreamMeans::Replay(recorded) => recorded,
        };
        Ok(Harness {
            launcher,
            slots: self.slots,
            upstream,
            oracle: self.oracle,
            spending: Spending { prices: Arc::new(source.experiment().prices.clone()), run: None },
            counter: source.counter.clone(),
            clock: Arc::new(SystemClock::default()),
            events,
            run_dir,
        })
    }
}

/// Can the upstream be used as it is set up: is its key there, does its endpoint answer, is its recorded run whole?
pub(crate) fn check_upstream(source: &Source) -> Result<(), Failure> {
    match &source.experiment().upstream {
        UpstreamRule::Oracle => Ok(()),
        UpstreamRule::Endpoint(endpoint) => {
            let key = endpoint.key_env.as_deref().map(read_key).transpose()?;
            let opened = EndpointUpstream::open(endpoint_spec(endpoint), key).or_exit(Exit::Usage)?;
            runtime(1)?.block_on(opened.preflight()).map(drop).or_exit(Exit::Environment)
        }
        UpstreamRule::Replay { run } => ReplayUpstream::open(Path::new(run)).map(drop).or_exit(Exit::Usage),
    }
}

/// What the experiment file and the environment say about an endpoint.
fn endpoint_spec(endpoint: &Endpoint) -> EndpointSpec {
    let default = Timeouts::default();
    let time = |ms: Option<u64>, otherwise| ms.map_or(otherwise, Duration::from_millis);
    let mut road = front::road();
    road.ca_files.extend(endpoint.ca_file.as_ref().map(PathBuf::from));
    EndpointSpec {
        kind: endpoint.kind,
        base_url: endpoint.base_url.clone(),
        policy: RetryPolicy::default(),
        timeouts: Timeouts {
            connect: default.connect,
            first_byte: time(endpoint.first_byte_ms, default.first_byte),
            idle: time(endpoint.idle_ms, default.idle),
        },
        concurrency: endpoint.concurrency,
        road,
    }
}

/// The runtime. With one block in flight one thread does everything in turn: waking another one for each byte that
/// arrives costs more than the work itself. More blocks share two threads.
pub(crate) fn runtime(jobs: u16) -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = match jobs {
        0 | 1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    if jobs > 1 {
        builder.worker_threads(2);
    }
    builder.enable_all().build().or_exit(Exit::Environment)
}

fn read_key(variable: &str) -> Result<String, Failure> {
    match front::key(variable) {
        Some(key) => Ok(key),
        None => fail(
            Exit::Usage,
            format!(
                "environment variable {variable} (key `upstream.key-env`) is not set or empty; export {variable}=… before `bench run`"
            ),
        ),
    }
}

/// A suite or run directory below a path that every cell may read would hand out the answers.
fn refuse_exposed(plan: &RunPlan, run_dir: &Path) -> Result<(), Failure> {
    let readable = plan.arms.values().flat_map(|arm| arm.resolved.readable()).collect();
    let policy = Policy { readable, ..Policy::default() };
    let hidden: Vec<PathBuf> = vec![plan.suite_dir.clone(), run_dir.to_owned()];
    bench_isolation::refuse_exposed(&hidden, &policy).or_exit(Exit::Usage)
}

/// At L1 a cell of root's has a user of its own and the paths of the host: it must get to its slot and to its agent.
/// With a view of its own it finds both where they are shown to it.
fn refuse_barred(source: &Source) -> Result<(), Failure> {
    if source.plan.site.level > IsolationLevel::L1 {
        return Ok(());
    }
    let state =
        (source.state_dir.clone(), "name another state directory with --state-dir or BENCH_STATE_DIR");
    let agents = source.plan.arms.values().flat_map(|arm| arm.resolved.readable());
    let agents =
        agents.map(|path| (path, "install the agent elsewhere and name the place with --agents-dir"));
    for (path, remedy) in std::iter::once(state).chain(agents) {
        if let Some(barred) = bench_isolation::barred_on_the_way(&path) {
            return fail(
                Exit::Usage,
                format!(
                    "{}: a cell's own user does not get through {}, which lets only its owner; chmod o+x it, or {remedy}",
                    path.display(),
                    barred.display()
                ),
            );
        }
    }
    Ok(())
}

fn refuse_port_in_use(plan: &RunPlan) -> Result<(), Failure> {
    let Some(port) = plan.experiment.recorder_port else { return Ok(()) };
    match std::net::TcpListener::bind(("127.0.0.1", port)) {
        Ok(_) => Ok(()),
        Err(error) => fail(
            Exit::Usage,
            format!(
                "recorder-port = {port}: cannot listen on 127.0.0.1:{port} ({error}); end what uses it, name another port, or leave the key out for any free one"
            ),
        ),
    }
}
