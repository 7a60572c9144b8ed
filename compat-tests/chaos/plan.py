"""What happens to whom, and when: the same for the same seed, whatever becomes of it."""

import dataclasses
import random

KILL, PAUSE, REPLACE, KILL_BROKER = "kill", "pause", "replace", "kill broker"
KILL_FEEDER, KILL_MACHINE = "kill feeder", "kill machine"
SHARES = {KILL: 32, PAUSE: 17, REPLACE: 18, KILL_BROKER: 18, KILL_FEEDER: 5, KILL_MACHINE: 10}

FIRST_AT_S = 3.0
DOWN_MAX_S = 1.5
SHORT_PAUSE_S = (0.1, 2.0)
LONG_PAUSE_S = (5.0, 12.0)  # beyond a session, and beyond a transaction
SAME_ID = 0.6
DURING_START = 0.3


@dataclasses.dataclass(frozen=True)
class Action:
    """`seconds`: how long it is down, or paused. `same_id`: whether the next process in this place has the transactional id
    of the last one, so that it fences that; what another one left open has to time out. `again` (of a broker): a share of
    its start after which it is killed once more, or None. Which of them count depends on what is done."""

    at: float
    what: str
    place: str
    seconds: float
    same_id: bool
    again: float | None

    def __str__(self):
        words = {
            KILL: f"kill {self.place}, again after {self.seconds:.1f} s",
            PAUSE: f"pause {self.place} for {self.seconds:.1f} s",
            REPLACE: f"pause {self.place} for {self.seconds:.1f} s, replaced meanwhile",
            KILL_BROKER: f"kill the broker, again after {self.seconds:.1f} s",
            KILL_FEEDER: f"kill the feeder, again after {self.seconds:.1f} s",
            KILL_MACHINE: f"kill the broker and all workers, again after {self.seconds:.1f} s",
        }[self.what]
        if self.what in (KILL, REPLACE, KILL_MACHINE):
            words += ", the same transactional id" if self.same_id else ", another transactional id"
        if self.what in (KILL_BROKER, KILL_MACHINE) and self.again is not None:
            words += ", and once more while it starts"
        return f"{self.at:.1f} s: {words}"


def make(seed, seconds, every, places):
    """The actions of so many seconds, one every so many on average, on the workers in `places`."""
    rng = random.Random(seed)
    actions = []
    at = FIRST_AT_S
    while at < seconds:
        what = rng.choices(list(SHARES), SHARES.values())[0]
        place = rng.choice(places)
        down, short, long = rng.uniform(0, DOWN_MAX_S), rng.uniform(*SHORT_PAUSE_S), rng.uniform(*LONG_PAUSE_S)
        pause = long if rng.random() < 0.5 else short
        same_id = rng.random() < SAME_ID
        again = rng.random() if rng.random() < DURING_START else None
        actions.append(Action(at, what, place, pause if what in (PAUSE, REPLACE) else down, same_id, again))
        at += rng.uniform(0.2, 1.8) * every
    return actions
