//! Tests of every TLV of the table. A file with the TLV is decoded, written as TOML and as JSON,
//! and read back to the same bytes. The values are the least and the most allowed ones, values
//! beyond them, and values of wrong lengths.

use docsis_config::value::show;
use docsis_config::{
    Definition, File, Form, Kind, Tlv, Value, definitions, from_text, to_json, to_toml,
};

/// A file with the TLV at `path`, which holds `value`.
fn file(path: &[u8], value: &[u8]) -> File {
    let (&number, around) = path.split_last().unwrap();
    let mut tlv = Tlv::new(number, value);
    for (place, &number) in around.iter().enumerate().rev() {
        let is_vendors = number == 43;
        let id = Tlv::new(8, [0xff; 3]);
        let is_id = place + 2 == path.len() && path.last() == Some(&8);
        let tlvs = if is_vendors && !is_id {
            vec![id, tlv]
        } else {
            vec![tlv]
        };
        tlv = Tlv::nested(number, tlvs);
    }
    let mta = path == [254];
    let mut tlvs = vec![Tlv::new(3, [1]), tlv];
    if !mta {
        tlvs.push(Tlv::bare(255));
    }
    File {
        kind: Kind::CableModem,
        tlvs,
        rest: Vec::new(),
    }
}

/// Values that the TLV may hold.
fn allowed(definition: &Definition) -> Vec<Vec<u8>> {
    let (least, most) = definition.length;
    let most = most.min(100);
    match definition.form {
        // Its TLVs have tests of their own.
        Form::Nested => vec![Vec::new()],
        Form::U8 | Form::U16 | Form::U24 | Form::U32 => {
            let numbers = definition
                .range
                .map_or([0, (1 << (8 * least)) - 1], <[u64; 2]>::from);
            let all = numbers
                .into_iter()
                .chain(definition.meanings.keys().copied());
            all.chain(definition.default)
                .map(|number| number.to_be_bytes()[8 - least..].to_vec())
                .collect()
        }
        Form::U8OrU16 => vec![vec![1], vec![0, 1], vec![0xff, 0xff]],
        Form::Text => {
            let text = |length: usize| [vec![b'a'; length - 1], vec![0]].concat();
            vec![text(least), text(most)]
        }
        Form::String => vec![vec![b'a'; least], vec![b'z'; most]],
        Form::U16List => vec![vec![0; least.next_multiple_of(2)], vec![0xff; most / 2 * 2]],
        Form::Bytes | Form::Ipv4 | Form::Ipv6 | Form::Mac | Form::U8List => {
            vec![vec![0; least], vec![0xff; least], vec![0xa5; most]]
        }
        // Bits of the types 1 to 254.
        Form::TypeBits => vec![
            vec![],
            vec![0x40],
            [vec![0x7f], vec![0xff; 30], vec![0xfe]].concat(),
        ],
        // sysContact.0 = "a"
        Form::Varbind => vec![vec![0x30, 13, 6, 8, 43, 6, 1, 2, 1, 1, 4, 0, 4, 1, b'a']],
    }
}

/// Values that it should not hold: numbers out of its range, values too short and too long, text
/// without an end.
fn wrong(definition: &Definition) -> Vec<Vec<u8>> {
    let (least, most) = definition.length;
    let mut values = vec![Vec::new(), vec![7; most.min(100) + 1], vec![9, 1, 1, 1, 1]];
    if least > 0 {
        values.push(vec![0xfe; least - 1]);
    }
    values.extend(beyond(definition));
    if matches!(definition.form, Form::Text | Form::String) {
        values.extend([
            b"0x".to_vec(),
            b"a\0b\0".to_vec(),
            vec![0xff, 0xfe, 0],
            b"a".to_vec(),
        ]);
    }
    values
}

/// Numbers just below and just above its range.
fn beyond(definition: &Definition) -> Vec<Vec<u8>> {
    let (width, _) = definition.length;
    let Some((low, high)) = (definition.range).filter(|_| definition.form != Form::TypeBits) else {
        return Vec::new();
    };
    let beyond = [low.checked_sub(1), Some(high + 1)].into_iter().flatten();
    let fits = beyond.filter(|number| *number < 1 << (8 * width));
    fits.map(|number| number.to_be_bytes()[8 - width..].to_vec())
        .collect()
}

#[test]
fn every_tlv_comes_back() {
    let mut cases = 0;
    for definition in definitions() {
        for value in allowed(definition).iter().chain(&wrong(definition)) {
            comes_back(&definition.path, value);
            cases += 1;
        }
    }
    assert!(cases > 5000, "{cases} cases");
}

#[test]
fn every_tlv_comes_back_below_a_service_flow_and_in_a_router() {
    for definition in definitions() {
        let around: &[u8] = match definition.path[0] {
            43 => &[24],
            53 | 54 => &[202],
            _ => continue,
        };
        for value in allowed(definition) {
            comes_back(&[around, &definition.path].concat(), &value);
        }
    }
}

#[test]
fn what_is_allowed_has_no_problem_and_is_written_in_words() {
    for definition in definitions() {
        for value in allowed(definition) {
            let path = &definition.path;
            if definition.form == Form::Nested {
                continue;
            }
            assert!(
                definition.fits(value.len()),
                "{} bytes of {path:?}",
                value.len()
            );
            assert_eq!(
                show(definition, &value).problem,
                "",
                "{value:?} of {path:?}"
            );
            let toml = to_toml(&file(path, &value));
            assert!(toml.contains(&definition.name), "{path:?}: {toml}");
            // A number alone does not say which of two widths it has.
            let is_bytes = matches!(definition.form, Form::Bytes | Form::Varbind | Form::U8OrU16);
            let raw = format!("{} = \"0x", definition.name);
            assert!(is_bytes || !toml.contains(&raw), "{path:?}: {toml}");
        }
    }
}

#[test]
fn a_number_out_of_its_range_is_a_problem() {
    let mut cases = 0;
    for definition in definitions() {
        for value in beyond(definition) {
            let shown = show(definition, &value);
            assert_ne!(shown.problem, "", "{value:?} of {:?}", definition.path);
            cases += 1;
        }
    }
    assert!(cases > 100, "{cases} cases");
}

/// Asserts that a file with the TLV at `path` comes back as the same bytes, with the value in its
/// place.
fn comes_back(path: &[u8], value: &[u8]) {
    let bytes = file(path, value).encode();
    let decoded = File::decode(&bytes);
    assert_eq!(decoded.encode(), bytes, "{path:?} with {value:?}");
    let mut tlv = decoded.all(path[0]).last().unwrap();
    for &number in &path[1..] {
        tlv = tlv
            .get(number)
            .unwrap_or_else(|| panic!("{number} of {path:?}"));
    }
    if let Value::Bytes(found) = &tlv.value {
        assert_eq!(found, value, "{path:?}");
    }
    for text in [to_toml(&decoded), to_json(&decoded)] {
        let read = from_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(read.encode(), bytes, "{text}");
    }
}
