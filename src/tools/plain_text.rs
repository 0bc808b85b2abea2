//! Decodes bytes as UTF-8, UTF-16 or Latin-1, and detects bytes that are not text.

/// Types other than `text/…` whose files are, or may be, text.
const MAYBE_TEXT: [&str; 9] = [
    "application/json",
    "application/yaml",
    "application/toml",
    "application/xml",
    "application/javascript",
    "application/x-subrip",
    "application/rtf",
    "application/postscript",
    "application/octet-stream",
];

/// Windows-1252 from 0x80 to 0x9F, where Latin-1 has control characters. Five codes are not assigned.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// False for types whose files are never text.
pub(super) fn may_be_text(mime_type: &str) -> bool {
    mime_type.starts_with("text/") || MAYBE_TEXT.contains(&mime_type)
}

/// `None` if the bytes are not text.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let text = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => std::str::from_utf8(rest).ok()?.to_owned(),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        _ => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => text.to_owned(),
            _ => decode_without_mark(bytes)?,
        },
    };
    is_readable(&text).then_some(text)
}

/// Every second byte of ASCII in UTF-16 is zero. Bytes without any zero are read as Latin-1.
fn decode_without_mark(bytes: &[u8]) -> Option<String> {
    let zeros = |from: usize| bytes.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    if even + odd == 0 {
        return Some(bytes.iter().map(|byte| latin1(*byte)).collect());
    }
    let many = bytes.len() / 4;
    if odd > many && even <= odd / 16 {
        utf16(bytes, u16::from_le_bytes)
    } else if even > many && odd <= even / 16 {
        utf16(bytes, u16::from_be_bytes)
    } else {
        None
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, []) = bytes.as_chunks::<2>() else {
        return None;
    };
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).collect::<Result<_, _>>().ok()
}

fn latin1(byte: u8) -> char {
    match byte {
        0x80..=0x9F => WINDOWS_1252[usize::from(byte - 0x80)],
        other => char::from(other),
    }
}

/// Text has no control characters except white space and escapes; a few in a long log are accepted.
fn is_readable(text: &str) -> bool {
    let layout = |c: char| matches!(c, '\n' | '\r' | '\t' | '\u{c}' | '\u{1b}');
    let odd = text.chars().filter(|c| c.is_control() && !layout(*c)).count();
    odd * 500 <= text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16_bytes(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn every_usual_encoding_comes_out_as_the_same_text() {
        let text = "Grüße, “Ada” – naïve café\nline two";
        let latin: Vec<u8> = text
            .chars()
            .map(|c| match WINDOWS_1252.iter().position(|known| *known == c) {
                Some(index) => 0x80 + index as u8,
                None => u8::try_from(u32::from(c)).unwrap(),
            })
            .collect();
        let little = utf16_bytes(text, u16::to_le_bytes);
        let big = utf16_bytes(text, u16::to_be_bytes);
        let marked = |mark: &[u8], rest: &[u8]| [mark, rest].concat();
        for bytes in [
            text.as_bytes().to_vec(),
            marked(&[0xEF, 0xBB, 0xBF], text.as_bytes()),
            marked(&[0xFF, 0xFE], &little),
            marked(&[0xFE, 0xFF], &big),
            latin,
        ] {
            assert_eq!(decode(&bytes).as_deref(), Some(text));
        }
        let ascii = "plain words\n";
        assert_eq!(decode(&utf16_bytes(ascii, u16::to_le_bytes)).as_deref(), Some(ascii));
        assert_eq!(decode(&utf16_bytes(ascii, u16::to_be_bytes)).as_deref(), Some(ascii));
    }

    #[test]
    fn binary_bytes_are_not_text() {
        let noise: Vec<u8> = (0..4000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        assert_eq!(decode(&noise), None);
        assert_eq!(decode(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0"), None);
        assert_eq!(decode(&[0xFF, 0xFE, 0x00]), None);
        assert_eq!(decode(&[0x01; 40]), None);
    }
}
