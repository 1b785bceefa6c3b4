"""Arrays that are on the device already, ours and those of CuPy and PyTorch, and models that stay there."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import Any

import numpy as np

from musculo.errors import InvalidInput
from musculo.kernels.cuda.cuda_device import cuda_module, simulated

# So many named tuples stay on the device: a few models, each of a tree, functions, paths and muscles.
_KEPT = 16
_kept: OrderedDict[tuple[int, Any], tuple[Any, Any]] = OrderedDict()


def is_on_device(value: Any) -> bool:
    """Whether this is an array in a GPU's memory: it says so by `__cuda_array_interface__` (Numba's simulator does not,
    whose arrays can be copied to a host)."""
    return hasattr(value, "__cuda_array_interface__") or hasattr(value, "copy_to_host")


def is_page_locked(array: Any) -> bool:
    """Whether this is host memory that the device can read by itself: `pin_memory()` of PyTorch makes such arrays."""
    if simulated() or not isinstance(array, np.ndarray) or not (array.flags.c_contiguous and array.size):
        return False
    with contextlib.suppress(Exception):  # another release of the driver's module: copied once more
        from cuda.bindings import driver

        what = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        status, kind = driver.cuPointerGetAttribute(what, array.ctypes.data)
        return status == driver.CUresult.CUDA_SUCCESS and int(kind) == int(driver.CUmemorytype.CU_MEMORYTYPE_HOST)
    return False


def device_frames(name: str, value: Any, columns: int) -> tuple[Any, bool]:
    """An array on the device as (frames, columns), in place, and whether it was a single frame.

    Its numbers are not looked at: whether they are finite, or can be meant, is not checked.
    """
    shape, dtype = tuple(value.shape), _type_of(value)
    if dtype != np.float64:
        raise InvalidInput(f"{name} is on the device and holds {dtype}; give float64, which is used in place")
    if len(shape) not in (1, 2) or shape[-1] != columns:
        raise InvalidInput(
            f"{name} is on the device and has shape {shape}; it needs ({columns},) or (frames, {columns})"
        )
    array = as_numba(value)
    return (array.reshape(1, columns), True) if len(shape) == 1 else (array, False)


def _type_of(value: Any) -> np.dtype:
    interface = getattr(value, "__cuda_array_interface__", None)
    return np.dtype(value.dtype if interface is None else interface["typestr"])


def as_numba(value: Any) -> Any:
    """Numba's array in the same memory; work on it that another stream still does is waited for."""
    if hasattr(value, "copy_to_host"):
        return value
    if not simulated():
        return cuda_module().as_cuda_array(value)

    class Memory:  # of the simulator, whose device is the host
        __array_interface__ = value.__cuda_array_interface__
        owner = value

    from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

    return FakeCUDAArray(np.asarray(Memory()))


def to_device(named: Any) -> Any:
    """A named tuple of arrays with every array on the device, where those used last stay."""
    return kept_on_device(named, _copied)


def kept_on_device(named: Any, copy: Any) -> Any:
    """`copy(named)`, made once for each named tuple as long as it is among those used last."""
    found = _kept.pop((id(named), copy), None) or (named, copy(named))
    _kept[id(named), copy] = found  # `named` is held with it, so that no other gets its id
    while len(_kept) > _KEPT:
        _kept.popitem(last=False)
    return found[1]


def _copied(named: Any) -> Any:
    cuda = cuda_module()
    return type(named)(*(cuda.to_device(np.ascontiguousarray(array)) for array in named))
