//! Queues that no flow passes cost a run nothing over time.

mod from_text;

use std::collections::BTreeSet;

use from_text::Tables;

#[test]
fn queues_that_no_flow_passes_have_no_rows_over_time_and_one_over_the_run() {
    let text = r#"
duration = "2 s"
results.interval = "1 s"
[link.cable.docsis.modem.home]
count = 20
[link.idle.point_to_point]
up.rate = "1 Mbit/s"
[link.wifi.dot11b.station.a]
count = 3
[host.home]
via = ["cable.home"]
[host.a]
via = ["wifi.a"]
[flow.f]
application = "ping"
host = "home"
on = "1-3"
[flow.g]
application = "ping"
host = "a"
on = "2"
"#;
    let tables = Tables::run(text, 1);
    let shown: BTreeSet<&str> = (tables.texts("queue_series", "queue").iter())
        .map(String::as_str)
        .collect();
    let expected = [
        "cable.home.1.down",
        "cable.home.1.up",
        "cable.home.2.down",
        "cable.home.2.up",
        "cable.home.3.down",
        "cable.home.3.up",
        "wifi.a.2.up",
        "wifi.down",
    ];
    assert_eq!(shown, BTreeSet::from(expected));
    assert_eq!(tables.texts("queues", "queue").len(), 2 * 20 + 2 + 4);
}
