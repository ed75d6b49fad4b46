//! Figures as SVG files of their own, for papers, slides and pull requests: drawn by plotters from the numbers that
//! `report.html` shows, in light colours, with text that any viewer sets in a font of its own. What a figure leaves out, the
//! page beside it says.

mod context;
mod first_request;
mod forest;
mod sheet;
mod slopes;

use super::words::plain;
use crate::analysis::Analysis;
use crate::rows::Rows;

/// One figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    /// Name of its file.
    pub name: String,
    /// The file.
    pub svg: String,
}

/// Every figure that the run has numbers for: `forest.svg`, `first-request.svg`, `slopes-CONTRAST.svg`, `context.svg`.
pub fn plots(analysis: &Analysis, rows: &Rows<'_>) -> Vec<Plot> {
    let one = |name: &str, svg: Option<String>| svg.map(|svg| Plot { name: format!("{name}.svg"), svg });
    let slopes = analysis.contrasts.iter();
    [
        one("forest", forest::forest(analysis)),
        one("first-request", first_request::first_request(analysis)),
        one("context", context::context(rows)),
    ]
    .into_iter()
    .chain(
        slopes.map(|contrast| {
            one(&format!("slopes-{}", plain(&contrast.name)), slopes::slopes(contrast, rows))
        }),
    )
    .flatten()
    .collect()
}
