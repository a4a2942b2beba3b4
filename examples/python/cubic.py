"""CUBIC (RFC 9438) with HyStart, in whole segments as in Linux: headend's `cubic` once more."""

from math import floor, trunc

from headend import CongestionControl, Probability, cbrt


class Cubic(CongestionControl):
    c: float = 0.4
    beta: Probability = 0.7

    def __init__(self):
        self.alpha = 3.0 * (1.0 - self.beta) / (1.0 + self.beta)
        self.acked = 0.0
        self.epoch = self.last_loss = self.last_min = self.round_min = None
        self.round = self.samples = self.train_start = self.train_end = 0
        # In slow start, an acknowledgement adds two segments at most. HyStart watches the first.
        self.most_acked, self.is_first = 2, True

    def on_ack(self, ack):
        if ack.in_recovery:
            return
        if not ack.cwnd_limited:
            if self.epoch:  # such time does not count
                self.epoch[:2] = self.epoch[0] + ack.now - self.epoch[1], ack.now
        elif self.ssthresh is not None and self.cwnd >= self.ssthresh:
            self.avoid_congestion(ack)
        elif self.is_first and self.sees_queue(ack):
            self.ssthresh, self.is_first = self.cwnd, False
        else:
            self.cwnd += min(ack.newly_acked, self.most_acked * self.mss)
            if self.ssthresh is not None and self.cwnd >= self.ssthresh:
                self.cwnd, self.most_acked = self.ssthresh, 2

    def sees_queue(self, ack):  # HyStart: a long train of acknowledgements, or a longer delay
        if ack.round > self.round:
            self.round, self.last_min, self.round_min = ack.round, self.round_min, None
            self.samples, self.train_start, self.train_end = 0, ack.now, ack.now
        if ack.rtt is not None:
            self.round_min, self.samples = min(self.round_min or ack.rtt, ack.rtt), self.samples + 1
        if self.cwnd < 16 * self.mss:
            return False
        if ack.now - self.train_end <= 2_000_000:
            self.train_end = ack.now
            if ack.min_rtt and ack.now - self.train_start > ack.min_rtt // 2:
                return True
        last, is_known = self.last_min, self.last_min and self.round_min and self.samples >= 8
        return is_known and self.round_min >= last + max(min(last // 8, 16_000_000), 4_000_000)

    def avoid_congestion(self, ack):
        cwnd, acked = self.cwnd / self.mss, ack.newly_acked / self.mss
        if not self.epoch:
            w_max = max(self.last_loss[0], cwnd) if self.last_loss else cwnd
            self.epoch = [ack.now, ack.now, w_max, cbrt((w_max - cwnd) / self.c), cwnd]
        start, _, w_max, k, w_est = self.epoch
        w_est += self.alpha * acked / cwnd
        self.epoch[1], self.epoch[4] = ack.now, w_est
        t = (ack.now - start + (ack.srtt or 0)) * 1e-9 - k
        target = floor(trunc(self.c * t * t * t) + w_max)
        cwnd = self.cwnd // self.mss
        goals = [floor(cwnd / (goal - cwnd)) for goal in (target, floor(w_est)) if goal > cwnd]
        per = max(min([100.0 * cwnd, *goals, *([] if self.last_loss else [20.0])]), 2.0)
        if self.acked >= per:
            self.acked, self.cwnd = 0.0, self.cwnd + self.mss
        self.acked += acked
        self.cwnd += floor(self.acked / per) * self.mss
        self.acked -= floor(self.acked / per) * per

    def on_congestion(self, signal, ack):
        cwnd = self.cwnd / self.mss
        is_below = self.last_loss and cwnd < self.last_loss[0]  # fast convergence
        self.last_loss = (float(floor(cwnd * (1 + self.beta) / 2 if is_below else cwnd)), cwnd)
        self.epoch, self.acked, self.is_first = None, 0.0, False
        self.cwnd = self.ssthresh = ack.threshold(self.beta)
        if signal.kind == "timeout":
            self.cwnd, self.last_loss, self.most_acked = self.mss, None, 1

    def on_idle(self, restart_window):
        if restart_window < self.cwnd:
            self.cwnd, self.epoch = restart_window, None
