//! Derives a modem's file from another: a TLV is added by the table, removed, moved, repeated,
//! renumbered, or given another value, another length or pads.

use docsis_config::file::{END, PAD};
use docsis_config::{Definition, File, Form, Kind, Tlv, Value, definitions, text};
use headend::rng::Rng;

use crate::grammar::Draw;

/// The longest random value, in bytes, where the table allows longer ones.
const MOST_BYTES: usize = 24;

/// Another file.
pub fn mutate_file(input: &[u8], seed: u32) -> Vec<u8> {
    let mut draw = Draw {
        rng: Rng::for_path(u64::from(seed), "mutate_file"),
        names: Vec::new(),
    };
    let mut file = File::decode(input);
    change(&mut file, &mut draw);
    while draw.below(3) == 0 {
        change(&mut file, &mut draw);
    }
    let mut bytes = file.encode();
    if draw.below(16) == 0 {
        bytes.truncate(draw.below(bytes.len() as u64 + 1) as usize);
    }
    bytes
}

/// The text of another file than the one that `input` describes, as TOML or JSON; `None` if it
/// describes none.
pub fn mutate_file_text(input: &[u8], seed: u32) -> Option<Vec<u8>> {
    let file = text::from_text(std::str::from_utf8(input).ok()?).ok()?;
    let other = File::decode(&mutate_file(&file.encode(), seed));
    let text = match seed % 4 {
        0 => text::to_json(&other),
        _ => text::to_toml(&other),
    };
    Some(text.into_bytes())
}

/// Changes one list of TLVs: that of the file, or that in a TLV. A change after which a value is
/// longer than its length can say is not made.
fn change(file: &mut File, draw: &mut Draw) {
    let before = file.tlvs.clone();
    let mut paths = vec![Vec::new()];
    find_lists(&file.tlvs, &mut Vec::new(), &mut paths);
    let places = draw.pick(&paths).cloned().unwrap_or_default();
    let (mut list, mut path) = (&mut file.tlvs, Vec::new());
    for place in places {
        path.push(list[place].number);
        let Value::Nested(tlvs) = &mut list[place].value else {
            return;
        };
        list = tlvs;
    }
    change_list(list, &path, draw);
    let fits = |tlv: &Tlv| length(file.kind, tlv, &mut Vec::new()).is_some();
    if !file.tlvs.iter().all(fits) {
        file.tlvs = before;
    }
}

fn find_lists(tlvs: &[Tlv], path: &mut Vec<usize>, paths: &mut Vec<Vec<usize>>) {
    for (place, tlv) in tlvs.iter().enumerate() {
        if let Value::Nested(inner) = &tlv.value {
            path.push(place);
            paths.push(path.clone());
            find_lists(inner, path, paths);
            path.pop();
        }
    }
}

fn change_list(list: &mut Vec<Tlv>, path: &[u8], draw: &mut Draw) {
    let count = list.len() as u64;
    let place = draw.below(count.max(1)) as usize;
    match draw.below(12) {
        0..=3 => {
            let place = draw.below(count + 1) as usize;
            if let Some(tlv) = generate(path, draw) {
                list.insert(place, tlv);
            }
        }
        4 => {
            let pads = (0..=draw.below(5)).map(|_| Tlv::bare(PAD));
            list.splice(place..place, pads.collect::<Vec<_>>());
        }
        5 if path.is_empty() => list.push(Tlv::bare(END)),
        _ if list.is_empty() => {}
        5 | 6 => drop(list.remove(place)),
        7 => {
            let tlv = list[place].clone();
            list.insert(draw.below(count) as usize, tlv);
        }
        8 => list.swap(place, draw.below(count) as usize),
        9 => list[place].number = draw.below(256) as u8,
        _ => change_value(&mut list[place], draw),
    }
}

fn change_value(tlv: &mut Tlv, draw: &mut Draw) {
    let Value::Bytes(bytes) = &mut tlv.value else {
        tlv.value = Value::Bytes(random(draw, 0, MOST_BYTES));
        return;
    };
    let place = draw.below(bytes.len().max(1) as u64) as usize;
    match (draw.below(4), bytes.get_mut(place)) {
        (0, _) => bytes.insert(place, draw.below(256) as u8),
        (1, Some(_)) => drop(bytes.remove(place)),
        (_, Some(byte)) => *byte = draw.below(256) as u8,
        (_, None) => *bytes = random(draw, 0, MOST_BYTES),
    }
}

/// A TLV that the table has below `path`, mostly with a value of an allowed length.
fn generate(path: &[u8], draw: &mut Draw) -> Option<Tlv> {
    let is_below = |definition: &&Definition| {
        definition.path.split_last().map(|(_, around)| around) == Some(path)
    };
    let below: Vec<&Definition> = definitions().filter(is_below).collect();
    let definition = draw.pick(&below)?;
    let number = *definition.path.last()?;
    if definition.form == Form::Nested {
        let inner = (0..draw.below(4)).filter_map(|_| generate(&definition.path, draw));
        return Some(Tlv::nested(number, inner.collect()));
    }
    let (least, most) = definition.length;
    let value = match draw.below(8) {
        0 => random(draw, 0, MOST_BYTES),
        _ => random(draw, least, most.min(least.max(MOST_BYTES))),
    };
    Some(Tlv::new(number, value))
}

fn random(draw: &mut Draw, least: usize, most: usize) -> Vec<u8> {
    let length = least + draw.below((most - least) as u64 + 1) as usize;
    // Small numbers and letters are what values mostly are.
    let bound = *draw.pick(&[2, 8, 128, 256]).unwrap_or(&256);
    (0..length).map(|_| draw.below(bound) as u8).collect()
}

/// The length of a TLV's value; none if it is longer than its length can say. `path` are the types
/// of the TLVs around it.
fn length(kind: Kind, tlv: &Tlv, path: &mut Vec<u8>) -> Option<usize> {
    path.push(tlv.number);
    let longest = Tlv::longest(kind, path);
    let length = match &tlv.value {
        Value::Bare => Some(0),
        Value::Bytes(bytes) => Some(bytes.len()),
        Value::Nested(tlvs) => {
            // A type and at most two bytes of length.
            let sizes = tlvs.iter().map(|tlv| Some(3 + length(kind, tlv, path)?));
            sizes.sum()
        }
    };
    path.pop();
    length.filter(|&length| length <= longest)
}
