//! Experiment to ordered cells. Pure: the same seed gives the same order on every machine.
//!
//! Block = task × repeat, all arms adjacent. Orders are rows of a Williams square (Williams 1949) used in pairs, a row
//! and its reverse, so that with two repeats every pair of arms stands both AB and BA within each task; which of the two
//! comes first alternates over tasks. For two arms this is AB, BA, AB, …

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::digest::Sha256Hex;
use crate::id::{ArmId, TaskId};

/// One arm on one task in one repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// The task.
    pub task: TaskId,
    /// From 1.
    pub repeat: u32,
    /// The arm.
    pub arm: ArmId,
    /// Place within the block, from 1.
    pub position: u32,
}

impl Cell {
    /// `task/r01/arm`: the cell's id everywhere.
    pub fn id(&self) -> String {
        format!("{}/r{:02}/{}", self.task, self.repeat, self.arm)
    }

    /// `task/r01`: the id of its block.
    pub fn block_id(&self) -> String {
        format!("{}/r{:02}", self.task, self.repeat)
    }
}

/// One task in one repeat under all arms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The task.
    pub task: TaskId,
    /// From 1.
    pub repeat: u32,
    /// Arms in order of execution.
    pub order: Vec<ArmId>,
}

impl Block {
    /// `task/r01`: the block's id everywhere.
    pub fn id(&self) -> String {
        format!("{}/r{:02}", self.task, self.repeat)
    }

    /// Its cells in order of execution.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.order.iter().zip(1u32..).map(|(arm, position)| Cell {
            task: self.task.clone(),
            repeat: self.repeat,
            arm: arm.clone(),
            position,
        })
    }
}

/// A part of a schedule for one of several machines: every n-th block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// From 1.
    pub index: u32,
    /// Of so many.
    pub of: u32,
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parsed {
            Some((index, of)) if (1..=of).contains(&index) => Ok(Self { index, of }),
            Some(_) | None => {
                Err("write i/n with i from 1 to n, for example 2/3 for the second of three".to_owned())
            }
        }
    }
}

/// All blocks in order of execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// The blocks.
    pub blocks: Vec<Block>,
}

impl Schedule {
    /// Plans `repeats` blocks of each task under all arms. Repeats are the outer loop; within each the tasks come in a
    /// seeded order of their own.
    pub fn plan(tasks: &[TaskId], arms: &[ArmId], repeats: u32, seed: u64) -> Self {
        if arms.is_empty() {
            return Self { blocks: Vec::new() };
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(1);
        let labels = shuffled(arms.len(), &mut rng);
        let pairs = row_pairs(arms.len());
        // The task's rank in this draw decides which pair of rows it starts with and which row of the pair leads.
        let ranks = shuffled(tasks.len(), &mut rng);
        let mut blocks = Vec::with_capacity(tasks.len() * repeats as usize);
        for repeat in 1..=repeats {
            for index in shuffled(tasks.len(), &mut rng) {
                let rank = ranks[index];
                let step = (repeat - 1) as usize;
                let pair = &pairs[(rank / 2 + step / 2) % pairs.len()];
                let row = if (step + rank).is_multiple_of(2) { &pair.0 } else { &pair.1 };
                let order = row.iter().map(|&i| arms[labels[i]].clone()).collect();
                blocks.push(Block { task: tasks[index].clone(), repeat, order });
            }
        }
        Self { blocks }
    }

    /// All cells in order of execution.
    pub fn cells(&self) -> impl Iterator<Item = Cell> + '_ {
        self.blocks.iter().flat_map(Block::cells)
    }

    /// The blocks of a shard, in the same order. The shards of a schedule hold each block once, and blocks stay whole.
    pub fn shard(&self, shard: Shard) -> Self {
        let blocks = (0u32..).zip(&self.blocks);
        let own = blocks.filter(|(place, _)| place % shard.of == shard.index - 1);
        Self { blocks: own.map(|(_, block)| block.clone()).collect() }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.order.len()).sum()
    }

    /// Is there nothing to do?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Digest of the order, for the lock.
    pub fn sha256(&self) -> Sha256Hex {
        Sha256Hex::of_json(self)
    }
}

/// Rows of a Williams square grouped as (row, its reverse).
fn row_pairs(arms: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut base = vec![0];
    let (mut low, mut high) = (1, arms - 1);
    while base.len() < arms {
        base.push(low);
        low += 1;
        if base.len() < arms {
            base.push(high);
            high -= 1;
        }
    }
    let rows: Vec<Vec<usize>> =
        (0..arms).map(|shift| base.iter().map(|&i| (i + shift) % arms).collect()).collect();
    let mut pairs: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    for row in rows {
        let mirror: Vec<usize> = row.iter().rev().copied().collect();
        // With an even number of arms the square is closed under reversal: each pair would come twice.
        if !pairs.iter().any(|(a, b)| *a == mirror || *b == mirror) {
            pairs.push((row, mirror));
        }
    }
    pairs
}

/// A uniformly random permutation of `0..len` (Fisher–Yates; bias of the 64-bit reduction is below 2^-50 here).
fn shuffled(len: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    for i in (1..len).rev() {
        let j = ((u128::from(rng.next_u64()) * (i as u128 + 1)) >> 64) as usize;
        order.swap(i, j);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(prefix: &str, count: usize) -> (Vec<TaskId>, Vec<ArmId>) {
        (
            (0..count).map(|i| TaskId::new(format!("{prefix}{i}")).unwrap()).collect(),
            (0..count).map(|i| ArmId::new(format!("{prefix}{i}")).unwrap()).collect(),
        )
    }

    proptest! {
        #[test]
        fn every_cell_is_planned_once(tasks in 1usize..12, arms in 1usize..9, repeats in 1u32..6, seed: u64) {
            let schedule = Schedule::plan(&names("t", tasks).0, &names("a", arms).1, repeats, seed);
            let mut ids: Vec<String> = schedule.cells().map(|c| c.id()).collect();
            prop_assert_eq!(ids.len(), tasks * arms * repeats as usize);
            ids.sort();
            ids.dedup();
            prop_assert_eq!(ids.len(), tasks * arms * repeats as usize);
        }

        #[test]
        fn with_an_even_number_of_repeats_each_pair_of_arms_is_balanced_within_each_task(
            tasks in 1usize..8, arms in 2usize..8, half in 1u32..4, seed: u64,
        ) {
            let (task_ids, _) = names("t", tasks);
            let (_, arm_ids) = names("a", arms);
            let schedule = Schedule::plan(&task_ids, &arm_ids, half * 2, seed);
            for task in &task_ids {
                for (i, a) in arm_ids.iter().enumerate() {
                    for b in &arm_ids[i + 1..] {
                        let ab = schedule.blocks.iter().filter(|k| &k.task == task).filter(|k| {
                            k.order.iter().position(|x| x == a) < k.order.iter().position(|x| x == b)
                        }).count();
                        prop_assert_eq!(ab as u32, half);
                    }
                }
            }
        }

        #[test]
        fn which_order_leads_is_balanced_over_tasks(pairs in 1usize..6, seed: u64) {
            let (task_ids, _) = names("t", pairs * 2);
            let (_, arm_ids) = names("a", 2);
            let schedule = Schedule::plan(&task_ids, &arm_ids, 1, seed);
            let ab = schedule.blocks.iter().filter(|k| k.order[0] == arm_ids[0]).count();
            prop_assert_eq!(ab, pairs);
        }

        #[test]
        fn shards_hold_each_block_once_and_differ_by_one_block_at_most(
            tasks in 1usize..8, repeats in 1u32..5, of in 1u32..7, seed: u64,
        ) {
            let schedule = Schedule::plan(&names("t", tasks).0, &names("a", 2).1, repeats, seed);
            let shards: Vec<Schedule> = (1..=of).map(|index| schedule.shard(Shard { index, of })).collect();
            let mut ids: Vec<String> = shards.iter().flat_map(|s| &s.blocks).map(Block::id).collect();
            let mut all: Vec<String> = schedule.blocks.iter().map(Block::id).collect();
            ids.sort();
            all.sort();
            prop_assert_eq!(ids, all);
            let sizes: Vec<usize> = shards.iter().map(|s| s.blocks.len()).collect();
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }

        #[test]
        fn the_seed_alone_decides(tasks in 1usize..6, arms in 1usize..6, repeats in 1u32..4, seed: u64) {
            let (task_ids, _) = names("t", tasks);
            let (_, arm_ids) = names("a", arms);
            let one = Schedule::plan(&task_ids, &arm_ids, repeats, seed);
            prop_assert_eq!(one.sha256(), Schedule::plan(&task_ids, &arm_ids, repeats, seed).sha256());
        }
    }

    #[test]
    fn a_shard_is_written_i_of_n() {
        assert_eq!("2/3".parse(), Ok(Shard { index: 2, of: 3 }));
        for wrong in ["0/3", "4/3", "2", "a/b", "1/0", ""] {
            assert!(wrong.parse::<Shard>().unwrap_err().contains("2/3"), "{wrong}");
        }
    }

    #[test]
    fn rows_come_in_mirrored_pairs_and_cover_the_square() {
        for arms in 2..=10 {
            let pairs = row_pairs(arms);
            let expected = if arms % 2 == 0 { arms / 2 } else { arms };
            assert_eq!(pairs.len(), expected, "{arms} arms");
        }
    }

    #[test]
    fn over_four_repeats_each_of_four_arms_follows_each_other_equally_often() {
        let (_, arm_ids) = names("a", 4);
        let (task_ids, _) = names("t", 1);
        let schedule = Schedule::plan(&task_ids, &arm_ids, 4, 7);
        for a in &arm_ids {
            for b in arm_ids.iter().filter(|b| *b != a) {
                let count = schedule
                    .blocks
                    .iter()
                    .flat_map(|k| k.order.windows(2))
                    .filter(|w| &w[0] == a && &w[1] == b)
                    .count();
                assert_eq!(count, 1, "{a} before {b}");
            }
        }
    }

    #[test]
    fn the_order_of_a_known_seed_is_pinned() {
        let (task_ids, _) = names("t", 2);
        let (_, arm_ids) = names("a", 3);
        let schedule = Schedule::plan(&task_ids, &arm_ids, 2, 42);
        let shown: Vec<String> = schedule
            .blocks
            .iter()
            .map(|k| {
                format!("{}:{}", k.id(), k.order.iter().map(|a| a.as_str()).collect::<Vec<_>>().join(""))
            })
            .collect();
        insta::assert_compact_json_snapshot!(shown);
    }
}
