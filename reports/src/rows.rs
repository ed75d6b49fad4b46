//! Cells and blocks one by one, as the analysis sees them: which record counts for each planned cell, and what became of
//! the others. What tables of cells (CSV, Parquet), the grid of blocks and test reports are made of.

use bench_core::ArmId;
use bench_record::CellRecord;

use crate::protocol::{AnalysisError, Protocol};
use crate::selection::{BlockState, Selection};

/// What became of a record or of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// In every metric.
    Counts,
    /// The block has a cell that is not settled yet.
    Pending,
    /// A cell of the block reached outside; the block is out, and is looked at a second time as graded.
    Outside,
    /// A cell of the block has no outcome; the block is out of every metric, for this reason.
    Invalid(String),
    /// A later attempt replaced it.
    Superseded,
    /// It was stopped with the harness and settles nothing.
    Interrupted,
}

impl Standing {
    /// The word used in files: `counts`, `pending`, `outside_access`, `superseded`, `interrupted`, or `invalid`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Counts => "counts",
            Self::Pending => "pending",
            Self::Outside => "outside_access",
            Self::Invalid(_) => "invalid",
            Self::Superseded => "superseded",
            Self::Interrupted => "interrupted",
        }
    }

    fn of(state: BlockState) -> Self {
        match state {
            BlockState::Valid => Self::Counts,
            BlockState::Pending => Self::Pending,
            BlockState::Outside => Self::Outside,
            BlockState::Invalid(reason) => Self::Invalid(reason.to_owned()),
        }
    }
}

/// A planned block.
#[derive(Debug, Clone)]
pub struct BlockRow<'a> {
    /// The task.
    pub task: String,
    /// From 1.
    pub repeat: u32,
    /// What became of it.
    pub standing: Standing,
    /// Its settled cells, by the arms' place in the lock; null = not settled.
    pub cells: Vec<Option<&'a CellRecord>>,
}

impl<'a> BlockRow<'a> {
    /// `task/r01`.
    pub fn id(&self) -> String {
        format!("{}/r{:02}", self.task, self.repeat)
    }

    /// Its settled cells with their arm's place in the lock, in the order in which they ran.
    pub fn in_order(&self) -> Vec<(usize, &'a CellRecord)> {
        let settled = self.cells.iter().enumerate();
        let mut cells: Vec<(usize, &CellRecord)> =
            settled.filter_map(|(arm, cell)| Some((arm, (*cell)?))).collect();
        cells.sort_by_key(|(_, cell)| cell.position);
        cells
    }
}

/// Every planned block, and every record that counts for none.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    /// Arms in the order of the lock.
    pub arms: Vec<ArmId>,
    /// Tasks in the order of the lock, repeats ascending.
    pub blocks: Vec<BlockRow<'a>>,
    /// Superseded and interrupted attempts.
    pub set_aside: Vec<(Standing, &'a CellRecord)>,
}

impl<'a> Rows<'a> {
    /// Sorts a journal by its lock. Errors: a record of a cell that the lock does not plan.
    pub fn of(protocol: &'a Protocol, records: &'a [CellRecord]) -> Result<Self, AnalysisError> {
        let selection = Selection::of(protocol, records)?;
        let blocks = selection
            .blocks
            .iter()
            .map(|block| BlockRow {
                task: block.task.to_string(),
                repeat: block.repeat,
                standing: Standing::of(block.state),
                cells: block.cells.clone(),
            })
            .collect();
        let set_aside = (selection.superseded.iter().map(|record| (Standing::Superseded, *record)))
            .chain(selection.interrupted.iter().map(|record| (Standing::Interrupted, *record)))
            .collect();
        Ok(Self { arms: protocol.arms.iter().map(|arm| arm.name.clone()).collect(), blocks, set_aside })
    }

    /// Every settled record with the standing of its block, block by block in the order of execution.
    pub fn settled(&self) -> impl Iterator<Item = (&Standing, &'a CellRecord)> + '_ {
        self.blocks
            .iter()
            .flat_map(|block| block.in_order().into_iter().map(|(_, record)| (&block.standing, record)))
    }

    /// Records of one arm that count.
    pub fn counting(&self, arm: usize) -> impl Iterator<Item = &'a CellRecord> + '_ {
        let counted = self.blocks.iter().filter(|block| block.standing == Standing::Counts);
        counted.filter_map(move |block| block.cells.get(arm).copied().flatten())
    }
}
