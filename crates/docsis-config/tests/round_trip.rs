//! Tests that text is exact: any bytes that are written as TOML or as JSON and read again are the
//! same bytes.

use docsis_config::text::{from_json, from_toml};
use docsis_config::{File, definitions, from_text, to_json, to_toml};
use proptest::collection::vec;
use proptest::prelude::*;

/// Asserts that `bytes` come back from their TOML and from their JSON.
fn assert_exact(bytes: &[u8]) {
    let file = File::decode(bytes);
    assert_eq!(file.encode(), bytes);
    let toml = to_toml(&file);
    for (text, read) in [
        (&toml, from_toml(&toml)),
        (&toml, from_text(&toml)),
        (&to_json(&file), from_json(&to_json(&file))),
        (&to_json(&file), from_text(&to_json(&file))),
    ] {
        match read {
            Ok(read) => assert_eq!(read, file, "{bytes:02x?}\n{text}"),
            Err(error) => panic!("{error}\n{bytes:02x?}\n{text}"),
        }
    }
}

#[test]
fn files_that_toml_cannot_say_in_their_order_are_exact() {
    for bytes in [
        // Nothing; a pad; an end marker; an end marker with bytes behind it that must not follow
        // it.
        &[][..],
        &[0],
        &[255],
        &[255, 255, 0, 7],
        &[0, 0, 255, 0, 0],
        // TLVs of one type that do not stand beside each other, before and behind tables.
        &[18, 1, 1, 3, 1, 1, 18, 1, 2],
        &[18, 1, 1, 24, 3, 6, 1, 7, 18, 1, 2, 25, 3, 6, 1, 7, 18, 1, 3],
        &[0, 3, 1, 1, 0, 0, 3, 1, 0, 0],
        // A type whose value is once bytes and once TLVs.
        &[24, 1, 9, 24, 3, 6, 1, 7, 24, 1, 9, 24, 0],
        &[24, 3, 6, 1, 7, 24, 1, 9, 18, 1, 1],
        // Inner TLVs of one type apart from each other and beside each other, an empty one, and
        // pads.
        &[24, 9, 6, 1, 7, 7, 1, 0, 6, 1, 7],
        &[24, 10, 35, 3, 2, 1, 0, 35, 3, 2, 1, 1],
        &[24, 13, 35, 3, 2, 1, 0, 6, 1, 7, 35, 3, 2, 1, 1],
        &[24, 7, 35, 0, 0, 0, 35, 1, 9],
        &[24, 14, 35, 12, 2, 1, 0, 1, 1, 0, 2, 1, 0, 1, 1, 0, 2, 1],
        // Texts that look like bytes, hold a quote, or hold a character that cannot be seen.
        b"\x18\x07\x04\x050x0a\0",
        b"\x18\x06\x04\x04\"\\'\0",
        b"\x18\x06\x04\x04a\x07b\0",
        // Numbers out of range and lists, of which one is empty.
        &[24, 3, 7, 1, 9],
        &[62, 0, 62, 1, 7],
        &[62, 0],
        &[24, 8, 40, 6, 6, 4, 0, 100, 0, 200],
        &[24, 12, 40, 10, 6, 2, 0, 1, 6, 4, 0, 1, 0, 2],
        &[24, 10, 40, 8, 6, 2, 0, 1, 6, 2, 0, 2],
        &[24, 9, 40, 7, 6, 2, 0, 1, 6, 1, 1],
        // A vendor's TLVs, also with numbers that mean something else elsewhere.
        &[43, 8, 8, 3, 0, 0, 1, 6, 1, 0],
        &[43, 8, 6, 1, 0, 8, 3, 0, 0, 1],
        &[43, 10, 8, 3, 255, 255, 255, 6, 3, 1, 1, 1],
        // An MTA's file, and bytes that almost begin as one.
        &[254, 1, 1, 64, 0, 2, 1, 2, 254, 1, 255],
        &[254, 1, 1, 255, 1, 1, 0, 0],
        &[254, 1, 1],
        &[254, 1, 2, 64, 1, 0],
        // A rate in another unit.
        &[24, 9, 41, 1, 1, 8, 4, 0, 0, 0x27, 0x10],
        &[24, 9, 8, 4, 0xff, 0xff, 0xff, 0xff, 41, 1, 3],
    ] {
        assert_exact(bytes);
    }
}

/// Bytes like those of a file: TLVs of the table with values of any length, a few of them twice.
fn like_a_file() -> impl Strategy<Value = Vec<u8>> {
    let mut numbers: Vec<u8> = definitions().map(|one| one.path[0]).collect();
    numbers.extend([0, 24, 25, 24, 25, 43, 70, 213, 254, 255]);
    let below = definitions().filter(|one| one.path.len() > 1);
    let below: Vec<u8> = below.map(|one| one.path[one.path.len() - 1]).collect();
    let number = proptest::sample::select(numbers);
    let inner = proptest::sample::select(below);
    let value = vec(prop_oneof![Just(0), Just(1), Just(255), any::<u8>()], 0..7);
    let leaf = (inner.clone(), value.clone()).prop_map(|(number, value)| tlv(number, &value));
    let leaves = prop_oneof![4 => vec(leaf, 0..6).prop_map(|all| all.concat()), 1 => value];
    let node = (inner, leaves.clone()).prop_map(|(number, value)| tlv(number, &value));
    let nodes = prop_oneof![2 => vec(node, 0..4).prop_map(|all| all.concat()), 3 => leaves];
    let outer = (number, nodes, 0..20).prop_map(|(number, value, odds)| match odds {
        0 => vec![0],
        1 => vec![255],
        _ => tlv(number, &value),
    });
    let start = prop_oneof![9 => Just(vec![]), 1 => Just(vec![254, 1, 1])];
    (start, vec(outer, 0..12)).prop_map(|(start, all)| [start, all.concat()].concat())
}

fn tlv(number: u8, value: &[u8]) -> Vec<u8> {
    let value = &value[..value.len().min(255)];
    [&[number, value.len() as u8], value].concat()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_bytes_are_exact(bytes in vec(any::<u8>(), 0..200)) {
        assert_exact(&bytes);
    }

    #[test]
    fn what_is_like_a_file_is_exact(bytes in like_a_file()) {
        assert_exact(&bytes);
    }

    #[test]
    fn a_damaged_file_is_exact(
        bytes in like_a_file(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = bytes;
        if bytes.is_empty() {
            return Ok(());
        }
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        assert_exact(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        assert_exact(&bytes);
    }

    #[test]
    fn any_text_is_a_file_or_an_error(
        text in "(\\PC|[\\[\\]{}=.\n\",0-9]|then|pad|end|tlv_24){0,40}",
    ) {
        if let Ok(file) = from_text(&text) {
            assert_eq!(File::decode(&file.encode()), file);
        }
    }
}
