//! What the on-device models found in a picture, in a few words.

use crate::domain::Findings;

/// The things of a row of findings in a few words: "2 × cat, dog". Print is named, not quoted.
pub fn found_things(findings: &Findings) -> String {
    if findings.kind == "text" {
        let lines = findings.found.as_array().map_or(0, Vec::len);
        return if lines == 0 { String::new() } else { "print".to_owned() };
    }
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for label in findings.found.as_array().into_iter().flatten().filter_map(|thing| thing["label"].as_str()) {
        match counted.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => counted.push((label, 1)),
        }
    }
    let named = counted.iter().map(|(label, count)| match count {
        1 => (*label).to_owned(),
        _ => format!("{count} × {label}"),
    });
    named.collect::<Vec<_>>().join(", ")
}
