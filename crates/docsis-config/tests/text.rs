//! Tests of files as text: the TOML for people, the JSON for programs, and the errors of mistakes.

use docsis_config::text::{from_json, from_toml};
use docsis_config::{File, TextError, from_text, to_json, to_toml};

/// The bytes of hexadecimal digits.
fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<char> = digits.chars().filter(char::is_ascii_hexdigit).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16);
    digits
        .chunks(2)
        .map(|pair| byte(pair).expect("it is hex"))
        .collect()
}

/// A file with buffers, AQM, a histogram, two TLVs of one type apart from each other, a vendor's
/// TLV and an SNMP object.
fn file() -> Vec<u8> {
    bytes(
        "030101 120110
         183e 01020001 060107 080400989680 09040001e848 1b0401312d00
         2312 010400006000 02040001e848 03040003d090
         280f 010100 02010a 030101 0604 0064 00c8
         1912 01020001 060107 0409 676f6c6420227822 00
         2b08 08030000ca 010107
         0b11 300f 060a 2b06010201450106 0300 020101
         d502 0102
         0610 00112233445566778899aabbccddeeff
         0710 00112233445566778899aabbccddeeff
         ff 00",
    )
}

#[test]
fn a_file_is_a_page_that_people_read() {
    let bytes = file();
    let page = to_toml(&File::decode(&bytes));
    assert_eq!(page, include_str!("page.toml"));
    assert_eq!(from_toml(&page).expect("it is a file").encode(), bytes);
}

#[test]
fn a_file_is_json_with_paths_offsets_and_values() {
    let bytes = file();
    let json = to_json(&File::decode(&bytes));
    let read: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(read["kind"], "cable_modem");
    assert_eq!(read["size"], bytes.len());
    let flow = &read["tlvs"][2];
    assert_eq!(flow["path"], "24");
    assert_eq!(flow["offset"], 6);
    let target = &flow["nested"][5]["nested"][1];
    let expected = serde_json::json!({
        "tlv": "24.35.2", "path": "24.35.2", "name": "target", "offset": 41,
        "hex": "0001e848", "value": 125_000, "unit": "B", "shown": "125000 B",
    });
    assert_eq!(*target, expected);
    assert_eq!(bytes[41..43], [2, 4]);
    assert_eq!(
        flow["nested"][1]["meaning"],
        "provisioned, admitted and active"
    );
    let object = &read["tlvs"][5];
    assert_eq!(object["value"], "1.3.6.1.2.1.69.1.6.3.0 = Integer 1");
    let last = &read["tlvs"][10];
    assert_eq!(
        *last,
        serde_json::json!({
            "tlv": "0", "path": "0", "offset": bytes.len() - 1,
        })
    );

    let twice = to_json(&File::decode(&[
        18, 1, 1, 0, 0, 24, 3, 7, 1, 9, 18, 2, 0, 0, 99,
    ]));
    let read: serde_json::Value = serde_json::from_str(&twice).expect("it is JSON");
    assert_eq!(read["tlvs"][0]["path"], "18[1]");
    assert_eq!(read["tlvs"][1]["count"], 2);
    assert_eq!(
        read["tlvs"][2]["nested"][0]["problem"],
        "9 is not from 0 to 7"
    );
    assert_eq!(read["tlvs"][3]["path"], "18[2]");
    assert_eq!(
        read["tlvs"][3]["problem"],
        "it has 2 bytes, expected 1 byte"
    );
    assert_eq!(read["rest"], serde_json::json!({"offset": 14, "hex": "63"}));
}

/// The first of several data rate units (TLV 41) counts, also if it is none that the
/// specification has: then rates are in bit/s.
#[test]
fn the_first_of_several_data_rate_units_is_that_of_the_rates() {
    for number in [71_u8, 24, 25, 70] {
        for units in [[5, 1, 2], [1, 2, 3], [0, 3, 1]] {
            for rate_first in [true, false] {
                let [one, two, three] = units.map(|unit| [41, 1, unit]);
                let rate = [8, 4, 0, 0, 4, 210];
                let value = if rate_first {
                    [&rate[..], &one, &two, &three].concat()
                } else {
                    [&one[..], &two, &rate, &three].concat()
                };
                let bytes = [&[number, value.len() as u8][..], &value].concat();
                let file = File::decode(&bytes);
                for text in [to_toml(&file), to_json(&file)] {
                    let read = from_text(&text);
                    let read = read.unwrap_or_else(|error| panic!("{error}\n{text}"));
                    assert_eq!(read.encode(), bytes, "{text}");
                }
            }
        }
    }
}

#[test]
fn names_and_units_are_read_as_people_write_them() {
    for (text, expected) in [
        ("max_cpe = 1\nMaxCPE = 2", "12 01 01 12 01 02"),
        ("MaxCPE = 16", "12 01 10"),
        ("tlv_18 = 16", "12 01 10"),
        ("tlv_213 = '0x01 02'", "d5 02 0102"),
        (
            "tlv_213 = { tlv_1 = '0x0a', tlv_2 = { tlv_3 = '0x' } }",
            "d5 07 01010a 02020300",
        ),
        ("pad = 3\nend = true", "00 00 00 ff"),
        ("end = true\npad = 1\nrest = '0x01'", "ff 00 01"),
        (
            "[[UsServiceFlow]]\nUsServiceFlowRef = 1\nMaxRateSustained = '10 Mbps'",
            "18 0a 01020001 080400989680",
        ),
        (
            "[[upstream_service_flow]]\nscheduling_type = 'best effort'",
            "18 03 0f0102",
        ),
        (
            "[[upstream_service_flow]]\n[upstream_service_flow.buffer_control]\ntarget = '24 KiB'",
            "18 08 2306 020400006000",
        ),
        (
            "upstream_service_flow = { buffer_control = [{ target = 0 }, { target = 1 }] }",
            "18 10 2306 020400000000 2306 020400000001",
        ),
        // A rate is in the data rate unit of the flow, wherever in the flow that unit stands.
        (
            "[[upstream_service_flow]]\nmaximum_sustained_rate = '10 Mbit/s'\ndata_rate_unit = 1",
            "18 09 080400002710 290101",
        ),
        (
            "[[upstream_service_flow]]\nmaximum_sustained_rate = 10\n\
             then = [{ data_rate_unit = 2 }]",
            "18 09 08040000000a 290102",
        ),
        // The order of the text is that of the file.
        (
            "max_cpe = 1\n[[downstream_service_flow]]\n[[then]]\nmax_cpe = 2\n\
             [[downstream_service_flow]]\n[[upstream_service_flow]]",
            "12 01 01 19 00 12 01 02 19 00 18 00",
        ),
        ("{\"tlvs\": [{\"tlv\": 18, \"value\": 16}]}", "12 01 10"),
        (
            "{\"tlvs\": [{\"tlv\": \"24\", \"hex\": \"00\", \"nested\": [{\"tlv\": \"24.8\", \
             \"value\": \"1 kbit/s\"}]}, {\"tlv\": \"0\", \"count\": 2}]}",
            "18 06 0804000003e8 00 00",
        ),
        (
            "{\"tlvs\": [{\"tlv\": \"24\", \"nested\": [{\"tlv\": \"24.8\", \"value\": \"1 \
             Mbit/s\"}, {\"tlv\": \"24.41\", \"value\": 1}]}]}",
            "18 09 0804000003e8 290101",
        ),
    ] {
        let read = from_text(text).map(|file| file.encode());
        assert_eq!(read, Ok(bytes(expected)), "{text}");
    }
}

fn refuse(text: &str) -> TextError {
    from_text(text).expect_err("it is wrong")
}

/// Asserts that each text is refused with an error that begins so.
fn assert_refused(wrong: &[(&str, &str)]) {
    for (text, expected) in wrong {
        let error = refuse(text).to_string();
        assert!(error.starts_with(expected), "{error}\nnot\n{expected}");
    }
}

#[test]
fn a_wrong_name_or_value_is_one_error_with_its_place() {
    assert_refused(&[
        (
            "network_access_control = 1\n\n[[upstream_service_flow]]\nmaximum_sustained_rat = 1",
            "line 4: upstream_service_flow[1].maximum_sustained_rat: found the name \
             \"maximum_sustained_rat\", expected the name of a TLV of upstream_service_flow, or \
             its number such as tlv_213; did you mean maximum_sustained_rate?",
        ),
        (
            "[[upstream_service_flow]]\nbuffer_contol.target = 1",
            "line 2: upstream_service_flow[1].buffer_contol: found the name \"buffer_contol\", \
             expected the name of a TLV of upstream_service_flow, or its number such as tlv_213; \
             did you mean buffer_control?",
        ),
        (
            "[[upstream_service_flow]]\nMaxCPE = 1",
            "line 2: upstream_service_flow[1].MaxCPE: found the name \"MaxCPE\", expected the name \
             of a TLV of upstream_service_flow, or its number such as tlv_213: this one is of the \
             file itself, where it stands before the tables or below [[then]]",
        ),
        (
            "[[upstream_service_flow]]\nmaximum_sustained_rate = '10 mbit/s'",
            "line 2: upstream_service_flow[1].maximum_sustained_rate: found \"10 mbit/s\", \
             expected a rate such as \"10 Mbit/s\"; did you mean \"10 Mbit/s\"?",
        ),
        (
            "[[upstream_service_flow]]\ntraffic_priority = [\n  1,\n  9,\n]",
            "line 4: upstream_service_flow[1].traffic_priority[2]: found 9, expected from 0 to 7; \
             \"0x09\" writes it nevertheless",
        ),
        (
            "[[upstream_service_flow]]\nbuffer_control = 3",
            "line 2: upstream_service_flow[1].buffer_control: found 3, expected a table of TLVs",
        ),
        (
            "max_cpe = { a = 1 }",
            "line 1: max_cpe: found a table, expected a whole number from 1 to 255",
        ),
        (
            "max_cpe = []",
            "line 1: max_cpe: found an empty list, expected at least one value",
        ),
        (
            "max_cpe = [[1]]",
            "line 1: max_cpe[1]: found a list, expected the value of one TLV",
        ),
        (
            "tlv_213 = 3",
            "line 1: tlv_213: found 3, expected bytes such as \"0x0a0b\", because its number is \
             not in the table",
        ),
        (
            "tlv_213 = '0xabc'",
            "line 1: tlv_213: found \"0xabc\", expected bytes such as \"0x0a0b\", with two \
             hexadecimal digits for each",
        ),
        (
            "tlv_256 = '0x'",
            "line 1: tlv_256: found the name \"tlv_256\"",
        ),
    ]);
}

#[test]
fn a_file_that_cannot_be_is_one_error_with_its_place() {
    assert_refused(&[
        (
            "tlv_0 = '0x'",
            "line 1: tlv_0: found \"0x\", expected pad = 1: a pad has no value",
        ),
        (
            "tlv_255 = '0x'",
            "line 1: tlv_255: found \"0x\", expected end = true",
        ),
        ("end = 1", "line 1: end: found 1, expected true"),
        (
            "pad = -1",
            "line 1: pad: found -1, expected a number of zero bytes",
        ),
        (
            "pad = 99999999999",
            "line 1: pad: found a file that is larger, expected at most",
        ),
        ("then = 1", "line 1: then: found 1, expected tables of TLVs"),
        (
            "rest = 1",
            "line 1: rest: found 1, expected bytes such as \"0x0a0b\"",
        ),
        (
            "rest = '0x00'\nmax_cpe = 1",
            "line 2: max_cpe: found a TLV after rest, expected rest at the end",
        ),
        (
            "end = true\nmax_cpe = 1",
            "line 2: max_cpe: found a TLV after the end of the file, expected it before the end",
        ),
        (
            "kind = 'modem'",
            "line 1: kind: found \"modem\", expected \"cable_modem\" or \"mta\"",
        ),
        (
            "kind = 'mta'",
            "kind: found \"mta\", expected a file that begins with TLV 254",
        ),
        (
            "tlv_254 = 1",
            "found TLV 254 of value 1 at the beginning, expected kind = \"mta\"",
        ),
        (
            "max_cpe = 1\nmax_cpe = 2",
            "line 2: max_cpe: found the key a second time, expected it once; of a TLV \
             that a file may have several times, the values in one list: max_cpe = [first, second]",
        ),
        (
            "unsigned = false",
            "line 1: unsigned: found false, expected true",
        ),
        (
            "MaxRateSustained = '1 Mbit/s'",
            "line 1: MaxRateSustained: found the name \"MaxRateSustained\", expected the name of \
             a TLV of a configuration file, or its number such as tlv_213: this one belongs in \
             upstream_service_flow, downstream_service_flow",
        ),
        (
            "[[UsServiceFlow]]\nMaxRateSustained = '5 Gbit/s'",
            "line 2: UsServiceFlow[1].MaxRateSustained: found \"5 Gbit/s\", expected from 0 bit/s \
             to 4.294967295 Gbit/s; with data_rate_unit = 1 beside it, rates are counted in kbit/s",
        ),
        (
            "[[UsServiceFlow]]\nRequestOrTxPolicy = 'x'",
            "line 2: UsServiceFlow[1].RequestOrTxPolicy: found \"x\", expected 4 bytes such as \
             \"0x0a0b0c0d\"",
        ),
        (
            "{\"NetworkAccess\": 1}",
            "found the key \"NetworkAccess\", expected JSON as `headend config decode --json` \
             writes it, with the keys of a file: kind, size, tlvs, rest",
        ),
        (
            "[upstream_service_flow]\n[upstream_service_flow]",
            "line 2: upstream_service_flow: found the key a second time, expected \
             [[upstream_service_flow]] for each of several",
        ),
        (" \n", "found an empty text, expected TOML or JSON"),
        (
            "Main {\n}",
            "found the text of another encoder, expected TOML or JSON: make",
        ),
        (
            "\n\nmax_cpe 1",
            "line 3: not readable: key with no value, expected `=`",
        ),
    ]);
}

#[test]
fn wrong_json_is_one_error_with_its_place() {
    assert_refused(&[
        (
            "{\"tlvs\": [",
            "line 1: not readable: EOF while parsing a list",
        ),
        ("{}", "tlvs: found nothing, expected a list of TLVs"),
        (
            "{\"tlvs\": [{}]}",
            "tlvs[1].tlv: found nothing, expected the types of the TLV",
        ),
        (
            "{\"tlvs\": [{\"tlv\": \"24\", \"nested\": [{\"tlv\": \"25.8\", \"hex\": \"\"}]}]}",
            "tlvs[1].nested[1].tlv: found \"25.8\", expected the types of the TLV, such as \
             \"24.8\"",
        ),
        (
            "{\"tlvs\": [{\"tlv\": \"18\"}]}",
            "tlvs[1]: found a TLV without a value, expected one of hex, value and nested",
        ),
        (
            "{\"tlvs\": [{\"tlv\": \"18\", \"hex\": \"01\", \"value\": 2}]}",
            "tlvs[1].value: found 2, expected the value of the hex beside it (01), or only one of \
             the two",
        ),
        (
            "{\"tlvs\": [{\"tlv\": \"18\", \"Hex\": \"01\"}]}",
            "tlvs[1]: found the key \"Hex\", expected a key of a TLV",
        ),
        (
            "{\"tlvs\": [{\"tlv\": \"255\", \"hex\": \"01\"}]}",
            "tlvs[1].hex: found \"01\", expected nothing: the end of the file has no value",
        ),
    ]);
}

#[test]
fn what_is_longer_than_its_length_can_say_is_an_error() {
    let long = format!("tlv_213 = '0x{}'", "00".repeat(256));
    assert_eq!(
        refuse(&long).to_string(),
        "line 1: tlv_213: found 256 bytes, expected at most 255 bytes, the most that its length \
         can say"
    );
    let flow = format!(
        "[[upstream_service_flow]]\ntlv_213 = '0x{}'\ntlv_214 = '0x{0}'",
        "00".repeat(130)
    );
    assert_eq!(
        refuse(&flow).to_string(),
        "line 1: upstream_service_flow[1]: found 264 bytes, expected at most 255 bytes, the most \
         that its length can say"
    );
}

#[test]
fn deep_text_is_an_error() {
    for text in [
        "then.".repeat(70) + "max_cpe = 1",
        "tlv_9.".repeat(70) + "tlv_9 = '0x'",
        "a = ".to_owned() + &"[".repeat(100_000),
        "a = ".to_owned() + &"{a=".repeat(100_000),
        "a.".repeat(100_000) + "a = 1",
        format!(
            "{}1{}",
            "then = [{".repeat(20) + &"then.".repeat(70) + "a = ",
            "}]".repeat(20)
        ),
        "{\"tlvs\":[".to_owned() + &"{\"tlv\":24,\"nested\":[".repeat(100_000),
    ] {
        assert!(from_text(&text).is_err());
    }
}

#[test]
fn json_beside_a_byte_order_mark_and_spaces_is_json() {
    assert_eq!(
        from_text("\u{feff}\n {\"tlvs\": []}"),
        from_json("{\"tlvs\": []}")
    );
}

#[test]
fn a_bit_mask_may_be_a_number() {
    let mask = |value: &str| {
        let text = format!("[[UsServiceFlow]]\nRequestOrTxPolicy = {value}");
        from_text(&text).expect("it is a file").encode()
    };
    assert_eq!(mask("0x1ff"), mask("\"0x000001ff\""));
    assert_eq!(mask("511"), [24, 6, 16, 4, 0, 0, 1, 0xff]);
    let most = u64::from(u32::MAX) + 1;
    let text = format!("[[UsServiceFlow]]\nRequestOrTxPolicy = {most}");
    assert!(from_text(&text).is_err());
}

#[test]
fn the_text_of_a_file_without_integrity_checks_says_so() {
    let unsigned = File::decode(&[3, 1, 1]);
    assert!(to_toml(&unsigned).contains("\nunsigned = true"));
    let signed = File::decode(&[3, 1, 1, 6, 1, 0]);
    assert!(!to_toml(&signed).contains("unsigned"));
}

#[test]
fn a_bitmap_of_types_is_written_and_read_as_the_list_of_them() {
    let file = |bitmap: &str| {
        let length = bitmap.len() / 2;
        let (outer, inner) = (length + 12, length + 5);
        bytes(&format!(
            "2b{outer:02x} 0803ffffff 06{inner:02x} 010101 02{length:02x}{bitmap}"
        ))
    };
    for (bitmap, written) in [
        ("000000c00000000002", "bitmap = [24, 25, 70] "),
        ("", "bitmap = [] "),
        // Bytes without a bit, and the bits of what is no TLV, are kept.
        ("0100", "bitmap = \"0x0100\" "),
        ("80", "bitmap = \"0x80\" "),
    ] {
        let bytes = file(bitmap);
        let page = to_toml(&File::decode(&bytes));
        assert!(page.contains(written), "{page}");
        assert_eq!(from_toml(&page).expect("it is a file").encode(), bytes);
    }
    let text = |bitmap: &str| {
        format!(
            "[[vendor_specific]]\nvendor_id = \"0xffffff\"\nextended_cmts_mic.hmac_type = 1\n\
             extended_cmts_mic.bitmap = {bitmap}"
        )
    };
    // In any order.
    let read = from_text(&text("[70, 25, 24]")).map(|file| file.encode());
    assert_eq!(read, Ok(file("000000c00000000002")));
    assert_refused(&[(
        &text("[24, 255]"),
        "line 4: vendor_specific[1].extended_cmts_mic.bitmap: found 255, expected from 1 to 254",
    )]);
}
