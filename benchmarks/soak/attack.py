"""Shared by the attacks: seeds, child processes with limits, and a table of outcomes.

An attack is a function that takes a ``random.Random``, tries to cause a failure, and returns
"refused" or "accepted". Any exception, and anything that ends or blocks its process, is a failure.
Each try has its own seed, derived from the seed of the run, the kind of attack and a number, so
that ``--only KIND:NUMBER`` repeats a single try.
"""

import argparse
import os
import random
import resource
import select
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import cycle, islice
from pathlib import Path

Attack = Callable[[random.Random], str]

#: Limits: bytes that a child may allocate, and seconds per try.
MEMORY, SECONDS = 4 << 30, 300

#: Tries per child.
BATCH = 500


def main(attacks: Mapping[str, Attack], count: int) -> None:
    """Try all kinds of attacks in turn, print the table, and exit with 1 if one failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=count, help="total number of tries")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--kinds", default="", help="only kinds whose name contains this text")
    parser.add_argument("--only", metavar="KIND:NUMBER", help="a single try, with a traceback")
    options = parser.parse_args()
    if options.only:
        kind, _, number = options.only.rpartition(":")
        print(attacks[kind](seeded(options.seed, kind, int(number))))
        return
    chosen = {kind: attack for kind, attack in attacks.items() if options.kinds in kind}
    print(f"seed {options.seed}", flush=True)
    counters = run(chosen, options.count, options.seed)
    print_table(chosen, counters)
    sys.exit(any(outcome == "failed" for _, outcome in counters))


def seeded(seed: int, kind: str, number: int) -> random.Random:
    """Return the random generator of one try."""
    return random.Random(f"{seed}:{kind}:{number}")


def run(attacks: Mapping[str, Attack], count: int, seed: int) -> Counter[tuple[str, str]]:
    """Return how often each kind of attack had each outcome."""
    kinds = islice(cycle(attacks), count)
    todo = [(kind, number // len(attacks)) for number, kind in enumerate(kinds)]
    counters: Counter[tuple[str, str]] = Counter()
    while todo:
        outcomes, end = _run_in_child(attacks, todo[:BATCH], seed)
        for (kind, number), (outcome, why) in zip(todo, outcomes, strict=False):
            counters[kind, outcome] += 1
            if outcome == "failed":
                _report(seed, kind, number, why)
        todo = todo[len(outcomes) :]
        if end:  # the current try ended the child
            (kind, number), todo = todo[0], todo[1:]
            counters[kind, "failed"] += 1
            _report(seed, kind, number, end)
    return counters


def _report(seed: int, kind: str, number: int, why: str) -> None:
    print(f"FAILED --seed {seed} --only '{kind}:{number}': {why}", flush=True)


def _run_in_child(
    attacks: Mapping[str, Attack], todo: list[tuple[str, int]], seed: int
) -> tuple[list[tuple[str, str]], str]:
    """Return the outcomes of some tries, and how the child ended if it did not finish them."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _work(attacks, todo, seed, writer)
    os.close(writer)
    outcomes: list[tuple[str, str]] = []
    end, rest = "", b""
    with open(reader, "rb", 0) as stream:
        while len(outcomes) < len(todo):
            if not select.select([stream], [], [], SECONDS)[0]:
                os.kill(child, signal.SIGKILL)
                end = f"took more than {SECONDS} s"
                break
            more = stream.read(1 << 16)
            if not more:
                break
            *lines, rest = (rest + more).split(b"\n")
            for line in lines:
                outcome, _, why = line.decode().partition(" ")
                outcomes.append((outcome, why))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if len(outcomes) < len(todo) and not end:
        end = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return outcomes, end


def _work(
    attacks: Mapping[str, Attack], todo: list[tuple[str, int]], seed: int, writer: int
) -> None:  # fmt: skip
    """Run the tries, write one outcome per line, and never return."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)  # Rust reports panics there
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for kind, number in todo:
        try:
            line = attacks[kind](seeded(seed, kind, number))
        except BaseException as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            line = f"failed {text} ({place.filename.rpartition('/')[2]}:{place.lineno})"
        os.write(writer, line.encode("utf-8", "backslashreplace") + b"\n")
    os._exit(0)


def in_child(work: Callable[[], None]) -> None:
    """Run a function in a child process, so that this one has no threads when it forks."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise SystemExit("the files to attack could not be written")


def print_table(kinds: Mapping[str, Attack], counters: Counter[tuple[str, str]]) -> None:
    """Print the number of tries of each kind and their outcomes."""
    print(f"\n{'kind':40}{'tried':>9}{'refused':>9}{'accepted':>9}{'failed':>9}")
    outcomes = ("refused", "accepted", "failed")
    rows = {kind: [counters[kind, outcome] for outcome in outcomes] for kind in kinds}
    rows["all"] = [sum(numbers) for numbers in zip(*rows.values(), strict=True)]
    for kind, numbers in rows.items():
        print(f"{kind:40}" + "".join(f"{number:9}" for number in (sum(numbers), *numbers)))


# Damaged bytes.

#: Numbers that break lengths, offsets and counts.
NUMBERS = [value.to_bytes(width, "little") for width in (1, 2, 4, 8)
           for value in (0, 1, 2 ** (8 * width - 1) - 1, 2 ** (8 * width - 1), 2 ** (8 * width) - 1,
                         2 ** (8 * width) - 2)]  # fmt: skip


def damage(rng: random.Random, content: bytes, other: bytes) -> tuple[str, bytes]:
    """Return the kind of damage, and bytes that differ from those given."""
    while True:
        how, damaged = _damage(rng, content, other)
        if damaged != content:
            return how, damaged


def _damage(rng: random.Random, content: bytes, other: bytes) -> tuple[str, bytes]:
    """Return the kind of damage, and damaged bytes; half of all damage is near the ends."""
    how = rng.choice(("flips", "cut", "insertion", "removal", "numbers", "splice", "head"))
    damaged = bytearray(content)

    def place(of: bytes | bytearray) -> int:
        near = min(len(of), 400)
        choices = (rng.randrange(near + 1), len(of) - rng.randrange(near + 1))
        return rng.choice((*choices, rng.randrange(len(of) + 1), rng.randrange(len(of) + 1)))

    if how == "flips":
        for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
            at = min(place(damaged), len(damaged) - 1)
            damaged[at] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del damaged[place(damaged) :]
    elif how == "insertion":
        at, more = place(damaged), rng.choice((rng.randbytes(rng.randrange(1, 40)), bytes(8)))
        damaged[at:at] = more
    elif how == "removal":
        at = place(damaged)
        del damaged[at : at + rng.choice((1, 4, 8, rng.randrange(1, 200)))]
    elif how == "numbers":
        for _ in range(rng.choice((1, 1, 2, 4))):
            at, number = place(damaged), rng.choice(NUMBERS)
            damaged[at : at + len(number)] = number
    elif how == "splice":
        begin, size = place(other), rng.randrange(1, 300)
        at = place(damaged)
        damaged[at : at + rng.choice((0, size))] = other[begin : begin + size]
    else:
        size = rng.randrange(1, 200)
        damaged[:size] = other[:size]
    return how, bytes(damaged)
