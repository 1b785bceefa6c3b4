from __future__ import annotations
from typing import Any
from musculo.kernels.compiler import store
def compiled(driver: Any, where: str, name: str, signature: str):
    from musculo.kernels.compiler.entry import lowered, object_of
    import time
    t=time.process_time()
    low = lowered(driver, name, signature)
    t1=time.process_time()
    image = object_of(low, "native")
    print(f"{where}: lowered {t1-t:.2f} s, emitted {time.process_time()-t1:.2f} s, {len(image)} bytes")
    store.keep(name, low.layout, image)
    return store.loaded(name, image, low.layout)
