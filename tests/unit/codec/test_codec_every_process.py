"""Equal values have the same bytes in every process, though every process orders its sets in its own way."""

import os
import subprocess
import sys

from ankka.codec import default_codec_for
from tests.unit.codec.salted_samples import SAMPLES

SEEDS = ("0", "1", "2", "3", "4321")


def lines_of(seed: str) -> list[str]:
    """What the samples' program writes under one seed of `hash()`."""
    command = [sys.executable, "-m", "tests.unit.codec.salted_samples"]
    done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def test_bytes_keys_and_fingerprints_are_the_same_in_every_process() -> None:
    outputs = [lines_of(seed) for seed in SEEDS]
    orders, *encoded = zip(*outputs, strict=True)
    assert len(set(orders)) == len(SEEDS), "the seeds make no difference, so nothing is shown"
    assert len(encoded) == len(SAMPLES)
    for (annotation, _), lines in zip(SAMPLES, encoded, strict=True):
        assert len(set(lines)) == 1, annotation


def test_what_is_written_in_order_comes_back_equal() -> None:
    for annotation, value in SAMPLES:
        codec = default_codec_for(annotation)
        assert codec.decode(codec.encode(value)) == value, annotation


def test_a_dict_keeps_the_order_it_has() -> None:
    codec = default_codec_for(dict[str, int])
    assert codec.encode({"b": 1, "a": 2}) == b'{"b":1,"a":2}'
    assert list(codec.decode(b'{"b":1,"a":2}')) == ["b", "a"]
