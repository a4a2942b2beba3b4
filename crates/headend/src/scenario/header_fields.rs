//! Fields of packet headers, as classifiers and hosts write them: addresses, IP protocols, Ethernet
//! types.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::net::{Ipv4Addr, Ipv6Addr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde::{Serialize, Serializer};

use crate::link::docsis::classifier::{IPV4, IPV6};

/// The address of a host: `"192.168.1.10"` or `"2001:db8::10"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// IPv4.
    V4(u32),
    /// IPv6.
    V6(u128),
}

/// Which addresses a condition holds for: `"laptop"`, `"10.0.0.0/24"`, `"10.0.0.1/255.0.0.255"`,
/// `"2001:db8::/32"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// Those of the host of this name.
    Host(String),
    /// The IPv4 addresses that agree with `address` in the bits of `mask`.
    V4 {
        /// The address.
        address: u32,
        /// The bits that count.
        mask: u32,
    },
    /// The IPv6 addresses that begin with the first `prefix` bits of `address`.
    V6 {
        /// The address.
        address: u128,
        /// The bits that count, from the first on.
        prefix: u8,
    },
}

/// The Ethernet address of a host: `"02:00:5e:00:00:01"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacAddress(pub u64);

/// Which Ethernet addresses a condition holds for: those that are `address` in the bits of `mask`,
/// and `address` has no others (MULPI Annex C, TLV 22.10.1). `"02:00:5e:00:00:01"`,
/// `"02:00:5e:00:00:00/ff:ff:ff:00:00:00"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacRange {
    /// The address.
    pub address: u64,
    /// The bits that count.
    pub mask: u64,
}

/// An IP protocol: `"icmp"`, `"tcp"`, `"udp"`, or its number; 256 is any, 257 is TCP or UDP (MULPI
/// Annex C, TLV 22.9.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpProtocol {
    /// ICMP, of whichever IP version.
    Icmp,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// By its number.
    Number(u16),
}

/// An Ethernet type: `"ipv4"`, `"ipv6"`, or its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EtherType(pub u16);

impl Network {
    /// The lowest and the highest of its IPv6 addresses, if it has any.
    pub fn ipv6_range(&self) -> Option<(u128, u128)> {
        let &Self::V6 { address, prefix } = self else {
            return None;
        };
        let rest = u128::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
        Some((address & !rest, address | rest))
    }
}

impl MacAddress {
    /// The highest of all.
    pub const MAX: u64 = (1 << 48) - 1;

    /// The address of six bytes.
    pub fn of(bytes: [u8; 6]) -> Self {
        Self((bytes.iter()).fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    }

    /// Its six bytes.
    pub fn bytes(self) -> [u8; 6] {
        let [_, _, bytes @ ..] = self.0.to_be_bytes();
        bytes
    }

    /// Whether it is the address of one host, neither of a group (IEEE 802) nor zero.
    pub fn is_of_one(self) -> bool {
        self.0 != 0 && self.bytes()[0] & 1 == 0
    }
}

impl MacRange {
    /// Whether an address is one of them.
    pub fn contains(self, MacAddress(found): MacAddress) -> bool {
        found & self.mask == self.address
    }
}

/// Something that is written as a text.
trait Text: Sized {
    const EXPECTED: &'static str;
    fn read(text: &str) -> Option<Self>;
}

impl Text for Address {
    const EXPECTED: &'static str = "an address such as \"192.168.1.10\" or \"2001:db8::10\"";

    fn read(text: &str) -> Option<Self> {
        let v4 = |address: Ipv4Addr| Self::V4(address.to_bits());
        let v6 = |address: Ipv6Addr| Self::V6(address.to_bits());
        let found = text.parse().map(v4).or_else(|_| text.parse().map(v6));
        found.ok()
    }
}

impl Text for Network {
    const EXPECTED: &'static str = "a host's name, or an address with a prefix length or mask such \
                                    as \"10.0.0.0/24\", \"10.0.0.0/255.0.0.255\" or \
                                    \"2001:db8::/32\"";

    fn read(text: &str) -> Option<Self> {
        if text.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.contains([':', '/']) {
            return Some(Self::Host(text.to_owned()));
        }
        let (address, mask) = match text.split_once('/') {
            Some((address, mask)) => (address, Some(mask)),
            None => (text, None),
        };
        let length = |most: u32| match mask {
            None => Some(most),
            Some(mask) => mask.parse().ok().filter(|length| *length <= most),
        };
        match Address::read(address)? {
            Address::V4(address) => {
                let dotted = mask.and_then(|mask| mask.parse::<Ipv4Addr>().ok());
                let of_length = |length: u32| !u32::MAX.checked_shr(length).unwrap_or(0);
                let mask = match dotted {
                    Some(mask) => mask.to_bits(),
                    None => of_length(length(32)?),
                };
                Some(Self::V4 { address, mask })
            }
            Address::V6(address) => {
                let prefix = length(128)? as u8;
                Some(Self::V6 { address, prefix })
            }
        }
    }
}

impl Text for MacAddress {
    const EXPECTED: &'static str = "an Ethernet address such as \"02:00:5e:00:00:01\"";

    fn read(text: &str) -> Option<Self> {
        let two_digits = |byte: &str| byte.len() == 2 && !byte.starts_with('+');
        let bytes: Option<Vec<u8>> = (text.split([':', '-']))
            .map(|byte| {
                u8::from_str_radix(byte, 16)
                    .ok()
                    .filter(|_| two_digits(byte))
            })
            .collect();
        Some(Self::of(bytes?.try_into().ok()?))
    }
}

impl Text for MacRange {
    const EXPECTED: &'static str = "an Ethernet address such as \"02:00:5e:00:00:01\", or one with \
                                    a mask such as \"02:00:5e:00:00:00/ff:ff:ff:00:00:00\"";

    fn read(text: &str) -> Option<Self> {
        let (address, mask) = text.split_once('/').unwrap_or((text, "ff:ff:ff:ff:ff:ff"));
        let (MacAddress(address), MacAddress(mask)) =
            (MacAddress::read(address)?, MacAddress::read(mask)?);
        Some(Self { address, mask })
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes().map(|byte| format!("{byte:02x}"));
        f.write_str(&bytes.join(":"))
    }
}

impl fmt::Display for MacRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        MacAddress(self.address).fmt(f)?;
        match self.mask {
            MacAddress::MAX => Ok(()),
            mask => write!(f, "/{}", MacAddress(mask)),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::V4(address) => Ipv4Addr::from_bits(address).fmt(f),
            Self::V6(address) => Ipv6Addr::from_bits(address).fmt(f),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Host(ref name) => f.write_str(name),
            Self::V4 { address, mask } => {
                let (address, ones) = (Ipv4Addr::from_bits(address), mask.leading_ones());
                if ones == u32::BITS {
                    address.fmt(f)
                } else if ones == mask.count_ones() {
                    write!(f, "{address}/{ones}")
                } else {
                    write!(f, "{address}/{}", Ipv4Addr::from_bits(mask))
                }
            }
            Self::V6 { address, prefix } => {
                let address = Ipv6Addr::from_bits(address);
                if prefix == 128 {
                    address.fmt(f)
                } else {
                    write!(f, "{address}/{prefix}")
                }
            }
        }
    }
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: Text> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::read(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

macro_rules! text {
    ($($name:ident: $example:literal),+) => {
        $(impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextVisitor(PhantomData))
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "format": stringify!($name),
                    "examples": [$example],
                })
            }
        })+
    };
}

text!(
    Address: "192.168.1.10",
    MacAddress: "02:00:5e:00:00:01",
    MacRange: "02:00:5e:00:00:00/ff:ff:ff:00:00:00",
    Network: "10.0.0.0/24"
);

/// Something that has a number, and perhaps a name.
trait Numbered: Sized {
    const EXPECTED: &'static str;
    const NAMES: &'static [&'static str];
    const MOST: u16;
    fn of_number(number: u16) -> Self;
    /// What stands at this place of the names.
    fn of_name(place: usize) -> Self;
    fn name_or_number(&self) -> Result<&'static str, u16>;
}

impl Numbered for IpProtocol {
    const EXPECTED: &'static str =
        "an IP protocol: \"icmp\", \"tcp\", \"udp\" or a number from 0 to 257";
    const NAMES: &'static [&'static str] = &["icmp", "tcp", "udp"];
    const MOST: u16 = 257;

    fn of_number(number: u16) -> Self {
        Self::Number(number)
    }

    fn of_name(place: usize) -> Self {
        [Self::Icmp, Self::Tcp, Self::Udp][place]
    }

    fn name_or_number(&self) -> Result<&'static str, u16> {
        match self {
            Self::Icmp => Ok("icmp"),
            Self::Tcp => Ok("tcp"),
            Self::Udp => Ok("udp"),
            Self::Number(number) => Err(*number),
        }
    }
}

impl Numbered for EtherType {
    const EXPECTED: &'static str =
        "an Ethernet type: \"ipv4\", \"ipv6\" or a number from 0 to 65535";
    const NAMES: &'static [&'static str] = &["ipv4", "ipv6"];
    const MOST: u16 = u16::MAX;

    fn of_number(number: u16) -> Self {
        Self(number)
    }

    fn of_name(place: usize) -> Self {
        Self([IPV4, IPV6][place])
    }

    fn name_or_number(&self) -> Result<&'static str, u16> {
        match self.0 {
            IPV4 => Ok("ipv4"),
            IPV6 => Ok("ipv6"),
            number => Err(number),
        }
    }
}

struct NumberedVisitor<T>(PhantomData<T>);

impl<T: Numbered> Visitor<'_> for NumberedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        let found = u16::try_from(number)
            .ok()
            .filter(|number| *number <= T::MOST);
        found
            .map(T::of_number)
            .ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        let place = T::NAMES.iter().position(|name| *name == text);
        place
            .map(T::of_name)
            .ok_or_else(|| E::unknown_variant(text, T::NAMES))
    }
}

macro_rules! numbered {
    ($($name:ident),+) => {
        $(impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.name_or_number() {
                    Ok(name) => serializer.serialize_str(name),
                    Err(number) => serializer.serialize_u16(number),
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(NumberedVisitor(PhantomData))
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let name = json_schema!({ "type": "string", "enum": <Self as Numbered>::NAMES });
                let most = <Self as Numbered>::MOST;
                let number = json_schema!({ "type": "integer", "minimum": 0, "maximum": most });
                json_schema!({ "anyOf": [name, number] })
            }
        })+
    };
}

numbered!(IpProtocol, EtherType);

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: for<'de> Deserialize<'de>>(json: &str) -> Result<T, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_network_is_a_host_or_an_address_with_the_bits_that_count() {
        let v4 = |address, mask| Ok(Network::V4 { address, mask });
        let v6 = |address, prefix| Ok(Network::V6 { address, prefix });
        assert_eq!(read("\"home.3\""), Ok(Network::Host("home.3".to_owned())));
        assert_eq!(read("\"10.0.0.1\""), v4(0x0a00_0001, u32::MAX));
        assert_eq!(read("\"10.0.0.1/24\""), v4(0x0a00_0001, 0xffff_ff00));
        assert_eq!(read("\"0.0.0.0/0\""), v4(0, 0));
        assert_eq!(
            read("\"10.0.0.1/255.0.0.255\""),
            v4(0x0a00_0001, 0xff00_00ff)
        );
        assert_eq!(read("\"2001:db8::/32\""), v6(0x2001_0db8 << 96, 32));
        assert_eq!(read("\"::1\""), v6(1, 128));
        for wrong in [
            "\"10.0.0\"",
            "\"10.0.0.1/33\"",
            "\"::1/129\"",
            "\"\"",
            "\"10.0.0.1/\"",
            "5",
        ] {
            let error = read::<Network>(wrong).expect_err(wrong);
            assert!(
                error.contains("expected a host's name, or an address"),
                "{error}"
            );
        }
    }

    #[test]
    fn an_ethernet_address_is_six_bytes_and_its_mask_says_which_bits_count() {
        assert_eq!(
            read("\"02:00:5e:00:00:01\""),
            Ok(MacAddress(0x0200_5e00_0001))
        );
        assert_eq!(
            read("\"02-00-5E-00-00-FF\""),
            Ok(MacAddress(0x0200_5e00_00ff))
        );
        let maker = MacRange::read("02:00:5e:00:00:00/ff:ff:ff:00:00:00").expect("a range");
        assert!(maker.contains(MacAddress(0x0200_5eab_cdef)));
        assert!(!maker.contains(MacAddress(0x0200_5fab_cdef)));
        let one = MacRange::read("02:00:5e:00:00:01").expect("an address");
        assert!(one.contains(MacAddress(0x0200_5e00_0001)));
        assert!(!one.contains(MacAddress(0x0200_5e00_0002)));
        for wrong in [
            "\"02:00:5e:00:00\"",
            "\"02:00:5e:00:00:01:02\"",
            "\"02:00:5e:00:00:1\"",
            "\"02:00:5e:00:00:+1\"",
            "\"02:00:5e:00:00:0g\"",
            "5",
        ] {
            let error = read::<MacAddress>(wrong).expect_err(wrong);
            assert!(
                error.contains("expected an Ethernet address such as"),
                "{error}"
            );
        }
        assert!(read::<MacRange>("\"02:00:5e:00:00:01/24\"").is_err());
    }

    #[test]
    fn a_prefix_is_a_range_of_addresses() {
        let range = |text: &str| Network::read(text).expect(text).ipv6_range();
        assert_eq!(range("::100/120"), Some((0x100, 0x1ff)));
        assert_eq!(range("::/0"), Some((0, u128::MAX)));
        assert_eq!(range("::7"), Some((7, 7)));
        assert_eq!(range("10.0.0.0/8"), None);
    }

    #[test]
    fn what_was_read_is_written_the_same_way() {
        for text in [
            "\"laptop\"",
            "\"10.0.0.1\"",
            "\"10.0.0.0/24\"",
            "\"10.0.0.0/255.0.0.255\"",
            "\"0.0.0.0/0\"",
            "\"2001:db8::/32\"",
            "\"2001:db8::1\"",
        ] {
            let network: Network = read(text).expect(text);
            assert_eq!(
                serde_json::to_string(&network).expect("it has a text"),
                text
            );
        }
        for text in ["\"icmp\"", "\"udp\"", "47", "257"] {
            let protocol: IpProtocol = read(text).expect(text);
            assert_eq!(
                serde_json::to_string(&protocol).expect("it has a text"),
                text
            );
        }
        for text in [
            "\"02:00:5e:00:00:01\"",
            "\"02:00:00:00:00:00/ff:00:00:00:00:00\"",
        ] {
            let range: MacRange = read(text).expect(text);
            assert_eq!(serde_json::to_string(&range).expect("it has a text"), text);
        }
        assert_eq!(read("\"ipv6\""), Ok(EtherType(0x86dd)));
        assert_eq!(read("2048"), read::<EtherType>("\"ipv4\""));
    }

    #[test]
    fn a_number_out_of_range_or_an_unknown_name_is_refused() {
        let error = |json: &str| read::<IpProtocol>(json).expect_err(json);
        assert!(error("258").contains("a number from 0 to 257"));
        assert!(error("\"tpc\"").contains("unknown variant `tpc`"));
        assert!(read::<EtherType>("65536").is_err());
    }
}
