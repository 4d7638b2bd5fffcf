"""The stubs say of every function what the extension says itself."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from pyshmem._core import binding

STUBS = ast.parse((Path(__file__).resolve().parents[2] / "pyshmem/_core/binding.pyi").read_text())


def described(node: ast.FunctionDef) -> list[tuple[str, bool]]:
    """Parameters of a stub, and whether each has a default."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    found = [(one.arg, i >= required) for i, one in enumerate(positional) if one.arg not in ("self", "cls")]
    found += [(one.arg, default is not None)
              for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    found += [(one.arg, False) for one in (arguments.vararg, arguments.kwarg) if one]
    return found


def actual(function) -> list[tuple[str, bool]]:
    """The same of what is there."""
    parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    order = sorted(parameters, key=lambda one: one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD))
    return [(one.name, one.default is not one.empty) for one in order]


FUNCTIONS = [node for node in STUBS.body if isinstance(node, ast.FunctionDef)]
METHODS = [(cls.name, node) for cls in STUBS.body if isinstance(cls, ast.ClassDef) and cls.name in ("Team", "Ctx")
           for node in cls.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("__")]


@pytest.mark.parametrize("node", FUNCTIONS, ids=lambda node: node.name)
def test_function(node):
    assert described(node) == actual(getattr(binding, node.name))


@pytest.mark.parametrize("owner, node", METHODS, ids=lambda one: getattr(one, "name", one))
def test_method(owner, node):
    assert described(node) == actual(getattr(getattr(binding, owner), node.name))


def test_nothing_is_left_out():
    """Every function of the extension has a stub."""
    there = {name for name, value in vars(binding).items()
             if inspect.isroutine(value) and not name.startswith("_")}
    assert there == {node.name for node in FUNCTIONS}
