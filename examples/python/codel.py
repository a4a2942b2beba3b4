"""CoDel (RFC 8289), as a control law of one's own: the same numbers as headend's `codel`."""

from math import sqrt

from headend import ControlLaw, Duration


class CoDel(ControlLaw):
    target: Duration = "5 ms"
    interval: Duration = "100 ms"
    ecn: bool = True

    def __init__(self):
        if not self.target <= self.interval:
            raise ValueError("target must not be longer than interval")
        self.first_above = None
        self.drop_next = 0
        self.count = self.last_count = 0
        self.dropping = False

    def dequeue(self, backlog, line):
        if not self.is_standing(backlog, line):
            self.dropping = False
        elif self.dropping:
            while line.now >= self.drop_next:
                self.count += 1
                marked = self.signal(backlog)
                if not marked and not self.is_standing(backlog, line):
                    self.dropping = False
                    break
                self.drop_next += self.gap()
                if marked:
                    return marked
        else:
            marked = self.signal(backlog)
            self.start_dropping(line.now)
            if marked:
                return marked
            self.is_standing(backlog, line)
        return backlog.pop()

    def is_standing(self, backlog, line):
        """`ok_to_drop`: has every packet waited too long, for a whole interval?"""
        head = backlog.head
        if (
            head is None
            or head.sojourn < self.target
            or backlog.others + backlog.bytes - head.bytes <= line.max_packet
        ):
            self.first_above = None
            return False
        if self.first_above is None:
            self.first_above = line.now + self.interval
        return line.now >= self.first_above

    def start_dropping(self, now):
        self.dropping = True
        delta = self.count - self.last_count
        is_recent = now - self.drop_next < 16 * self.interval
        self.count = self.last_count = delta if delta > 1 and is_recent else 1
        self.drop_next = now + self.gap()

    def gap(self):
        """`control_law`: the drops come faster with the square root of their number."""
        return int(self.interval * (1 / sqrt(self.count)) + 0.5)

    def signal(self, backlog):
        """Mark the oldest packet, and give it to be sent; or discard it."""
        packet = backlog.pop()
        if self.ecn and backlog.mark(packet):
            return packet
        backlog.discard(packet)
        return None
