//! What tokens cost: a table of prices per model, written down before the first cell. A model without a price costs an
//! unknown amount, never nothing.

use serde::{Deserialize, Serialize};

use crate::digest::Sha256Hex;
use crate::ledger::Usage;

/// Prices by model; the first that fits holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PriceCard {
    /// In the order of the file.
    pub prices: Vec<Price>,
}

/// US dollars per million tokens of the models that a pattern names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Model id; `*` stands for any text.
    pub model: String,
    /// Input that was not read from the provider's cache.
    pub input: f64,
    /// Input that was; none = as other input.
    pub cached_input: Option<f64>,
    /// Input that was written to it; none = as other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Output, reasoning included.
    pub output: f64,
}

impl PriceCard {
    /// The price of a model; `None` = unpriced.
    pub fn of(&self, model: &str) -> Option<&Price> {
        self.prices.iter().find(|price| fits(&price.model, model))
    }

    /// Digest of the card; `None` when it holds no price.
    pub fn sha256(&self) -> Option<Sha256Hex> {
        (!self.prices.is_empty()).then(|| Sha256Hex::of_json(&self.prices))
    }
}

impl Price {
    /// US dollars for this usage; `None` when input or output is unknown. Tokens read from or written to the
    /// cache that the provider did not name are priced as other input.
    pub fn cost_usd(&self, usage: &Usage) -> Option<f64> {
        let (input, output) = (usage.input_tokens?, usage.output_tokens?);
        let cached = usage.cached_input_tokens.unwrap_or(0).min(input);
        let written = usage.cache_write_tokens.unwrap_or(0).min(input - cached);
        let parts = [
            (input - cached - written, self.input),
            (cached, self.cached_input.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (output, self.output),
        ];
        Some(parts.iter().map(|&(tokens, price)| tokens as f64 * price).sum::<f64>() / 1e6)
    }
}

/// Does the pattern name the text? `*` stands for any text, everything else for itself.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    text.char_indices().map(|(at, _)| at).chain([text.len()]).any(|at| fits(rest, &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> PriceCard {
        let price = |model: &str, input| Price {
            model: model.into(),
            input,
            cached_input: Some(0.5),
            cache_write: Some(input * 1.25),
            output: 10.0,
        };
        PriceCard { prices: vec![price("deep*-flash", 1.0), price("deep*", 2.0)] }
    }

    #[test]
    fn the_first_pattern_that_fits_holds_and_a_model_without_one_has_no_price() {
        assert_eq!(card().of("deepseek-v4-flash").map(|price| price.input), Some(1.0));
        assert_eq!(card().of("deepseek-v4").map(|price| price.input), Some(2.0));
        assert_eq!(card().of("gpt"), None);
        assert!(card().sha256().is_some() && PriceCard::default().sha256().is_none());
    }

    #[test]
    fn cached_input_has_its_own_price_and_unknown_is_not_free() {
        let usage = |input, cached, output| Usage {
            input_tokens: input,
            cached_input_tokens: cached,
            output_tokens: output,
            ..Usage::default()
        };
        let card = card();
        let price = card.of("deepseek-v4").unwrap();
        assert_eq!(price.cost_usd(&usage(Some(1_000_000), Some(400_000), Some(0))), Some(1.4));
        assert_eq!(price.cost_usd(&usage(Some(1_000_000), None, Some(100_000))), Some(3.0));
        let written = Usage { cache_write_tokens: Some(400_000), ..usage(Some(1_000_000), None, Some(0)) };
        assert_eq!(price.cost_usd(&written), Some(2.2));
        let unnamed = Price { cache_write: None, ..price.clone() };
        assert_eq!(unnamed.cost_usd(&written), Some(2.0));
        assert_eq!(price.cost_usd(&usage(None, None, Some(1))), None);
        assert_eq!(price.cost_usd(&usage(Some(1), None, None)), None);
    }
}
