//! Comparison of an answer with a case's expected values by its tolerances.

use serde_json::Value;

/// Compares every expected field; returns how many leaves were compared, adds a line per difference.
pub(crate) fn compare(case: &Value, answer: &Value, problems: &mut Vec<String>) -> usize {
    let id = case["id"].as_str().unwrap();
    let mut count = 0;
    for (key, expected) in case["expected"].as_object().unwrap() {
        match answer.get(key) {
            Some(actual) => {
                let tolerance = tolerance(&case["tolerance"], key);
                leaves(&format!("{id} {key}"), expected, actual, tolerance, problems, &mut count);
            }
            None => problems.push(format!("{id} {key}: expected {expected}, no answer")),
        }
    }
    count
}

#[derive(Clone, Copy)]
struct Tolerance {
    absolute: f64,
    relative: f64,
}

fn tolerance(given: &Value, key: &str) -> Tolerance {
    let field = match key {
        "z_bounds" | "nominal_p_per_look" => "bounds",
        other => other,
    };
    let absolute = given[format!("abs_{field}").as_str()].as_f64().or(given["abs"].as_f64()).unwrap_or(0.0);
    Tolerance { absolute, relative: given["rel"].as_f64().unwrap_or(0.0) }
}

fn leaves(
    at: &str,
    expected: &Value,
    actual: &Value,
    tolerance: Tolerance,
    problems: &mut Vec<String>,
    count: &mut usize,
) {
    match (expected, actual) {
        (Value::Object(map), _) => {
            for (key, value) in map {
                leaves(&format!("{at}.{key}"), value, &actual[key], tolerance, problems, count);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (x, y)) in a.iter().zip(b).enumerate() {
                leaves(&format!("{at}[{index}]"), x, y, tolerance, problems, count);
            }
        }
        (Value::Number(x), Value::Number(y)) => {
            *count += 1;
            let (x, y) = (x.as_f64().unwrap(), y.as_f64().unwrap());
            if (x - y).abs() > tolerance.absolute.max(tolerance.relative * x.abs()) {
                problems.push(format!("{at}: expected {x}, got {y}"));
            }
        }
        _ => {
            *count += 1;
            if expected != actual {
                problems.push(format!("{at}: expected {expected}, got {actual}"));
            }
        }
    }
}
