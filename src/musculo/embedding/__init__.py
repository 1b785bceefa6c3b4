"""From independent coordinates to all of them: couplers, locked and prescribed coordinates; later, solved loops.

The package shares its name with the function `musculo.embedding(model)`. Python binds the package to that name as soon
as any module of it is imported, so the package itself answers the call.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from musculo.embedding.embedding import Embedding
    from musculo.model.model import Model


class _CallablePackage(ModuleType):
    def __call__(self, model: Model) -> Embedding:
        from musculo.embedding.embedding import embedding

        return embedding(model)


sys.modules[__name__].__class__ = _CallablePackage
