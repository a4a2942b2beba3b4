//! Tests that the table of TLVs is complete and consistent, and agrees with the sources on buffers,
//! AQM, low latency and the common settings.

use std::collections::BTreeMap;

use docsis_config::{
    Form, Kind, Model, definition, definition_in, definitions, find, find_in, names, table_json,
};

/// The TLVs that decide the delay, and common ones, as the sources define them: number, bytes of
/// the value, unit, range, default. A number below "24|25" holds for both.
type Fact = (
    &'static str,
    (usize, usize),
    &'static str,
    Option<(u64, u64)>,
    Option<u64>,
);

const ANY: (usize, usize) = (0, 65535);
const NO_LIMIT: u64 = 0xffff_ffff;

const FACTS: &[Fact] = &[
    // Service flows.
    ("24|25", ANY, "", None, None),
    ("24|25.1", (2, 2), "", Some((1, 65535)), None),
    ("24|25.2", (4, 4), "", Some((1, NO_LIMIT)), None),
    ("24.3", (2, 2), "", None, None),
    ("24|25.4", (2, 16), "", None, None),
    ("24|25.6", (1, 1), "", Some((1, 7)), None),
    ("24|25.7", (1, 1), "", Some((0, 7)), Some(0)),
    ("24|25.8", (4, 4), "bit/s", None, Some(0)),
    ("24|25.9", (4, 4), "B", None, Some(3044)),
    ("24|25.10", (4, 4), "bit/s", None, Some(0)),
    ("24|25.11", (2, 2), "B", None, None),
    ("24|25.12", (2, 2), "s", None, Some(0)),
    ("24|25.13", (2, 2), "s", None, Some(200)),
    ("24.14", (2, 2), "B", None, Some(1522)),
    ("24.15", (1, 1), "", Some((1, 7)), Some(2)),
    ("24.16", (4, 4), "", None, None),
    ("24.17", (4, 4), "us", None, None),
    ("24.18", (4, 4), "us", None, None),
    ("24.19", (2, 2), "B", None, None),
    ("24.20", (4, 4), "us", None, None),
    ("24.21", (4, 4), "us", None, None),
    ("24.22", (1, 1), "", Some((0, 127)), None),
    ("24|25.23", (2, 2), "", None, None),
    ("24.24", (4, 4), "", None, None),
    ("24.25", (1, 1), "", Some((4, 12)), Some(8)),
    ("24.26", (1, 1), "", Some((1, 16)), Some(4)),
    ("24|25.27", (4, 4), "bit/s", None, Some(0)),
    ("24|25.31", (4, 4), "", None, None),
    ("24|25.32", (4, 4), "", None, None),
    ("24|25.33", (4, 4), "", None, None),
    ("24|25.34", (4, 4), "", None, None),
    ("25.14", (4, 4), "us", None, Some(0)),
    ("25.17", (1, 1), "", Some((0, 1)), None),
    // Buffer Control and AQM.
    ("24|25.35", ANY, "", None, None),
    ("24|25.35.1", (4, 4), "B", None, Some(0)),
    ("24|25.35.2", (4, 4), "B", None, Some(0)),
    ("24|25.35.3", (4, 4), "B", None, Some(NO_LIMIT)),
    ("24|25.40", ANY, "", None, None),
    ("24|25.40.1", (1, 1), "", Some((0, 1)), Some(0)),
    ("24|25.40.2", (1, 1), "ms", None, Some(0)),
    ("24|25.40.3", (1, 1), "", Some((0, 2)), Some(0)),
    ("24|25.40.4", (2, 2), "us", None, Some(1000)),
    ("24|25.40.5", (1, 1), "", Some((0, 25)), Some(19)),
    ("24|25.40.6", (2, 30), "10 us", None, None),
    ("24|25.36", (2, 2), "", Some((1, 65535)), None),
    ("24|25.37", (1, 2), "", None, None),
    ("24|25.38", (1, 255), "", None, None),
    ("24|25.39", (2, 16), "", None, None),
    ("24|25|70|71.41", (1, 1), "", Some((0, 3)), Some(0)),
    ("24.44", (2, 2), "us", None, None),
    ("24.45", (4, 4), "bit/s", None, None),
    ("24.46", (2, 2), "us", None, None),
    ("24.48", (1, 1), "", Some((0, 1)), None),
    ("24.49", (1, 1), "", Some((0, 1)), None),
    // Classifiers.
    ("22|23|60.1", (1, 1), "", Some((1, 255)), None),
    ("22|23|60.2", (2, 2), "", Some((1, 65535)), None),
    ("22|23.3", (2, 2), "", Some((1, 65535)), None),
    ("22|23.4", (4, 4), "", Some((1, NO_LIMIT)), None),
    ("22|23|60.5", (1, 1), "", None, Some(0)),
    ("22|23|60.7", (1, 1), "", Some((0, 2)), None),
    ("22|23|60.9.1", (3, 3), "", None, None),
    ("22|23|60.9.2", (2, 2), "", Some((0, 257)), None),
    ("22|23|60.9.3", (4, 4), "", None, None),
    ("22|23|60.9.6", (4, 4), "", None, Some(NO_LIMIT)),
    ("22|23|60.9.7", (2, 2), "", None, Some(0)),
    ("22|23|60.9.10", (2, 2), "", None, Some(65535)),
    ("22|23|60.10.1", (12, 12), "", None, None),
    ("22|23|60.10.2", (6, 6), "", None, None),
    ("22|23|60.10.3", (3, 3), "", None, None),
    ("22|23|60.11.1", (2, 2), "", None, None),
    ("22|23|60.11.2", (2, 2), "", None, None),
    ("22|23|60.12.1", (3, 3), "", None, None),
    ("22|23|60.12.2", (4, 4), "", None, None),
    ("22|23|60.12.3", (2, 2), "", Some((0, 257)), None),
    ("22|23|60.12.4", (16, 16), "", None, None),
    ("22|23|60.12.5", (1, 1), "", Some((0, 128)), Some(128)),
    ("22|23|60.12.6", (16, 16), "", None, None),
    ("22|23|60.12.7", (1, 1), "", Some((0, 128)), Some(128)),
    ("62", (0, 255), "", None, None),
    ("68", (2, 2), "ms", None, Some(100)),
    // Aggregates and low latency.
    ("70|71", ANY, "", None, None),
    ("70|71.1", (2, 2), "", Some((1, 65535)), None),
    ("70|71.4", (2, 16), "", None, None),
    ("70|71.8", (4, 4), "bit/s", None, Some(0)),
    ("70|71.27", (4, 4), "bit/s", None, Some(0)),
    ("70|71.38.1", (4, 4), "", None, None),
    ("70|71.38.2", (2, 16), "", None, None),
    ("70|71.38.3", (2, 2), "", None, None),
    ("70|71.42", ANY, "", None, None),
    ("70|71.42.1", (2, 2), "", Some((1, 65535)), None),
    ("70|71.42.2", (4, 4), "", Some((1, NO_LIMIT)), None),
    ("70|71.42.3", (2, 16), "", None, None),
    ("70|71.42.4", (2, 16), "", None, None),
    ("70|71.42.5", (1, 1), "0.1", Some((1, 255)), Some(20)),
    ("70|71.42.6", (1, 1), "", Some((1, 255)), Some(230)),
    ("70|71.42.7", (1, 1), "", None, Some(1)),
    ("70|71.42.8", (2, 2), "us", None, Some(0)),
    ("70|71.42.9", (2, 2), "us", None, Some(4000)),
    ("70|71.42.10", (1, 1), "", None, Some(19)),
    ("76", (1, 1), "", Some((0, 1)), Some(0)),
    ("83", (1, 1), "", None, None),
    ("88", ANY, "", None, None),
    ("91", (1, 1), "", Some((0, 2)), None),
    ("92", (1, 1), "", Some((0, 2)), None),
    ("93|94.47.1", (2, 2), "", Some((1, 65535)), None),
    ("93|94.47.4", (1, 1), "", Some((0, 7)), None),
    ("93|94.47.5", (1, 1), "", None, None),
    ("106", (2, 2), "", None, None),
    // What every file has.
    ("1", (4, 4), "Hz", None, None),
    ("3", (1, 1), "", Some((0, 1)), None),
    ("6|7", (16, 16), "", None, None),
    ("43.8", (3, 3), "", None, None),
    ("43.9.1", (4, 4), "", None, None),
    ("43.6.1", (1, 1), "", None, None),
];

/// Types of the outermost TLVs that files of operators have.
const OUTERMOST: &[(u8, u8)] = &[
    (1, 5),
    (9, 15),
    (17, 23),
    (26, 29),
    (32, 38),
    (41, 43),
    (45, 76),
    (79, 84),
    (88, 88),
    (91, 94),
    (103, 104),
    (106, 106),
    (201, 202),
    (216, 217),
    (219, 221),
    (254, 254),
];

#[test]
fn it_says_what_the_sources_say() {
    for (number, length, unit, range, default) in FACTS {
        for path in paths(number) {
            let found = definition(&path).unwrap_or_else(|| panic!("{path:?} is not in the table"));
            assert_eq!(found.length, *length, "length of {path:?}");
            assert_eq!(found.unit, *unit, "unit of {path:?}");
            assert_eq!(found.range, *range, "range of {path:?}");
            assert_eq!(found.default, *default, "default of {path:?}");
        }
    }
    for &(first, last) in OUTERMOST {
        for number in first..=last {
            assert!(definition(&[number]).is_some(), "{number} is in the table");
        }
    }
    let meaning = |path: &[u8], number| definition(path).unwrap().meanings[&number].clone();
    assert_eq!(meaning(&[24, 15], 7), "proactive grants");
    assert_eq!(meaning(&[24, 41], 3), "Gbit/s");
    assert_eq!(meaning(&[76], 1), "AQM off");
    // There is no downstream drop classifier, and a drop classifier names no service flow.
    assert_eq!(definition(&[60, 3]), None);
    assert_eq!(definition(&[61]).map(|found| found.form), Some(Form::Bytes));
    assert_eq!(definition(&[24, 40, 6]).unwrap().form, Form::U16List);
    assert_eq!(definition(&[24, 35, 2]).unwrap().model, Model::Yes);
    assert_eq!(definition(&[70, 42, 5]).unwrap().model, Model::Yes);
    assert_eq!(definition(&[70, 38, 1]).unwrap().model, Model::Said);
}

#[test]
fn a_row_is_whole() {
    for found in definitions() {
        let path = &found.path;
        assert!(found.about.ends_with('.'), "{path:?} is explained");
        assert!(!found.source.is_empty(), "{path:?} has a source");
        let around = &path[..path.len() - 1];
        if !around.is_empty() {
            let form = definition(around).map(|parent| parent.form);
            assert_eq!(form, Some(Form::Nested), "what {path:?} is in");
        }
        let is_named = found
            .name
            .starts_with(|letter: char| letter.is_ascii_lowercase())
            && (found.name.chars()).all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '_'));
        assert!(is_named, "the name of {path:?}: {}", found.name);
        let reserved = ["pad", "end", "then", "rest", "kind"].contains(&found.name.as_str());
        assert!(!reserved && !found.name.starts_with("tlv_"), "{path:?}");
    }
}

#[test]
fn numbers_fit_their_form() {
    for found in definitions() {
        let path = &found.path;
        let most = match found.form {
            Form::U8 => 0xff,
            Form::U16 | Form::U8OrU16 => 0xffff,
            Form::U24 => 0xff_ffff,
            Form::U32 | Form::Ipv4 => NO_LIMIT,
            _ => 0,
        };
        // The numbers of a bitmap are places of its bits, not what its bytes hold.
        if found.form == Form::TypeBits {
            assert_eq!(found.range, Some((1, 254)), "{path:?}");
            continue;
        }
        if most == 0 {
            assert_eq!((found.range, found.default), (None, None), "{path:?}");
            let is_bytes = found.form == Form::Bytes;
            assert!(found.meanings.is_empty() || is_bytes, "{path:?}");
            assert!(found.bits.is_empty() || is_bytes, "{path:?}");
            assert!(
                found.unit.is_empty() || found.form == Form::U16List,
                "{path:?}"
            );
            continue;
        }
        let (least, most) = found.range.unwrap_or((0, most));
        for number in found.meanings.keys().copied().chain(found.default) {
            assert!((least..=most).contains(&number), "{number} of {path:?}");
        }
        assert!(
            found.range.is_none_or(|(least, most)| least < most),
            "{path:?}"
        );
    }
}

#[test]
fn a_name_is_found_however_it_is_written() {
    for found in definitions() {
        let (number, around) = found.path.split_last().unwrap();
        for name in [&found.name].into_iter().chain(&found.aliases) {
            for name in [name.clone(), name.to_uppercase(), name.replace('_', "")] {
                assert_eq!(find(around, &name), Some(*number), "{name} in {around:?}");
            }
            assert!(names(around).any(|one| one == name), "{name} in {around:?}");
        }
    }
    assert_eq!(find(&[], "UsServiceFlow"), Some(24));
    assert_eq!(find(&[24], "MaxRateSustained"), Some(8));
    assert_eq!(find(&[25, 35], "target"), Some(2));
    assert_eq!(find(&[24], "GuaranteedGrantRate"), Some(45));
    assert_eq!(find(&[25], "guaranteed_grant_rate"), None);
    assert_eq!(find(&[], "maximum_sustained_rate"), None);
}

#[test]
fn a_name_stands_for_one_type() {
    let mut all: BTreeMap<(Vec<u8>, String), u8> = BTreeMap::new();
    for found in definitions() {
        let (number, around) = found.path.split_last().unwrap();
        for name in [&found.name].into_iter().chain(&found.aliases) {
            let name = name.replace('_', "").to_lowercase();
            let before = all.insert((around.to_vec(), name), *number);
            assert!(
                before.is_none_or(|before| before == *number),
                "{}",
                found.name
            );
        }
    }
}

#[test]
fn a_tlv_that_holds_what_another_does_has_its_definition() {
    for parent in [22, 23, 24, 25, 26, 60, 70, 71, 93, 94] {
        assert_eq!(
            definition(&[parent, 43, 5, 2, 4, 1]),
            definition(&[43, 5, 2, 4, 1])
        );
        assert_eq!(find(&[parent], "VendorSpecific"), Some(43));
        assert_eq!(find(&[parent, 43], "L2VPNEncoding"), Some(5));
    }
    assert_eq!(definition(&[202, 53, 2, 1]), definition(&[53, 2, 1]));
    assert_eq!(find(&[202], "snmpv1v2c_coexistence"), Some(53));
    assert_eq!(definition(&[24, 43]).unwrap().path, [43]);
}

#[test]
fn type_64_is_another_one_in_an_mtas_file() {
    assert_eq!(definition(&[64]).unwrap().form, Form::Nested);
    assert_eq!(definition_in(Kind::Mta, &[64]).unwrap().form, Form::Varbind);
    assert_eq!(find_in(Kind::Mta, &[], "long_snmp_mib_object"), Some(64));
    assert_eq!(find(&[], "long_snmp_mib_object"), None);
    assert_eq!(definition_in(Kind::Mta, &[11]), definition(&[11]));
}

#[test]
fn a_length_fits_or_does_not() {
    let edges = definition(&[24, 40, 6]).unwrap();
    assert!(edges.fits(2) && edges.fits(30));
    assert!(!edges.fits(0) && !edges.fits(3) && !edges.fits(32));
    let rate = definition(&[24, 8]).unwrap();
    assert!(rate.fits(4) && !rate.fits(3));
}

#[test]
fn a_value_is_the_default_or_not() {
    let burst = definition(&[24, 14]).unwrap();
    assert!(burst.is_default(&[5, 0xf2]));
    assert!(!burst.is_default(&[5, 0xf3]) && !burst.is_default(&[0, 0, 5, 0xf2]));
    assert!(!definition(&[24, 11]).unwrap().is_default(&[0, 0]));
    assert!(!definition(&[9]).unwrap().is_default(&[0xff; 100]));
}

#[test]
fn the_table_is_json_too() {
    let rows: Vec<serde_json::Value> = serde_json::from_str(&table_json()).unwrap();
    let row = |number: &str| {
        let mut found = rows.iter().filter(|row| row["number"] == number);
        let row = found.next().unwrap().clone();
        assert_eq!(found.next(), None, "{number} is there once");
        row
    };
    let target = row("24|25.35.2");
    assert_eq!(target["name"], "target");
    assert_eq!(target["aliases"], serde_json::json!(["TargetBuffer"]));
    assert_eq!(target["form"], "u32");
    assert_eq!(target["unit"], "B");
    assert_eq!(target["default"], 0);
    assert_eq!(target["meanings"]["0"], "the device decides");
    assert_eq!(target["model"], "yes");
    assert_eq!(row("22|23|24|25|26|60|70|71|93|94.43")["like"], "43");
}

/// `"24|25.35.1"` is two paths.
fn paths(number: &str) -> Vec<Vec<u8>> {
    let mut paths = vec![Vec::new()];
    for place in number.split('.') {
        let longer = |path: &Vec<u8>| {
            let one = |type_: &str| [path.as_slice(), &[type_.parse().unwrap()]].concat();
            place.split('|').map(one).collect::<Vec<_>>()
        };
        paths = paths.iter().flat_map(longer).collect();
    }
    paths
}
