//! What containers of packets in order have to do, whatever they are made of: their tests.

use std::collections::VecDeque;

use proptest::prelude::*;

use crate::flow::FlowId;
use crate::packet::{Packet, Side};

/// What a container of packets in order is asked for.
#[derive(Debug)]
pub(crate) enum Step {
    /// One more.
    Push(Packet),
    /// The oldest, if there is one.
    Take,
    /// The newest.
    PopLast,
    /// That at an index.
    Remove(usize),
}

/// A container of packets in order.
pub(crate) trait InOrder {
    fn carry_out(&mut self, step: Step) -> Option<Packet>;
    fn front(&self) -> Option<&Packet>;
    fn iter(&self) -> impl Iterator<Item = &Packet>;
}

/// Steps in which packets are numbered; queues grow long in them and are emptied.
pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1_usize..20).prop_map(|count| (0, count)),
        2 => (1_usize..20).prop_map(|count| (1, count)),
        1 => (1_usize..3).prop_map(|count| (2, count)),
        1 => (0_usize..40).prop_map(|index| (3, index)),
    ];
    prop::collection::vec(step, 1..60).prop_map(|kinds| {
        let mut numbers = 0..;
        let mut push = || {
            Packet::datagram(
                FlowId(1),
                Side::Peer,
                numbers.next().unwrap_or(0),
                1500,
                1472,
            )
        };
        let mut steps = Vec::new();
        for (kind, number) in kinds {
            match kind {
                0 => steps.extend((0..number).map(|_| Step::Push(push()))),
                1 => steps.extend((0..number).map(|_| Step::Take)),
                2 => steps.extend((0..number).map(|_| Step::PopLast)),
                _ => steps.push(Step::Remove(number)),
            }
        }
        steps
    })
}

/// Carries steps out, and checks that the container holds after each what a deque would hold, and what `look` wants.
pub(crate) fn compare_with_a_deque<Q: InOrder>(
    steps: Vec<Step>,
    packets: &mut Q,
    look: impl Fn(&Q),
) {
    let mut model = VecDeque::new();
    for step in steps {
        let expected = match &step {
            Step::Push(packet) => {
                model.push_back(packet.seq);
                None
            }
            Step::Take => model.pop_front(),
            Step::PopLast => model.pop_back(),
            Step::Remove(index) => model.remove(*index),
        };
        let found = packets.carry_out(step);
        assert_eq!(found.map(|packet| packet.seq), expected);
        assert_eq!(
            packets.front().map(|packet| packet.seq),
            model.front().copied()
        );
        assert!(
            packets
                .iter()
                .map(|packet| packet.seq)
                .eq(model.iter().copied())
        );
        look(packets);
    }
}

/// Makes a container that has these methods of its own one that can be compared.
macro_rules! in_order {
    ($packets:ty) => {
        impl $crate::in_order::InOrder for $packets {
            fn carry_out(
                &mut self,
                step: $crate::in_order::Step,
            ) -> Option<$crate::packet::Packet> {
                match step {
                    $crate::in_order::Step::Push(packet) => {
                        let seq = packet.seq;
                        assert_eq!(self.push(packet).seq, seq);
                        None
                    }
                    $crate::in_order::Step::Take => (self.len() > 0).then(|| self.take()),
                    $crate::in_order::Step::PopLast => self.pop_last(),
                    $crate::in_order::Step::Remove(index) => self.remove(index),
                }
            }

            fn front(&self) -> Option<&$crate::packet::Packet> {
                self.front()
            }

            fn iter(&self) -> impl Iterator<Item = &$crate::packet::Packet> {
                self.iter()
            }
        }
    };
}
pub(crate) use in_order;
