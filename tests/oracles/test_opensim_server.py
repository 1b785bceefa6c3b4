"""Processes in which OpenSim works for the other tests: nothing passes from a job to the next, not even a crash."""

from __future__ import annotations

import os
import time

import pytest

from support.opensim_server import OpenSimServer, in_opensim, the_server

pytest.importorskip("opensim")

seen: list[str] = []


def remember(word):
    seen.append(word)
    print("heard", word)
    return seen, os.getcwd()


def crash():
    os.abort()


def leave():
    os._exit(0)


def wait():
    time.sleep(60.0)


def refuse():
    raise ValueError("no such thing")


def test_jobs_know_nothing_of_each_other(tmp_path):
    for word in ("one", "two"):
        ended = the_server().call(remember, word, folder=tmp_path)
        assert ended == (([word], str(tmp_path)), "", f"heard {word}\n")


@pytest.mark.parametrize("job", [crash, refuse])
def test_a_job_that_fails_says_so_and_the_next_one_runs(job):
    assert "crashed" in the_server().call(job).failure
    with pytest.raises(AssertionError, match="no such thing" if job is refuse else "crashed"):
        in_opensim(job)
    assert in_opensim(remember, "after")[0] == ["after"]


def test_a_job_that_ends_without_an_answer_has_none_of_an_earlier_one():
    in_opensim(remember, "earlier")
    with pytest.raises(FileNotFoundError):
        in_opensim(leave)


def test_a_job_that_hangs_is_ended():
    server = OpenSimServer(patience=0.3)
    assert "ran longer than 0.3 s" in server.call(wait).failure
    assert "ModuleNotFoundError" in server.ask("anything")["error"]
    server.process.communicate()
