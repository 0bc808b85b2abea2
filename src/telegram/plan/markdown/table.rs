//! Markdown tables as lines of monospaced text, because Telegram has no tables.

use pulldown_cmark::Alignment;

pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    /// The first row is the header.
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn lines(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width =
            |column: usize| self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cells(cell)).max();
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let padded = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                let space = " ".repeat(width - cells(cell));
                match self.alignments.get(column) {
                    Some(Alignment::Right) => format!("{space}{cell}"),
                    _ => format!("{cell}{space}"),
                }
            });
            lines.push(padded.collect::<Vec<_>>().join(" | ").trim_end().to_owned());
            if number == 0 {
                lines.push(widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("-+-"));
            }
        }
        lines.join("\n")
    }
}

/// Columns of a text in a monospaced font: two for East Asian letters and emoji, none for combining marks.
fn cells(text: &str) -> usize {
    let cells = |c: char| match c {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' => 2,
        '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}' => 2,
        '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    };
    text.chars().map(cells).sum()
}
