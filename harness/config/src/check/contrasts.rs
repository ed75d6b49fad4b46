//! Contrasts: two arms that differ in exactly the one factor that is named. That is what makes it an ablation.

use bench_core::source::unknown;
use bench_core::{Arm, ArmId, Contrast, ContrastId, ContrastRole, Factor};
use toml::Spanned;

use super::arms::NamedArm;
use super::refuse_repeated;
use crate::error::Findings;
use crate::file::{ContrastFile, ExperimentFile};

const FACTORS: [(&str, Factor); 6] = [
    ("surface", Factor::Surface),
    ("agent", Factor::Agent),
    ("model", Factor::Model),
    ("settings", Factor::Settings),
    ("oracle-profile", Factor::OracleProfile),
    ("none", Factor::None),
];

const ROLES: [(&str, ContrastRole); 3] = [
    ("gate", ContrastRole::Gate),
    ("reported", ContrastRole::Reported),
    ("negative-control", ContrastRole::NegativeControl),
];

/// A contrast that the file names; `checked` is `None` when a finding says what is wrong with it.
pub(super) struct NamedContrast<'f> {
    pub(super) name: &'f Spanned<String>,
    /// `None` when the word is unknown.
    pub(super) role: Option<ContrastRole>,
    pub(super) checked: Option<Contrast>,
}

/// The contrasts in the order of the file.
pub(super) fn check<'f>(
    file: &'f ExperimentFile,
    arms: &[NamedArm],
    findings: &mut Findings<'_>,
) -> Vec<NamedContrast<'f>> {
    refuse_repeated("contrast", file.contrast.iter().map(|contrast| &contrast.get_ref().name), findings);
    file.contrast
        .iter()
        .map(|table| {
            let file = table.get_ref();
            let role = match &file.role {
                Some(written) => findings.word("role", written, &ROLES),
                None => Some(ContrastRole::Gate),
            };
            NamedContrast { name: &file.name, role, checked: contrast(file, role, arms, findings) }
        })
        .collect()
}

fn contrast(
    file: &ContrastFile,
    role: Option<ContrastRole>,
    arms: &[NamedArm],
    findings: &mut Findings<'_>,
) -> Option<Contrast> {
    let id = findings.id(&file.name, ContrastId::new);
    let control = arm_named(&file.control, arms, findings);
    let candidate = arm_named(&file.candidate, arms, findings);
    let factor = findings.word("factor", &file.factor, &FACTORS);
    if file.control.get_ref() == file.candidate.get_ref() {
        let message = format!(
            "arm `{}` is compared with itself: name another arm (for an A/A comparison, a second arm that is equal)",
            file.candidate.get_ref()
        );
        findings.wrong(file.candidate.span(), message);
        return None;
    }
    let (control, candidate, factor) = (control??, candidate??, factor?);
    if let Some(message) = not_an_ablation(control, candidate, factor) {
        findings.wrong(file.factor.span(), message);
        return None;
    }
    Some(Contrast {
        id: id?,
        control: ArmId::clone(&control.id),
        candidate: ArmId::clone(&candidate.id),
        factor,
        role: role?,
    })
}

/// The arm of this name: outer `None` = no such arm (reported here), inner `None` = it has a problem of its own.
fn arm_named<'a>(
    written: &Spanned<String>,
    arms: &'a [NamedArm],
    findings: &mut Findings<'_>,
) -> Option<Option<&'a Arm>> {
    let found = arms.iter().find(|arm| arm.name == *written.get_ref());
    if found.is_none() {
        let known: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        findings.wrong(written.span(), unknown("arm", written.get_ref(), &known));
    }
    found.map(|arm| arm.checked.as_ref())
}

/// Why two arms are no ablation of the factor; `None` when they are.
fn not_an_ablation(control: &Arm, candidate: &Arm, factor: Factor) -> Option<String> {
    let differences = control.differences(candidate);
    let parts = control.surface_differences(candidate);
    if factor == Factor::Surface && parts.len() > 1 {
        let words: Vec<&str> = parts.iter().map(|part| part.word()).collect();
        return Some(format!(
            "`{}` and `{}` differ in several factors of the surface ({}): a contrast may differ in one only",
            control.id,
            candidate.id,
            words.join(", ")
        ));
    }
    let arms = format!("`{}` and `{}`", control.id, candidate.id);
    let list = |factors: &[Factor]| {
        factors.iter().map(|factor| format!("`{}`", factor.word())).collect::<Vec<_>>().join(", ")
    };
    if factor == Factor::None {
        return (!differences.is_empty()).then(|| {
            format!(
                "factor `none` means equal arms, but {arms} differ in {}: name that factor",
                list(&differences)
            )
        });
    }
    if differences.is_empty() {
        return Some(format!("{arms} do not differ at all: write factor = \"none\" for an A/A comparison"));
    }
    if !differences.contains(&factor) {
        return Some(format!(
            "{arms} do not differ in `{}` but in {}: name what differs, or change the arms",
            factor.word(),
            list(&differences)
        ));
    }
    // Another agent brings its own surfaces: their names cannot be equal, so they are no second factor.
    let brought = |found: &Factor| factor == Factor::Agent && *found == Factor::Surface;
    let surplus: Vec<Factor> =
        differences.into_iter().filter(|found| *found != factor && !brought(found)).collect();
    (!surplus.is_empty()).then(|| {
        format!(
            "{arms} differ in `{}` and also in {}: a contrast may differ in one factor only, or nobody can say which one \
             made the difference; make the rest equal",
            factor.word(),
            list(&surplus)
        )
    })
}
