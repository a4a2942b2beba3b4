//! PacketCable Multimedia in whole scenarios: service flows that are created and deleted during a
//! run, and whose quality of service changes.

mod from_text;

use std::collections::BTreeMap;

use from_text::Tables;
use headend::scenario::{Format, Scenario};

/// A modem with an upload that fills its buffer, and a call.
const LINE: &str = r#"
duration = "9 s"
results.interval = "500 ms"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "2 Mbit/s", queue.drop_tail.limit = "500 ms" }
downstream = { rate = "20 Mbit/s", queue.drop_tail.limit = "500 ms" }
[flow.call]
application = "voice"
port = 5004
[flow.upload]
application.cbr = { rate = "3 Mbit/s", size = "1000 B" }
direction = "up"
[flow.download]
application.cbr = { rate = "8 Mbit/s", size = "1000 B" }
direction = "down"
port = 8000
"#;

const CREATE: &str = r#"
[link.cable.docsis.change.gate]
at = "3 s"
service_flow = "voice"
create = { direction = "up", scheduling = "ugs", match.destination_port = 5004 }
"#;

const DELETE: &str = r#"
[link.cable.docsis.change.over]
at = "6 s"
service_flow = "voice"
delete = true
"#;

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, Format::Toml, &[], &BTreeMap::new()).map_err(|error| error.to_string())
}

#[track_caller]
fn row(tables: &Tables, queue: &str) -> usize {
    let names = tables.texts("queues", "queue");
    let row = names.iter().position(|name| name == queue);
    row.unwrap_or_else(|| panic!("no {queue} in {names:?}"))
}

#[track_caller]
fn count(tables: &Tables, queue: &str, column: &str) -> u64 {
    tables.integers("queues", column)[row(tables, queue)]
}

/// The series of a queue.
fn series(tables: &Tables, queue: &str, column: &str) -> Vec<f64> {
    let rows = tables.texts("queue_series", "queue").iter();
    let values = tables.floats("queue_series", column);
    let mine = rows.zip(values).filter(|(name, _)| *name == queue);
    mine.map(|(_, value)| *value).collect()
}

/// The number of packets, of all flows, that were discarded because their service flow was deleted.
fn deleted(tables: &Tables) -> u64 {
    let column = tables.integers("flows", "discarded_service_flow_deleted");
    column.iter().sum()
}

#[test]
fn a_service_flow_is_there_from_its_creation_to_its_deletion() {
    let tables = Tables::run(&format!("{LINE}{CREATE}{DELETE}"), 1);
    assert_eq!(
        tables.texts("queues", "queue"),
        &["cable.up", "cable.voice", "cable.down"]
    );
    // 50 packets a second for three seconds.
    let taken = count(&tables, "cable.voice", "packets_enqueued");
    assert!((147..=151).contains(&taken), "{taken}");
    let rates = series(&tables, "cable.voice", "rate_bps");
    let active: Vec<bool> = rates.iter().map(|rate| *rate > 50e3).collect();
    assert_eq!(active.len(), 18);
    for (interval, is_active) in active.iter().enumerate() {
        assert_eq!(
            *is_active,
            (6..12).contains(&interval),
            "{interval}: {rates:?}"
        );
    }
    // Grants come only while the service flow exists: 50 a second.
    let grants = count(&tables, "cable.voice", "grants");
    assert!((145..=155).contains(&grants), "{grants}");
    // With grants of its own, the call does not wait for the upload.
    let before = Tables::run(LINE, 1);
    let delay = |tables: &Tables| {
        let names = tables.texts("flows", "flow").iter();
        let mut rows = names.zip(tables.texts("flows", "direction"));
        let up = rows.position(|(name, way)| name == "call" && way == "up");
        tables.floats("flows", "delay_mean_ns")[up.expect("the call")]
    };
    assert!(delay(&tables) < 0.8 * delay(&before));
    assert!(deleted(&tables) <= 1);
}

#[test]
fn what_waits_in_a_deleted_service_flow_is_discarded_with_a_reason_of_its_own() {
    // The modem of each DOCSIS generation, and each time at which packets can be dequeued.
    for (preset, dequeue_at) in [
        ("docsis31", "map"),
        ("docsis31", "burst"),
        ("docsis30", "map"),
        ("docsis20", "map"),
        ("docsis11", "map"),
    ] {
        let text = LINE.replace("docsis31", preset)
            + &format!(
                r#"
[link.cable.docsis.service_flow.work]
direction = "up"
rate = "500 kbit/s"
dequeue_at = "{dequeue_at}"
queue.drop_tail.limit = "500 ms"
match.destination_port = 443
[link.cable.docsis.change.over]
at = "5 s"
service_flow = "work"
delete = true
"#
            );
        // The end of a run checks that every packet is accounted for.
        let tables = Tables::run(&text, 1);
        let lost = deleted(&tables);
        assert_eq!(
            lost,
            count(&tables, "cable.work", "discarded_service_flow_deleted")
        );
        // 500 ms at 500 kbit/s are 30 packets of 1018 B; some of them are already dequeued.
        assert!((25..=40).contains(&lost), "{preset} {dequeue_at}: {lost}");
        let rates = series(&tables, "cable.work", "rate_bps");
        assert!(
            rates[8] > 400e3 && rates[12..].iter().all(|rate| *rate == 0.0),
            "{rates:?}"
        );
        // The upload continues in the primary service flow, which has 2 Mbit/s.
        let rates = series(&tables, "cable.up", "rate_bps");
        let later = rates[14..].iter().sum::<f64>() / 4.0;
        assert!(later > 1.5e6, "{preset}: {rates:?}");
        let counted = count(&tables, "cable.work", "packets_enqueued");
        let left = count(&tables, "cable.work", "packets_dequeued");
        assert!(
            counted >= left && counted - left <= lost,
            "{counted} {left} {lost}"
        );
    }
}

#[test]
fn a_service_flow_can_be_deleted_at_any_point_of_its_request_and_grant() {
    // A request takes some 6 ms from its contention to its burst. The test deletes the service flow
    // at each 0.4 ms of that, in each scheduling type, while other requests contend.
    let types = ["best_effort", "ugs", "rtps", "nrtps", "pgs"];
    let mut lost = 0;
    for (place, preset) in ["docsis31", "docsis30", "docsis20", "docsis11"]
        .iter()
        .enumerate()
    {
        for step in 0..25_u64 {
            let scheduling = types[(step as usize + place) % types.len()];
            if scheduling == "pgs" && place > 0 {
                continue;
            }
            let dequeue_at = ["map", "burst", "request"][step as usize % 3];
            let at = 1000 * 1000 + 400 * step;
            let text = format!(
                r#"
duration = "1200 ms"
[link.cable.docsis]
preset = "{preset}"
upstream = {{ rate = "1 Mbit/s", capacity = "12 Mbit/s" }}
[link.cable.docsis.service_flow.work]
direction = "up"
rate = "600 kbit/s"
dequeue_at = "{dequeue_at}"
scheduling = "{scheduling}"
match.destination_port = 443
[link.cable.docsis.modem.home]
count = 8
[host]
family.via = ["cable.home"]
[flow.work]
application.poisson = {{ rate = "1 Mbit/s", size = "200 B" }}
direction = "up"
host = "family"
[flow.rest]
application.poisson = {{ rate = "300 kbit/s", size = "400 B" }}
direction = "up"
host = "family"
port = 80
[link.cable.docsis.change.over]
at = "{at} us"
service_flow = "work"
delete = true
"#
            );
            // The end of a run checks that every packet is accounted for.
            let tables = Tables::run(&text, step);
            lost += deleted(&tables);
            let up: u64 = (1..=8)
                .map(|home| {
                    count(
                        &tables,
                        &format!("cable.home.{home}.up"),
                        "packets_dequeued",
                    )
                })
                .sum();
            assert!(up > 100, "the others go on: {up}");
        }
    }
    assert!(lost > 1000, "{lost}");
}

#[test]
fn a_downstream_service_flow_is_deleted_as_well() {
    let text = format!(
        r#"{LINE}
[link.cable.docsis.change.come]
at = "2 s"
service_flow = "video"
create = {{ direction = "down", rate = "5 Mbit/s", match.source_port = 8000 }}
[link.cable.docsis.change.go]
at = "5 s"
service_flow = "video"
delete = true
"#
    );
    let tables = Tables::run(&text, 1);
    let lost = deleted(&tables);
    // 250 ms at 5 Mbit/s are 153 packets of 1018 B; one is already dequeued.
    assert!((150..=154).contains(&lost), "{lost}");
    assert_eq!(
        lost,
        count(&tables, "cable.video", "discarded_service_flow_deleted")
    );
    let rates = series(&tables, "cable.video", "rate_bps");
    assert!(
        rates[..4]
            .iter()
            .chain(&rates[10..])
            .all(|rate| *rate == 0.0),
        "{rates:?}"
    );
    assert!(rates[8] > 4e6, "{rates:?}");
}

#[test]
fn classifiers_can_be_others_from_a_time_on() {
    let text = format!(
        "{LINE}{CREATE}[link.cable.docsis.change.moved]\nat = \"6 s\"\nservice_flow = \"voice\"\n\
         match.destination_port = 9\n"
    );
    let tables = Tables::run(&text, 1);
    let taken = count(&tables, "cable.voice", "packets_enqueued");
    assert!((147..=151).contains(&taken), "{taken}");
    assert_eq!(deleted(&tables), 0);
    let scenario = parse(&text).expect("it can run");
    assert_eq!(
        scenario.warnings(),
        [
            "link.cable.docsis.change.moved.match: no packet of this scenario's flows matches, so \
             nothing is classified by it; no packet that passes there has its destination port"
        ]
    );
}

#[test]
fn a_scheduling_type_can_be_another_from_a_time_on() {
    // Best effort first, then unsolicited grants, then polls.
    let text = format!(
        r#"{LINE}
[link.cable.docsis.service_flow.voice]
direction = "up"
match.destination_port = 5004
[link.cable.docsis.change.a]
at = "3 s"
service_flow = "voice"
scheduling = "ugs"
[link.cable.docsis.change.b]
at = "6 s"
service_flow = "voice"
scheduling = "rtps"
"#
    );
    let tables = Tables::run(&text, 1);
    let taken = count(&tables, "cable.voice", "packets_enqueued");
    let left = count(&tables, "cable.voice", "packets_dequeued");
    assert!((445..=451).contains(&taken), "{taken}");
    assert!(taken - left <= 2, "{taken} {left}");
    // With unsolicited grants and with polls, the service flow does not contend.
    let contended = count(&tables, "cable.voice", "requests_contention");
    assert!((145..=152).contains(&contended), "{contended}");
}

#[test]
fn a_reserved_rate_can_be_another_from_a_time_on() {
    // Two modems, each of which could use the whole of a narrow channel.
    let text = r#"
duration = "9 s"
results.interval = "500 ms"
[link.cable.docsis]
preset = "docsis31"
upstream = { capacity = "10 Mbit/s", queue.drop_tail.limit = "200 ms" }
[link.cable.docsis.modem.one]
[link.cable.docsis.modem.two]
[host]
a.via = ["cable.one"]
b.via = ["cable.two"]
[flow.a]
application = "bulk"
direction = "up"
host = "a"
[flow.b]
application = "bulk"
direction = "up"
host = "b"
[link.cable.docsis.change.more]
at = "4 s"
modem = "one"
service_flow = "up"
minimum_reserved = "8 Mbit/s"
"#;
    let tables = Tables::run(text, 1);
    let rates = series(&tables, "cable.one.up", "rate_bps");
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
    let (before, after) = (mean(&rates[3..8]), mean(&rates[11..]));
    assert!((3.5e6..6.5e6).contains(&before), "{rates:?}");
    assert!(after > 7.4e6, "{rates:?}");
}

#[test]
fn aqm_can_be_disabled_during_a_run() {
    let text = LINE.replace(
        "queue.drop_tail.limit = \"500 ms\" }\ndownstream",
        "queue.docsis_pie.limit = \"500 ms\" }\ndownstream",
    ) + "[link.cable.docsis.change.off]\nat = \"5 s\"\nservice_flow = \"up\"\n\
         aqm_disabled = true\n";
    let tables = Tables::run(&text, 1);
    let delays = series(&tables, "cable.up", "delay_mean_ns");
    assert!(delays[9] < 60e6 && delays[16] > 150e6, "{delays:?}");
}

#[test]
fn one_modem_of_many_is_given_a_service_flow() {
    let text = r#"
duration = "3 s"
[link.cable.docsis]
preset = "docsis31"
[link.cable.docsis.modem]
home.count = 3
[host]
family.via = ["cable.home"]
[flow.call]
application = "voice"
host = "family"
port = 5004
[link.cable.docsis.change.gate]
at = "1 s"
modem = "home.2"
service_flow = "voice"
create = { direction = "up", scheduling = "ugs", match.destination_port = 5004 }
"#;
    let tables = Tables::run(text, 1);
    let names = tables.texts("queues", "queue");
    let with_voice: Vec<&String> = names
        .iter()
        .filter(|name| name.ends_with("voice"))
        .collect();
    assert_eq!(with_voice, ["cable.home.2.voice"]);
    let taken = count(&tables, "cable.home.2.voice", "packets_enqueued");
    assert!((97..=101).contains(&taken), "{taken}");
}

#[test]
fn the_same_run_has_the_same_results() {
    let text = format!("{LINE}{CREATE}{DELETE}");
    let [one, other] = [1, 1].map(|seed| {
        let tables = Tables::run(&text, seed);
        series(&tables, "cable.up", "delay_mean_ns")
    });
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

#[test]
fn changes_that_cannot_be_made_are_refused() {
    let wrong = |changes: &str| parse(&format!("{LINE}{changes}")).expect_err(changes);
    let again = CREATE
        .replace("change.gate", "change.again")
        .replace("3 s", "7 s");
    let ambitious = CREATE.replace(
        "scheduling = \"ugs\"",
        "scheduling.ugs = { size = \"1500 B\", interval = \"100 us\", grants = 120 }",
    );
    for (changes, expected) in [
        (
            format!("{CREATE}{again}"),
            "link.cable.docsis.change.again.service_flow: \"voice\" is or was a service flow of \
             that modem already",
        ),
        (
            format!("{CREATE}{DELETE}").replace("6 s", "2 s"),
            "link.cable.docsis.change.over.service_flow: there is no service flow \"voice\" at 2 \
             s: it is created later or deleted before",
        ),
        (
            DELETE.replace("\"voice\"", "\"up\""),
            "link.cable.docsis.change.over.service_flow: a modem always has its primary service \
             flows",
        ),
        (
            format!("{CREATE}{}", DELETE.replace("\"voice\"", "\"voise\"")),
            "link.cable.docsis.change.over.service_flow: no service flow is called \"voise\"; did \
             you mean \"voice\"?",
        ),
        (
            DELETE.replace("delete = true", "delete = true\nrate = \"1 Mbit/s\""),
            "link.cable.docsis.change.over.rate: a service flow that is deleted has none any more",
        ),
        (
            CREATE.replace("create", "rate = \"1 Mbit/s\"\ncreate"),
            "link.cable.docsis.change.gate.rate: what a service flow is created with stands in \
             `create.rate`",
        ),
        (
            CREATE.replace("create", "delete = true\ncreate"),
            "link.cable.docsis.change.gate.delete: expected `create` or `delete`, and not both",
        ),
        (
            CREATE.replace("\"voice\"", "\"down\""),
            "link.cable.docsis.change.gate.service_flow: \"down\" is or was a service flow",
        ),
        (
            CREATE.replace(", match.destination_port = 5004", ""),
            "link.cable.docsis.change.gate.create: a further service flow takes no packet unless \
             it says which",
        ),
        (
            CREATE.replace("\"ugs\"", "\"usg\""),
            "link.cable.docsis.change.gate.create.scheduling: unknown name \"usg\"; did you mean \
             \"ugs\"?",
        ),
        (
            ambitious,
            "link.cable.docsis.change.gate.create.scheduling: admission refused: its grants take ",
        ),
        (
            "[link.cable.docsis.change.x]\nat = \"1 s\"\nservice_flow = \"down\"\n\
             scheduling = \"ugs\"\n"
                .to_owned(),
            "link.cable.docsis.change.x.scheduling: scheduling types are for the upstream",
        ),
        (
            "[link.cable.docsis.change.x]\nat = \"1 s\"\nservice_flow = \"up\"\nmatch.port = 5\n"
                .to_owned(),
            "link.cable.docsis.change.x.match: a primary service flow takes what no classifier \
             claims",
        ),
        (
            "[link.cable.docsis.change.x]\nat = \"1 s\"\nservice_flow = \"up\"\n\
             minimum_reserved = \"3 Mbit/s\"\n"
                .to_owned(),
            "link.cable.docsis.change.x.minimum_reserved: a reserved rate of 3 Mbit/s is above the \
             maximum sustained rate of 2 Mbit/s",
        ),
    ] {
        let error = wrong(&changes);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn service_flows_that_are_not_there_at_the_same_time_are_admitted_one_by_one() {
    // Each takes more than half of the capacity that the channel has for unsolicited grants.
    let big = |name: &str, from: &str, to: &str| {
        format!(
            r#"
[link.cable.docsis.change.{name}_comes]
at = "{from}"
service_flow = "{name}"
create.direction = "up"
create.scheduling.ugs = {{ size = "1400 B", interval = "2 ms", grants = 70 }}
create.match.destination_port = {port}
[link.cable.docsis.change.{name}_goes]
at = "{to}"
service_flow = "{name}"
delete = true
"#,
            port = if name == "one" { 5004 } else { 443 },
        )
    };
    let apart = big("one", "1 s", "3 s") + &big("two", "4 s", "6 s");
    assert!(parse(&format!("{LINE}{apart}")).is_ok());
    let together = big("one", "1 s", "5 s") + &big("two", "4 s", "6 s");
    let error = parse(&format!("{LINE}{together}")).expect_err("they do not fit together");
    assert!(
        error.contains("admission refused: 2 service flows"),
        "{error}"
    );
}
