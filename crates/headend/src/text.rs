//! Texts of users in error messages: excerpts of files are cut short, and characters that would
//! control a terminal are escaped.

use std::borrow::Cow;

/// The number of characters that are quoted from a file: enough to find the place, too few to
/// disclose a secret.
const MOST_QUOTED: usize = 20;

/// The start of a text in quotes, escaped. `…` stands for what is left out.
pub(crate) fn quote(text: &str) -> String {
    let mut left = text.chars();
    let start: String = left.by_ref().take(MOST_QUOTED).collect();
    let cut = if left.next().is_some() { "…" } else { "" };
    format!("\"{}{cut}\"", start.escape_debug())
}

/// The number of characters of a key or name that an error repeats.
const MOST_OF_A_NAME: usize = 120;

/// A key or name as error messages show it: cut after 120 characters.
pub(crate) fn shorten(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MOST_OF_A_NAME) {
        None => name.into(),
        Some((end, _)) => format!("{}…", &name[..end]).into(),
    }
}

/// The text with all characters escaped that control a terminal: control characters, line
/// separators, and marks of text direction.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(controls_terminal) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if controls_terminal(c) {
            escaped.extend(c.escape_debug());
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

fn controls_terminal(c: char) -> bool {
    let is_direction_or_break = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    c.is_control() || is_direction_or_break
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_short_and_escaped() {
        assert_eq!(quote("1 2"), "\"1 2\"");
        assert_eq!(quote("12345678901234567890"), "\"12345678901234567890\"");
        assert_eq!(
            quote("root:x:0:0:root:/root:/bin/sh"),
            "\"root:x:0:0:root:/roo…\""
        );
        assert_eq!(quote("\u{1b}[31m\0\"ü"), "\"\\u{1b}[31m\\0\\\"ü\"");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        assert_eq!(shorten("flow.upload"), "flow.upload");
        let long = "ü".repeat(40_000);
        assert_eq!(shorten(&long), format!("{}…", "ü".repeat(120)));
    }

    #[test]
    fn only_what_controls_a_terminal_is_escaped() {
        assert_eq!(
            escape("a\u{1b}[1m\n\u{9b}\u{202e}z"),
            "a\\u{1b}[1m\\n\\u{9b}\\u{202e}z"
        );
        assert_eq!(
            escape("\u{61c}a\u{200e}\u{200f}"),
            "\\u{61c}a\\u{200e}\\u{200f}"
        );
        assert!(matches!(escape("\"ü\" [/48] €\\"), Cow::Borrowed(_)));
    }
}
