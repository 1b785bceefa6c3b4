"""The few functions of Numba's runtime that drivers need, written as instructions: code that ships meets no Numba.

Drivers allocate the arrays that kernels work in and free them before they return; nothing they make reaches Python. A
block is a header as Numba lays it out (count, destructor, its argument, data, size, allocator), then the data.
"""

from __future__ import annotations

from llvmlite import ir

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
_POINTER = _BYTE.as_pointer()
_HEADER = 48  # bytes


def runtime_module(name: str, triple: str, layout: str) -> ir.Module:
    """NRT_MemInfo_alloc, .._alloc_aligned, .._alloc_safe_aligned, .._call_dtor, NRT_Allocate, NRT_Free."""
    module = ir.Module(name)
    module.triple, module.data_layout = triple, layout
    malloc = ir.Function(module, ir.FunctionType(_POINTER, [_WORD]), "malloc")
    free = ir.Function(module, ir.FunctionType(ir.VoidType(), [_POINTER]), "free")

    plain = ir.Function(module, ir.FunctionType(_POINTER, [_WORD]), "NRT_Allocate")
    build = ir.IRBuilder(plain.append_basic_block())
    build.ret(build.call(malloc, [plain.args[0]]))

    for function in ("NRT_Free", "NRT_MemInfo_call_dtor"):
        release = ir.Function(module, ir.FunctionType(ir.VoidType(), [_POINTER]), function)
        build = ir.IRBuilder(release.append_basic_block())
        build.call(free, [release.args[0]])
        build.ret_void()

    aligned = ir.Function(module, ir.FunctionType(_POINTER, [_WORD, ir.IntType(32)]), "NRT_MemInfo_alloc_aligned")
    _allocate(aligned, malloc)
    safe = ir.Function(module, ir.FunctionType(_POINTER, [_WORD, ir.IntType(32)]), "NRT_MemInfo_alloc_safe_aligned")
    build = ir.IRBuilder(safe.append_basic_block())
    build.ret(build.call(aligned, list(safe.args)))
    simple = ir.Function(module, ir.FunctionType(_POINTER, [_WORD]), "NRT_MemInfo_alloc")
    build = ir.IRBuilder(simple.append_basic_block())
    build.ret(build.call(aligned, [simple.args[0], ir.Constant(ir.IntType(32), 16)]))
    return module


def _allocate(function: ir.Function, malloc: ir.Function) -> None:
    """One block for header and data; null where there is no memory left."""
    size, align = function.args
    build = ir.IRBuilder(function.append_basic_block())

    def word(value: int) -> ir.Constant:
        return ir.Constant(_WORD, value)

    step = build.zext(align, _WORD)
    block = build.call(malloc, [build.add(build.add(size, step), word(_HEADER))])
    with build.if_then(build.icmp_unsigned("==", block, ir.Constant(_POINTER, None)), likely=False):
        build.ret(block)
    first = build.add(build.ptrtoint(block, _WORD), word(_HEADER))
    first = build.add(first, build.sub(step, word(1)))
    data = build.sub(first, build.urem(first, step))
    header = build.bitcast(block, _WORD.as_pointer())
    for k, value in enumerate((word(1), word(0), word(0), data, size, word(0))):
        build.store(value, build.gep(header, [word(k)]))
    build.ret(block)
