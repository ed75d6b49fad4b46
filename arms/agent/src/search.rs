//! Which tools fit a few words: BM25 over names, summaries and descriptions.

use crate::catalogue::ToolDefinition;

/// The usual constants of BM25: how soon repetition saturates, how much length counts.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// The tools that hold a word of the query, best first, at most so many.
pub(crate) fn best<'a>(tools: &[&'a ToolDefinition], query: &str, limit: usize) -> Vec<&'a ToolDefinition> {
    let documents: Vec<Vec<String>> = tools.iter().map(|tool| words_of(tool)).collect();
    let total: usize = documents.iter().map(Vec::len).sum();
    let average = total as f64 / documents.len().max(1) as f64;
    let wanted = words(query);
    let score = |document: &Vec<String>| -> f64 {
        let of_word = |word: &String| {
            let holders = documents.iter().filter(|other| other.contains(word)).count() as f64;
            let times = document.iter().filter(|found| *found == word).count() as f64;
            let rarity = ((documents.len() as f64 - holders + 0.5) / (holders + 0.5)).ln_1p();
            let length = 1.0 - LENGTH + LENGTH * document.len() as f64 / average;
            rarity * times * (SATURATION + 1.0) / (times + SATURATION * length)
        };
        wanted.iter().map(of_word).sum()
    };
    let mut ranked: Vec<(f64, usize)> =
        documents.iter().map(score).zip(0..).filter(|(score, _)| *score > 0.0).collect();
    // Equal scores keep the order of the surface.
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.into_iter().take(limit).map(|(_, at)| tools[at]).collect()
}

/// Words of a tool; its name and summary say most and count double.
fn words_of(tool: &ToolDefinition) -> Vec<String> {
    let mut found = words(&tool.name);
    found.push(tool.name.to_lowercase());
    found.extend(words(&tool.summary));
    found.extend(found.clone());
    found.extend(words(&tool.description));
    found
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{tool, tool_names};

    #[test]
    fn the_tool_for_the_words_comes_first() {
        let all: Vec<ToolDefinition> = tool_names().into_iter().map(|name| tool(name).unwrap()).collect();
        let tools: Vec<&ToolDefinition> = all.iter().collect();
        let first = |query: &str| best(&tools, query, 3).first().map(|tool| tool.name.as_str());
        assert_eq!(first("rg"), Some("rg"));
        assert_eq!(first("list commits history"), Some("git_log"));
        assert_eq!(first("ask the user a question"), Some("ask"));
        assert_eq!(first("zzz"), None);
        assert_eq!(best(&tools, "files", 2).len(), 2);
    }
}
