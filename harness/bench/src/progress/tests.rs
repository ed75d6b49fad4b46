//! What is shown, held at 80 columns, on a narrow and low terminal, with colour refused, and without a terminal.

use std::sync::atomic::AtomicU32;

use bench_core::{ArmId, EndingKind, RunEvent, Schedule, TaskId};

use super::board::Board;
use super::paint::{Canvas, duration, paint};
use super::plain_line;

const WIDE: Canvas = Canvas { columns: 80, rows: 23, colour: false };

fn schedule(arms: &[&str]) -> Schedule {
    let tasks = ["report-by-region", "wordfreq-options"].map(|name| TaskId::new(name).unwrap());
    let arms: Vec<ArmId> = arms.iter().map(|name| ArmId::new(*name).unwrap()).collect();
    Schedule::plan(&tasks, &arms, 2, 7)
}

fn begun(cell: &str) -> [RunEvent; 2] {
    [
        RunEvent::AttemptStarted { cell: cell.into(), attempt: 1 },
        RunEvent::AgentStarting { cell: cell.into() },
    ]
}

fn settled(cell: &str, ending: EndingKind, passed: Option<bool>, cost_usd: Option<f64>) -> RunEvent {
    RunEvent::Settled {
        cell: cell.into(),
        ending,
        passed,
        total_tokens: Some(12_345),
        first_request_tokens: Some(912),
        cost_usd,
    }
}

fn board() -> Board {
    let mut board =
        Board::new("runs/x", "oracle, L1, 1 block at a time", &schedule(&["bare", "gateway"]), 0.0);
    let mut take = |events: &[RunEvent], now| events.iter().for_each(|event| board.take_event(event, now));
    take(&[settled("report-by-region/r01/bare", EndingKind::Completed, Some(true), Some(0.0123))], 1000.0);
    take(&[settled("report-by-region/r01/gateway", EndingKind::Completed, Some(false), Some(0.5))], 2000.0);
    take(&[settled("wordfreq-options/r01/bare", EndingKind::OutsideAccess, Some(true), None)], 3000.0);
    take(&begun("wordfreq-options/r01/gateway"), 4000.0);
    board
}

#[test]
fn a_run_at_eighty_columns() {
    insta::assert_snapshot!(paint(&board(), WIDE, 6000.0).join("\n"));
}

#[test]
fn a_narrow_and_low_terminal_keeps_the_bar_the_arms_and_the_times() {
    let small = Canvas { columns: 40, rows: 6, colour: false };
    let mut board = board();
    board.notices.push("stopping: the cells in flight are finished first; press again to kill them".into());
    let lines = paint(&board, small, 6000.0);
    assert!(lines.len() <= 6 && lines.iter().all(|line| line.chars().count() <= 40), "{lines:#?}");
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn no_size_of_a_terminal_is_exceeded() {
    let board = board();
    for columns in [1, 8, 20, 33, 79, 200] {
        for rows in 3..12 {
            let lines = paint(&board, Canvas { columns, rows, colour: true }, 6000.0);
            assert!(lines.len() <= rows.max(4), "{rows} rows: {lines:#?}");
        }
    }
}

#[test]
fn colour_is_the_only_escape_and_is_left_out_when_refused() {
    let coloured = paint(&board(), Canvas { colour: true, ..WIDE }, 6000.0).join("\n");
    assert!(coloured.contains("\x1b[32m") && coloured.contains("\x1b[0m"), "{coloured:?}");
    assert!(!paint(&board(), WIDE, 6000.0).join("\n").contains('\x1b'));
}

#[test]
fn a_block_that_is_run_again_counts_once() {
    let mut board = board();
    let again =
        RunEvent::BlockRepeated { block: "report-by-region/r01".into(), ending: EndingKind::UpstreamFault };
    board.take_event(&again, 7000.0);
    let counts: Vec<(u32, u32)> = board.arms.iter().map(|arm| (arm.settled, arm.passed)).collect();
    assert_eq!((board.settled(), counts.iter().map(|c| c.1).sum::<u32>()), (1, 0));
    assert!(board.notices[0].contains("run again whole"), "{:?}", board.notices);
}

#[test]
fn what_an_agent_writes_into_a_notice_is_not_obeyed() {
    let mut board = board();
    board.notices.push("\x1b[2J\u{9b}gone".into());
    let lines = paint(&board, WIDE, 6000.0).join("\n");
    assert!(lines.contains("\\u001b[2J\\u009bgone"), "{lines:?}");
}

#[test]
fn without_a_terminal_each_cell_is_one_line() {
    let (done, total) = (AtomicU32::new(0), AtomicU32::new(0));
    let events = [
        RunEvent::RunStarted { run: "runs/x".into(), cells: 8, settled: 1 },
        settled("wordfreq-options/r01/bare", EndingKind::Completed, Some(true), None),
        RunEvent::BlockRepeated { block: "wordfreq-options/r01".into(), ending: EndingKind::UpstreamFault },
        settled("wordfreq-options/r01/gateway", EndingKind::Timeout, None, Some(0.25)),
        RunEvent::RunEnded { run: "runs/x".into() },
    ];
    let lines: Vec<String> = events.iter().filter_map(|event| plain_line(event, &done, &total)).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn time_reads_as_a_clock() {
    assert_eq!([0.0, 7_400.0, 760_000.0, 11_100_000.0].map(duration), ["0:00", "0:07", "12:40", "3:05:00"]);
}
