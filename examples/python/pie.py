"""PIE (RFC 8033), as a control law of one's own: the same numbers as headend's `pie`."""

from headend import ControlLaw, Duration, Probability, Size

TUNING = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)]


class Pie(ControlLaw):
    target: Duration = "15 ms"
    update_interval: Duration = "15 ms"
    alpha: float = 0.125
    beta: float = 1.25
    max_burst: Duration = "150 ms"
    mean_packet: Size = "1024 B"
    ecn: bool = True
    mark_limit: Probability = "10 %"

    def __init__(self):
        self.probability = self.delay = self.latest = self.burst_allowance = 0
        self.is_empty = True
        self.due = self.update_interval

    def enqueue(self, packet, backlog, line):
        self.catch_up(backlog, line)
        if backlog.fits(packet) and self.drops_early(backlog.bytes):
            may_mark = self.ecn and self.probability < self.mark_limit
            if not (may_mark and backlog.mark(packet)):
                return backlog.discard(packet)
        self.is_empty &= not backlog.push(packet)

    def drops_early(self, waiting):
        latest = self.latest if waiting else 0
        half = self.target // 2
        if self.probability == 0 and self.delay < half and latest < half:
            self.burst_allowance = self.max_burst
        is_calm = self.delay < half and self.probability < 0.2
        if self.burst_allowance > 0 or is_calm or waiting <= 2 * self.mean_packet:
            return False
        return self.random.uniform() < self.probability

    def dequeue(self, backlog, line):
        self.catch_up(backlog, line)
        packet = backlog.pop()
        if packet:
            self.latest = packet.sojourn
            self.is_empty = backlog.bytes == 0
        return packet

    def catch_up(self, backlog, line):
        self.is_empty |= backlog.bytes == 0
        while self.due <= line.now:
            if self.next_update is None:
                self.due = (line.now // self.update_interval + 1) * self.update_interval
                break
            self.control(self.latest if backlog.bytes else 0)
            self.due += self.update_interval

    update = catch_up

    @property
    def next_update(self):
        is_at_rest = self.probability == self.burst_allowance == self.delay == 0
        return None if self.is_empty and is_at_rest else self.due

    def control(self, delay):
        error = self.alpha * float(delay - self.target) + self.beta * float(delay - self.delay)
        divisor = next((divisor for most, divisor in TUNING if self.probability < most), 1.0)
        probability = self.probability + error / 1e9 / divisor
        if delay == self.delay == 0:
            probability *= 0.98
        self.probability = min(max(probability, 0.0), 1.0)
        self.delay = delay
        self.burst_allowance = max(self.burst_allowance - self.update_interval, 0)

    def internals(self):
        return {
            "drop_probability": self.probability,
            "burst_allowance": self.burst_allowance,
            "delay_estimate": self.delay,
        }
