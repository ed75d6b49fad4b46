//! **The protocol** of one cell: workspace, recorder, sandbox, invocation, run, evidence, verdict, record.
//!
//! Whatever goes wrong between the first and the last step becomes the attempt's ending; an `Err` means that evidence
//! could not be kept. The order of steps is held by `tests/whole/order.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bench_core::{Ending, EndingKind, IsolationLevel, RunEvent, Task};
use bench_isolation::{
    Attempts, CellExit, CellSpec, CollectCaps, Debugger, LaunchError, Policy, PreparedCell, RunningCell,
    Seen, Slot, Workspace,
};
use bench_proxy::{OracleScript, Recorder, RecorderSpec, RequestLimits};
use bench_record::CellRecord;
use bench_tasks::{Verification, VerifyFault, VerifySite, verify};

use crate::StopWish;
use crate::access;
use crate::attempt::{AttemptError, Harness, Ticket};
use crate::ending::{decide_ending, launch_ending};
use crate::evidence::{Findings, record_of};
use crate::kept::{keep, keep_json, keep_words, whole};
use crate::patch::workspace_patch;
use crate::prepare::{Plans, ReadyArm, RunPlan};
use crate::tampering::{Before, Changes};

/// Makes one attempt at a cell and returns its record.
pub async fn attempt(
    plan: &Arc<RunPlan>,
    harness: &Arc<Harness>,
    stop: &StopWish,
    ticket: &Ticket,
) -> Result<CellRecord, AttemptError> {
    let (task, reference) = &plan.tasks[&ticket.cell.task];
    let stage = Stage {
        plan,
        harness,
        ticket,
        task,
        reference,
        arm: &plan.arms[&ticket.cell.arm],
        dir: harness.run_dir.attempt(&ticket.cell, ticket.attempt),
        only: None,
    };
    stage.play(stop).await
}

/// One attempt with everything it needs at hand.
pub(crate) struct Stage<'a> {
    pub(crate) plan: &'a RunPlan,
    pub(crate) harness: &'a Harness,
    pub(crate) ticket: &'a Ticket,
    pub(crate) task: &'a Task,
    pub(crate) reference: &'a Plans,
    pub(crate) arm: &'a ReadyArm,
    pub(crate) dir: PathBuf,
    /// Caps of a mere probe, in place of the experiment's; what a probe leaves is not verified.
    pub(crate) only: Option<RequestLimits>,
}

impl Stage<'_> {
    pub(crate) async fn play(&self, stop: &StopWish) -> Result<CellRecord, AttemptError> {
        let mut findings = Findings::begin(self.harness);
        let before = Before::of(vec![self.task.dir.clone(), self.harness.slots.decoy()]);
        fs::create_dir_all(&self.dir).map_err(AttemptError::at(&self.dir))?;
        match self.set_up() {
            Err(ending) => findings.ending = Some(*ending),
            Ok((mut slot, workspace)) => {
                self.run_agent(&workspace, stop, &mut findings).await?;
                let changes = before.compare();
                if self.only.is_none() && findings.calls_for_verdict() {
                    self.judge(&mut slot, workspace, &mut findings).await?;
                }
                self.read_evidence(changes, &mut findings).await;
            }
        }
        self.keep_evidence(&findings)?;
        Ok(record_of(self, findings))
    }

    /// What the cell tried, and whether that is known, after the verdict: the kernel's own records close only some time
    /// after a cell's end, and the hidden check need not wait for them.
    async fn read_evidence(&self, changes: Changes, findings: &mut Findings) {
        if let Some(mut cell) = findings.cell.take() {
            match cell.wait().await {
                Ok(exit) => findings.exit = Some(exit),
                Err(error) => findings.ending = Some(launch_ending(&error)),
            }
        }
        if let Some(exit) = &mut findings.exit {
            changes.add_to(&mut exit.isolation);
        }
        let rule = self.plan.experiment.rules.on_outside_access;
        if let (Some(ending), Some(exit)) = (&findings.ending, &findings.exit) {
            findings.ending = Some(access::with_evidence(ending.clone(), &exit.isolation, rule));
        }
    }

    /// A fresh workspace in a slot of our own.
    fn set_up(&self) -> Result<(Slot, Workspace), Box<Ending>> {
        let fault = |what: String| Box::new(Ending::because(EndingKind::HarnessFault, what));
        let mut slot = self.harness.slots.take().map_err(|e| fault(e.to_string()))?;
        let workspace =
            slot.fresh(Some(&self.task.workspace_dir())).map_err(|e| fault(format!("workspace: {e}")))?;
        Ok((slot, workspace))
    }

    /// Walls, recorder, agent; returns when the cell is empty.
    async fn run_agent(
        &self,
        workspace: &Workspace,
        stop: &StopWish,
        findings: &mut Findings,
    ) -> Result<(), AttemptError> {
        let (cell, recorder) = match self.prepare_cell(workspace).await {
            Ok(prepared) => prepared,
            Err(ending) => {
                findings.ending = Some(*ending);
                return Ok(());
            }
        };
        self.harness.events.emit(&RunEvent::AgentStarting { cell: self.ticket.cell.id() });
        findings.set_up_done(self.harness);
        let outcome = self.watch(cell, &recorder, stop).await;
        let finished = recorder.finish().await;
        match finished {
            Ok(recording) => findings.recording = Some(recording),
            Err(error) => {
                findings.ending = Some(Ending::because(EndingKind::HarnessFault, error.to_string()))
            }
        }
        match outcome {
            Ok((exit, cell)) => {
                findings.exit = Some(exit);
                findings.cell = Some(cell);
            }
            Err(error) => findings.ending = Some(launch_ending(&error)),
        }
        if findings.ending.is_none() {
            let (exit, recording) = (findings.exit.as_ref(), findings.recording.as_ref());
            if let (Some(exit), Some(recording)) = (exit, recording) {
                findings.ending = Some(decide_ending(exit, recording, &self.plan.experiment.limits));
            }
        }
        let ending = findings.ending.as_ref().map_or(EndingKind::HarnessFault, |ending| ending.kind);
        self.harness.events.emit(&RunEvent::AgentEnded { cell: self.ticket.cell.id(), ending });
        Ok(())
    }

    /// Runs the agent until it ends, or the recorder or the operator ends it; the cell is still to be asked what it tried.
    async fn watch(
        &self,
        cell: PreparedCell,
        recorder: &Recorder,
        stop: &StopWish,
    ) -> Result<(CellExit, RunningCell), LaunchError> {
        let mut cell = cell.start().await?;
        tokio::select! {
            exit = cell.emptied() => return Ok((exit?, cell)),
            () = stopped_by_recorder(recorder) => {}
            () = stop.killed() => {}
        }
        cell.kill();
        Ok((cell.emptied().await?, cell))
    }

    pub(crate) fn credential(&self) -> String {
        self.ticket.credential(&self.harness.run_dir, &self.plan.lock_sha256)
    }

    /// Everything that stands before the agent is started: its walls with the door in them, and who listens there.
    async fn prepare_cell(&self, workspace: &Workspace) -> Result<(PreparedCell, Recorder), Box<Ending>> {
        let launcher = &self.harness.launcher;
        let wish = self.plan.experiment.recorder_port;
        let (port, listener) = match launcher.own_port(wish) {
            Some(port) => (port, None),
            None => self.listen_here(wish.unwrap_or(0)).map(|(port, listener)| (port, Some(listener)))?,
        };
        let spec = self.cell_spec(workspace, port)?;
        let mut cell = launcher.prepare(spec).await.map_err(|error| Box::new(launch_ending(&error)))?;
        let Some(listener) = listener.or_else(|| cell.take_listener()) else {
            let why = "the cell has no listener for its recorder";
            return Err(Box::new(Ending::because(EndingKind::HarnessFault, why)));
        };
        Ok((cell, self.start_recorder(listener, workspace).await?))
    }

    /// A listener on the host's loopback, for cells without a network of their own.
    fn listen_here(&self, port: u16) -> Result<(u16, TcpListener), Box<Ending>> {
        TcpListener::bind(("127.0.0.1", port))
            .and_then(|listener| Ok((listener.local_addr()?.port(), listener)))
            .map_err(|e| {
                let what = format!("recorder cannot listen on 127.0.0.1:{port}: {e}");
                Box::new(Ending::because(EndingKind::HarnessFault, what))
            })
    }

    async fn start_recorder(
        &self,
        listener: TcpListener,
        workspace: &Workspace,
    ) -> Result<Recorder, Box<Ending>> {
        let experiment = &self.plan.experiment;
        let fault = |what: String| Box::new(Ending::because(EndingKind::HarnessFault, what));
        let resolved = &self.arm.resolved;
        if self.plan.uses_oracle() {
            self.harness.oracle.enter(
                self.credential(),
                OracleScript {
                    plan: self.reference.core.clone(),
                    capability: self.reference.capability.clone(),
                    lexicon: resolved.lexicon.clone(),
                    profile: self.arm.arm.profile.clone(),
                    seed: experiment.seed,
                    workspace: workspace
                        .seen(self.harness.launcher.level())
                        .root
                        .to_string_lossy()
                        .into_owned(),
                    cell: self.ticket.cell.id(),
                },
            );
        }
        self.harness.upstream.enter(&self.credential(), &self.ticket.cell);
        let spec = RecorderSpec {
            dir: self.dir.clone(),
            wire: resolved.wire,
            credential: self.credential(),
            limits: self.only.unwrap_or_else(|| RequestLimits::from(&experiment.limits)),
            spending: self.harness.spending.clone(),
            upstream: self.harness.upstream.clone(),
            counter: self.harness.counter.clone(),
            canaries: vec![self.task.canary.clone()],
            error_prefixes: resolved.lexicon.error_prefixes.clone(),
            groups: groups_of(self.arm),
            asks: self.task.asks.clone(),
            clock: self.harness.clock.clone(),
        };
        Recorder::start(listener, spec).await.map_err(|e| fault(e.to_string()))
    }

    fn cell_spec(&self, workspace: &Workspace, port: u16) -> Result<CellSpec, Box<Ending>> {
        let seen = workspace.seen(self.harness.launcher.level());
        let site = bench_arms::Site {
            base_url: Recorder::base_url_at(port),
            credential: self.credential(),
            instruction: self.task.instruction.clone(),
            home: seen.home.clone(),
            workspace: seen.root.clone(),
        };
        let invocation = self.arm.resolved.invocation(&self.arm.arm, &site);
        for file in &invocation.files {
            workspace.place(file).map_err(|e| {
                Box::new(Ending::because(EndingKind::HarnessFault, format!("placing {}: {e}", file.path)))
            })?;
        }
        let limits = &self.plan.experiment.limits;
        let mut env = base_environment(&seen, &self.plan.site.path_env, &invocation.path_prefix);
        env.extend(invocation.env);
        Ok(CellSpec {
            program: invocation.program,
            args: invocation.args,
            env,
            cwd: seen.root,
            policy: Policy {
                readable: invocation.readable,
                writable: workspace.writable(),
                connect_port: Some(port),
                must_not_read: self.hidden_paths(),
                housekeeping: invocation.housekeeping,
                attempts: self.attempts(),
                debugger: if self.task.debugger { Debugger::Allowed } else { Debugger::Refused },
            },
            wall_ms: limits.wall_ms,
            output_cap_bytes: limits.output_bytes,
        })
    }

    /// Where the oracle plays at level L1 nobody listens: hearing every open costs more than the rest of a cell, and who
    /// wants attempts heard writes `min-isolation = "L2"`.
    fn attempts(&self) -> Attempts {
        let quiet = self.plan.experiment.upstream.is_deterministic()
            && self.harness.launcher.level() <= IsolationLevel::L1;
        if quiet { Attempts::Unheard } else { Attempts::Recorded }
    }

    /// What a probe inside the walls must not be able to open: a sibling, this task's answers, this run's evidence.
    fn hidden_paths(&self) -> Vec<PathBuf> {
        let mut hidden = self.plan.hidden_paths(self.harness.run_dir.root());
        hidden.push(self.harness.slots.decoy());
        hidden.push(self.task.dir.join("oracle.toml"));
        hidden.extend(self.reference.capability.iter().map(|_| self.task.dir.join("oracle-capability.toml")));
        hidden.push(self.task.verify_dir().join("run.sh"));
        hidden.push(self.harness.run_dir.journal());
        hidden.into_iter().map(absolute).collect()
    }

    /// Copies what the agent left, and asks the hidden check about the copy in a second fresh cell.
    async fn judge(
        &self,
        slot: &mut Slot,
        workspace: Workspace,
        findings: &mut Findings,
    ) -> Result<(), AttemptError> {
        let fault = |what: String| Ending::because(EndingKind::HarnessFault, what);
        let collected = match slot.collect(&workspace, &CollectCaps::default()) {
            Ok(collected) => collected,
            Err(error) => {
                findings.ending = Some(fault(format!("collecting outputs: {error}")));
                return Ok(());
            }
        };
        let taken = slot.taken_dir().to_owned();
        let patch = workspace_patch(&self.task.workspace_dir(), &taken, &collected.untouched)
            .map_err(AttemptError::at(&taken))?;
        findings.left_out = collected.left_out;
        keep(&self.dir.join("workspace.patch"), patch.as_bytes())?;
        let kept = &self.task.agent_configuration;
        match bench_isolation::set_aside(&taken, &self.task.workspace_dir(), kept) {
            Ok(aside) => findings.left_out.extend(aside),
            Err(error) => {
                findings.ending = Some(fault(format!("preparing the verifier's copy: {error}")));
                return Ok(());
            }
        }
        match self.verdict(slot).await {
            Ok(verification) => {
                let passed = verification.passed;
                findings.verification = Some(verification);
                self.harness.events.emit(&RunEvent::Verified { cell: self.ticket.cell.id(), passed });
            }
            Err(ending) => findings.ending = Some(*ending),
        }
        Ok(())
    }

    async fn verdict(&self, slot: &mut Slot) -> Result<Verification, Box<Ending>> {
        let copy = slot.fresh_of_taken().map_err(|e| {
            Box::new(Ending::because(EndingKind::HarnessFault, format!("verifier's workspace: {e}")))
        })?;
        let hidden = [self.harness.run_dir.root().to_owned(), self.harness.slots.decoy()].map(absolute);
        let site = VerifySite {
            workspace: &copy,
            wall_ms: self.plan.experiment.limits.verify_wall_ms,
            path_env: &self.plan.site.path_env,
            hidden: &hidden,
        };
        verify(&self.harness.launcher, self.task, &site).await.map_err(|error| {
            Box::new(match &error {
                VerifyFault::Launch(launch) => launch_ending(launch),
                VerifyFault::Ended { .. } => Ending {
                    blame: bench_core::Blame::Verifier,
                    ..Ending::because(EndingKind::HarnessFault, error.to_string())
                },
            })
        })
    }

    /// Everything that the journal's record points at.
    fn keep_evidence(&self, findings: &Findings) -> Result<(), AttemptError> {
        if let Some(exit) = &findings.exit {
            keep_words(&self.dir, "stdout", &whole(&exit.stdout))?;
            keep_words(&self.dir, "stderr", &whole(&exit.stderr))?;
            keep_json(&self.dir.join("isolation.json"), &exit.isolation)?;
        }
        if let Some(verification) = &findings.verification {
            let dir = self.dir.join("verify");
            keep_words(&dir, "stdout", &verification.stdout)?;
            keep_words(&dir, "stderr", &verification.stderr)?;
        }
        Ok(())
    }
}

/// How long an attempt that reached a cap may wait for answers to requests that were let in before.
const PAID_PATIENCE: Duration = Duration::from_secs(60);

/// The recorder wants the attempt to end, and nothing that is paid for would be lost by it.
async fn stopped_by_recorder(recorder: &Recorder) {
    let ending = recorder.stopped().await;
    let is_cap = ending.limit.is_some();
    if is_cap {
        // Whoever is not answered by then stays unanswered, and its tokens unknown.
        let _ = tokio::time::timeout(PAID_PATIENCE, recorder.nobody_waits()).await;
    }
}

/// A path that means the same in a cell, which has another working directory.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// The allow-list: an agent's environment holds these and what its adapter adds, nothing of ours.
fn base_environment(seen: &Seen, path_env: &str, prefix: &[PathBuf]) -> BTreeMap<String, String> {
    let mut path: Vec<String> = prefix.iter().map(|p| p.to_string_lossy().into_owned()).collect();
    path.push(path_env.to_owned());
    let text = |p: &Path| p.to_string_lossy().into_owned();
    BTreeMap::from([
        ("PATH".to_owned(), path.join(":")),
        ("HOME".to_owned(), text(&seen.home)),
        ("TMPDIR".to_owned(), text(&seen.tmp)),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ("TERM".to_owned(), "dumb".to_owned()),
        // /etc/gitconfig may hold credentials and is not granted; git dies on a file that it may not read.
        ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
    ])
}

/// Which tools appear together when a group is loaded.
fn groups_of(arm: &ReadyArm) -> BTreeMap<String, String> {
    let tools = arm.resolved.surface.iter().flat_map(|surface| &surface.tools);
    tools.filter_map(|tool| Some((tool.name.clone(), tool.group.clone()?))).collect()
}
