//! The service flows of a DOCSIS 1.0 modem as its class of service (TLV 4).

use docsis_config::Tlv;

use super::note::Notes;
use super::{ModemOf, u16_tlv, u32_tlv};
use crate::scenario::cable::service_flow::FlowPlan;
use crate::units::{ByteCount, Rate};

const CLASS_OF_SERVICE: u8 = 4;

const CLASS: u8 = 1;
const DOWNSTREAM_RATE: u8 = 2;
const UPSTREAM_RATE: u8 = 3;
const UPSTREAM_BURST: u8 = 6;

pub(super) fn tlv(of: &ModemOf<'_>, flows: &[Vec<FlowPlan>; 2], notes: &mut Notes) -> Tlv {
    let [up, down] = [0, 1].map(|direction| &flows[direction][0].settings);
    let mut tlvs = vec![Tlv::new(CLASS, [1])];
    for (number, setting) in [(DOWNSTREAM_RATE, &down.rate), (UPSTREAM_RATE, &up.rate)] {
        if let Some((&Rate(rate), path)) = setting.given() {
            let rate = notes.at_most(path, rate, u64::from(u32::MAX));
            tlvs.push(u32_tlv(number, rate as u32));
        }
    }
    if let Some((&ByteCount(burst), path)) = up.burst.given() {
        let burst = notes.at_most(path, burst, u64::from(u16::MAX));
        tlvs.push(u16_tlv(UPSTREAM_BURST, burst as u16));
    }
    notes.line(format!(
        "{} is {}: its files hold the two rates and the upstream burst, and no settings of queues.",
        of.path,
        of.written.preset.title()
    ));
    Tlv::nested(CLASS_OF_SERVICE, tlvs)
}
