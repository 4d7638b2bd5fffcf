"""Options of ``from pyshmem import shmem``, to be set before that import; those of shmem4py.

``pyshmem.rc`` is the object that holds them, which stands here in place of this module::

    from pyshmem import rc

    rc.threads = True
    rc(thread_level="serialized", finalize=True)
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import cast

# What type checkers see of the object.
initialize: bool
threads: bool
thread_level: str
finalize: bool | None


class Rc:
    """Options that programs set by attribute or by call, and that nobody can misspell.

    Attributes
    ----------
    initialize : bool
        Whether the import starts OpenSHMEM.
    threads : bool
        Whether it is started with a thread level.
    thread_level : {'multiple', 'serialized', 'funneled', 'single'}
        Which one.
    finalize : bool or None
        Whether OpenSHMEM is stopped at exit; None: if the import started it.  Since an exit without it leaves the
        other PEs waiting, what was started is stopped at exit whatever this says.
    """

    __module__ = "pyshmem"

    initialize: bool = True
    threads: bool = False
    thread_level: str = "multiple"
    finalize: bool | None = None

    def __init__(self, **options: object) -> None:
        self(**options)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in Rc.__annotations__:
            raise TypeError(f"rc has no option {name!r}; the options are {', '.join(Rc.__annotations__)}")
        super().__setattr__(name, value)

    def __call__(self, **options: object) -> None:
        """Set several options; none if one of them does not exist."""
        unknown = options.keys() - Rc.__annotations__.keys()
        if unknown:
            raise TypeError(f"rc() has no option {', '.join(map(repr, sorted(unknown)))}; "
                            f"the options are {', '.join(Rc.__annotations__)}")
        for name, value in options.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.rc>"


sys.modules[__name__] = cast(ModuleType, Rc())
