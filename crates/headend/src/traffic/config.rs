//! The list of applications that a scenario can use.

use super::definition::{About, Definition, Fault, Property};
use super::memory::{Datagrams, Own, Setting};
use super::{
    Application, Direction, autorate, bulk, cbr, cloud_gaming, conference, game, half_life,
    isochronous, lld_game, ping, poisson, quake3, real, replay, responsiveness, speed_test,
    streaming, torrent, video_call, voice, web,
};
use crate::flow::Protocol;

/// Declares the list of applications.
macro_rules! applications {
    ($($(#[$doc:meta])* $variant:ident($config:ty),)+) => {
        /// The application of a flow.
        #[derive(
            Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        #[serde(rename_all = "snake_case", deny_unknown_fields)]
        pub enum ApplicationConfig {
            $($(#[$doc])* $variant($config),)+
        }

        impl ApplicationConfig {
            /// Descriptions of all applications, in the order of their names.
            pub fn list() -> Vec<About> {
                vec![$(<$config>::about()),+]
            }

            /// All applications with their default parameters, in the order of their names.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant(<$config>::default())),+]
            }

            /// The description of this application, independent of its parameters.
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
    /// cake-autorate: probes through a router, whose rates follow the delay that they measure.
    Autorate(autorate::Config),
    /// Bulk transfer: files over TCP, or one transfer that never ends.
    Bulk(bulk::Config),
    /// Datagrams at a constant rate.
    Cbr(cbr::Config),
    /// A cloud game: video down and input up, both with a deadline.
    CloudGaming(cloud_gaming::Config),
    /// A video conference of fixed rate, in both directions.
    Conference(conference::Config),
    /// A game with small packets in both directions.
    Game(game::Config),
    /// Half-Life: one player and the server, by published distributions.
    HalfLife(half_life::Config),
    /// Datagrams at constant intervals that are returned at once, as irtt sends them.
    Isochronous(isochronous::Config),
    /// A modern game: one player and the server, as in the studies of low-latency DOCSIS.
    LldGame(lld_game::Config),
    /// Ping: echo requests and their replies.
    Ping(ping::Config),
    /// Datagrams at random times, of constant or random size.
    Poisson(poisson::Config),
    /// Quake III: one player and the server, by published distributions.
    Quake3(quake3::Config),
    /// A real program, which runs while the scenario does: `headend emulate`.
    Real(real::Config),
    /// The packets of a capture, sent again at their original times.
    Replay(replay::Config),
    /// Responsiveness: round trips per minute on a line that the test saturates.
    Responsiveness(responsiveness::Config),
    /// A speed test: parallel transfers for a limited time, and the throughput that the test shows.
    SpeedTest(speed_test::Config),
    /// Video streaming in segments, at a rate that adapts to the line.
    Streaming(streaming::Config),
    /// A torrent: connections to many peers that share one rate limit.
    Torrent(torrent::Config),
    /// A video call whose rate adapts to the line, by Google Congestion Control.
    VideoCall(video_call::Config),
    /// Telephone calls, scored by the E-model.
    Voice(voice::Config),
    /// Web pages, loaded one after the other.
    Web(web::Config),
}

impl ApplicationConfig {
    /// Name in scenarios and results.
    pub fn name(&self) -> &'static str {
        self.about().name
    }

    /// `tcp` or `udp`.
    pub fn transport(&self) -> &'static str {
        self.definition().transport()
    }

    /// Protocol of the packets.
    pub fn protocol(&self) -> Protocol {
        match (self, self.transport()) {
            (Self::Autorate(_) | Self::Ping(_), _) => Protocol::Icmp,
            (_, "tcp") => Protocol::Tcp,
            _ => Protocol::Udp,
        }
    }

    /// The direction if the scenario gives none.
    pub fn default_direction(&self) -> Direction {
        self.definition().directions()[0]
    }

    /// Which sides send application data in this direction, by side.
    pub fn carries_data(&self, direction: Direction) -> [bool; 2] {
        self.definition().carries_data(direction)
    }

    /// Number of remote hosts that it uses. It also runs with fewer.
    pub fn peers_wanted(&self) -> usize {
        self.definition().peers_wanted()
    }

    /// Largest number of TCP connections open at the same time.
    pub(crate) fn connections(&self) -> u64 {
        self.definition().connections()
    }

    /// Largest number of bytes that it has to send at the same time.
    pub(crate) fn most_to_send(&self) -> f64 {
        self.definition().most_to_send()
    }

    /// Upper bound of its datagrams.
    pub(crate) fn datagrams(&self, direction: Direction) -> Datagrams {
        self.definition().datagrams(direction)
    }

    /// Upper bound of the memory for its own state.
    pub(crate) fn own_bytes(&self) -> Own {
        self.definition().own_bytes()
    }

    /// Upper bound of the number of samples.
    pub(crate) fn samples(&self, of: &Setting) -> f64 {
        self.definition().samples(of)
    }

    /// Whether it uses all the capacity that it can get, and so counts for Jain's index.
    pub fn is_bulk(&self) -> bool {
        self.about().properties.contains(&Property::Bulk)
    }

    /// Whether its packets are those of a real program.
    pub fn is_real(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    /// Checks for values that their types allow but that make no sense.
    ///
    /// # Errors
    ///
    /// The path of the invalid key within the application's table, and the expected value.
    pub fn check(&self) -> Result<(), Fault> {
        self.definition().check()
    }

    /// Creates the application. Its parameters must have been [checked](Self::check).
    ///
    /// # Errors
    ///
    /// A sentence, if the application cannot have this direction.
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

    /// The engine estimates memory from the datagrams and samples that applications declare.
    #[test]
    fn every_application_says_what_it_sends_and_how_many_samples_it_takes() {
        // What a real program sends is not known beforehand.
        let simulated = all().filter(|application| !application.is_real());
        for application in simulated {
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
    fn an_impossible_direction_is_refused_and_the_possible_ones_are_named() {
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
