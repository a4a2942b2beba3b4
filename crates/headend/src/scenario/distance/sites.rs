//! Round-trip times to popular sites, as the Buffer Control guideline measured them from three
//! cities (its Appendix I).
//!
//! Of twenty sites, fifteen answered pings from cable lines in Louisville, Philadelphia and Boston.
//! A flow whose `rtt` is drawn from them gets the mean of one site; all are equally likely.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rng::Rng;
use crate::time::Duration;

/// Whose sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// All three cities: 45 means from 17.5 to 114.1 ms, 46.9 ms in the middle.
    All,
    /// Boston: 23.5 ms in the middle.
    Boston,
    /// Louisville: 64.4 ms in the middle.
    Louisville,
    /// Philadelphia: 29.8 ms in the middle.
    Philadelphia,
}

/// Pings of one site from one city.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// City.
    pub place: Place,
    /// Site.
    pub name: &'static str,
    /// Shortest round trip, microseconds.
    pub min_us: u32,
    /// Mean.
    pub mean_us: u32,
    /// Longest.
    pub max_us: u32,
    /// Standard deviation.
    pub deviation_us: u32,
}

impl Place {
    /// The sites' rows.
    pub fn sites(self) -> &'static [Site] {
        let city = SITES.len() / 3;
        match self {
            Self::All => &SITES,
            Self::Louisville => &SITES[..city],
            Self::Philadelphia => &SITES[city..2 * city],
            Self::Boston => &SITES[2 * city..],
        }
    }

    /// Draws the mean round-trip time of one of the sites.
    pub fn draw(self, rng: &mut Rng) -> Duration {
        let sites = self.sites();
        let site = sites[rng.below(sites.len() as u64) as usize];
        Duration::from_micros(u64::from(site.mean_us))
    }
}

const fn site(place: Place, name: &'static str, microseconds: [u32; 4]) -> Site {
    let [min_us, mean_us, max_us, deviation_us] = microseconds;
    Site {
        place,
        name,
        min_us,
        mean_us,
        max_us,
        deviation_us,
    }
}

/// Louisville, then Philadelphia, then Boston; minimum, mean, maximum, standard deviation.
static SITES: [Site; 45] = [
    site(
        Place::Louisville,
        "google",
        [59_418, 66_438, 95_109, 11_577],
    ),
    site(
        Place::Louisville,
        "facebook",
        [76_679, 84_106, 109_776, 12_423],
    ),
    site(
        Place::Louisville,
        "youtube",
        [59_941, 64_381, 80_176, 7_077],
    ),
    site(Place::Louisville, "yahoo", [27_541, 31_480, 49_308, 6_427]),
    site(
        Place::Louisville,
        "twitter",
        [49_896, 54_153, 68_763, 6_731],
    ),
    site(
        Place::Louisville,
        "wikipedia",
        [96_023, 102_138, 113_864, 5_706],
    ),
    site(
        Place::Louisville,
        "blogspot",
        [78_074, 85_050, 111_171, 12_247],
    ),
    site(Place::Louisville, "bing", [52_567, 54_095, 58_095, 1_663]),
    site(
        Place::Louisville,
        "ask.com",
        [48_803, 57_630, 105_847, 17_178],
    ),
    site(
        Place::Louisville,
        "blogger",
        [78_492, 80_977, 94_627, 4_591],
    ),
    site(
        Place::Louisville,
        "flickr",
        [44_963, 51_893, 83_761, 11_553],
    ),
    site(Place::Louisville, "picasa", [60_819, 65_974, 86_021, 8_515]),
    site(
        Place::Louisville,
        "carbonite",
        [65_278, 66_609, 67_667, 785],
    ),
    site(Place::Louisville, "dropbox", [44_682, 46_935, 48_379, 948]),
    site(Place::Louisville, "mozy", [52_311, 61_992, 92_663, 14_519]),
    site(
        Place::Philadelphia,
        "google",
        [25_506, 29_832, 39_677, 3_651],
    ),
    site(
        Place::Philadelphia,
        "facebook",
        [104_828, 111_788, 151_402, 13_298],
    ),
    site(
        Place::Philadelphia,
        "youtube",
        [19_256, 22_502, 30_712, 3_021],
    ),
    site(Place::Philadelphia, "yahoo", [16_373, 17_877, 19_220, 763]),
    site(
        Place::Philadelphia,
        "twitter",
        [99_981, 103_825, 106_229, 2_001],
    ),
    site(
        Place::Philadelphia,
        "wikipedia",
        [40_476, 45_755, 48_909, 2_505],
    ),
    site(
        Place::Philadelphia,
        "blogspot",
        [19_437, 24_126, 34_271, 4_509],
    ),
    site(Place::Philadelphia, "bing", [17_319, 23_413, 28_705, 3_294]),
    site(
        Place::Philadelphia,
        "ask.com",
        [16_790, 21_340, 25_292, 2_620],
    ),
    site(
        Place::Philadelphia,
        "blogger",
        [18_428, 22_739, 28_641, 3_632],
    ),
    site(
        Place::Philadelphia,
        "flickr",
        [16_031, 19_879, 24_671, 2_987],
    ),
    site(
        Place::Philadelphia,
        "picasa",
        [29_507, 35_926, 40_926, 3_393],
    ),
    site(
        Place::Philadelphia,
        "carbonite",
        [41_583, 47_811, 51_499, 2_920],
    ),
    site(
        Place::Philadelphia,
        "dropbox",
        [90_192, 95_050, 99_476, 3_150],
    ),
    site(
        Place::Philadelphia,
        "mozy",
        [89_233, 100_644, 134_534, 12_585],
    ),
    site(Place::Boston, "google", [32_095, 33_930, 41_913, 2_713]),
    site(Place::Boston, "facebook", [20_665, 21_785, 25_354, 1_321]),
    site(Place::Boston, "youtube", [15_564, 17_523, 23_248, 2_183]),
    site(Place::Boston, "yahoo", [20_583, 22_075, 26_173, 1_491]),
    site(Place::Boston, "twitter", [112_189, 114_093, 119_203, 2_052]),
    site(Place::Boston, "wikipedia", [46_592, 48_810, 52_118, 1_709]),
    site(Place::Boston, "blogspot", [22_111, 23_276, 26_561, 1_211]),
    site(Place::Boston, "bing", [21_534, 23_239, 26_544, 1_756]),
    site(Place::Boston, "ask.com", [21_068, 23_456, 26_592, 1_890]),
    site(Place::Boston, "blogger", [21_117, 24_711, 39_893, 5_172]),
    site(Place::Boston, "flickr", [21_741, 22_439, 24_095, 636]),
    site(Place::Boston, "picasa", [15_148, 17_998, 24_711, 3_231]),
    site(Place::Boston, "carbonite", [41_564, 44_163, 48_843, 2_562]),
    site(Place::Boston, "dropbox", [97_185, 99_011, 107_236, 2_777]),
    site(Place::Boston, "mozy", [93_630, 97_517, 107_675, 3_856]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn median_us(place: Place) -> u32 {
        let mut means: Vec<u32> = place.sites().iter().map(|site| site.mean_us).collect();
        means.sort_unstable();
        means[means.len() / 2]
    }

    #[test]
    fn each_city_has_fifteen_sites_and_its_published_average() {
        let averages = [
            (Place::Louisville, 64_923.0),
            (Place::Philadelphia, 48_167.0),
            (Place::Boston, 42_268.0),
        ];
        for (place, published) in averages {
            let sites = place.sites();
            assert_eq!(sites.len(), 15);
            assert!(sites.iter().all(|site| site.place == place));
            let sum: f64 = sites.iter().map(|site| f64::from(site.mean_us)).sum();
            assert!(
                (sum / 15.0 - published).abs() < 1.0,
                "{place:?}: {}",
                sum / 15.0
            );
        }
    }

    #[test]
    fn medians_are_those_of_the_documentation() {
        assert_eq!(median_us(Place::Louisville), 64_381);
        assert_eq!(median_us(Place::Philadelphia), 29_832);
        assert_eq!(median_us(Place::Boston), 23_456);
    }

    #[test]
    fn a_row_is_consistent() {
        for site in Place::All.sites() {
            assert!(
                site.min_us <= site.mean_us && site.mean_us <= site.max_us,
                "{site:?}"
            );
            assert!(site.deviation_us < site.max_us - site.min_us, "{site:?}");
        }
    }

    #[test]
    fn a_draw_is_one_of_the_means_and_every_site_is_drawn() {
        let mut rng = Rng::for_path(1, "flow.a.rtt");
        let mut drawn: Vec<u64> = (0..2000)
            .map(|_| Place::Boston.draw(&mut rng).as_nanos() / 1000)
            .collect();
        drawn.sort_unstable();
        drawn.dedup();
        let mut means: Vec<u64> = (Place::Boston.sites().iter())
            .map(|site| u64::from(site.mean_us))
            .collect();
        means.sort_unstable();
        assert_eq!(drawn, means);
    }
}
