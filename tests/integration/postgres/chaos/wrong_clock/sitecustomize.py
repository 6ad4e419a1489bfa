"""On the path of a process whose clock is wrong: libfaketime 0.9.10 refuses what `time.sleep` asks of the system (`clock_nanosleep` to a
time of the monotonic clock, EINVAL). Waiting for nothing takes as long."""

import select
import time


def sleep(seconds: float) -> None:
    select.select([], [], [], seconds)


time.sleep = sleep
