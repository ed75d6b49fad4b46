//! A board as lines of text that fit a terminal. Pure: the same board, size and time give the same lines.

use super::board::{ArmBoard, Board, Worker};
use crate::say;

/// What the lines must fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Canvas {
    /// Columns; no line is wider.
    pub(crate) columns: usize,
    /// Lines; there are no more.
    pub(crate) rows: usize,
    /// May colours be used?
    pub(crate) colour: bool,
}

/// The lines, each without its end. Where there are fewer rows than things to show, workers go first, then arms; the bar
/// and the times stay.
pub(crate) fn paint(board: &Board, canvas: Canvas, now_ms: f64) -> Vec<String> {
    let head = vec![say::harmless(&board.run), bar(board, canvas)];
    let arms = arm_lines(board, canvas);
    let workers: Vec<String> = board.workers.iter().map(|worker| worker_line(worker, now_ms)).collect();
    let notices: Vec<String> = board.notices.iter().rev().take(3).rev().map(|n| say::harmless(n)).collect();
    let foot = vec![times(board, now_ms)];
    let fixed = head.len() + foot.len() + notices.len();
    let room = canvas.rows.saturating_sub(fixed).max(1);
    let arms = shortened(arms, room, "arms");
    let workers = shortened(workers, room - arms.len().min(room), "cells in flight");
    [head, arms, workers, notices, foot].concat().iter().map(|line| fitted(line, canvas.columns)).collect()
}

/// As many lines as there is room for; the last says how many are not shown.
fn shortened(mut lines: Vec<String>, room: usize, what: &str) -> Vec<String> {
    if lines.len() > room {
        let hidden = lines.len() - room + 1;
        lines.truncate(room.saturating_sub(1));
        if room > 0 {
            lines.push(format!("… {hidden} more {what}"));
        }
    }
    lines
}

fn bar(board: &Board, canvas: Canvas) -> String {
    let settled = board.settled();
    let share = if board.cells == 0 { 1.0 } else { f64::from(settled) / f64::from(board.cells) };
    let words = format!("{settled}/{} cells", board.cells);
    let width = canvas.columns.saturating_sub(words.len() + 8).min(40);
    let full = (share * width as f64).floor() as usize;
    let (on, off) = if canvas.colour { ("\x1b[32m", "\x1b[0m") } else { ("", "") };
    format!("{words}  {on}{}{off}{} {:>3.0} %", "█".repeat(full), "░".repeat(width - full), share * 100.0)
}

fn arm_lines(board: &Board, canvas: Canvas) -> Vec<String> {
    let priced = board.arms.iter().any(|arm| arm.cost_usd.is_some());
    let longest = board.arms.iter().map(|arm| arm.name.chars().count()).max().unwrap_or(3);
    let width = longest.clamp(3, canvas.columns.saturating_sub(if priced { 60 } else { 48 }).max(8));
    let spend = |text: &str| if priced { format!("  {text:>9}") } else { String::new() };
    let mut lines = vec![format!(
        "{:<width$}  {:>9}  {:>9}  {:>13}  {:>8}{}  invalid",
        "arm",
        "done",
        "passed",
        "first request",
        "tokens",
        spend("spend")
    )];
    lines.extend(board.arms.iter().map(|arm| arm_line(arm, width, &spend, canvas.colour)));
    lines
}

fn arm_line(arm: &ArmBoard, width: usize, spend: &dyn Fn(&str) -> String, colour: bool) -> String {
    let unknown = || "?".to_owned();
    let cost = arm.cost_usd.map_or_else(unknown, |usd| format!("${usd:.4}"));
    let (on, off) = if colour && arm.invalid > 0 { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    format!(
        "{:<width$}  {:>9}  {:>9}  {:>13}  {:>8}{}  {on}{:>7}{off}",
        shorter(&say::harmless(&arm.name), width),
        format!("{}/{}", arm.settled, arm.planned),
        if arm.judged == 0 { "-".to_owned() } else { format!("{}/{}", arm.passed, arm.judged) },
        arm.first_request.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string()),
        arm.tokens.map_or_else(|| "-".to_owned(), count),
        spend(&if arm.settled == 0 { "-".to_owned() } else { cost }),
        arm.invalid,
    )
}

fn worker_line(worker: &Worker, now_ms: f64) -> String {
    let attempt = if worker.attempt > 1 { format!(", attempt {}", worker.attempt) } else { String::new() };
    let requests = worker.requests.map_or_else(String::new, |n| format!(", {n} requests"));
    format!(
        "> {}  {}{requests}{attempt}  {}",
        say::harmless(&worker.cell),
        worker.stage.word(),
        duration(now_ms - worker.since_ms)
    )
}

fn times(board: &Board, now_ms: f64) -> String {
    let left = match board.left_ms(now_ms) {
        Some(ms) => format!("about {} left", duration(ms)),
        None => "time left not known yet".to_owned(),
    };
    let spent = match board.spent() {
        (None, _) => String::new(),
        (Some(usd), false) => format!(" · ${usd:.4} spent"),
        (Some(usd), true) => format!(" · at least ${usd:.4} spent"),
    };
    format!("{} · {left}{spent} · {}", duration(now_ms - board.started_ms), board.about)
}

/// `0:07`, `12:40`, `3:05:00`.
pub(crate) fn duration(ms: f64) -> String {
    let seconds = (ms.max(0.0) / 1000.0).round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// `940`, `12.3k`, `4.5M`.
pub(crate) fn count(tokens: u64) -> String {
    match tokens {
        0..10_000 => tokens.to_string(),
        10_000..1_000_000 => format!("{:.1}k", tokens as f64 / 1e3),
        1_000_000.. => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

fn shorter(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

/// The line cut to the columns; colour sequences take none.
fn fitted(line: &str, columns: usize) -> String {
    let mut kept = String::new();
    let (mut width, mut in_colour) = (0, false);
    for c in line.chars() {
        let begins = c == '\x1b';
        let wide = if begins || in_colour { 0 } else { 1 };
        if width + wide > columns {
            // What switches a colour off again is kept.
            continue;
        }
        in_colour = begins || (in_colour && c != 'm');
        width += wide;
        kept.push(c);
    }
    kept
}
