//! The name of the server that a connection is for, from the first bytes that the client sends: the
//! server name of a TLS `ClientHello` (RFC 8446 §4.1.2, RFC 6066 §3), or the host of an HTTP/1
//! request (RFC 9112 §3.2).
//!
//! The bytes come from any program and may be cut off. A name is taken only if it is whole and has
//! no characters but those of names and addresses, so that it can be shown as it is.
//!
//! A `ClientHello` with post-quantum keys is longer than a segment, and its extensions are in any
//! order: more of the stream finds more names. QUIC's are encrypted and are not found.

/// The name in the first bytes of a stream, in lower case and without a port.
pub fn find(bytes: &[u8]) -> Option<String> {
    let name = match bytes.first()? {
        &HANDSHAKE => of_tls(bytes),
        b'A'..=b'Z' => of_http(bytes),
        _ => None,
    }?;
    is_name(name).then(|| String::from_utf8_lossy(name).to_ascii_lowercase())
}

/// The type of a TLS record that holds a handshake (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;
/// The type of the handshake's first message (RFC 8446 §4).
const CLIENT_HELLO: u8 = 1;
/// The extension with the server name, and the type of name in it (RFC 6066 §3).
const SERVER_NAME: usize = 0;
const HOST_NAME: u8 = 0;
/// The most characters of a host name (RFC 1035 §2.3.4).
const LONGEST: usize = 255;

fn of_tls(bytes: &[u8]) -> Option<&[u8]> {
    let mut record = Reader(bytes);
    let [HANDSHAKE, 3, _] = record.take(3)? else {
        return None;
    };
    let mut hello = record.part(2)?;
    if hello.take(1)? != [CLIENT_HELLO] {
        return None;
    }
    let mut hello = hello.part(3)?;
    // The version and the random bytes.
    hello.take(2 + 32)?;
    // The session, the cipher suites and the ways of compression.
    for prefix in [1, 2, 1] {
        let length = hello.number(prefix)?;
        hello.take(length)?;
    }
    let mut extensions = hello.part(2)?;
    loop {
        let kind = extensions.number(2)?;
        let length = extensions.number(2)?;
        let content = extensions.take(length)?;
        if kind == SERVER_NAME {
            let mut names = Reader(content).part(2)?;
            if names.take(1)? != [HOST_NAME] {
                return None;
            }
            let length = names.number(2)?;
            return names.take(length);
        }
    }
}

fn of_http(bytes: &[u8]) -> Option<&[u8]> {
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let request = lines.next()?.trim_ascii_end();
    let version = request.rsplit(|&byte| byte == b' ').next()?;
    if !version.starts_with(b"HTTP/1.") {
        return None;
    }
    for line in lines {
        let line = line.strip_suffix(b"\n")?.trim_ascii_end();
        if line.is_empty() {
            return None;
        }
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            continue;
        };
        if line[..colon].eq_ignore_ascii_case(b"host") {
            return Some(without_port(line[colon + 1..].trim_ascii()));
        }
    }
    None
}

/// A host without its port; an IPv6 address keeps its brackets.
fn without_port(host: &[u8]) -> &[u8] {
    let is_digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    match host.iter().rposition(|&byte| byte == b':') {
        Some(colon) if is_digits(&host[colon + 1..]) => &host[..colon],
        _ => host,
    }
}

fn is_name(name: &[u8]) -> bool {
    let is_allowed =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
    let inner = match name {
        [b'[', inner @ .., b']'] => inner,
        _ => name,
    };
    (1..=LONGEST).contains(&inner.len()) && inner.iter().all(is_allowed)
}

/// Bytes that are read from their start.
#[derive(Debug, Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of `count` bytes.
    fn number(&mut self, count: usize) -> Option<usize> {
        let bytes = self.take(count)?;
        Some(
            bytes
                .iter()
                .fold(0, |sum, &byte| sum << 8 | usize::from(byte)),
        )
    }

    /// The part whose length is the next number of `count` bytes; what is there of it, if its end
    /// is cut off.
    fn part(&mut self, count: usize) -> Option<Self> {
        let length = self.number(count)?.min(self.0.len());
        self.take(length).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes behind their length in `count` bytes.
    fn prefixed(count: usize, bytes: &[u8]) -> Vec<u8> {
        let length = (bytes.len() as u32).to_be_bytes();
        [&length[4 - count..], bytes].concat()
    }

    /// A `ClientHello` with these extensions, in a record.
    fn hello(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let extensions: Vec<u8> = extensions
            .iter()
            .flat_map(|(kind, content)| [&kind.to_be_bytes(), &prefixed(2, content)[..]].concat())
            .collect();
        let body = [
            &[3, 3][..],
            &[9; 32],
            &prefixed(1, &[8; 32]),
            &prefixed(2, &[0x13, 1, 0x13, 2]),
            &prefixed(1, &[0]),
            &prefixed(2, &extensions),
        ]
        .concat();
        let message = [&[CLIENT_HELLO][..], &prefixed(3, &body)].concat();
        [&[HANDSHAKE, 3, 1][..], &prefixed(2, &message)].concat()
    }

    fn server_name(name: &[u8]) -> (u16, Vec<u8>) {
        let name = [&[HOST_NAME][..], &prefixed(2, name)].concat();
        (0, prefixed(2, &name))
    }

    #[test]
    fn the_server_name_of_a_client_hello_is_found_among_its_extensions() {
        let alpn = (16, b"\0\x03\x02h2".to_vec());
        let bytes = hello(&[alpn.clone(), server_name(b"WWW.Example.org"), alpn]);
        assert_eq!(find(&bytes).as_deref(), Some("www.example.org"));
        assert_eq!(find(&hello(&[server_name(b"a")])).as_deref(), Some("a"));
        assert_eq!(find(&hello(&[])), None);
    }

    #[test]
    fn a_client_hello_may_be_cut_off_behind_its_server_name() {
        let padding = (21, vec![0; 1600]);
        let bytes = hello(&[server_name(b"example.org"), padding.clone()]);
        assert_eq!(find(&bytes[..1400]).as_deref(), Some("example.org"));
        let bytes = hello(&[padding, server_name(b"example.org")]);
        assert_eq!(find(&bytes[..1400]), None);
        assert_eq!(find(&bytes).as_deref(), Some("example.org"));
        for length in 0..bytes.len() {
            assert_eq!(find(&bytes[..length]), None, "the first {length} bytes");
        }
    }

    #[test]
    fn the_host_of_a_request_is_found_without_its_port() {
        for (host, expected) in [
            ("Host: example.org", Some("example.org")),
            ("hOsT:Example.ORG:8080 ", Some("example.org")),
            ("Accept: */*\r\nHost: 10.0.0.1:80", Some("10.0.0.1")),
            ("Host: [fd00::1]:443", Some("[fd00::1]")),
            ("Host: [fd00::1]", Some("[fd00::1]")),
            ("Host:", None),
            ("Host: a b", None),
            ("Host: \u{1b}[31m", None),
            ("\r\nHost: example.org", None),
            ("no header", None),
        ] {
            let request = format!("GET / HTTP/1.1\r\n{host}\r\n\r\n");
            assert_eq!(find(request.as_bytes()).as_deref(), expected, "{host}");
        }
        assert_eq!(find(b"GET / HTTP/1.1\r\nHost: example.o"), None);
        assert_eq!(find(b"SSH-2.0-x\r\nHost: example.org\r\n"), None);
        assert_eq!(find(b"PRI * HTTP/2.0\r\n\r\nSM\r\n"), None);
    }

    #[test]
    fn a_name_that_cannot_be_one_is_none() {
        let long = [b'a'; LONGEST + 1];
        for name in [&b""[..], b"a\0b", b"a/b", b"\xc3\xbc", b"a\n", &long] {
            assert_eq!(find(&hello(&[server_name(name)])), None, "{name:?}");
        }
        let mut other_kind = server_name(b"example.org");
        other_kind.1[2] = 1;
        assert_eq!(find(&hello(&[other_kind])), None);
    }

    proptest! {
        /// No bytes break the search, and what is found can be shown as it is.
        #[test]
        fn no_bytes_break_the_search(
            start in prop_oneof![
                Just(hello(&[(10, vec![1; 9]), server_name(b"example.org")])),
                Just(b"GET / HTTP/1.1\r\nHost: example.org\r\n".to_vec()),
                Just(Vec::new()),
            ],
            noise in prop::collection::vec(any::<u8>(), 0..50),
            at in any::<prop::sample::Index>(),
        ) {
            let mut bytes = start;
            let place = at.index(bytes.len() + 1);
            bytes.splice(place..bytes.len().min(place + noise.len()), noise);
            if let Some(name) = find(&bytes) {
                prop_assert!(!name.is_empty() && name.len() <= LONGEST + 2);
                prop_assert!(name.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}
