"""Verifies the lock-free protocols exhaustively with Spin: each model holds, and each mutant (a model with one
protection removed) fails.

Run with: python3 -m pytest Tests/model       (needs spin and a C compiler; about a minute)

If a model fails, the trail is in the directory named by the message; `spin -t -p -g <defines> <model>` there replays it
step by step.
"""

import dataclasses
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

MODELS = Path(__file__).resolve().parent
COMPILER = os.environ.get("CC", "clang")  # twice as fast as gcc on spin's output, which takes longer to compile than to run
SECONDS_PER_STEP = 300

pytestmark = pytest.mark.skipif(not (shutil.which("spin") and shutil.which(COMPILER)), reason="spin or a C compiler is not installed")

ASSERTION = "assertion violated"
END_STATE = "invalid end state"
WRITE_MISSING = "assertion violated (ended||isOpen)"
WRITE_TOO_MANY = "assertion violated (sum==0)"
WRITE_TOO_LATE = "assertion violated  !(closed)"
ADJUSTMENT_LOST = "assertion violated ((limit<="


@dataclasses.dataclass(frozen=True)
class Configuration:
    """A model, the macros that select one of its configurations, and the statements that this configuration is known not to reach."""

    model: str
    defines: tuple = ()
    unreached: tuple = ()
    has_many_states: bool = False  # two million or more; with fewer, optimizing the program takes longer than it saves

    @property
    def name(self):
        return "-".join([self.model.removesuffix(".pml"), *self.defines])

    @property
    def reduction_is_sound(self):
        # Partial order reduction does not know that a `provided` clause makes the steps of one process depend on another process.
        return "HANDLER" not in self.defines


LOOP_NEVER_ENDS = ("-end-",)

CONFIGURATIONS = [
    Configuration("wake.pml"),
    Configuration("wake.pml", ("STOPPERS=1", "WAKERS=2")),
    Configuration("wake.pml", ("HANDLER", "STOPPERS=1")),
    Configuration("post.pml", ("SPURIOUS=0",), LOOP_NEVER_ENDS),
    Configuration("post.pml", ("HANDLER",), LOOP_NEVER_ENDS, has_many_states=True),
    Configuration("post.pml", ("CANCELS", "SPURIOUS=0"), LOOP_NEVER_ENDS),
    Configuration("adjust.pml", has_many_states=True),
    Configuration("adjust.pml", ("NESTED",)),
    # The places where a waker checks whether the loop sleeps on the word, which a guest does only in a run.
    Configuration("guest.pml", ("DISPATCHES=0", "SPURIOUS=0"), ("parked = 0",)),
    Configuration("guest.pml", ("RUNS=0",), ("parked = 0",)),
    Configuration("guest.pml", ("STOPS",), ("parked = 0",)),
    Configuration("signal.pml", ("SPURIOUS=0",), LOOP_NEVER_ENDS, has_many_states=True),
    Configuration("signal.pml", ("RIVAL",), LOOP_NEVER_ENDS + ("i = 1",)),
    Configuration("signal.pml", ("HANDLER", "SPURIOUS=0"), LOOP_NEVER_ENDS, has_many_states=True),
    Configuration("owner-lock.pml", (), LOOP_NEVER_ENDS, has_many_states=True),
    Configuration("owner-lock.pml", ("WEAK",), LOOP_NEVER_ENDS, has_many_states=True),
    # Each wait for the owner's turn may reach its limit, and the owner does not continue after it stops.
    Configuration("owner-lock.pml", ("OWNER_STOPS", "TIMEOUTS=4"), LOOP_NEVER_ENDS + ("(0)",), has_many_states=True),
    # The owner never takes its fast path, so the statements of the fast unlock, all on the owner's buffer (0), are not reached.
    Configuration("owner-lock.pml", ("NO_MEMBARRIER",), LOOP_NEVER_ENDS + ("buffer[0]", "D_STEP")),
    Configuration("owner-lock.pml", ("NO_MEMBARRIER", "WEAK"), LOOP_NEVER_ENDS + ("buffer[0]", "D_STEP")),
    Configuration("store-mutex.pml", (), LOOP_NEVER_ENDS),
    Configuration("store-mutex.pml", ("WEAK", "ROUNDS=3"), LOOP_NEVER_ENDS, has_many_states=True),
    Configuration("store-mutex.pml", ("NO_MEMBARRIER",), LOOP_NEVER_ENDS),
    Configuration("store-mutex.pml", ("NO_MEMBARRIER", "WEAK"), LOOP_NEVER_ENDS),
    Configuration("item-guard.pml", ("MOVES=2",)),
    Configuration("ring.pml", (), LOOP_NEVER_ENDS),
    Configuration("ring.pml", ("DIES",), LOOP_NEVER_ENDS),
    Configuration("ring-room.pml", (), LOOP_NEVER_ENDS),
    Configuration("ring-room.pml", ("ENTRIES=1",), LOOP_NEVER_ENDS),
    Configuration("ahead.pml"),
    Configuration("ahead.pml", ("LOOPS",)),
    # With a queue of one, each message is the last of its list, so nothing that was taken waits for the fence.
    Configuration("room.pml", (), LOOP_NEVER_ENDS + ("takenWaits[me] = 0",)),
    Configuration("room.pml", ("CAPACITY=2", "MESSAGES=3"), LOOP_NEVER_ENDS, has_many_states=True),
    Configuration("room.pml", ("RECEIVERS=2", "MESSAGES=1"), LOOP_NEVER_ENDS + ("takenWaits[me] = 0",)),
    Configuration("room.pml", ("GIVES_UP",), LOOP_NEVER_ENDS + ("takenWaits[me] = 0",)),
    Configuration("memory.pml", (), LOOP_NEVER_ENDS, has_many_states=True),
    Configuration("memory.pml", ("LIMIT=1",), LOOP_NEVER_ENDS),
    Configuration("memory.pml", ("PAYLOADS=2", "OF_THE_LAST=0"), LOOP_NEVER_ENDS + ("i = (i+1)",), has_many_states=True),
    Configuration("registration.pml", (), LOOP_NEVER_ENDS),
    Configuration("generation.pml", (), LOOP_NEVER_ENDS),
]

# (mutant, model, further macros, the error that must be found)
MUTANTS = [
    # the wake word
    ("SLEEP_BY_PLAIN_STORE", "wake.pml", (), ASSERTION),
    ("SLEEP_BY_CHECK_THEN_STORE", "wake.pml", (), ASSERTION),
    ("PUBLISH_AFTER_CAS", "wake.pml", (), ASSERTION),
    ("WAKE_WITHOUT_SYSCALL", "wake.pml", (), ASSERTION),
    ("WAKE_TEST_REVERSED", "wake.pml", (), ASSERTION),
    ("WAKE_ALWAYS_SYSCALL", "wake.pml", (), ASSERTION),
    ("AWAKE_BY_PLAIN_STORE", "wake.pml", (), ASSERTION),
    ("AWAKE_AFTER_PASS", "wake.pml", (), ASSERTION),
    # a guest
    ("DROPS_WHAT_IT_KNOWS", "guest.pml", ("RUNS=0",), ASSERTION),
    ("DROPS_BEHIND_THE_SLEEP", "guest.pml", ("RUNS=0",), ASSERTION),
    ("FORGETS_THE_WRITE", "guest.pml", ("RUNS=0",), ASSERTION),
    ("TAKES_THE_WAKE_UP", "guest.pml", ("RUNS=0",), ASSERTION),
    ("TAKES_OVER_SILENTLY", "guest.pml", ("STOPS",), ASSERTION),
    ("LEAVES_THE_WORD", "guest.pml", ("STOPS",), ASSERTION),
    ("SLEEPS_IN_THE_HOSTS_PLACE", "guest.pml", ("STOPS",), ASSERTION),
    ("ENTRY_DROPS_THE_STOP", "guest.pml", ("STOPS",), ASSERTION),
    ("LEAVES_WITH_A_STOP", "guest.pml", ("STOPS",), ASSERTION),
    # Stop and nested activations
    ("STOP_STORES_AFTER_WAKE", "wake.pml", (), ASSERTION),
    ("STOP_STORES_AFTER_WAKE", "wake.pml", ("HANDLER", "STOPPERS=1"), ASSERTION),
    ("ENTRY_DOES_NOT_SAVE_STOP", "wake.pml", (), ASSERTION),
    ("ENTRY_KEEPS_STOP", "wake.pml", (), ASSERTION),
    ("ENTRY_LOADS_THEN_STORES", "wake.pml", (), ASSERTION),
    ("EXIT_DOES_NOT_RESTORE_STOP", "wake.pml", (), ASSERTION),
    ("EXIT_CLEARS_STOP", "wake.pml", (), ASSERTION),
    ("NESTED_SWALLOWS_WAKE", "wake.pml", (), ASSERTION),
    ("NESTED_SWALLOWS_WAKE", "wake.pml", ("HANDLER", "STOPPERS=1"), ASSERTION),
    ("STOP_CHECKED_BEFORE_TAKING", "wake.pml", ("STOPPERS=1", "NESTED_RUNS=0"), ASSERTION),
    # adding timers and descriptors
    ("ADJUST_LEAVES_AWAKE", "adjust.pml", (), ADJUSTMENT_LOST),
    ("SLEEP_IGNORES_ADJUSTING", "adjust.pml", (), ADJUSTMENT_LOST),
    ("LIMIT_AFTER_UNLOCK", "adjust.pml", (), ADJUSTMENT_LOST),
    ("ADJUST_BY_LOAD_AND_STORE", "adjust.pml", (), ASSERTION),
    ("ADJUST_OVERWRITES_PENDING", "adjust.pml", (), ASSERTION),
    ("WAKE_READS_WHERE", "adjust.pml", (), WRITE_MISSING),
    ("COUNTS_ONLY_WAKE_UPS", "adjust.pml", (), WRITE_TOO_MANY),
    ("NESTED_SWALLOWS_WAKE", "adjust.pml", ("NESTED",), ASSERTION),
    ("RUNS_AGAIN_AFTER_LIMIT", "adjust.pml", ("NESTED",), ADJUSTMENT_LOST),
    ("CLOSES_WITHOUT_DRAINING", "adjust.pml", (), WRITE_TOO_LATE),
    # posting
    ("NESTED_SWALLOWS_WAKE", "post.pml", (), ASSERTION),
    ("WAKE_OWED_CLEARED_AFTER_UNLOCK", "post.pml", (), ASSERTION),
    ("PERFORM_SETS_WAKE_OWED", "post.pml", (), ASSERTION),
    ("POST_WAKES_BEFORE_APPEND", "post.pml", (), ASSERTION),
    ("TAKE_WITHOUT_LOCK", "post.pml", (), ASSERTION),
    ("TAKEN_LIST_ON_STACK", "post.pml", (), ASSERTION),
    ("HANDLER_POSTS", "post.pml", ("HANDLER",), END_STATE),
    ("SAYS_HELD_BEHIND_THE_INBOX", "post.pml", ("CANCELS", "SPURIOUS=0"), ASSERTION),
    # signalling
    ("NESTED_SWALLOWS_WAKE", "signal.pml", (), ASSERTION),
    ("BITS_ONLY_IF_FLAG_WAS_CLEAR", "signal.pml", (), ASSERTION),
    ("BITS_BEFORE_FLAG", "signal.pml", (), ASSERTION),
    ("SUMMARY_BEFORE_WORD", "signal.pml", (), ASSERTION),
    ("SUMMARY_CLEARED_AFTER_WORDS", "signal.pml", (), ASSERTION),
    ("WORD_BY_LOAD_AND_STORE", "signal.pml", (), ASSERTION),
    ("FLAG_BY_LOAD_AND_STORE", "signal.pml", ("RIVAL",), ASSERTION),
    ("FLAG_CLEARED_AFTER_PERFORM", "signal.pml", (), ASSERTION),
    ("TAKEN_BITS_ON_STACK", "signal.pml", (), ASSERTION),
    # the owner's lock
    ("WITHOUT_MEMBARRIER", "owner-lock.pml", (), ASSERTION),
    ("CONTENDED_AFTER_MEMBARRIER", "owner-lock.pml", (), ASSERTION),
    ("OWNER_CHECKS_BEFORE_STORING", "owner-lock.pml", (), ASSERTION),
    ("UNLOCK_DOES_NOT_WAKE", "owner-lock.pml", (), END_STATE),
    ("UNLOCK_CHECKS_BEFORE_STORING", "owner-lock.pml", (), END_STATE),
    ("UNLOCK_STORES_RELAXED", "owner-lock.pml", ("WEAK",), ASSERTION),
    ("WAITS_WITHOUT_MUTEX", "owner-lock.pml", (), ASSERTION),
    ("WAITS_ONCE", "owner-lock.pml", (), ASSERTION),
    ("SLOW_PATH_KEEPS_INSIDE", "owner-lock.pml", (), END_STATE),
    ("SLOW_PATH_DOES_NOT_WAKE", "owner-lock.pml", (), END_STATE),
    ("CONTENDED_CLEARED_AFTER_MUTEX", "owner-lock.pml", (), ASSERTION),
    ("OTHERS_DO_NOT_LET_IT_PASS", "owner-lock.pml", (), ASSERTION),
    ("OTHERS_DO_NOT_LET_IT_PASS", "owner-lock.pml", ("NO_MEMBARRIER",), ASSERTION),
    ("TURN_DOES_NOT_WAKE", "owner-lock.pml", (), END_STATE),
    ("TURN_ENDS_BY_LOAD_AND_STORE", "owner-lock.pml", (), END_STATE),
    ("WAITS_FOR_ITS_TURN_WITHOUT_LIMIT", "owner-lock.pml", ("OWNER_STOPS",), END_STATE),
    ("FALLBACK_CLEARS_CONTENDED", "owner-lock.pml", ("NO_MEMBARRIER",), ASSERTION),
    # the mutex that is released by a plain store
    ("WANTS_WITHOUT_MEMBARRIER", "store-mutex.pml", (), END_STATE),
    ("WANTS_ONCE", "store-mutex.pml", (), END_STATE),
    ("TRIES_BEFORE_WANTING", "store-mutex.pml", (), END_STATE),
    ("SLEEPS_ON_THE_WORD", "store-mutex.pml", (), END_STATE),
    ("CLEARS_ON_ENTRY", "store-mutex.pml", (), END_STATE),
    ("CLEARS_BEHIND_THE_WAKE", "store-mutex.pml", (), END_STATE),
    ("LOOKS_BEFORE_STORING", "store-mutex.pml", (), END_STATE),
    ("UNLOCKS_RELAXED", "store-mutex.pml", ("WEAK",), ASSERTION),
    ("FALLBACK_WITHOUT_FENCE", "store-mutex.pml", ("NO_MEMBARRIER",), END_STATE),
    # the guard of an item
    ("USE_WITHOUT_RECHECK", "item-guard.pml", (), ASSERTION),
    ("MOVE_WITHOUT_RECHECK", "item-guard.pml", (), ASSERTION),
    ("MOVE_LOCKS_CURRENT_FIRST", "item-guard.pml", (), END_STATE),
    ("MOVE_UNDER_ONE_LOCK", "item-guard.pml", (), ASSERTION),
    # messages received before the loop runs
    ("KEEPS_BEHIND_THE_MUTEX", "ahead.pml", (), ASSERTION),
    ("SOCKET_FIRST", "ahead.pml", (), ASSERTION),
    ("WATCHES_THE_SOCKET_ONLY", "ahead.pml", ("MESSAGES=2",), END_STATE),
    ("CLEARS_BEHIND_THE_MUTEX", "ahead.pml", ("LOOPS",), END_STATE),
    ("INTEREST_IS_COMPUTED_BEFORE_THE_LOCK", "ahead.pml", ("LOOPS",), END_STATE),
    # the ring of messages that a client and a server share
    ("ENTRIES_DO_NOT_WAIT", "ring.pml", (), ASSERTION),
    ("NO_DOORBELL_BEHIND_A_REQUEST", "ring.pml", (), ASSERTION),
    ("LOOKS_BEFORE_PUBLISHING", "ring.pml", (), ASSERTION),
    ("TAIL_STORED_RELAXED", "ring.pml", (), ASSERTION),
    ("WANTED_CLEARED_AFTER_THE_DOORBELL", "ring.pml", (), ASSERTION),
    ("WANTED_STORED_RELAXED", "ring.pml", (), ASSERTION),
    ("TAKES_PACKETS_UNSEEN", "ring.pml", (), ASSERTION),
    ("WANTS_NO_DOORBELL_AND_TAKES_IT", "ring.pml", (), ASSERTION),
    ("LOOKS_INTO_THE_RING_ONCE", "ring.pml", (), ASSERTION),
    ("LOOKS_INTO_THE_RING_ONCE", "ring.pml", ("DIES",), ASSERTION),
    ("SOCKET_HOLDS_ONE_PACKET", "ring.pml", (), ASSERTION),
    ("LOOKS_BEFORE_ROOM_IS_WANTED", "ring-room.pml", (), ASSERTION),
    ("CLEARS_AFTER_WAKING", "ring-room.pml", (), ASSERTION),
    ("NO_FENCE", "ring-room.pml", (), ASSERTION),
    ("LOOKS_ONLY_AFTER_ENTRIES", "ring-room.pml", (), ASSERTION),
    # room in a queue
    ("READS_THE_FUTEX_AFTER_LOOKING", "room.pml", (), ASSERTION),
    ("SAYS_WHEN_AFTER_LOOKING", "room.pml", (), ASSERTION),
    ("LOOKS_BEFORE_TAKING", "room.pml", (), ASSERTION),
    ("NO_FENCE_BEHIND_THE_LAST", "room.pml", (), ASSERTION),
    ("WAKES_WITHOUT_CHANGING_THE_FUTEX", "room.pml", (), ASSERTION),
    ("MOVES_ON_AFTER_CHANGING_THE_FUTEX", "room.pml", (), ASSERTION),
    # the memory that payloads share
    ("RELEASES_SILENTLY", "memory.pml", (), ASSERTION),
    ("IS_ADDED_LATER", "memory.pml", (), ASSERTION),
    ("KNOWS_FROM_BEFORE", "memory.pml", ("PAYLOADS=2",), ASSERTION),
    ("RECEIVES_UNRESERVED", "memory.pml", ("PAYLOADS=2",), ASSERTION),
    # signalling a source that moves between loops
    ("BITS_BEFORE_THE_FLAG", "registration.pml", (), ASSERTION),
    ("PUBLISHES_WITHOUT_A_LOOK", "registration.pml", (), ASSERTION),
    ("PUBLISHES_BY_PLAIN_STORE", "registration.pml", (), ASSERTION),
    ("BITMAP_BEHIND_THE_SLOT", "registration.pml", (), ASSERTION),
    # epoll's reports about a source
    ("LEAVES_WITHOUT_END", "generation.pml", (), ASSERTION),
    ("ENDS_BEHIND_THE_LOCK", "generation.pml", (), ASSERTION),
    ("BEGINS_ANEW", "generation.pml", (), ASSERTION),
    ("TWO_NUMBERS", "generation.pml", (), ASSERTION),
]


def run(command, directory):
    result = subprocess.run(
        command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS_PER_STEP, check=False
    )
    return result.returncode, result.stdout


def explore(configuration, directory, hash_bits=24):
    """Returns pan's report, after a search of the whole state space or up to the first error."""
    macros = [f"-D{define}" for define in configuration.defines]
    for model in MODELS.glob("*.pml"):
        shutil.copy(model, directory)
    status, output = run(["spin", "-a", *macros, configuration.model], directory)
    assert status == 0 and "rror" not in output, f"spin -a: {output}"
    reduction = [] if configuration.reduction_is_sound else ["-DNOREDUCE"]
    optimisation = "-O1" if configuration.has_many_states else "-O0"
    status, output = run([COMPILER, optimisation, "-w", "-DSAFETY", "-DMEMLIM=3000", *reduction, "-o", "pan", "pan.c"], directory)
    assert status == 0, f"{COMPILER} pan.c: {output}"
    status, report = run(["./pan", "-m100000", f"-w{hash_bits}"], directory)
    assert "Full statespace search for:" in report and re.search(r"invalid end states\s+\+", report), report
    assert re.search(r"assertion violations\s+\+", report), report
    return report


def errors(report):
    return int(re.search(r"errors: (\d+)", report).group(1))


def unreached_statements(report):
    return re.findall(r"^\t(\S+:\d+, state \d+, .*)$", report, flags=re.MULTILINE)


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda configuration: configuration.name)
def test_model_holds(configuration, tmp_path):
    report = explore(configuration, tmp_path)
    assert errors(report) == 0, f"{tmp_path}\n{report}"
    for truncation in ("Search not completed", "too small", "MEMLIM", "out of memory", "aborted"):
        assert truncation not in report, report
    # A model that never reaches a statement proves nothing about it.
    unexpected = [line for line in unreached_statements(report) if not any(known in line for known in configuration.unreached)]
    assert not unexpected, "never reached:\n" + "\n".join(unexpected)


@pytest.mark.parametrize(
    "mutant, model, defines, finding", MUTANTS, ids=["-".join([m[1].removesuffix(".pml"), m[0], *m[2]]) for m in MUTANTS]
)
def test_mutant_is_caught(mutant, model, defines, finding, tmp_path):
    report = explore(Configuration(model, (*defines, f"MUTANT_{mutant}")), tmp_path, hash_bits=20)
    assert errors(report) == 1 and finding in report, report


def test_every_mutant_in_the_models_is_tested():
    macros = {name for model in MODELS.glob("*.pml") for name in re.findall(r"MUTANT_([A-Z_]+)", model.read_text())}
    assert macros == {mutant[0] for mutant in MUTANTS}


def test_every_model_is_verified():
    assert {model.name for model in MODELS.glob("*.pml") if not model.name.endswith(".inc.pml")} == {c.model for c in CONFIGURATIONS}
