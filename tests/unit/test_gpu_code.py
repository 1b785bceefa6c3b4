"""Compiled CUDA kernels on disk: kept, found again, and replaced where they are damaged or their sources changed."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys

import pytest

from musculo.kernels.compiler import store
from musculo.kernels.cuda import cuda_code as code
from musculo.kernels.cuda import cuda_compile_beside as beside

TYPES, CAPABILITY = ("float64",), (9, 0, "a")


def some_kernel():
    """Stands for one."""


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """Compiles into a folder of its own, without a compiler; says what was compiled."""
    done = []

    def compile_it(function, types, capability, limits):
        done.append((function.__name__, types, capability, limits))
        return f"entry{len(done)}", b"machine\ncode" + bytes([len(done)])

    monkeypatch.setattr(code, "compiled_cubin", compile_it)
    monkeypatch.setattr(code, "_folder", lambda: tmp_path / "cuda")
    return done


def test_compiled_once(compiled, tmp_path):
    first = code.kept_cubin(some_kernel, TYPES, CAPABILITY)
    assert first == ("entry1", b"machine\ncode\x01")
    assert code.kept_cubin(some_kernel, TYPES, CAPABILITY) == first
    assert len(compiled) == 1
    # nothing that a process which died would have left
    assert [file.suffix for file in (tmp_path / "cuda").iterdir()] == [""]


def test_each_signature_device_and_limit_has_its_own(compiled):
    others = [(("int64",), CAPABILITY, code.NO_LIMITS), (TYPES, (8, 0), code.NO_LIMITS)]
    others += [(TYPES, CAPABILITY, code.Limits(max_registers=64)), (TYPES, CAPABILITY, code.Limits(large=100))]
    code.kept_cubin(some_kernel, TYPES, CAPABILITY)
    for types, capability, limits in others:
        code.kept_cubin(some_kernel, types, capability, limits)
    assert len(compiled) == 5


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_damaged_files_are_replaced(compiled, tmp_path, damage):
    code.kept_cubin(some_kernel, TYPES, CAPABILITY)
    (file,) = (tmp_path / "cuda").iterdir()
    content = bytearray(file.read_bytes())
    content[-1] ^= 1  # one bit of the machine code
    file.write_bytes(content if damage is None else damage)
    assert code.kept_cubin(some_kernel, TYPES, CAPABILITY)[0] == "entry2"
    assert code.kept_cubin(some_kernel, TYPES, CAPABILITY)[0] == "entry2"


def test_what_cannot_be_kept_is_used(compiled, tmp_path, recwarn):
    (tmp_path / "cuda").write_text("a file, not a folder")
    assert code.kept_cubin(some_kernel, TYPES, CAPABILITY)[0] == "entry1"
    assert "cannot be kept" in str(recwarn.pop().message)


def test_the_stamp_sees_nested_kernels(monkeypatch, tmp_path):
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    nested = tmp_path / "deep" / "deeper" / "kernel.py"
    nested.write_text("x = 1")
    monkeypatch.setattr(code, "_KERNELS", tmp_path)
    before = code.stamp.__wrapped__()
    assert code.stamp.__wrapped__() == before
    nested.write_text("x = 2")
    assert code.stamp.__wrapped__() != before


# A kernel that reads a table by address is compiled to machine code for a device that is not there; a function above
# the limit is called, one below it is copied into its caller.
COMPILE = """
import sys
import numpy as np
np.row_stack = np.vstack
from typing import NamedTuple
from numba import cuda, types
import numba.cuda.dispatcher as dispatcher
import musculo.kernels.cuda.cuda_device as device

class Device:
    compute_capability = (9, 0)

dispatcher.get_current_device = lambda: Device
device.cuda_module = lambda: cuda
from musculo.kernels.cuda import cuda_compile_beside as beside
from musculo.kernels.compiler import store
from musculo.kernels.cuda import cuda_code as code
from musculo.kernels.cuda.cuda_tables import layout_of, view

class Named(NamedTuple):
    number: np.ndarray
    rows: np.ndarray

named = Named(np.zeros(3), np.zeros((2, 5), dtype=np.int64))
view_named = view(layout_of(named))

@cuda.jit(device=True)
def weigh(table, lane):
    total = 0.0
    for k in range(table.rows.shape[0]):
        total += table.number[table.rows[k, lane]] / (1.0 + total)
    return total

def lanes(words, out):
    lane = cuda.grid(1)
    if lane < out.size:
        table = view_named(words)
        out[lane] = weigh(table, lane) + weigh(table, lane + 1)

signature = types.Array(types.int64, 1, "C"), types.Array(types.float64, 1, "C")
for large in (10, None):
    limits = code.Limits(large=large)
    library = code.lowered(lanes, signature, (9, 0, "a"), limits)
    (ptx,) = library.get_asm_strs(cc=(9, 0, "a"))
    print("call", "call" in ptx and "weigh" in ptx.split("call", 1)[1])
compiled = code.compiled_cubin
def noted(*given):
    print("compiled")
    return compiled(*given)
code.compiled_cubin = noted
entry, cubin = code.kept_cubin(lanes, signature, (9, 0, "a"))
print(cubin[:4] == b"\\x7fELF", entry.encode() in cubin)
"""


@pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
def test_kernels_compile_without_a_device(tmp_path):
    environment = os.environ | {"MUSCULO_CACHE_DIR": str(tmp_path)}
    environment.pop("NUMBA_ENABLE_CUDASIM", None)
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", COMPILE], capture_output=True, text=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        said.append(done.stdout.splitlines())
    assert said[0] == ["call True", "call False", "compiled", "True True"]
    # the second process finds the machine code of the first
    assert said[1] == ["call True", "call False", "True True"]


RECIPES = """
import os
from types import SimpleNamespace
from musculo.kernels.cuda import cuda_compile_beside as beside
from musculo.kernels.compiler import store
from musculo.kernels.cuda import cuda_code as code

def compile_it(function, types, capability, limits):
    return f"{types} by {os.getpid()}", b"code"
code.compiled_cubin = compile_it

def kernel():
    pass

def maker(name):
    def function():
        pass
    function.__name__ = function.__qualname__ = name
    if name == "dies":
        os._exit(1)
    return SimpleNamespace(py_func=function, _cache=SimpleNamespace(limits=code.NO_LIMITS))
"""


def test_kernels_are_compiled_beside_each_other(monkeypatch, tmp_path):
    """The first here, the others in processes of their own; what dies there is left to its first launch."""
    (tmp_path / "recipes_of_test.py").write_text(RECIPES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MUSCULO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "cache_folder", store.cache_folder.__wrapped__)  # not that of an earlier test
    monkeypatch.setattr(code, "compiled_cubin", code.compiled_cubin)  # put back at the end
    recipes = importlib.import_module("recipes_of_test")
    jobs = [beside.Recipe(recipes.maker, (name,), TYPES) for name in ("one", "two", "three")]
    beside.compile_missing(jobs, CAPABILITY)
    makers = [code.kept_cubin(job.maker(*job.arguments).py_func, TYPES, CAPABILITY)[0] for job in jobs]
    processes = [int(text.split()[-1]) for text in makers]
    assert processes[0] == os.getpid()
    assert len(set(processes)) == 3
    with monkeypatch.context() as here:
        here.setattr(beside.Recipe, "is_there", lambda self, capability: False)
        beside.compile_missing([jobs[0], beside.Recipe(recipes.maker, ("dies",), TYPES)], CAPABILITY)
    beside.compile_missing(jobs, CAPABILITY)
    assert makers == [code.kept_cubin(job.maker(*job.arguments).py_func, TYPES, CAPABILITY)[0] for job in jobs]
