//! Lexer: text → tokens (lower-case words, numbers, quoted text, punctuation). Reads a bounded number of
//! characters, so that a very long message costs no more than a page of text.

/// Characters read of a message. A request for an edit is much shorter; the rest is ignored.
const MAX_SOURCE_CHARS: usize = 2_000;
const MAX_QUOTE_CHARS: usize = 120;

#[derive(Debug, Clone, PartialEq)]
pub enum TokenKind {
    Word(String),
    Number(f64),
    /// "2nd"
    Nth(i32),
    Quoted(String),
    Hex(String),
    Comma,
    Stop,
    Colon,
    Dash,
}

/// A token and the range of source characters it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

/// The characters the parser reads, with typographic apostrophes made plain.
pub fn source_chars(text: &str) -> Vec<char> {
    text.chars().take(MAX_SOURCE_CHARS).map(|c| if c == '’' { '\'' } else { c }).collect()
}

pub fn tokenize(source: &[char]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let (kind, end) = next_token(source, at);
        if let Some(kind) = kind {
            tokens.push(Token { kind, start: at, end });
        }
        at = end.max(at + 1);
    }
    tokens
}

/// The end of the signs after `from` that are no tokens, such as "!" or "🎉". Text to write on a picture keeps them.
pub fn end_of_trailing_signs(source: &[char], from: usize) -> usize {
    let mut end = from;
    while source.get(end).is_some_and(|c| "!?".contains(*c)) {
        end += 1;
    }
    while end < source.len() && source[end] != '\n' && next_token(source, end).0.is_none() {
        end += 1;
    }
    end
}

fn next_token(source: &[char], at: usize) -> (Option<TokenKind>, usize) {
    let c = source[at];
    let before = at.checked_sub(1).map(|i| source[i]);
    let after = source.get(at + 1).copied();
    let digit_follows = after.is_some_and(|c| c.is_ascii_digit());
    let word = |text: &str| (Some(TokenKind::Word(text.to_owned())), at + 1);
    match c {
        '0'..='9' => read_number(source, at, 1.0),
        '-' | '−' if digit_follows && before.is_none_or(char::is_whitespace) => {
            read_number(source, at + 1, -1.0)
        }
        '-' | '–' if digit_follows && before.is_some_and(|c| c.is_ascii_digit()) => {
            (Some(TokenKind::Dash), at + 1)
        }
        '–' | '—' | ',' | '，' | '、' => (Some(TokenKind::Comma), at + 1),
        '.' | ';' | '!' | '?' | '\n' | '…' | '。' => (Some(TokenKind::Stop), at + 1),
        ':' => (Some(TokenKind::Colon), at + 1),
        '&' | '+' | '/' => word("and"),
        '%' => word("percent"),
        '°' => word("degrees"),
        '×' | '*' => word("x"),
        '#' => read_hex(source, at).map_or_else(|| word("number"), |hex| (Some(TokenKind::Hex(hex)), at + 7)),
        '"' | '“' | '„' | '”' | '«' | '`' | '‘' | '\'' => match read_quoted(source, at, before) {
            Some((text, end)) => (Some(TokenKind::Quoted(text)), end),
            None => (None, at + 1),
        },
        c if c.is_alphabetic() => {
            let mut end = at + 1;
            while end < source.len() && continues_word(source, end) {
                end += 1;
            }
            let text = source[at..end].iter().flat_map(|c| c.to_lowercase()).collect();
            (Some(TokenKind::Word(text)), end)
        }
        _ => (None, at + 1),
    }
}

fn continues_word(source: &[char], at: usize) -> bool {
    source[at].is_alphabetic()
        || (source[at] == '\'' && source.get(at + 1).is_some_and(|next| next.is_alphabetic()))
}

fn read_number(source: &[char], start: usize, sign: f64) -> (Option<TokenKind>, usize) {
    let digits_from = |from: usize| source[from..].iter().take_while(|c| c.is_ascii_digit()).count();
    let mut end = start + digits_from(start);
    let mut text: String = source[start..end].iter().collect();
    let thousands = end - start <= 3
        && source[end..].starts_with(&[',', '0', '0', '0'])
        && source.get(end + 4).is_none_or(|c| !c.is_ascii_digit());
    if thousands {
        text.push_str("000");
        end += 4;
    } else if source.get(end) == Some(&'.') && source.get(end + 1).is_some_and(|c| c.is_ascii_digit()) {
        let fraction = digits_from(end + 1);
        text.extend(&source[end..end + 1 + fraction]);
        end += 1 + fraction;
    }
    let value = text.parse::<f64>().unwrap_or(f64::MAX).min(1e9);
    let suffix: String = source[end..].iter().take(3).flat_map(|c| c.to_lowercase()).collect();
    let ordinal = ["st", "nd", "rd", "th"]
        .iter()
        .any(|nth| suffix.strip_prefix(nth).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)));
    if ordinal && value.fract() == 0.0 && value <= 1_000.0 {
        return (Some(TokenKind::Nth(value as i32)), end + 2);
    }
    (Some(TokenKind::Number(value * sign)), end)
}

fn read_hex(source: &[char], at: usize) -> Option<String> {
    let digits = source.get(at + 1..at + 7)?;
    let ends = source.get(at + 7).is_none_or(|c| !c.is_alphanumeric());
    (ends && digits.iter().all(char::is_ascii_hexdigit))
        .then(|| std::iter::once('#').chain(digits.iter().map(char::to_ascii_lowercase)).collect())
}

fn read_quoted(source: &[char], at: usize, before: Option<char>) -> Option<(String, usize)> {
    let closing: &[char] = match source[at] {
        '«' => &['»'],
        '`' => &['`'],
        '‘' | '\'' => &['\''],
        _ => &['"', '”', '“'],
    };
    // An apostrophe inside or after a word is not a quote.
    let apostrophe = closing == ['\''];
    if apostrophe && before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    let window = &source[at + 1..source.len().min(at + 2 + MAX_QUOTE_CHARS)];
    let length = window.iter().enumerate().position(|(i, c)| {
        let word_goes_on = window.get(i + 1).is_some_and(|next| next.is_alphanumeric());
        closing.contains(c) && !(apostrophe && word_goes_on)
    })?;
    let text: String = window[..length].iter().collect();
    let text = text.trim();
    (!text.is_empty()).then(|| (text.to_owned(), at + 2 + length))
}
