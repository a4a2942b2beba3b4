"""The list of readers: every kind of file that ``headend import`` reads."""

from __future__ import annotations

from headend.measurement.crusader import CRUSADER
from headend.measurement.csv_file import CSV_FILE
from headend.measurement.flent import FLENT
from headend.measurement.iperf3 import IPERF3
from headend.measurement.irtt import IRTT
from headend.measurement.ndt7 import NDT7
from headend.measurement.network_quality import NETWORK_QUALITY
from headend.measurement.ookla import OOKLA
from headend.measurement.ping_log import PING_LOG
from headend.measurement.reader import Reader
from headend.measurement.ripe_atlas import RIPE_ATLAS

#: In the order in which they are tried: those that know their files by names of fields before those
#: that know them by the form of lines. RIPE Atlas has the names of Ookla's messages and others.
READERS: tuple[Reader, ...] = (
    CRUSADER,
    FLENT,
    IRTT,
    IPERF3,
    RIPE_ATLAS,
    NDT7,
    NETWORK_QUALITY,
    OOKLA,
    PING_LOG,
    CSV_FILE,
)
