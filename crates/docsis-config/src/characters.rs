//! Hexadecimal digits, and the characters that a shown text may contain.

/// The bytes of hexadecimal digits, between which spaces may stand.
pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = (digits.chars())
        .filter(|digit| !digit.is_ascii_whitespace())
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect();
    let (pairs, []) = digits.as_deref()?.as_chunks::<2>() else {
        return None;
    };
    Some(pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    text
}

/// Whether a shown text may contain the character. A text with a character that cannot be seen is
/// shown as bytes.
pub(crate) fn is_plain(c: char) -> bool {
    let is_invisible = matches!(
        c,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    !c.is_control() && !is_invisible
}
