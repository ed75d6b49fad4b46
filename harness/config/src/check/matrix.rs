//! `[matrix]`: an arm of the reference agent for every combination of factors, each factor taken from a surface of the
//! catalogue.

use std::collections::BTreeMap;

use bench_core::source::unknown;
use bench_core::{AgentId, Arm, ArmId, Profile, SurfaceFactor, SurfaceId};
use toml::Spanned;

use super::arms::{NamedArm, Shared, model_of};
use crate::error::Findings;
use crate::file::MatrixFile;

/// More arms than anybody could pay for: a mistake.
const MOST: usize = 64;
const AGENT: &str = "reference";

type Combination = Vec<(SurfaceFactor, SurfaceId, bool)>;

/// The arms of the matrix; none when a finding says what is wrong with it.
pub(super) fn arms(
    table: &Spanned<MatrixFile>,
    shared: &Shared<'_>,
    findings: &mut Findings<'_>,
) -> Vec<NamedArm> {
    let file = table.get_ref();
    let agent = AgentId::new(AGENT).ok().filter(|agent| shared.catalogue.agents.contains_key(agent));
    let base = surface(&file.base, shared, findings);
    let model = model_of(None, table.span(), shared, findings);
    let combinations = combinations(table, shared, findings);
    let (Some(agent), Some(base), Some(model), Some(settings)) = (agent, base, model, &shared.settings)
    else {
        return Vec::new();
    };
    let made = combinations.into_iter().map(|combination| {
        let name = name(&base, &combination);
        let factors: BTreeMap<_, _> =
            combination.into_iter().map(|(factor, from, _)| (factor, from)).collect();
        let id = ArmId::new(name.clone()).map_err(|error| findings.wrong(table.span(), error.to_string()));
        let checked = id.ok().map(|id| Arm {
            id,
            agent: agent.clone(),
            surface: base.clone(),
            factors,
            command: Vec::new(),
            model: model.clone(),
            settings: settings.clone(),
            capabilities: shared.capabilities.clone(),
            profile: Profile::default(),
        });
        NamedArm { name, checked }
    });
    made.collect()
}

/// Every combination, the last factor changing fastest. A factor counts in the name when it has several entries.
fn combinations(
    table: &Spanned<MatrixFile>,
    shared: &Shared<'_>,
    findings: &mut Findings<'_>,
) -> Vec<Combination> {
    let mut all: Vec<Combination> = vec![Vec::new()];
    for factor in SurfaceFactor::ALL {
        let written = entries(table.get_ref(), factor);
        let named: Vec<Option<SurfaceId>> =
            written.iter().map(|name| surface(name, shared, findings)).collect();
        let Some(named) = named.into_iter().collect::<Option<Vec<_>>>() else { return Vec::new() };
        if named.is_empty() {
            continue;
        }
        let several = named.len() > 1;
        let with = |combination: &Combination, from: &SurfaceId| {
            let mut longer = combination.clone();
            longer.push((factor, from.clone(), several));
            longer
        };
        all = all.iter().flat_map(|c| named.iter().map(move |from| with(c, from))).collect();
        if all.len() > MOST {
            findings
                .wrong(table.span(), format!("the matrix makes more than {MOST} arms; leave entries out"));
            return Vec::new();
        }
    }
    all
}

fn entries(file: &MatrixFile, factor: SurfaceFactor) -> &[Spanned<String>] {
    match factor {
        SurfaceFactor::Tools => &file.tools,
        SurfaceFactor::Discovery => &file.discovery,
        SurfaceFactor::Guidance => &file.guidance,
        SurfaceFactor::Prompt => &file.prompt,
        SurfaceFactor::Budget => &file.budget,
        SurfaceFactor::Compaction => &file.compaction,
        SurfaceFactor::Scheduling => &file.scheduling,
        SurfaceFactor::Code => &file.code,
    }
}

fn name(base: &SurfaceId, combination: &Combination) -> String {
    let varied = combination.iter().filter(|(_, _, several)| *several);
    let parts = varied.map(|(factor, from, _)| format!("{}-{from}", factor.word()));
    std::iter::once(base.to_string()).chain(parts).collect::<Vec<_>>().join(".")
}

fn surface(written: &Spanned<String>, shared: &Shared<'_>, findings: &mut Findings<'_>) -> Option<SurfaceId> {
    let known: Vec<&SurfaceId> =
        shared.catalogue.agents.iter().filter(|(a, _)| a.as_str() == AGENT).flat_map(|(_, s)| s).collect();
    let found = known.iter().find(|surface| surface.as_str() == written.get_ref());
    if found.is_none() {
        let words: Vec<&str> = known.iter().map(|surface| surface.as_str()).collect();
        findings.wrong(written.span(), unknown("surface", written.get_ref(), &words));
    }
    found.map(|found| (*found).clone())
}
