//! The applications a scenario can name, and what each answers about itself.

use super::memory::{Datagrams, Own, Setting};
use super::stream::Pace;
use super::{
    Application, Direction, bulk, cbr, cloud_gaming, conference, game, half_life, isochronous,
    lld_game, ping, poisson, quake3, replay, responsiveness, speed_test, streaming, torrent, video,
    video_call, voice, web,
};
use crate::flow::Protocol;
use crate::metrics::{Measure, deadline};
use crate::time::Duration;
use crate::units::{ByteCount, Rate};

/// The list of applications.
macro_rules! applications {
    ($($(#[$doc:meta])* $variant:ident($config:ty),)+) => {
        /// What somebody does on the line.
        #[derive(
            Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(rename_all = "snake_case", deny_unknown_fields)]
        pub enum ApplicationConfig {
            $($(#[$doc])* $variant($config),)+
        }

        impl ApplicationConfig {
            /// What every application is, in the order of their names.
            pub fn list() -> Vec<About> {
                vec![$(<$config>::about()),+]
            }

            /// What it is, whatever its parameters.
            pub fn about(&self) -> About {
                match self {
                    $(Self::$variant(_) => <$config>::about(),)+
                }
            }

            fn definition(&self) -> &dyn Definition {
                match self {
                    $(Self::$variant(config) => config,)+
                }
            }
        }
    };
}

applications! {
    /// Files over TCP, or one transfer that never ends.
    Bulk(bulk::Config),
    /// Datagrams at a constant rate.
    Cbr(cbr::Config),
    /// A cloud game: video down, input up, both with a deadline.
    CloudGaming(cloud_gaming::Config),
    /// A video conference of fixed rate, both ways.
    Conference(conference::Config),
    /// A game's small packets, both ways.
    Game(game::Config),
    /// Half-Life: a player and the server, by published distributions.
    HalfLife(half_life::Config),
    /// Datagrams at even intervals that are returned at once, as irtt sends them.
    Isochronous(isochronous::Config),
    /// A modern game: a player and the server, as in the studies of low-latency DOCSIS.
    LldGame(lld_game::Config),
    /// Echo requests and their answers.
    Ping(ping::Config),
    /// Datagrams at random times, of equal or random size.
    Poisson(poisson::Config),
    /// Quake III: a player and the server, by published distributions.
    Quake3(quake3::Config),
    /// Packets of a capture, sent again at their times.
    Replay(replay::Config),
    /// Round trips per minute on a line that is filled for the purpose.
    Responsiveness(responsiveness::Config),
    /// Transfers for a time, and the throughput that is seen.
    SpeedTest(speed_test::Config),
    /// A video in segments, at a rate that follows the line.
    Streaming(streaming::Config),
    /// Connections to many peers that share one cap.
    Torrent(torrent::Config),
    /// A video call whose rate follows the line, by Google Congestion Control.
    VideoCall(video_call::Config),
    /// A telephone call, scored by the E-model.
    Voice(voice::Config),
    /// Web pages, one after the other.
    Web(web::Config),
}

/// What is to be known of an application, whatever its parameters.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Its name in scenarios and results.
    pub name: &'static str,
    /// What sets it apart from others.
    pub properties: &'static [Property],
    /// What it can report, the most telling first. It reports nothing else.
    pub measures: &'static [Measure],
}

/// What sets some applications apart, for those who judge, compare and draw what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// It sends datagrams, and its rate follows the line's.
    Adaptive,
    /// It takes what it can get, and so counts for Jain's index.
    Bulk,
    /// It is a game: where nothing of it was scored, its delay is judged by what games need.
    Game,
    /// It has more to send for as long as anything of it is under way.
    Greedy,
    /// It watches the other flows: where not all can be drawn, it is left out first.
    Probe,
    /// It moves data: runs are compared by its goodput.
    Transfer,
}

impl Property {
    /// Its name in the engine's description.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::Bulk => "bulk",
            Self::Game => "game",
            Self::Greedy => "greedy",
            Self::Probe => "probe",
            Self::Transfer => "transfer",
        }
    }
}

/// A parameter that does not make sense: the path of its key within the application's table, and what is expected there.
pub type Fault = (String, String);

/// What an application's parameters say about it.
pub(super) trait Definition {
    /// What it is, whatever its parameters.
    fn about() -> About
    where
        Self: Sized;
    /// `tcp` or `udp`; results know no third, so that echo requests count as datagrams.
    fn transport(&self) -> &'static str;
    /// The directions it can have; the first is the default.
    fn directions(&self) -> &'static [Direction];
    /// Which sides send application data (a request is data, an acknowledgement is not).
    fn carries_data(&self, direction: Direction) -> [bool; 2] {
        direction.sides()
    }
    /// How many remote hosts it uses.
    fn peers_wanted(&self) -> usize {
        1
    }
    /// TCP connections that it has open at the same time.
    fn connections(&self) -> u64 {
        0
    }
    /// Bytes that it may want to send at the same time.
    fn most_to_send(&self) -> f64 {
        f64::INFINITY
    }
    /// Its datagrams.
    fn datagrams(&self, direction: Direction) -> Datagrams {
        let _ = direction;
        Datagrams::NONE
    }
    /// What it keeps of its own.
    fn own_bytes(&self) -> Own {
        Own::default()
    }
    /// How many samples it takes.
    fn samples(&self, of: &Setting) -> f64 {
        let _ = of;
        0.0
    }
    /// Finds values that their types allow and that make no sense.
    fn check(&self) -> Result<(), Fault>;
    /// The application, in one of its directions.
    fn build(&self, direction: Direction) -> Box<dyn Application>;
}

impl ApplicationConfig {
    /// Its name in scenarios and results.
    pub fn name(&self) -> &'static str {
        self.about().name
    }

    /// `tcp` or `udp`.
    pub fn transport(&self) -> &'static str {
        self.definition().transport()
    }

    /// The protocol of its packets.
    pub fn protocol(&self) -> Protocol {
        match (self, self.transport()) {
            (Self::Ping(_), _) => Protocol::Icmp,
            (_, "tcp") => Protocol::Tcp,
            _ => Protocol::Udp,
        }
    }

    /// The direction it has unless the scenario says otherwise.
    pub fn default_direction(&self) -> Direction {
        self.definition().directions()[0]
    }

    /// Which sides send application data in this direction, by side.
    pub fn carries_data(&self, direction: Direction) -> [bool; 2] {
        self.definition().carries_data(direction)
    }

    /// How many remote hosts it uses; it makes do with fewer.
    pub fn peers_wanted(&self) -> usize {
        self.definition().peers_wanted()
    }

    /// TCP connections that it has open at the same time, at most.
    pub(crate) fn connections(&self) -> u64 {
        self.definition().connections()
    }

    /// Bytes that it may want to send at the same time, at most.
    pub(crate) fn most_to_send(&self) -> f64 {
        self.definition().most_to_send()
    }

    /// Its datagrams, at most.
    pub(crate) fn datagrams(&self, direction: Direction) -> Datagrams {
        self.definition().datagrams(direction)
    }

    /// What it keeps of its own, at most.
    pub(crate) fn own_bytes(&self) -> Own {
        self.definition().own_bytes()
    }

    /// How many samples it takes, at most.
    pub(crate) fn samples(&self, of: &Setting) -> f64 {
        self.definition().samples(of)
    }

    /// Whether it takes what it can get, and so counts for Jain's index.
    pub fn is_bulk(&self) -> bool {
        self.about().properties.contains(&Property::Bulk)
    }

    /// Finds values that their types allow and that make no sense.
    ///
    /// # Errors
    ///
    /// The path of the key within the application's table, and what is expected there.
    pub fn check(&self) -> Result<(), Fault> {
        self.definition().check()
    }

    /// The application. Its parameters have been [checked](Self::check).
    ///
    /// # Errors
    ///
    /// A sentence, if it cannot have this direction.
    pub fn build(&self, direction: Direction) -> Result<Box<dyn Application>, String> {
        let definition = self.definition();
        let possible = definition.directions();
        if possible.contains(&direction) {
            return Ok(definition.build(direction));
        }
        let possible: Vec<String> = possible
            .iter()
            .map(|direction| format!("\"{}\"", direction.name()))
            .collect();
        Err(format!(
            "the direction of {} can be {}, not \"{}\"",
            self.name(),
            possible.join(" or "),
            direction.name()
        ))
    }
}

/// A fault unless `holds`.
pub(super) fn ensure(holds: bool, key: &str, expected: &str) -> Result<(), Fault> {
    if holds {
        Ok(())
    } else {
        Err((key.to_owned(), expected.to_owned()))
    }
}

/// A datagram has room for its headers (IPv4 20 B, UDP 8 B) and at least one byte, and is an IP packet.
pub(super) fn ensure_datagram(size: ByteCount, key: &str) -> Result<(), Fault> {
    ensure(
        (29..=u64::from(u16::MAX)).contains(&size.0),
        key,
        "an IP packet of 29 B to 65535 B",
    )
}

/// Time between two packets: above what would drown the run in events, and not never.
pub(super) fn ensure_gap(gap: Duration, key: &str) -> Result<(), Fault> {
    ensure(
        (SHORTEST_GAP..=LONGEST_SPAN).contains(&gap),
        key,
        "a time between packets of 1 us to 24 h",
    )
}

/// A pause or the like: any length that a run could see the end of.
pub(super) fn ensure_span(span: Duration, key: &str) -> Result<(), Fault> {
    ensure(span <= LONGEST_SPAN, key, "at most 24 h")
}

/// A deadline that a packet can meet, and periods that hold packets enough to take a share of.
pub(super) fn ensure_scoring(scoring: &deadline::Config) -> Result<(), Fault> {
    ensure(
        (SHORTEST_DEADLINE..=LONGEST_DEADLINE).contains(&scoring.deadline),
        "scoring.deadline",
        "a time of 1 ms to 60 s",
    )?;
    ensure(
        (SHORTEST_PERIOD..=LONGEST_SPAN).contains(&scoring.period),
        "scoring.period",
        "a time of 100 ms to 24 h",
    )
}

/// Video whose frames and packets are neither too many nor too large to be told apart.
pub(super) fn ensure_video(format: &video::Format) -> Result<(), Fault> {
    ensure(
        (1..=1000).contains(&format.frame_rate),
        "frame_rate",
        "1 to 1000",
    )?;
    ensure((0.0..=1.0).contains(&format.sigma), "sigma", "0 to 1")?;
    ensure(
        (100..=u64::from(u16::MAX)).contains(&u64::from(format.packet)),
        "packet",
        "an IP packet of 100 B to 65535 B",
    )?;
    let frame = format.rate.0 / 8 / u64::from(format.frame_rate);
    ensure(
        (100..=1_000_000).contains(&frame),
        "rate",
        "a rate at which a frame has 100 B to 1 MB",
    )?;
    let interval = Pace::per_second(format.frame_rate).gap();
    ensure(
        format.spread <= interval,
        "spread",
        "at most the time between two frames",
    )
}

/// A rate at which packets of `size` are neither too dense nor too rare.
pub(super) fn ensure_rate(rate: Rate, size: ByteCount, key: &str) -> Result<(), Fault> {
    ensure(
        (SHORTEST_GAP..=LONGEST_SPAN).contains(&rate.time_for(size.0)),
        key,
        "a rate above zero, with at least 1 us between packets and at most 24 h",
    )
}

const SHORTEST_GAP: Duration = Duration::from_micros(1);
const SHORTEST_DEADLINE: Duration = Duration::from_millis(1);
const LONGEST_DEADLINE: Duration = Duration::from_secs(60);
const SHORTEST_PERIOD: Duration = Duration::from_millis(100);
const LONGEST_SPAN: Duration = Duration::from_secs(24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ApplicationConfig {
        toml::from_str(text).expect("a good application")
    }

    fn all() -> impl Iterator<Item = ApplicationConfig> {
        ApplicationConfig::list().into_iter().map(|about| {
            let parameters = match about.name {
                "replay" => "up = '0 200'",
                _ => "",
            };
            read(&format!("[{}]\n{parameters}", about.name))
        })
    }

    #[test]
    fn every_application_has_good_defaults_and_keeps_its_name() {
        for application in all() {
            assert_eq!(application.check(), Ok(()), "{}", application.name());
            let text = toml::to_string(&application).expect("it can be written");
            assert!(
                text.starts_with(&format!("[{}", application.name())),
                "{text}"
            );
            assert_eq!(read(&text), application);
            assert!(application.build(application.default_direction()).is_ok());
        }
    }

    /// Memory is reckoned from what applications say that they send and measure.
    #[test]
    fn every_application_says_what_it_sends_and_how_many_samples_it_takes() {
        for application in all() {
            let name = application.name();
            let datagrams = application.datagrams(application.default_direction());
            let sends = application.connections() > 0 || datagrams.pps.iter().sum::<f64>() > 0.0;
            assert!(sends, "{name}");
            let setting = Setting {
                duration: 60.0,
                rate: 1e6,
                rtt: 0.02,
            };
            // A transfer that never ends has no sample.
            let reports = !application.about().measures.is_empty() && name != "bulk";
            assert_eq!(application.samples(&setting) > 0.0, reports, "{name}");
        }
    }

    #[test]
    fn a_direction_that_cannot_be_is_refused_with_those_that_can() {
        let error =
            |text: &str, direction| read(text).build(direction).expect_err("it cannot have it");
        assert_eq!(
            error("[bulk]", Direction::Both),
            "the direction of bulk can be \"up\" or \"down\", not \"both\""
        );
        assert_eq!(
            error("[web]", Direction::Up),
            "the direction of web can be \"down\", not \"up\""
        );
        assert!(error("[ping]", Direction::Down).contains("\"up\""));
    }

    #[test]
    fn data_goes_where_the_direction_says_and_requests_are_data() {
        let carries = |text: &str, direction| read(text).carries_data(direction);
        assert_eq!(carries("[bulk]", Direction::Up), [true, false]);
        assert_eq!(carries("[cbr]", Direction::Down), [false, true]);
        assert_eq!(carries("[voice]", Direction::Both), [true, true]);
        assert_eq!(carries("[web]", Direction::Down), [true, true]);
        assert_eq!(carries("[ping]", Direction::Up), [true, true]);
    }

    #[test]
    fn values_that_make_no_sense_are_named_by_their_key() {
        let faults = [
            ("[cbr]\nrate = \"0 bit/s\"", "rate"),
            ("[cbr]\nrate = \"100 Gbit/s\"", "rate"),
            ("[cbr]\nsize = \"28 B\"", "size"),
            ("[cbr]\ngap = \"1 ns\"", "gap"),
            ("[poisson]\nsize = \"70 kB\"", "size"),
            ("[poisson]\ngap = \"0 s\"", "gap"),
            ("[game]\ninterval = \"0 s\"", "interval"),
            ("[game.scoring]\ndeadline = \"0 s\"", "scoring.deadline"),
            ("[game.scoring]\nperiod = \"1 ms\"", "scoring.period"),
            ("[cloud_gaming]\nrate = \"0 bit/s\"", "rate"),
            ("[cloud_gaming]\nframe_rate = 0", "frame_rate"),
            ("[cloud_gaming]\nspread = \"17 ms\"", "spread"),
            ("[cloud_gaming]\nkey_ratio = 0.5", "key_ratio"),
            ("[cloud_gaming]\nkey_interval = \"25 h\"", "key_interval"),
            ("[cloud_gaming]\npacket = \"28 B\"", "packet"),
            ("[conference]\nrate = \"20 kbit/s\"", "rate"),
            ("[conference]\nsigma = 2.0", "sigma"),
            ("[conference]\naudio = \"0 bit/s\"", "audio"),
            ("[half_life]\nsigma = -1.0", "sigma"),
            ("[quake3]\nplayers = 1", "players"),
            ("[quake3]\nclient_interval = \"0 s\"", "client_interval"),
            ("[ping]\nsize = \"7 B\"", "size"),
            ("[ping]\ninterval = \"0 s\"", "interval"),
            ("[ping]\ntimeout = \"0 s\"", "timeout"),
            ("[video_call]\naudio = \"0 bit/s\"", "audio"),
            ("[video_call]\nleast_rate = \"40 kbit/s\"", "least_rate"),
            ("[video_call]\nmost_rate = \"0 bit/s\"", "most_rate"),
            ("[video_call]\nstart_rate = \"3 Mbit/s\"", "start_rate"),
            ("[video_call]\nframe_rate = 0", "frame_rate"),
            ("[voice]\ninterval = \"20 s\"", "scoring.period"),
            ("[voice.scoring]\ngrace = \"11 s\"", "scoring.grace"),
            (
                "[voice.scoring.de_jitter]\nfixed = \"10 s\"",
                "scoring.de_jitter.fixed",
            ),
            (
                "[voice.scoring.de_jitter]\nfixed = \"0 s\"",
                "scoring.de_jitter.fixed",
            ),
            (
                "[voice]\ncodec = \"g729\"\ninterval = \"15 ms\"",
                "interval",
            ),
            ("[web]\nhttp2 = {}\nconnections = 8", "connections"),
            ("[web]\nhttp2 = {}\nbrowser = \"chrome_13\"", "browser"),
            ("[replay]\nup = \"0 200\"\nport = 80", "port"),
            ("[bulk]\nsize = \"0 B\"", "size"),
            ("[bulk]\nsize = \"1 MB\"\nfiles = 0", "files"),
            ("[bulk]\nfiles = 3", "files"),
            ("[bulk]\nsigma = 1.0", "sigma"),
            ("[bulk]\ngroup = 4", "group"),
            ("[bulk]\nsize = \"1 MB\"\nrest = \"1 s\"", "rest"),
            ("[bulk]\nsize = \"1 MB\"\nevery = \"1 s\"", "every"),
            ("[bulk]\nwrite = \"0 B\"", "write"),
            ("[isochronous]\ninterval = \"0 s\"", "interval"),
            ("[isochronous]\nsize = \"28 B\"", "size"),
            ("[responsiveness]\ninitial = 17", "initial"),
            ("[responsiveness]\ndistance = 1", "distance"),
            ("[responsiveness]\nlimit = \"1 s\"", "limit"),
            ("[responsiveness]\nshare = \"0 %\"", "share"),
            ("[speed_test]\nlength = \"0 s\"", "length"),
            ("[speed_test]\nconnections = 0", "connections"),
            ("[streaming]\nladder = []", "ladder"),
            (
                "[streaming]\nladder = [\"2 Mbit/s\", \"1 Mbit/s\"]",
                "ladder",
            ),
            ("[streaming]\nbuffer = \"30 s\"", "rule.buffer.cushion"),
            ("[streaming]\nstartup = \"0 s\"", "startup"),
            (
                "[streaming.rule.throughput]\nsafety = 0.0",
                "rule.throughput.safety",
            ),
            ("[torrent]\nburst = \"1 kB\"", "burst"),
            ("[torrent]\nrate = \"0 bit/s\"", "rate"),
            ("[web]\nconnections = 0", "connections"),
            ("[web]\npersistent = false\nhttp2 = {}", "persistent"),
            ("[web]\nhttp2 = { streams = 0 }", "http2.streams"),
            ("[web]\ndns = { timeout = \"0 s\" }", "dns.timeout"),
            ("[web]\ncertificates = \"0 B\"", "certificates"),
            ("[web]\nservers = 0", "servers"),
            ("[web]\nhtml = \"0 B\"", "html"),
            ("[web]\npage = \"69307 B\"", "page"),
            ("[web]\nrequest = \"0 B\"", "request"),
            ("[web]\nsigma = -1.0", "sigma"),
            ("[web]\nsigma = nan", "sigma"),
            ("[web]\nloads = 0", "loads"),
        ];
        for (text, key) in faults {
            let fault = read(text).check().expect_err(text);
            assert_eq!(fault.0, key, "{text}: {}", fault.1);
        }
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let error =
            toml::from_str::<ApplicationConfig>("[web]\ncolour = 1").expect_err("no colour");
        assert!(error.to_string().contains("unknown field `colour`"));
    }
}
