//! Caps on what one call puts into the conversation: the middle is cut out, the whole can be kept behind a reference.

use bench_core::ResultBudget;

/// Bytes that stand for one token where nobody counts.
pub(crate) const BYTES_PER_TOKEN: usize = 4;

/// Is this more than the budget lets through?
pub(crate) fn exceeds(budget: &ResultBudget, text: &str) -> bool {
    text.len() > allowed(budget)
}

/// Head and tail of a text, with a note in the place of what was cut out. Never longer than the budget.
pub(crate) fn cut(budget: &ResultBudget, text: &str, reference: Option<&str>) -> String {
    let behind = reference.map(|reference| format!(" The whole is {reference}.")).unwrap_or_default();
    let (bytes, tokens) = (text.len(), text.len() / BYTES_PER_TOKEN);
    let note = |left_out: usize| {
        format!("\n[{left_out} of {bytes} bytes (about {tokens} tokens) left out.{behind}]\n")
    };
    let room = allowed(budget).saturating_sub(note(text.len()).len());
    let head = room * usize::from(budget.head_percent.min(100)) / 100;
    let head_end = text.floor_char_boundary(head);
    let tail_start = text.ceil_char_boundary(text.len() - (room - head).min(text.len()));
    let tail_start = tail_start.max(head_end);
    format!("{}{}{}", &text[..head_end], note(tail_start - head_end), &text[tail_start..])
}

fn allowed(budget: &ResultBudget) -> usize {
    budget.bytes.min(budget.tokens.saturating_mul(BYTES_PER_TOKEN))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn budget(bytes: usize, tokens: usize, head_percent: u8) -> ResultBudget {
        ResultBudget { bytes, tokens, head_percent, archive: true }
    }

    #[test]
    fn the_middle_is_cut_out_and_the_whole_is_named() {
        let text = format!("{}{}{}", "h".repeat(500), "m".repeat(9000), "t".repeat(500));
        let shown = cut(&budget(1000, 10_000, 50), &text, Some("archive://1"));
        assert!(shown.starts_with("hhh") && shown.ends_with("ttt"));
        assert!(
            shown.contains(" of 10000 bytes (about 2500 tokens) left out. The whole is archive://1.]"),
            "{shown}"
        );
        assert!(exceeds(&budget(50_000, 100, 50), &text) && !exceeds(&budget(10_000, 2500, 50), &text));
    }

    proptest! {
        #[test]
        fn nothing_is_over_its_cap(text in "[a-zä€\n]{0,3000}", bytes in 200_usize..2000, head in 0_u8..=100) {
            let budget = budget(bytes, 100_000, head);
            if exceeds(&budget, &text) {
                let shown = cut(&budget, &text, Some("archive://12"));
                prop_assert!(shown.len() <= bytes, "{} > {bytes}", shown.len());
            }
        }
    }
}
