//! Message integrity checks (MICs) of a cable modem's file: verified and made anew.
//!
//! A file carries up to three digests (MULPI Annex D.2):
//!
//! - The CM MIC (TLV 6) is made of every byte before it (MD5), without a key. The modem checks it.
//! - The CMTS MIC (TLV 7) is made of the TLVs of the types [`COVERED`], type by type (HMAC-MD5).
//!   Its key is the secret, and the CMTS checks it.
//! - The extended MIC (TLV 43.6.3, or 7 if there is none) is made of the TLVs that the bitmap
//!   43.6.2 selects, in the order of the file, with 43.6.3 filled with zeros (HMAC-MD5 for HMAC
//!   type 1). Its key is the secret, and the CMTS checks it.
//!
//! The [`State`] of a digest says what a person can do about it.
//!
//! - **Right**: it is the digest of the file as it stands.
//! - **Stale**: the file was changed after it was signed. The CM MIC shows that without a secret: a
//!   digest that does not match was made of other bytes. If the CM MIC does not match, a CMTS MIC
//!   or extended MIC that does not match is stale too; nobody can tell then whether the secret was
//!   the right one. If the CM MIC is stale and the CMTS MIC is right, somebody changed TLVs that
//!   the CMTS MIC does not cover and left TLV 6 as it was. Remedy: sign the file anew.
//! - **Wrong**: the digest does not match, and a change of the file does not explain that. One case
//!   is a CMTS MIC that does not match beside a right CM MIC: the file is as it was signed, and the
//!   CMTS MIC was made with another secret, or by a tool that computes it in another way. The other
//!   case is a digest that has another length than 16 bytes, or consists of zeros. Remedy: look for
//!   the right secret, or for the tool that made it.
//! - **Unverifiable**: no secret was given, or the digest has a type that this crate does not
//!   compute. Remedy: give the secret.
//! - **Missing**: the file does not carry it.
//!
//! The CM MIC and the CMTS MIC were verified on public files. No public file has a complete
//! extended MIC. Its computation follows the specification as other sources cite it, and is tested
//! only with vectors of our own.

use std::fmt::Write as _;

use hmac::{Hmac, Mac};
use md5::{Digest, Md5};
use serde_json::{Value as Json, json};

use crate::file::{END, File, GENERAL, MTA_FILE, PAD, Tlv, VENDOR_ID, VENDOR_SPECIFIC, Value};
use crate::table::Kind;
use crate::value::types;

/// Type of the CM MIC.
pub const CM_MIC: u8 = 6;
/// Type of the CMTS MIC.
pub const CMTS_MIC: u8 = 7;
/// Type, within TLV 43 of vendor [`GENERAL`], of the extended MIC's settings.
pub const EXTENDED_MIC: u8 = 6;

/// The types that the CMTS MIC covers, in the order in which it covers them. A file has 20 (IPv4)
/// or 59 (IPv6), in the same place.
///
/// The CMTS MIC of the one public file with TLV 59 leaves it out. [`verify`] accepts such a digest
/// as right too; [`sign`] covers TLV 59.
pub const COVERED: [u8; 22] = [
    1, 2, 3, 4, 17, 43, CM_MIC, 18, 19, 20, 59, 22, 23, 24, 25, 28, 29, 26, 35, 36, 37, 40,
];

/// Type of the modem's IPv6 address in the file.
const IPV6_ADDRESS: u8 = 59;

/// Types within the extended MIC's settings.
const HMAC_TYPE: u8 = 1;
const BITMAP: u8 = 2;
const DIGEST: u8 = 3;
/// The HMAC type that is computed here.
const HMAC_MD5: u64 = 1;

/// The length of a digest.
const LENGTH: usize = 16;

/// The digests of a file, verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mics {
    /// The CM MIC.
    pub cm: Finding,
    /// The CMTS MIC.
    pub cmts: Finding,
    /// The extended MIC; none if the file does not define one.
    pub extended: Option<Extended>,
}

/// The extended MIC of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extended {
    /// Whether the digest is right.
    pub finding: Finding,
    /// How the digest is computed: 1 is MD5, 2 is MMH16-σ-n, 43 is the vendor's.
    pub hmac_type: Option<u64>,
    /// The types that the bitmap selects.
    pub selects: Vec<u8>,
    /// Whether TLV 7 holds the digest, because 43.6.3 is absent.
    pub is_cmts_mic: bool,
}

/// The result of verifying a digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether it is right.
    pub state: State,
    /// The digest in the file, if it has one.
    pub found: Option<Vec<u8>>,
    /// The digest that would be right, if it can be computed.
    pub computed: Option<[u8; LENGTH]>,
    /// Why the digest is not right, in a sentence; empty if it is right.
    pub why: String,
}

/// Whether a digest is right. The head of this module says what follows from each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is the digest of the file as it stands.
    Right,
    /// The file was changed after it was signed.
    Stale,
    /// It is no digest of this file with this secret.
    Wrong,
    /// It cannot be computed.
    Unverifiable,
    /// The file does not carry it.
    Missing,
}

/// The digests that are made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which<'a> {
    /// The CM MIC alone. A CMTS MIC in the file does not match any more if the CM MIC changes.
    Cm,
    /// The extended MIC if the file defines one, the CM MIC, and the CMTS MIC with this secret.
    All(&'a [u8]),
}

/// Why a file cannot be verified or signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MicError {
    /// The file is an MTA's, not a modem's.
    #[error("expected a cable modem's file, found an MTA's file, which carries no MICs")]
    Mta,
    /// The file ends in bytes that are no TLV. A digest that stands before them would not cover
    /// them.
    #[error("expected TLVs up to the end of the file, found {0} B at its end that are no TLV")]
    Rest(usize),
    /// The extended MIC has a type that is not computed here, or none.
    #[error(
        "expected HMAC type 1 (MD5) in TLV 43.6.1, found {}",
        .0.map_or("none".to_owned(), |found| found.to_string())
    )]
    HmacType(Option<u64>),
    /// The extended MIC does not say what it covers.
    #[error("expected the bitmap of the extended MIC in TLV 43.6.2, found none")]
    Bitmap,
    /// The extended MIC would cover a digest that is computed after it.
    #[error(
        "expected type {0} left out of the bitmap in TLV 43.6.2, found it there: TLV {0} is \
         computed after the extended MIC"
    )]
    Circular(u8),
    /// The digest does not fit into its TLV.
    #[error("expected at most 255 B in TLV 43, found {0} B with the extended MIC's digest")]
    TooLong(usize),
}

/// Verifies the digests of a file. Without a secret, only the CM MIC can be verified.
///
/// # Errors
///
/// If the file is an MTA's.
pub fn verify(file: &File, secret: Option<&[u8]>) -> Result<Mics, MicError> {
    if file.kind == Kind::Mta {
        return Err(MicError::Mta);
    }
    let found = |number| file.get(number).and_then(Tlv::bytes);
    let mut cm = Finding::compare(found(CM_MIC), cm_digest(file));
    let is_stale = cm.state == State::Stale;
    let mut cmts = match secret {
        Some(secret) => Finding::compare(found(CMTS_MIC), expected_digest(file, secret)),
        None => Finding::without_secret(found(CMTS_MIC), expected_digest(file, b"")),
    };
    let mut extended = None;
    if let Some(settings) = Settings::of(file) {
        let digest = settings.digest().or_else(|| found(CMTS_MIC));
        let mut finding = match (settings.fault(), secret) {
            (Some(fault @ MicError::Circular(_)), _) => Finding {
                state: State::Wrong,
                found: digest.map(<[u8]>::to_vec),
                computed: None,
                why: fault.to_string(),
            },
            (Some(fault), _) => Finding::unverifiable(digest, fault.to_string()),
            (None, Some(secret)) => Finding::compare(digest, settings.compute(file, secret)),
            (None, None) => Finding::without_secret(digest, settings.compute(file, b"")),
        };
        finding.explain(is_stale, || OTHER_SECRET.to_owned());
        // Without a bitmap, TLV 7 holds the CMTS MIC, as in a file without an extended MIC.
        if settings.is_cmts_mic() && settings.bitmap().is_some() {
            cmts = finding.clone();
        }
        extended = Some(Extended {
            finding,
            hmac_type: settings.hmac_type(),
            selects: settings.selects(),
            is_cmts_mic: settings.is_cmts_mic(),
        });
    }
    cmts.explain(is_stale, || cause(file, secret.unwrap_or_default()));
    if is_stale && cmts.state == State::Right {
        cm.why += ", in TLVs that the CMTS MIC does not cover";
    }
    Ok(Mics { cm, cmts, extended })
}

const CHANGED: &str = "the file was changed after it was signed";
const OTHER_SECRET: &str =
    "it was made with another secret, or by a tool that computes it in another way";

/// Why the CMTS MIC does not match although nothing shows that the file was changed.
fn cause(file: &File, secret: &[u8]) -> String {
    if file.get(CM_MIC).is_none() {
        return format!("{OTHER_SECRET}, or {CHANGED}; without a CM MIC it is not known which");
    }
    let found = file.get(CMTS_MIC).and_then(Tlv::bytes);
    let is_of = |file: &File, secret| found == Some(legacy_digest(file, secret).as_slice());
    if is_of(file, b"") {
        return "it was made with the empty secret".to_owned();
    }
    if is_of(&without(file, CM_MIC), secret) {
        return "the secret is right, but the tool that made it left out TLV 6".to_owned();
    }
    format!("{OTHER_SECRET}, or the file was changed and only TLV 6 was computed anew")
}

/// Computes digests anew. If the digests of the file stand behind all settings and in the right
/// order, their values are replaced. Otherwise the digests are moved behind the last setting; an
/// end marker and pads up to a multiple of four bytes follow them.
///
/// # Errors
///
/// If the file is an MTA's, if bytes at its end are no TLV and no end marker stands before them,
/// and if the extended MIC that the file defines cannot be computed.
pub fn sign(file: &File, which: Which<'_>) -> Result<File, MicError> {
    if file.kind == Kind::Mta {
        return Err(MicError::Mta);
    }
    if file.get(END).is_none() && !file.rest.is_empty() {
        return Err(MicError::Rest(file.rest.len()));
    }
    let mut signed = placed(file, which);
    // Without the digests in front of them, its settings can begin as an MTA's do.
    if signed.tlvs.first() == Some(&Tlv::new(MTA_FILE, [1])) {
        return Err(MicError::Mta);
    }
    let settings = Settings::of(&signed);
    if let (Which::All(secret), Some(settings)) = (which, &settings) {
        if let Some(fault) = settings.fault() {
            return Err(fault);
        }
        if !settings.is_cmts_mic() {
            settings.set(&mut signed, [0; LENGTH])?;
            let digest = settings.compute(&signed, secret);
            settings.set(&mut signed, digest)?;
        }
    }
    let digest = cm_digest(&signed);
    set(&mut signed, CM_MIC, digest);
    if let Which::All(secret) = which {
        let digest = match settings.filter(Settings::is_cmts_mic) {
            Some(settings) => settings.compute(&signed, secret),
            None => legacy_digest(&signed, secret),
        };
        set(&mut signed, CMTS_MIC, digest);
    }
    Ok(signed)
}

/// The file with room for the digests, behind all settings.
fn placed(file: &File, which: Which<'_>) -> File {
    let mut file = file.clone();
    let is_mic = |tlv: &Tlv| tlv.number == CM_MIC || tlv.number == CMTS_MIC;
    let is_setting = |tlv: &Tlv| tlv.value != Value::Bare && !is_mic(tlv);
    let first = |number| file.tlvs.iter().position(|tlv| tlv.number == number);
    let settings = file
        .tlvs
        .iter()
        .rposition(is_setting)
        .map_or(0, |last| last + 1);
    let is_behind = first(CM_MIC).is_some_and(|cm| cm >= settings);
    let is_in_order = match (first(CMTS_MIC), which) {
        (Some(cmts), _) => first(CM_MIC) < Some(cmts),
        (None, which) => which == Which::Cm,
    };
    if is_behind && is_in_order {
        return file;
    }
    let has_cmts = which != Which::Cm || first(CMTS_MIC).is_some();
    let old = file.get(CMTS_MIC).cloned();
    file.tlvs.retain(|tlv| !is_mic(tlv));
    let settings = file
        .tlvs
        .iter()
        .rposition(is_setting)
        .map_or(0, |last| last + 1);
    let empty = |number| Tlv::new(number, [0; LENGTH]);
    let mut mics = vec![empty(CM_MIC)];
    if has_cmts {
        mics.push(old.unwrap_or_else(|| empty(CMTS_MIC)));
    }
    file.tlvs.splice(settings..settings, mics);
    if file.rest.is_empty() {
        let end = file.tlvs.iter().position(|tlv| tlv.number == END);
        file.tlvs.truncate(end.unwrap_or(file.tlvs.len()));
        file.tlvs.push(Tlv::bare(END));
        let pads = file.encode().len().wrapping_neg() % 4;
        file.tlvs.extend((0..pads).map(|_| Tlv::bare(PAD)));
    }
    file
}

/// Puts a digest into the first TLV of a type.
fn set(file: &mut File, number: u8, digest: [u8; LENGTH]) {
    let tlv = file.tlvs.iter_mut().find(|tlv| tlv.number == number);
    if let Some(tlv) = tlv {
        tlv.value = Value::Bytes(digest.to_vec());
    }
}

/// MD5 of the bytes before TLV 6.
fn cm_digest(file: &File) -> [u8; LENGTH] {
    let mut digest = Md5::new();
    each(
        file,
        |tlv| tlv.number != CM_MIC,
        |bytes| digest.update(bytes),
    );
    digest.finalize().into()
}

/// The CMTS MIC that the file should carry. If the file carries the digest without TLV 59, it is
/// that one, and otherwise the digest with TLV 59.
fn expected_digest(file: &File, secret: &[u8]) -> [u8; LENGTH] {
    if file.get(IPV6_ADDRESS).is_some() {
        let digest = legacy_digest(&without(file, IPV6_ADDRESS), secret);
        if file.get(CMTS_MIC).and_then(Tlv::bytes) == Some(&digest) {
            return digest;
        }
    }
    legacy_digest(file, secret)
}

/// The file without the TLVs of a type.
fn without(file: &File, number: u8) -> File {
    let mut other = file.clone();
    other.tlvs.retain(|tlv| tlv.number != number);
    other
}

/// HMAC-MD5 over the covered TLVs.
fn legacy_digest(file: &File, secret: &[u8]) -> [u8; LENGTH] {
    let mut hmac = keyed(secret);
    let mut bytes = Vec::new();
    for number in COVERED {
        for tlv in file.all(number) {
            bytes.clear();
            tlv.write(file.kind, &mut Vec::new(), &mut bytes);
            hmac.update(&bytes);
        }
    }
    hmac.finalize().into_bytes().into()
}

fn keyed(secret: &[u8]) -> Hmac<Md5> {
    Hmac::new_from_slice(secret).expect("HMAC takes a key of any length")
}

/// Calls `see` with the bytes of each TLV, up to the first that is not wanted.
fn each(file: &File, is_wanted: impl Fn(&Tlv) -> bool, mut see: impl FnMut(&[u8])) {
    let mut bytes = Vec::new();
    for tlv in file.tlvs.iter().take_while(|tlv| is_wanted(tlv)) {
        bytes.clear();
        tlv.write(file.kind, &mut Vec::new(), &mut bytes);
        see(&bytes);
    }
}

/// TLV 43.6 of DOCSIS itself: how the extended MIC is made.
struct Settings {
    tlv: Tlv,
    /// Where it stands: the TLV of the file, and the TLV within that.
    place: (usize, usize),
}

impl Settings {
    /// The settings of the first extended MIC in a file.
    fn of(file: &File) -> Option<Self> {
        let is_general = |tlv: &Tlv| tlv.get(VENDOR_ID).and_then(Tlv::bytes) == Some(&GENERAL);
        for (outer, tlv) in file.tlvs.iter().enumerate() {
            let Value::Nested(tlvs) = &tlv.value else {
                continue;
            };
            if tlv.number != VENDOR_SPECIFIC || !is_general(tlv) {
                continue;
            }
            if let Some(inner) = tlvs.iter().position(|tlv| tlv.number == EXTENDED_MIC) {
                return Some(Self {
                    tlv: tlvs[inner].clone(),
                    place: (outer, inner),
                });
            }
        }
        None
    }

    fn hmac_type(&self) -> Option<u64> {
        self.tlv.get(HMAC_TYPE)?.uint()
    }

    fn bitmap(&self) -> Option<&[u8]> {
        self.tlv.get(BITMAP)?.bytes()
    }

    fn digest(&self) -> Option<&[u8]> {
        self.tlv.get(DIGEST)?.bytes()
    }

    /// Whether TLV 7 holds the digest.
    fn is_cmts_mic(&self) -> bool {
        self.digest().is_none()
    }

    /// The types whose bits are set. The most significant bit of the first byte is type 0, which is
    /// a pad and never selected.
    fn selects(&self) -> Vec<u8> {
        let is_tlv = |number: &u8| (PAD + 1..END).contains(number);
        types(self.bitmap().unwrap_or_default())
            .filter(is_tlv)
            .collect()
    }

    /// Why the digest cannot be computed, if it cannot.
    fn fault(&self) -> Option<MicError> {
        if self.hmac_type() != Some(HMAC_MD5) {
            return Some(MicError::HmacType(self.hmac_type()));
        }
        if self.bitmap().is_none() {
            return Some(MicError::Bitmap);
        }
        let later: &[u8] = if self.is_cmts_mic() {
            &[CMTS_MIC]
        } else {
            &[CM_MIC, CMTS_MIC]
        };
        let selects = self.selects();
        let circular = later.iter().find(|number| selects.contains(number));
        circular.map(|&number| MicError::Circular(number))
    }

    /// HMAC-MD5 over the selected TLVs.
    fn compute(&self, file: &File, secret: &[u8]) -> [u8; LENGTH] {
        let selects = self.selects();
        let mut hmac = keyed(secret);
        let mut bytes = Vec::new();
        for (place, tlv) in file.tlvs.iter().enumerate() {
            if !selects.contains(&tlv.number) {
                continue;
            }
            bytes.clear();
            if place == self.place.0 {
                let mut zeroed = tlv.clone();
                if let Some(Value::Bytes(digest)) =
                    self.place_in(&mut zeroed).map(|tlv| &mut tlv.value)
                {
                    digest.fill(0);
                }
                zeroed.write(file.kind, &mut Vec::new(), &mut bytes);
            } else {
                tlv.write(file.kind, &mut Vec::new(), &mut bytes);
            }
            hmac.update(&bytes);
        }
        hmac.finalize().into_bytes().into()
    }

    /// Puts the digest into the file.
    fn set(&self, file: &mut File, digest: [u8; LENGTH]) -> Result<(), MicError> {
        let tlv = &mut file.tlvs[self.place.0];
        if let Some(place) = self.place_in(tlv) {
            place.value = Value::Bytes(digest.to_vec());
        }
        let length = length(tlv);
        if length > Tlv::longest(Kind::CableModem, &[VENDOR_SPECIFIC]) {
            return Err(MicError::TooLong(length));
        }
        Ok(())
    }

    /// The TLV 43.6.3 in TLV 43.
    fn place_in<'a>(&self, tlv: &'a mut Tlv) -> Option<&'a mut Tlv> {
        let settings = &mut inner(tlv)[self.place.1];
        (inner(settings).iter_mut()).find(|tlv| tlv.number == DIGEST)
    }
}

/// The TLVs in a TLV.
fn inner(tlv: &mut Tlv) -> &mut [Tlv] {
    match &mut tlv.value {
        Value::Nested(tlvs) => tlvs,
        Value::Bare | Value::Bytes(_) => &mut [],
    }
}

/// The length of the value of a TLV whose inner lengths have one byte each.
fn length(tlv: &Tlv) -> usize {
    match &tlv.value {
        Value::Bare => 0,
        Value::Bytes(bytes) => bytes.len(),
        Value::Nested(tlvs) => {
            let header = |tlv: &Tlv| if tlv.value == Value::Bare { 1 } else { 2 };
            tlvs.iter().map(|tlv| header(tlv) + length(tlv)).sum()
        }
    }
}

impl Finding {
    /// Compares a digest with the computed one. A digest that does not match counts as stale here;
    /// `explain` decides from the CM MIC whether it is wrong instead.
    fn compare(found: Option<&[u8]>, computed: [u8; LENGTH]) -> Self {
        let (state, why) = match found {
            None => (State::Missing, "the file does not carry it".to_owned()),
            Some(found) if found == computed => (State::Right, String::new()),
            Some(found) if found.len() != LENGTH => (
                State::Wrong,
                format!("expected {LENGTH} B, found {} B", found.len()),
            ),
            Some([0, rest @ ..]) if rest.iter().all(|&byte| byte == 0) => (
                State::Wrong,
                "it consists of zeros: it was never computed".to_owned(),
            ),
            Some(_) => (State::Stale, CHANGED.to_owned()),
        };
        Self {
            state,
            found: found.map(<[u8]>::to_vec),
            computed: Some(computed),
            why,
        }
    }

    /// The finding on a digest that needs a secret, where none was given. `empty` is the digest
    /// with the empty secret.
    fn without_secret(found: Option<&[u8]>, empty: [u8; LENGTH]) -> Self {
        let compared = Self::compare(found, empty);
        match compared.state {
            State::Right => Self::unverifiable(
                found,
                "no secret was given; the digest is right with the empty secret".to_owned(),
            ),
            State::Stale => Self::unverifiable(found, "no secret was given".to_owned()),
            State::Wrong | State::Missing | State::Unverifiable => Self {
                computed: None,
                ..compared
            },
        }
    }

    fn unverifiable(found: Option<&[u8]>, why: String) -> Self {
        Self {
            state: State::Unverifiable,
            found: found.map(<[u8]>::to_vec),
            computed: None,
            why,
        }
    }

    /// Decides whether a digest that does not match is stale or wrong: stale if the CM MIC is
    /// stale, and wrong otherwise.
    fn explain(&mut self, is_stale: bool, cause: impl FnOnce() -> String) {
        if self.state == State::Stale && !is_stale {
            self.state = State::Wrong;
            self.why = cause();
        }
    }

    fn to_json(&self) -> Json {
        let hex = |bytes: &[u8]| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        };
        let mut json = json!({"state": self.state.name()});
        if let Some(found) = &self.found {
            json["found"] = hex(found).into();
        }
        if let Some(computed) = &self.computed {
            json["computed"] = hex(computed).into();
        }
        if !self.why.is_empty() {
            json["why"] = self.why.as_str().into();
        }
        json
    }
}

impl State {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Stale => "stale",
            Self::Wrong => "wrong",
            Self::Unverifiable => "unverifiable",
            Self::Missing => "missing",
        }
    }
}

impl Mics {
    /// The findings as JSON: `cm_mic`, `cmts_mic` and `extended_mic` (null if the file defines
    /// none), each with `state`, and with `found`, `computed` (hexadecimal) and `why` where there
    /// are. The extended MIC has `hmac_type` (null if absent), the list `selects` of types and
    /// `is_cmts_mic` too.
    pub fn to_json(&self) -> Json {
        let extended = self.extended.as_ref().map(|extended| {
            let mut json = extended.finding.to_json();
            json["hmac_type"] = extended.hmac_type.into();
            json["selects"] = extended.selects.clone().into();
            json["is_cmts_mic"] = extended.is_cmts_mic.into();
            json
        });
        json!({
            "cm_mic": self.cm.to_json(),
            "cmts_mic": self.cmts.to_json(),
            "extended_mic": extended,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"DOCSIS";

    // The digests of these files were computed with another implementation of MD5 and HMAC
    // (Python's), over the bytes put together by hand.

    /// TLVs 76, 18, 3, 24 and 25. TLV 76 is not covered by the CMTS MIC.
    const SETTINGS: &str = "4c0100 120110 030101 180a01020001080400989680 190401020002";
    const CM: &str = "b235d1678d59a15b8237f6b7ca4dce19";
    const CMTS: &str = "877c9445596e2845d8ccba6867bc3649";
    const CMTS_WITH_EMPTY_SECRET: &str = "774b31c023cb96aaab945987260d6c88";

    /// TLVs 76, 24, 70, 3 and 43 with a bitmap of 24, 25, 43, 70 and 76.
    const EXTENDED: &str = "4c0100 180a01020001080400989680 460401020001 030101 \
        2b280803ffffff 0621 010101 020a000000c0001000000208 0310";
    const EXTENDED_DIGEST: &str = "0d863146d9d5cb4c9faecb6861d462ac";
    const EXTENDED_CM: &str = "95f97401dee96590387a16a95767f4f6";
    const EXTENDED_CMTS: &str = "7ee2f0a0396ba9f76528d651d5b02132";

    /// TLVs 76, 24, 3 and 43 with a bitmap of 3, 6, 24, 43 and 76 and no digest of its own.
    const IMPLICIT: &str = "4c0100 180a01020001080400989680 030101 \
        2b160803ffffff 060f 010101 020a12000080001000000008";
    const IMPLICIT_CM: &str = "044771d972813c6f999ad58427f88671";
    const IMPLICIT_CMTS: &str = "e0a8f3126a0b6eba030e1509860ee331";

    #[track_caller]
    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
        let byte = |pair: &[char]| {
            let text: String = pair.iter().collect();
            u8::from_str_radix(&text, 16).expect("hexadecimal digits")
        };
        digits.chunks(2).map(byte).collect()
    }

    #[track_caller]
    fn file(hex: &[&str]) -> File {
        File::decode(&bytes(&hex.concat()))
    }

    #[track_caller]
    fn states(file: &File, secret: Option<&[u8]>) -> [State; 2] {
        let mics = verify(file, secret).expect("it is a modem's");
        [mics.cm.state, mics.cmts.state]
    }

    #[track_caller]
    fn signed() -> File {
        sign(&file(&[SETTINGS]), Which::All(SECRET)).expect("it can be signed")
    }

    /// Sets the value of the first TLV of a type.
    fn edit(file: &mut File, number: u8, value: &[u8]) {
        let tlv = file.tlvs.iter_mut().find(|tlv| tlv.number == number);
        tlv.expect("it has one").value = Value::Bytes(value.to_vec());
    }

    #[test]
    fn digests_are_those_of_another_implementation() {
        let mics = verify(&signed(), Some(SECRET)).expect("it is a modem's");
        assert_eq!(mics.cm.found, Some(bytes(CM)));
        assert_eq!(mics.cmts.found, Some(bytes(CMTS)));
        assert_eq!(
            (mics.cm.state, mics.cmts.state),
            (State::Right, State::Right)
        );
        assert_eq!((mics.cm.why, mics.extended), (String::new(), None));
    }

    #[test]
    fn a_new_file_gets_an_end_and_pads() {
        let length = bytes(SETTINGS).len();
        let bytes = signed().encode();
        assert_eq!(bytes[length..length + 2], [6, 16]);
        assert_eq!(bytes[length + 18..length + 20], [7, 16]);
        assert_eq!(bytes[length + 36], END);
        assert!(
            bytes.len().is_multiple_of(4) && bytes[length + 37..].iter().all(|&byte| byte == 0)
        );
        assert_eq!(sign(&signed(), Which::All(SECRET)), Ok(signed()));
        assert_eq!(sign(&signed(), Which::Cm), Ok(signed()));
    }

    #[test]
    fn digests_stay_where_they_stand() {
        let unpadded = file(&[SETTINGS, "00 0610", CM, "00 0710", CMTS]);
        let again = sign(&unpadded, Which::All(SECRET)).expect("it can be signed");
        let numbers = |file: &File| file.tlvs.iter().map(|tlv| tlv.number).collect::<Vec<_>>();
        assert_eq!(numbers(&again), numbers(&unpadded));
        assert_eq!(states(&again, Some(SECRET)), [State::Right; 2]);
    }

    #[test]
    fn digests_move_behind_the_settings() {
        for hex in [
            ["0610", CM, "0710", CMTS, SETTINGS, "ff"],
            [SETTINGS, "0710", CMTS, "0610", CM, "ff000000"],
        ] {
            let again = sign(&file(&hex), Which::All(SECRET));
            assert_eq!(again, Ok(signed()), "{hex:?}");
        }
    }

    #[test]
    fn the_cm_mic_alone_is_made_without_a_secret() {
        let signed = sign(&file(&[SETTINGS, "ff00"]), Which::Cm).expect("it can be signed");
        assert_eq!(states(&signed, None), [State::Right, State::Missing]);
        assert_eq!(signed.get(CM_MIC).and_then(Tlv::bytes), Some(&*bytes(CM)));
        assert!(signed.encode().len().is_multiple_of(4));
    }

    #[test]
    fn a_change_that_the_cmts_does_not_see_makes_the_cm_mic_stale() {
        let mut file = signed();
        edit(&mut file, 76, &[1]);
        assert_eq!(states(&file, Some(SECRET)), [State::Stale, State::Right]);
        let mics = verify(&file, Some(SECRET)).expect("it is a modem's");
        assert!(
            mics.cm.why.contains("CMTS MIC does not cover"),
            "{}",
            mics.cm.why
        );
        assert_ne!(mics.cm.found, mics.cm.computed.map(Vec::from));
    }

    #[test]
    fn a_change_that_the_cmts_sees_makes_both_stale() {
        let mut file = signed();
        edit(&mut file, 18, &[1]);
        assert_eq!(states(&file, Some(SECRET)), [State::Stale; 2]);
        assert_eq!(states(&file, None), [State::Stale, State::Unverifiable]);
    }

    #[test]
    fn another_secret_makes_the_cmts_mic_wrong() {
        assert_eq!(
            states(&signed(), Some(b"other")),
            [State::Right, State::Wrong]
        );
        let of_empty = file(&[SETTINGS, "0610", CM, "0710", CMTS_WITH_EMPTY_SECRET]);
        assert_eq!(states(&of_empty, Some(b"")), [State::Right; 2]);
        let mics = verify(&of_empty, Some(SECRET)).expect("it is a modem's");
        assert_eq!(mics.cmts.state, State::Wrong);
        assert!(mics.cmts.why.contains("empty secret"), "{}", mics.cmts.why);
    }

    #[test]
    fn a_tool_that_leaves_out_tlv_6_is_recognized() {
        let mut file = signed();
        let digest = legacy_digest(&without(&file, CM_MIC), SECRET);
        set(&mut file, CMTS_MIC, digest);
        let mics = verify(&file, Some(SECRET)).expect("it is a modem's");
        assert_eq!(mics.cmts.state, State::Wrong);
        assert!(
            mics.cmts.why.contains("left out TLV 6"),
            "{}",
            mics.cmts.why
        );
    }

    #[test]
    fn the_ipv6_address_is_covered_or_left_out() {
        let address = "3b10 20020000000000000000000000020002";
        let mut file = file(&[address, SETTINGS]);
        file = sign(&file, Which::All(SECRET)).expect("it can be signed");
        assert_eq!(states(&file, Some(SECRET)), [State::Right; 2]);
        let digest = legacy_digest(&without(&file, IPV6_ADDRESS), SECRET);
        assert_ne!(file.get(CMTS_MIC).and_then(Tlv::bytes), Some(&digest[..]));
        set(&mut file, CMTS_MIC, digest);
        assert_eq!(states(&file, Some(SECRET)), [State::Right; 2]);
    }

    #[test]
    fn what_was_never_computed_is_wrong_and_what_is_absent_is_missing() {
        let zeros = "00".repeat(16);
        let never = file(&[SETTINGS, "0610", &zeros, "0702 0102"]);
        assert_eq!(states(&never, Some(SECRET)), [State::Wrong; 2]);
        assert_eq!(states(&never, None), [State::Wrong; 2]);
        assert_eq!(states(&file(&[SETTINGS]), None), [State::Missing; 2]);
    }

    #[test]
    fn an_extended_digest_covers_what_the_bitmap_selects() {
        let zeros = "00".repeat(16);
        let signed = sign(&file(&[EXTENDED, &zeros]), Which::All(SECRET));
        let signed = signed.expect("it can be signed");
        let mics = verify(&signed, Some(SECRET)).expect("it is a modem's");
        let extended = mics.extended.expect("it has one");
        assert_eq!(extended.finding.found, Some(bytes(EXTENDED_DIGEST)));
        assert_eq!(mics.cm.found, Some(bytes(EXTENDED_CM)));
        assert_eq!(mics.cmts.found, Some(bytes(EXTENDED_CMTS)));
        assert_eq!(extended.selects, [24, 25, 43, 70, 76]);
        assert_eq!(
            [mics.cm.state, mics.cmts.state, extended.finding.state],
            [State::Right; 3]
        );
        // Only the bitmap covers TLV 70, and only the CMTS MIC covers TLV 3.
        for (number, expected) in [
            (70, [State::Stale, State::Right, State::Stale]),
            (3, [State::Stale, State::Stale, State::Right]),
        ] {
            let mut file = signed.clone();
            edit(&mut file, number, &[7]);
            let mics = verify(&file, Some(SECRET)).expect("it is a modem's");
            let extended = mics.extended.expect("it has one").finding.state;
            assert_eq!(
                [mics.cm.state, mics.cmts.state, extended],
                expected,
                "{number}"
            );
        }
    }

    #[test]
    fn a_short_extended_digest_is_wrong_and_made_whole() {
        let short = file(&["2b0f0803ffffff0608 010101 02011c 0300"]);
        let short = File {
            tlvs: vec![short.tlvs[0].clone()],
            ..short
        };
        let mics = verify(&short, None).expect("it is a modem's");
        let extended = mics.extended.expect("it has one");
        assert_eq!(extended.finding.state, State::Wrong);
        let signed = sign(&short, Which::All(SECRET));
        let mics = verify(&signed.expect("it can be signed"), Some(SECRET));
        let extended = mics.expect("it is a modem's").extended.expect("it has one");
        assert_eq!(extended.finding.state, State::Right);
    }

    #[test]
    fn without_a_digest_of_its_own_tlv_7_is_the_extended_digest() {
        let signed = sign(&file(&[IMPLICIT]), Which::All(SECRET)).expect("it can be signed");
        let mics = verify(&signed, Some(SECRET)).expect("it is a modem's");
        assert_eq!(mics.cm.found, Some(bytes(IMPLICIT_CM)));
        assert_eq!(mics.cmts.found, Some(bytes(IMPLICIT_CMTS)));
        let extended = mics.extended.expect("it has one");
        assert!(extended.is_cmts_mic);
        assert_eq!([mics.cmts.state, extended.finding.state], [State::Right; 2]);
    }

    #[test]
    fn an_extended_digest_that_cannot_be_computed_is_said_so() {
        for (settings, fault) in [
            ("010102 02011c", MicError::HmacType(Some(2))),
            ("01012b 02011c", MicError::HmacType(Some(43))),
            ("02011c 020110", MicError::HmacType(None)),
            ("010101 010101", MicError::Bitmap),
            ("010101 020101", MicError::Circular(7)),
        ] {
            let file = file(&["2b0d0803ffffff0606", settings]);
            let mics = verify(&file, Some(SECRET)).expect("it is a modem's");
            let found = mics.extended.expect("it has one").finding;
            let state = match fault {
                MicError::Circular(_) => State::Wrong,
                _ => State::Unverifiable,
            };
            assert_eq!((found.state, found.why), (state, fault.to_string()));
            assert_eq!(sign(&file, Which::All(SECRET)), Err(fault));
            assert!(sign(&file, Which::Cm).is_ok());
        }
        let full = format!("{}0602 0300", "ee00".repeat(123));
        let file = file(&["2bff 0803ffffff", &full]);
        assert_eq!(
            sign(&file, Which::All(SECRET)),
            Err(MicError::HmacType(None))
        );
    }

    #[test]
    fn a_vendors_own_setting_is_no_extended_mic() {
        let file = file(&["2b08 0803000001 0601 00", SETTINGS]);
        let mics = verify(&file, None).expect("it is a modem's");
        assert_eq!(mics.extended, None);
    }

    #[test]
    fn what_carries_no_digest_or_cannot_be_read_is_refused() {
        let mta = file(&["fe0101", "fe01ff"]);
        assert_eq!(verify(&mta, None), Err(MicError::Mta));
        assert_eq!(sign(&mta, Which::Cm), Err(MicError::Mta));
        let hidden = file(&["0600", "fe0101", SETTINGS]);
        assert_eq!(sign(&hidden, Which::Cm), Err(MicError::Mta));
        let cut = file(&[SETTINGS, "0bff01"]);
        assert_eq!(sign(&cut, Which::Cm), Err(MicError::Rest(3)));
        let behind = file(&[SETTINGS, "ff 0102"]);
        let signed = sign(&behind, Which::Cm).expect("it can be signed");
        assert_eq!(signed.rest, [1, 2]);
    }

    #[test]
    fn findings_are_written_as_json() {
        let mut file = signed();
        edit(&mut file, 76, &[1]);
        let json = verify(&file, None).expect("it is a modem's").to_json();
        assert_eq!(json["cm_mic"]["state"], "stale");
        assert_eq!(json["cm_mic"]["found"], CM);
        assert_eq!(json["cmts_mic"]["state"], "unverifiable");
        assert_eq!(json["cmts_mic"]["why"], "no secret was given");
        assert_eq!(json["extended_mic"], Json::Null);
    }
}
