//! Which tokenizer counts for a model, told by the model's id: a table of the families whose vocabularies are at hand.

/// The tokenizer of models that the table does not know.
pub const DEFAULT_TOKENIZER: &str = "o200k_base";

/// Beginnings of model ids (lower case, without a vendor before a slash) and their tokenizers; the first that fits holds.
const TABLE: [(&str, &str); 14] = [
    ("deepseek", "deepseek_v3"),
    ("qwen", "qwen2"),
    ("qwq", "qwen2"),
    ("kimi", "kimi_k2"),
    ("moonshot", "kimi_k2"),
    ("glm", "glm4"),
    ("chatglm", "glm4"),
    ("gpt-4o", "o200k_base"),
    ("gpt-4.", "o200k_base"),
    ("gpt-4", "cl100k_base"),
    ("gpt-3.5", "cl100k_base"),
    ("gpt", "o200k_base"),
    ("o1", "o200k_base"),
    ("o3", "o200k_base"),
];

/// The tokenizer of a model.
pub fn tokenizer_of(model: &str) -> &'static str {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let row = TABLE.iter().find(|(beginning, _)| name.starts_with(beginning));
    row.map_or(DEFAULT_TOKENIZER, |(_, tokenizer)| *tokenizer)
}

/// The one tokenizer of several models; where they need different ones, none of them may be favoured and the default counts.
pub fn tokenizer_of_all<'m>(models: impl Iterator<Item = &'m str>) -> &'static str {
    let mut tokenizers = models.map(tokenizer_of);
    match tokenizers.next() {
        Some(first) if tokenizers.all(|other| other == first) => first,
        Some(_) | None => DEFAULT_TOKENIZER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_counted_by_its_familys_vocabulary() {
        for (model, tokenizer) in [
            ("deepseek/DeepSeek-V4.1-Flash", "deepseek_v3"),
            ("Qwen3-Coder", "qwen2"),
            ("moonshotai/kimi-k2.5", "kimi_k2"),
            ("glm-5.3", "glm4"),
            ("gpt-4-turbo", "cl100k_base"),
            ("gpt-4.1-mini", "o200k_base"),
            ("gpt-5.6-sol", "o200k_base"),
            ("claude-sonnet-4-5", "o200k_base"),
            ("oracle", "o200k_base"),
        ] {
            assert_eq!(tokenizer_of(model), tokenizer, "{model}");
        }
        assert_eq!(tokenizer_of_all(["deepseek-v4", "deepseek-chat"].into_iter()), "deepseek_v3");
        assert_eq!(tokenizer_of_all(["deepseek-v4", "glm-5"].into_iter()), DEFAULT_TOKENIZER);
        assert_eq!(tokenizer_of_all([].into_iter()), DEFAULT_TOKENIZER);
    }
}
