"""The two functions by which Python reaches a driver, and its machine code as an object file.

    fill(arguments, ndarray, header, memory) -> 0, or 1 + the number of the argument that is of another type
    run(result, error, memory) -> 0, or -2 where nothing is returned, else what went wrong

`fill` takes a tuple of Python objects apart into a struct, under Python's lock; arrays are read where they lie, as C
extensions do, by the layout that NumPy promises to them. `run` needs no lock. A struct that was filled may be run many
times. Both are apart, so that the compiler may take what the struct holds for constant.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import llvmlite.binding as ll
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target

from musculo.kernels.compiler.driver_code import Layout
from musculo.kernels.compiler.machine_code.lowering import linked, lowering_only, optimize
from musculo.kernels.compiler.machine_code.references import Reference, unpacked
from musculo.kernels.compiler.machine_code.runtime import runtime_module
from musculo.kernels.compiler.options import LEVELS, machine
from musculo.kernels.compiler.signature import Shape, parsed

_BYTE, _INT, _WORD, _DOUBLE = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
_OBJECT = _BYTE.as_pointer()
_NUMBERS = {"i8": types.int64, "f8": types.float64, "c16": types.complex128, "b1": types.boolean}
# What an array object holds, counted from the end of the header that all Python objects have.
_DATA, _DIMENSIONS, _SHAPE, _STRIDES, _TYPE, _FLAGS = 0, 8, 16, 24, 40, 48
# What the description of its type holds.
_BYTE_ORDER, _TYPE_NUMBER = 10, 12
_C_ORDER, _FORTRAN_ORDER, _ALIGNED = 0x1, 0x2, 0x100


def numba_type(shape: Shape) -> Any:
    """Numba's type of what a signature describes."""
    if shape.kind == "number":
        return _NUMBERS[shape.name]
    if shape.kind == "array":
        order: Any = shape.order
        return types.Array(numba.from_dtype(np.dtype(shape.name)), shape.dimensions, order)
    if shape.kind == "none":
        return types.none
    parts = [numba_type(part) for part in shape.parts]
    if shape.kind == "tuple":
        return types.Tuple(parts)
    module, name = shape.name.split(":")
    found: Any = importlib.import_module(module)
    for step in name.split("."):
        found = getattr(found, step)
    if tuple(found._fields) != shape.fields:
        raise TypeError(f"{shape.name} has the fields {found._fields}, the signature {shape.fields}")
    uniform = len(set(parts)) == 1
    return types.NamedUniTuple(parts[0], len(parts), found) if uniform else types.NamedTuple(parts, found)


def result_text(kind: Any) -> str:
    """The type of a driver's result, as `signature` writes it.

    Raises:
        TypeError: arrays that a driver made cannot leave it.
    """
    if kind == types.none:
        return "none"
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        return f"({','.join(result_text(part) for part in parts)})"
    for text, number in _NUMBERS.items():
        if kind == number:
            return text
    if isinstance(kind, types.Integer | types.IntegerLiteral):
        return "i8"
    raise TypeError(f"a driver returns numbers or nothing, not {kind}")


class Lowered(NamedTuple):
    """A driver in LLVM's form."""

    module: Any
    layout: Layout


def lowered(part: Any, name: str, signature: str) -> Lowered:
    """A driver for arguments of a signature, with all that it calls, in front of it `fill_<name>` and `run_<name>`."""
    kind = numba_type(parsed(signature))
    driver = part

    @numba.njit(**part.targetoptions)
    def run(at):
        return driver(*unpacked(at))

    key = (Reference(kind, True),)
    with lowering_only():
        run.compile(key)
        compiled = run.overloads[key]
        context = cpu_target.target_context
        module = linked(compiled.library)
        struct = context.get_value_type(kind)
        offsets = _offsets(context, struct)
        result = compiled.signature.return_type
        result_type = context.get_return_type(result)
        result_size = 0 if result == types.none else context.get_abi_sizeof(result_type)
        layout = Layout(int(context.get_abi_sizeof(struct)), offsets, result_text(result), int(result_size))
        entry = compiled.fndesc.llvm_func_name
    triple, data_layout = ll.get_process_triple(), str(module.data_layout)
    for extra in (
        _fill(context, kind, name, triple, data_layout),
        runtime_module(f"{name}.runtime", triple, data_layout),
    ):
        module.link_in(ll.parse_assembly(str(extra)), preserve=True)
    module.get_function(entry).name = f"run_{name}"
    visible = {f"fill_{name}", f"run_{name}"}
    for function in module.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name in visible else "internal"
    for variable in module.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    return Lowered(module, layout)


def _offsets(context: Any, struct: Any) -> tuple[int, ...]:
    if isinstance(struct, ir.ArrayType):  # all arguments are of one type
        return tuple(k * int(context.get_abi_sizeof(struct.element)) for k in range(struct.count))
    data = context.codegen().target_data
    return tuple(int(struct.get_element_offset(data, k)) for k in range(len(struct.elements)))


def machine_for(level: str) -> Any:
    """LLVM's description of a processor: a level of `options.LEVELS`, or this machine's for `native`."""
    from numba.core.codegen import initialize_llvm

    initialize_llvm()
    target = ll.Target.from_triple(ll.get_process_triple())
    if level == "native":
        cpu, features = ll.get_host_cpu_name(), ll.get_host_cpu_features().flatten()
    else:
        cpu, features = LEVELS[machine()][level]
    return target.create_target_machine(cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default")


def object_of(driver: Lowered, level: str) -> bytes:
    """Machine code, as an object file."""
    processor = machine_for(level)
    module = driver.module.clone()
    optimize(module, processor)
    module.verify()
    return bytes(processor.emit_object(module))


# --- from Python's objects to a struct --------------------------------------------------------------------------------
class _Filler:
    """Writes `fill`: one check or conversion after the other, out at the first that fails."""

    def __init__(self, module: ir.Module, name: str) -> None:
        self.module = module
        kind = ir.FunctionType(_INT, [_OBJECT, _OBJECT, _WORD, _OBJECT])
        self.function = ir.Function(module, kind, f"fill_{name}")
        self.arguments, self.ndarray, self.header, self.memory = self.function.args
        self.builder = ir.IRBuilder(self.function.append_basic_block())
        self.failed = self.function.append_basic_block("failed")
        self.which = self.builder.alloca(_INT)

    def api(self, name: str, result: Any, *arguments: Any) -> Any:
        """A function of Python's."""
        known = self.module.globals.get(name)
        return known if known is not None else ir.Function(self.module, ir.FunctionType(result, arguments), name)

    def require(self, condition: Any) -> None:
        onward = self.function.append_basic_block()
        self.builder.cbranch(condition, onward, self.failed)
        self.builder.position_at_end(onward)

    def read(self, thing: Any, offset: int, kind: Any, from_header: bool = True) -> Any:
        build = self.builder
        place: Any = ir.Constant(_WORD, offset)
        if from_header:
            place = build.add(self.header, place)
        return build.load(build.bitcast(build.gep(thing, [place]), kind.as_pointer()))

    def type_of(self, thing: Any) -> Any:
        """The word before the end of the header."""
        return self.read(thing, -8, _OBJECT)

    def no_error(self) -> None:
        happened = self.builder.call(self.api("PyErr_Occurred", _OBJECT), [])
        self.require(self.builder.icmp_unsigned("==", happened, ir.Constant(_OBJECT, None)))

    def is_complex(self, thing: Any) -> Any:
        known = self.module.globals.get("PyComplex_Type")
        if known is None:
            known = ir.GlobalVariable(self.module, _BYTE, "PyComplex_Type")
        check = self.api("PyType_IsSubtype", _INT, _OBJECT, _OBJECT)
        found = self.builder.call(check, [self.type_of(thing), known])
        return self.builder.icmp_signed("!=", found, ir.Constant(_INT, 0))

    def put(self, kind: Any, thing: Any, pointer: Any) -> None:
        """One Python object into the struct."""
        build = self.builder
        if kind == types.none:
            self.require(build.icmp_unsigned("==", thing, self.nothing()))
        elif isinstance(kind, types.Array):
            self.put_array(kind, thing, pointer)
        elif isinstance(kind, types.BaseTuple):
            self.put_tuple(kind, thing, pointer)
        elif kind == types.boolean:
            truth = build.call(self.api("PyObject_IsTrue", _INT, _OBJECT), [thing])
            self.no_error()
            build.store(build.trunc(truth, pointer.type.pointee), pointer)
        elif kind == types.int64:
            build.store(build.call(self.api("PyLong_AsLongLong", _WORD, _OBJECT), [thing]), pointer)
            self.no_error()
        elif kind == types.float64:
            self.require(build.not_(self.is_complex(thing)))
            build.store(build.call(self.api("PyFloat_AsDouble", _DOUBLE, _OBJECT), [thing]), pointer)
            self.no_error()
        elif kind == types.complex128:
            self.require(self.is_complex(thing))
            for k, part in enumerate(("PyComplex_RealAsDouble", "PyComplex_ImagAsDouble")):
                number = build.call(self.api(part, _DOUBLE, _OBJECT), [thing])
                build.store(number, cgutils.gep_inbounds(build, pointer, 0, k))

    def nothing(self) -> Any:
        """Python's None."""
        known = self.module.globals.get("_Py_NoneStruct")
        return ir.GlobalVariable(self.module, _BYTE, "_Py_NoneStruct") if known is None else known

    def put_tuple(self, kind: Any, thing: Any, pointer: Any) -> None:
        build, items = self.builder, list(kind)
        size = build.call(self.api("PyTuple_Size", _WORD, _OBJECT), [thing])
        self.require(build.icmp_signed("==", size, ir.Constant(_WORD, len(items))))
        for k, part in enumerate(items):
            item = build.call(self.api("PyTuple_GetItem", _OBJECT, _OBJECT, _WORD), [thing, ir.Constant(_WORD, k)])
            self.put(part, item, cgutils.gep_inbounds(build, pointer, 0, k))

    def put_array(self, kind: Any, thing: Any, pointer: Any) -> None:
        build, word = self.builder, lambda value: ir.Constant(_WORD, value)
        self.require(build.icmp_unsigned("==", self.type_of(thing), self.ndarray))
        dimensions = self.read(thing, _DIMENSIONS, _INT)
        self.require(build.icmp_signed("==", dimensions, ir.Constant(_INT, kind.ndim)))
        wanted = _ALIGNED | {"C": _C_ORDER, "F": _FORTRAN_ORDER, "A": 0}[kind.layout]
        flags = build.and_(self.read(thing, _FLAGS, _INT), ir.Constant(_INT, wanted))
        self.require(build.icmp_signed("==", flags, ir.Constant(_INT, wanted)))
        description = self.read(thing, _TYPE, _OBJECT)
        swapped = build.icmp_signed("==", self.read(description, _BYTE_ORDER, _BYTE), ir.Constant(_BYTE, ord(">")))
        self.require(build.not_(swapped))
        number = self.read(description, _TYPE_NUMBER, _INT)
        dtype = numba.np.numpy_support.as_dtype(kind.dtype)
        # long and long long may both be eight bytes, and are two types to NumPy
        same = {np.dtype(code).num for code in "?bBhHiIlLqQfdFD" if np.dtype(code) == dtype}
        fits = [build.icmp_signed("==", number, ir.Constant(_INT, k)) for k in sorted(same)]
        self.require(fits[0] if len(fits) == 1 else build.or_(fits[0], fits[1]))
        shape = self.read(thing, _SHAPE, _WORD.as_pointer())
        strides = self.read(thing, _STRIDES, _WORD.as_pointer())
        total: Any = word(1)

        def field(k: int) -> Any:
            return cgutils.gep_inbounds(build, pointer, 0, k)

        for k in range(2):  # nobody counts who refers to it
            build.store(ir.Constant(field(k).type.pointee, None), field(k))
        for k in range(kind.ndim):
            extent = build.load(build.gep(shape, [word(k)]))
            total = build.mul(total, extent)
            build.store(extent, cgutils.gep_inbounds(build, pointer, 0, 5, k))
            build.store(build.load(build.gep(strides, [word(k)])), cgutils.gep_inbounds(build, pointer, 0, 6, k))
        build.store(total, field(2))
        build.store(word(dtype.itemsize), field(3))
        build.store(self.read(thing, _DATA, field(4).type.pointee), field(4))


def _fill(context: Any, kind: Any, name: str, triple: str, layout: str) -> ir.Module:
    module = ir.Module(f"{name}.fill")
    module.triple, module.data_layout = triple, layout
    f = _Filler(module, name)
    struct = f.builder.bitcast(f.memory, context.get_value_type(kind).as_pointer())
    size = f.builder.call(f.api("PyTuple_Size", _WORD, _OBJECT), [f.arguments])
    f.builder.store(ir.Constant(_INT, len(kind) + 1), f.which)
    f.require(f.builder.icmp_signed("==", size, ir.Constant(_WORD, len(kind))))
    for k, part in enumerate(kind):
        f.builder.store(ir.Constant(_INT, k + 1), f.which)
        get = f.api("PyTuple_GetItem", _OBJECT, _OBJECT, _WORD)
        item = f.builder.call(get, [f.arguments, ir.Constant(_WORD, k)])
        f.put(part, item, cgutils.gep_inbounds(f.builder, struct, 0, k))
    f.builder.ret(ir.Constant(_INT, 0))
    f.builder.position_at_end(f.failed)
    f.builder.call(f.api("PyErr_Clear", ir.VoidType()), [])
    f.builder.ret(f.builder.load(f.which))
    return module
