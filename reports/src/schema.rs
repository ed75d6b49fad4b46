//! The JSON schema of `analysis.json`, from the types that write it and their comments.

use schemars::generate::SchemaSettings;

use crate::analysis::Analysis;

/// JSON schema (draft 2020-12) of `analysis.json`, as text that ends with a line feed. It forbids no key, since more may come
/// within a format version; what is not required is left out where it has no meaning.
pub fn analysis_schema() -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = generator.into_root_schema_for::<Analysis>();
    let text = serde_json::to_string_pretty(&schema).expect("a schema is plain JSON");
    format!("{text}\n")
}
