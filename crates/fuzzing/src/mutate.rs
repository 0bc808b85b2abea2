//! Mutations of bytes and of JSON.

use rand::{RngExt as _, rngs::SmallRng};
use serde_json::{Map, Value, json};

/// Lengths and counts that parsers get wrong.
const EDGE_NUMBERS: [u32; 12] =
    [0, 1, 2, 127, 128, 255, 256, 32_767, 65_535, 65_536, i32::MAX as u32, u32::MAX];
/// Inputs grow no further than this.
const MAX_BYTES: usize = 1 << 20;

/// One to eight random changes: bytes, edge numbers, cuts, repeats, and pieces of other seeds.
pub fn mutate_bytes(input: &[u8], seeds: &[Vec<u8>], rng: &mut SmallRng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..rng.random_range(1..=8) {
        let at = rng.random_range(0..=bytes.len());
        // Most fields that matter are near the start.
        let at = if rng.random_bool(0.5) { at.min(rng.random_range(0..=512)) } else { at };
        match rng.random_range(0..9) {
            0..=2 if at < bytes.len() => bytes[at] ^= 1 << rng.random_range(0..8),
            3 if at < bytes.len() => bytes[at] = rng.random(),
            4 => overwrite(&mut bytes, at, edge_number(rng)),
            5 => bytes.truncate(at),
            6 => {
                let end = (at + rng.random_range(1..=64)).min(bytes.len());
                bytes.drain(at..end);
            }
            7 => {
                let end = (at + rng.random_range(1..=64)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                insert(&mut bytes, at, &piece.repeat(rng.random_range(1..=16)));
            }
            _ => {
                let other = &seeds[rng.random_range(0..seeds.len())];
                let from = rng.random_range(0..=other.len());
                let to = (from + rng.random_range(1..=256)).min(other.len());
                insert(&mut bytes, at, &other[from..to]);
            }
        }
    }
    bytes.truncate(MAX_BYTES);
    bytes
}

fn edge_number(rng: &mut SmallRng) -> Vec<u8> {
    let number = EDGE_NUMBERS[rng.random_range(0..EDGE_NUMBERS.len())];
    let bytes = if rng.random_bool(0.5) { number.to_be_bytes() } else { number.to_le_bytes() };
    let length = [1, 2, 4][rng.random_range(0..3)];
    if rng.random_bool(0.5) { bytes[..length].to_vec() } else { bytes[4 - length..].to_vec() }
}

fn overwrite(bytes: &mut [u8], at: usize, with: Vec<u8>) {
    for (byte, new) in bytes.iter_mut().skip(at).zip(with) {
        *byte = new;
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    if bytes.len() + piece.len() <= MAX_BYTES {
        bytes.splice(at..at, piece.iter().copied());
    }
}

/// One to four values replaced, removed, renamed or nested, anywhere in the document.
pub fn mutate_json(document: &Value, rng: &mut SmallRng) -> Value {
    let mut changed = document.clone();
    for _ in 0..rng.random_range(1..=4) {
        mutate_value(&mut changed, rng);
    }
    changed
}

fn mutate_value(value: &mut Value, rng: &mut SmallRng) {
    // Mostly go deeper, so that most changes hit leaves.
    match value {
        Value::Object(fields) if !fields.is_empty() && rng.random_bool(0.85) => mutate_field(fields, rng),
        Value::Array(items) if !items.is_empty() && rng.random_bool(0.85) => {
            let at = rng.random_range(0..items.len());
            match rng.random_range(0..6) {
                0 => drop(items.remove(at)),
                1 => items.push(items[at].clone()),
                _ => mutate_value(&mut items[at], rng),
            }
        }
        other => *other = strange_value(other, rng),
    }
}

fn mutate_field(fields: &mut Map<String, Value>, rng: &mut SmallRng) {
    let at = rng.random_range(0..fields.len());
    let Some(name) = fields.keys().nth(at).cloned() else { return };
    match rng.random_range(0..8) {
        0 => drop(fields.remove(&name)),
        1 => {
            if let Some(value) = fields.remove(&name) {
                fields.insert(format!("{name}_new"), value);
            }
        }
        2 => drop(fields.insert(format!("unknown_{at}"), json!({ "type": "unknown", "value": [1] }))),
        _ => {
            if let Some(value) = fields.get_mut(&name) {
                mutate_value(value, rng);
            }
        }
    }
}

fn strange_value(value: &Value, rng: &mut SmallRng) -> Value {
    let strange = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e300),
        json!(0.5),
        json!(""),
        json!("unknown"),
        json!("\u{0}\u{202e}𝕏\u{fffd}"),
        json!("x".repeat(5000)),
        json!([]),
        json!({}),
        json!([value]),
        json!({ "type": value }),
    ];
    strange[rng.random_range(0..strange.len())].clone()
}
