"""Each kernel is lowered once; what a driver reaches is linked, optimized and written once.

Numba would compile a kernel whenever it meets one: optimize it together with all that it calls, write machine code, and
do the same again for its caller with the same code inside, level upon level (measured for the demo: 157 s for 380
functions, 66 with each once). While `lowering_only` lasts, functions are only brought into LLVM's form and remembered
with the libraries that they call; `linked` collects those of one driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import types
from numba.core import codegen, cpu, dispatcher, inline_closurecall, ir, ir_utils, typed_passes
from numba.core.compiler_lock import global_compiler_lock
from numba.core.llvm_bindings import create_pass_builder
from numba.extending import intrinsic
from numba.extending import overload as numba_overload

from musculo.kernels.compiler import overloads

_active = False


@contextmanager
def lowering_only() -> Iterator[None]:
    """Whatever Numba compiles inside is only lowered."""
    global _active
    with global_compiler_lock:
        before, _active = _active, True
        try:
            yield
        finally:
            _active = before


class _NotCalled:
    """Stands for a function that was lowered: compiled code calls it by name, and Python does not call it."""


# Numba's own ways, changed where a library is lowered only; everything else goes as ever.
_run_pass = typed_passes.BaseNativeLowering.run_pass
_finalize = codegen.CPUCodeLibrary.finalize
_get_executable = cpu.CPUContext.get_executable
_add_overload = dispatcher.Dispatcher.add_overload
_eliminate = ir_utils.dead_code_elimination


def _lower(self: Any, state: Any) -> Any:
    if _active:  # nobody calls it from Python
        state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
    return _run_pass(self, state)


def _finish(self: Any) -> None:
    if _active:
        self._raise_if_finalized()
        self._finalized = self._lowered = True
        return
    # what others lowered brings what it calls
    direct = self._linking_libraries
    self._linking_libraries = [*direct, *(x for x in _closure(direct) if x not in direct)]
    _finalize(self)


def _executable(self: Any, library: Any, fndesc: Any, env: Any) -> Any:
    if not _active:
        return _get_executable(self, library, fndesc, env)
    library._ensure_finalized()
    return _NotCalled()


def _without_lost_writes(func_ir: Any, typemap: Any = None, alias_map: Any = None, arg_aliases: Any = None) -> None:
    """Numba's elimination of dead code, but what is written to is never dead.

    Numba drops `A[k] = x` where A is an array of the caller that came out of a named tuple in a way that it does not
    follow, such as `W, A, q, u = space.W, space.A, ...` in a part that is spliced in: nothing reads this A afterwards.
    """
    if not _active:
        _eliminate(func_ir, typemap, alias_map, arg_aliases)
        return
    if alias_map is None or arg_aliases is None:
        alias_map, arg_aliases = ir_utils.find_potential_aliases(func_ir.blocks, func_ir.arg_names, typemap, func_ir)
    written = set()
    for block in func_ir.blocks.values():
        written |= {one.target.name for one in block.body if isinstance(one, ir.SetItem | ir.StaticSetItem)}
        written |= {one.lhs.name for one in block.find_exprs(op="inplace_binop")}
    _eliminate(func_ir, typemap, alias_map, arg_aliases | written)


def _overloaded(self: Any, cres: Any) -> None:
    if _active:
        self.overloads[tuple(cres.signature.args)] = cres
    else:
        _add_overload(self, cres)


typed_passes.BaseNativeLowering.run_pass = _lower  # type: ignore[method-assign]
typed_passes.dead_code_elimination = inline_closurecall.dead_code_elimination = _without_lost_writes
codegen.CPUCodeLibrary.finalize = _finish  # type: ignore[method-assign]
cpu.CPUContext.get_executable = _executable  # type: ignore[method-assign]
dispatcher.Dispatcher.add_overload = _overloaded  # type: ignore[method-assign]


def _closure(libraries: list[Any]) -> list[Any]:
    """Libraries and all that those which were only lowered call, callers first: LLVM drops a function that may be
    dropped where nothing refers to it yet."""
    seen: dict[int, Any] = {}
    order: list[Any] = []

    def visit(library: Any) -> None:
        if id(library) in seen:
            return
        seen[id(library)] = library
        if getattr(library, "_lowered", False):
            for called in library._linking_libraries:
                visit(called)
        order.append(library)

    for library in libraries:
        visit(library)
    return order[::-1]


def linked(library: Any) -> Any:
    """A module of LLVM with a lowered function and all that it calls."""
    module = library._final_module.clone()
    for called in _closure([library]):
        if called is not library:
            module.link_in(called._get_module_for_linking(), preserve=True)
    return module


def optimize(module: Any, machine: Any) -> None:
    """As Numba does: a cheap pass that inlines, so that reference counts of one array meet, then all of O3."""
    for cheap in (True, False):
        builder = create_pass_builder(machine, opt=0 if cheap else 3, loop_vectorize=not cheap, slp_vectorize=False)
        manager = builder.getModulePassManager()
        if cheap:
            manager.add_loop_rotate_pass()
            manager.add_instruction_combine_pass()
            manager.add_jump_threading_pass()
        manager.add_refprune_pass()
        manager.run(module, builder)


@intrinsic
def apart(typingctx):
    """See `parts.apart`."""

    def codegen(context, builder, signature, args):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.none(), codegen


def _register(stated: overloads.Overload) -> None:
    function, chosen, options = stated
    numba_overload(function, **options)(chosen)


overloads.give_to(_register)
