"""Programs written for shmem4py run unchanged: its names, its own test suite, its demos, its options."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from jobs import PE_COUNTS, ROOT, check_job, run_command, run_job

VERSION = "1.0.0"
RUNNER = [sys.executable, "-m", "pyshmem.shmem4py"]
# Handles of C, which Ctx and Team objects of pyshmem keep to themselves.
HANDLES = {"ob_ctx", "ob_team"}


@pytest.fixture(scope="session")
def theirs():
    """shmem4py's source, unpacked, from where pip gets packages."""
    work = ROOT / ".build" / "shmem4py"
    unpacked = work / f"shmem4py-{VERSION}"
    if not unpacked.is_dir():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--no-build-isolation", "--no-binary", "shmem4py", "--dest", str(work), f"shmem4py=={VERSION}"]
        subprocess.run(pip, check=True)
        with tarfile.open(unpacked.with_suffix(f".{VERSION.split('.')[-1]}.tar.gz")) as archive:
            partial = work / "partial"
            shutil.rmtree(partial, ignore_errors=True)
            archive.extractall(partial, filter="data")
            (partial / unpacked.name).rename(unpacked)
    return unpacked


def run_theirs(pes, program, environment={}, **how):
    return run_job(pes, ["--shmem4py", *map(str, program)], environment, **how)


def check_theirs(pes, program, environment={}, **how):
    return check_job(pes, ["--shmem4py", *map(str, program)], environment, **how)


# ---- names and signatures --------------------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def ours():
    """The namespace, with nothing started."""
    import pyshmem

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyshmem.rc, "initialize", False)
        return importlib.import_module("pyshmem.shmem")


def public(body):
    """Names that a block of shmem4py's source makes, with what makes them."""
    made = {}
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            made[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            made |= {target.id: node for target in targets if isinstance(target, ast.Name)}
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            made |= {name.asname or name.name: node for name in node.names}
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                made.pop(target.id)
    return {name: node for name, node in made.items() if not name.startswith("_")}


@pytest.fixture(scope="session")
def their_names(theirs):
    return public(ast.parse((theirs / "src/shmem4py/shmem.py").read_text()).body)


def wanted_parameters(function, namespace):
    """A signature in the source, as a list of name, kind and default."""
    given = function.args
    kinds = inspect.Parameter
    found = [(argument.arg, kinds.POSITIONAL_OR_KEYWORD) for argument in given.posonlyargs + given.args]
    without = [kinds.empty] * (len(found) - len(given.defaults))
    defaults = [*without, *(value_of(node, namespace) for node in given.defaults)]
    found = [(*parameter, default) for parameter, default in zip(found, defaults, strict=True)]
    for argument, node in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append((argument.arg, kinds.KEYWORD_ONLY, kinds.empty if node is None else value_of(node, namespace)))
    if given.kwarg:
        found.append((given.kwarg.arg, kinds.VAR_KEYWORD, kinds.empty))
    return [parameter for parameter in found if parameter[0] != "self"]


def value_of(node, namespace):
    return eval(ast.unparse(node), {}, {"float": float, **vars(namespace)})


def differences(function, wanted):
    """What a program that was written for one signature would notice of another."""
    found = list(inspect.signature(function).parameters.values())
    found = [parameter for parameter in found if parameter.name != "self"]
    by_position = [parameter.name for parameter in found if parameter.kind == parameter.POSITIONAL_OR_KEYWORD]
    names = [name for name, kind, _ in wanted if kind == inspect.Parameter.POSITIONAL_OR_KEYWORD]
    told = [] if by_position[: len(names)] == names else [f"parameters {by_position}, not {names}"]
    by_name = {parameter.name: parameter for parameter in found}
    for name, kind, default in wanted:
        has = by_name.pop(name, None)
        if has is None or (has.kind != kind and has.kind != has.POSITIONAL_OR_KEYWORD):
            told.append(f"{name} is {has and has.kind}, not {kind}")
        elif has.default is not default and has.default != default:
            told.append(f"{name}={has.default}, not {default}")
    more = [parameter for parameter in by_name.values() if parameter.default is parameter.empty]
    return told + [f"{parameter.name} must be given as well" for parameter in more
                   if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)]


def test_all_names(ours, their_names):
    assert len(their_names) > 140
    assert [name for name in their_names if not hasattr(ours, name)] == []
    assert [name for name in their_names if name not in ours.__all__] == []


def test_all_signatures(ours, their_names):
    told = {}
    for name, node in their_names.items():
        if isinstance(node, ast.FunctionDef) and (noticed := differences(
                getattr(ours, name), wanted_parameters(node, ours))):
            told[name] = noticed
    assert told == {}


def test_all_members_of_classes(ours, their_names):
    told = {}
    for name, node in their_names.items():
        if not isinstance(node, ast.ClassDef):
            continue
        for member, definition in public(node.body).items():
            has = getattr(getattr(ours, name), member, None)
            if has is None and member not in HANDLES:
                told[f"{name}.{member}"] = "is missing"
            elif isinstance(definition, ast.FunctionDef) and (noticed := differences(
                    has, wanted_parameters(definition, ours))):
                told[f"{name}.{member}"] = noticed
            elif isinstance(definition, ast.AnnAssign) and isinstance(definition.value, ast.Constant) and (
                    has != definition.value.value):
                told[f"{name}.{member}"] = f"{has!r}, not {definition.value.value!r}"
    assert told == {}


def test_what_c_knows(ours):
    assert ours.ffi.string(ours.lib.SHMEM_VENDOR_STRING).decode() == ours.VENDOR_STRING == ours.info_get_name()
    assert ours.info_get_version() == (ours.MAJOR_VERSION, ours.MINOR_VERSION) >= (1, 6)
    assert ours.lib.SHMEM_TEAM_NUM_CONTEXTS and ours.lib.SHMEM_CMP_EQ == ours.CMP_EQ
    assert ours.lib.SHMEM_TEAM_WORLD == ours.TEAM_WORLD and ours.lib.SHMEM_CTX_DEFAULT == ours.CTX_DEFAULT


def test_cffi_is_missed_only_by_those_who_use_it(ours, monkeypatch):
    for name in ("ffi", "lib"):
        vars(ours).pop(name, None)
    monkeypatch.setitem(sys.modules, "cffi", None)
    for name in ("ffi", "lib"):
        with pytest.raises(ImportError, match=r"pip install pyshmem-openshmem\[shmem4py\]"):
            getattr(ours, name)


# ---- its test suite --------------------------------------------------------------------------------------------------

# The suite has some 20000 barriers, which take their time where PEs share cores.
SUITE_TIMEOUT = 900.0
# It is older than NumPy 2, which refuses numpy.full(1, -1, "B"); all else is as it is.
SUITE = """\
import sys, unittest
import numpy as np

full = np.full
np.full = lambda shape, value, dtype=None: full(shape, value if dtype is None else np.asarray(value).astype(dtype))
result = unittest.main(None, argv=["unittest", "discover", "-s", sys.argv[1]], exit=False).result
wrong = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
print(f"suite: {result.testsRun} run, {len(result.skipped)} skipped, {wrong} wrong")
sys.exit(wrong)
"""


def number_of_tests(directory):
    """How many tests the suite has, by its source."""
    classes = [node for path in directory.glob("test_*.py") for node in ast.parse(path.read_text()).body
               if isinstance(node, ast.ClassDef)]
    return sum(name.startswith("test") for node in classes for name in public(node.body))


@pytest.mark.parametrize("pes", PE_COUNTS)
def test_suite(theirs, pes):
    tests = number_of_tests(theirs / "test")
    assert tests >= 110
    output = check_theirs(pes, ["-c", SUITE, theirs / "test"], timeout=SUITE_TIMEOUT)
    assert output.count(f"suite: {tests} run, 0 skipped, 0 wrong") == pes, output
    # What several PEs print may share a line.
    assert output.count(f"Ran {tests} tests") == output.count("OK") == pes, output


def test_suite_through_unittest_itself(theirs):
    """All that NumPy 2 lets it do, as its authors run it."""
    names = sorted(path.stem for path in (theirs / "test").glob("test_*.py") if path.stem != "test_rma")
    environment = {"PYTHONPATH": str(theirs / "test")}
    result = run_command([*RUNNER, "-m", "unittest", *names], environment, cwd=theirs)
    assert result.status == 0 and "\nOK\n" in result.output, result.output


# ---- its demos -------------------------------------------------------------------------------------------------------

# The program, on how many PEs, and what it says how many times.
DEMOS = {
    "hello": (4, {f"Hello from PE {pe} of 4": 1 for pe in range(4)}),
    "alltoall": (4, {"ERROR": 0, "dest = [": 4}),
    "broadcast": (3, {": [1 2 3]": 3}),
    "collect": (4, {" = [11 11 12 11 12 13 11 12 13 14]": 4}),
    "fcollect": (3, {"AFTER: dst[": 3, " = [100 101 102]": 3}),
    "lock": (4, {f"count is {number}": 1 for number in range(4)}),
    "lock_oo": (3, {f"count is {number}": 1 for number in range(3)}),
    "pi": (2, {"Pi from [20000] points on 2 PEs: [3.1": 1}),
    "ping": (2, {"is accessible": 2}),
    "race_winner": (4, {"was first": 1}),
    "race_winner_test": (3, {"observed first update from PE": 1}),
    "rotget": (3, {f"After data transfer rank {pe} src={pe} dst={(pe + 1) % 3}": 1 for pe in range(3)}),
    "rotput": (1, {"Traceback": 0}),
}


def test_all_demos_are_here(theirs):
    assert {path.stem for path in (theirs / "demo").glob("*.py")} == set(DEMOS)


@pytest.mark.parametrize("demo", DEMOS)
def test_demo(theirs, demo):
    pes, said = DEMOS[demo]
    output = check_theirs(pes, [theirs / "demo" / f"{demo}.py"])
    assert {text: output.count(text) for text in said} == said, output


# ---- how programs are run --------------------------------------------------------------------------------------------

@pytest.fixture
def program(tmp_path):
    """A function that writes a program, whose path it returns."""
    def write(text, name="program.py"):
        path = tmp_path / name
        path.write_text(text)
        return path
    return write


# What Python tells a program of itself; the same under the runner, but for sys.path's further entries.
WHO = """\
import os, sys
import helper
print([sys.argv, __name__, globals().get("__file__"), sys.path[0], __package__, __spec__ and __spec__.name, __loader__,
       sys.modules["__main__"].__dict__ is globals(), __builtins__ is __import__("builtins"),
       [name for name in globals() if name[0] != "_"]])
"""


@pytest.mark.parametrize("how", [["program.py"], ["-m", "program"], ["-c", WHO], ["."], ["-m", "package"]],
                         ids=["script", "module", "text", "directory", "package"])
def test_programs_see_what_python_shows_them(program, tmp_path, how):
    program(WHO)
    program(WHO, "__main__.py")
    program("", "helper.py")
    (tmp_path / "package").mkdir()
    program("from . import other\n" + WHO, "package/__main__.py")
    program("", "package/other.py")
    arguments = [*how, "--flag", "-n", "x y"]
    plain = run_command([sys.executable, *arguments], cwd=tmp_path)
    ours = run_command([*RUNNER, *arguments], cwd=tmp_path)
    assert plain.status == ours.status == 0, ours.output
    address = re.compile(" at 0x[0-9a-f]+")
    assert address.sub("", ours.output) == address.sub("", plain.output)


ANY = """\
import sys
import shmem4py
from shmem4py import rc, shmem
from shmem4py.shmem import ffi
import shmem4py.shmem as again
import pyshmem
assert shmem is again is shmem4py.shmem is sys.modules["pyshmem.shmem"] and ffi is shmem.ffi
assert rc is shmem4py.rc is pyshmem.rc and repr(rc) and rc.finalize is True and shmem4py.__version__ == "1.0.0"
print(f"seen by {shmem.my_pe()} of {shmem.n_pes()}: {sys.argv[1:]}")
"""


@pytest.mark.parametrize("pes", PE_COUNTS)
def test_script(program, pes):
    output = check_theirs(pes, [program(ANY), "--", "-n", "4"])
    for pe in range(pes):
        assert f"seen by {pe} of {pes}: ['--', '-n', '4']" in output


def test_module_and_text(program):
    assert check_theirs(2, ["-c", ANY, "a", "b"]).count("of 2: ['a', 'b']") == 2
    directory = program(ANY).parent
    assert check_theirs(2, ["-m", "program", "c"], {"PYTHONPATH": str(directory)}).count("of 2: ['c']") == 2


@pytest.mark.parametrize("how", ["script", "module", "text"])
def test_exception_on_one_pe_ends_the_job(program, how):
    text = """\
from shmem4py import shmem
def fail():
    raise ValueError("on purpose")
if shmem.my_pe() == 1:
    fail()
shmem.barrier_all()
"""
    path = program(text)
    chosen = {"script": [path], "module": ["-m", "program"], "text": ["-c", text]}[how]
    result = run_theirs(2, chosen, {"PYTHONPATH": str(path.parent)}, timeout=60)
    assert result.status != 0
    trace = [line for line in result.output.splitlines() if "[PE 1]" in line]
    assert trace[0].endswith("Traceback (most recent call last):") and trace[-1].endswith("ValueError: on purpose")
    frames = [line for line in trace if ', line ' in line]
    assert len(frames) == 2 and ", line 5, in <module>" in frames[0] and ", line 3, in fail" in frames[1], result.output


def test_exit_status_of_one_pe_ends_the_job(program):
    text = "import sys\nfrom shmem4py import shmem\nif shmem.my_pe() == 0:\n    sys.exit(7)\nshmem.barrier_all()\n"
    assert run_theirs(2, [program(text)], timeout=60).status != 0


@pytest.mark.parametrize("text, said", [
    ("import nowhere\n", "No module named 'nowhere'"), ("x = (\n", "SyntaxError"),
    ("raise SystemExit('over')\n", "over"),
    ("try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError from error\n", "direct cause"),
])
def test_errors_look_as_under_python(program, text, said):
    path = program(text)
    plain = run_command([sys.executable, str(path)])
    ours = run_command([*RUNNER, str(path)], cwd=path.parent)
    assert said in plain.output and (ours.status, ours.output) == (plain.status, plain.output)


@pytest.mark.parametrize("arguments, status, text", [
    ([], 2, "usage:"), (["--help"], 0, "usage:"), (["nowhere.py"], 2, "there is no program nowhere.py"),
    (["-m"], 2, "-m takes a module"), (["-c"], 2, "-c takes a program text"), (["-m", "nowhere"], 1, "No module named"),
    (["-m", "shmem4py"], 0, "shmem4py 1.0.0"),
])
def test_mistakes_and_help(arguments, status, text, tmp_path):
    result = run_command([*RUNNER, *arguments], cwd=tmp_path)
    assert result.status == status and text in result.output and "Traceback" not in result.output


def test_start_that_fails_names_the_line_of_the_program(program):
    path = program("import os\nfrom shmem4py import shmem\n")
    result = run_theirs(2, [path], {"SHMEM_SYMMETRIC_PARTITION2": "size=1M:kind=NODES(77)"})
    assert result.status != 0 and f"{path}:2: the job cannot start" in result.output, result.output


# ---- options ---------------------------------------------------------------------------------------------------------

OPTIONS = {
    "not started by the import": ({}, """\
import shmem4py
shmem4py.rc.initialize = False
from shmem4py import shmem
import pyshmem
assert not pyshmem.query_initialized() and shmem4py.rc.finalize is None
shmem.init()
assert shmem.n_pes() == 2
shmem.finalize()
"""),
    "a thread level, and the program does not stop it": ({}, """\
import shmem4py
shmem4py.rc(initialize=False, finalize=True)
from shmem4py import shmem
assert shmem.init_thread(shmem.THREAD_SINGLE) == shmem.query_thread() == shmem.THREAD.SINGLE
"""),
    "started with a thread level": ({}, """\
from shmem4py import rc
rc.threads, rc.thread_level = True, "serialized"
from shmem4py import shmem
assert shmem.query_thread() >= shmem.THREAD_SERIALIZED
"""),
    "the environment wins": ({"SHMEM4PY_RC_INITIALIZE": "no", "SHMEM4PY_RC_THREADS": "1", "SHMEM4PY_RC_FINALIZE": "Off",
                              "SHMEM4PY_RC_THREAD_LEVEL": "Funneled"}, """\
from shmem4py import rc
rc.initialize = True
from shmem4py import shmem
import pyshmem
assert not pyshmem.query_initialized()
assert (rc.initialize, rc.threads, rc.thread_level, rc.finalize) == (False, True, "funneled", False)
"""),
    "options of pyshmem's own namespace": ({"SHMEM4PY_RC_INITIALIZE": "off"}, """\
import pyshmem
from pyshmem import rc, shmem
import shmem4py
assert rc is shmem4py.rc and rc.initialize is False and not pyshmem.query_initialized()
for wrong in (lambda: setattr(rc, "thread_levle", "single"), lambda: rc(finalise=True), lambda: rc(threads=1, b=2)):
    try:
        wrong()
    except TypeError as error:
        assert "thread_level" in str(error)
    else:
        raise AssertionError("a misspelt option was taken")
assert rc.threads is False
"""),
}


@pytest.mark.parametrize("what", OPTIONS)
def test_options(program, what):
    environment, text = OPTIONS[what]
    path = program(text + "print('all well')\n")
    assert check_theirs(2, [path], environment).count("all well") == 2


def test_thread_level_that_there_is_not(program):
    result = run_theirs(1, [program("from shmem4py import shmem\n")],
                        {"SHMEM4PY_RC_THREADS": "yes", "SHMEM4PY_RC_THREAD_LEVEL": "many"})
    assert result.status != 0 and "rc.thread_level must be one of single, funneled" in result.output


def test_what_is_legal_in_shmem4py(program):
    """Where pyshmem's own functions are stricter."""
    check_theirs(2, [program("""\
from shmem4py import shmem
mem = shmem.alloc(6, 8)
whole = shmem.fromalloc(mem, (-1, 3), "q", "F")
assert whole.shape == (2, 3) and whole.flags.f_contiguous
flat = shmem.fromalloc(mem, dtype="q")
flat[:] = range(6)
part = shmem.fromalloc(mem[16:], -1, "q")
assert part.tolist() == [2, 3, 4, 5] and shmem.fromalloc(mem[40:], (), "q") == 5
shmem.barrier_all()
shmem.put(part[:1], flat[5:], 1 - shmem.my_pe())
shmem.barrier_all()
assert flat[2] == 5
shmem.free(mem)
for wrong in (lambda: shmem.fromalloc(bytearray(8)), lambda: shmem.fromalloc(memoryview(bytearray(8)))):
    try:
        wrong()
    except TypeError:
        continue
    raise AssertionError("memory that is not symmetric was taken")
""")])


@pytest.mark.parametrize("how", [["program.py"], ["-m", "program"], ["-c", "print(1)"]])
def test_command_line_of_run(how, monkeypatch, tmp_path):
    from pyshmem import launch

    monkeypatch.chdir(tmp_path)
    Path("program.py").touch()
    assert launch.program_command(how, shmem4py=True) == [sys.executable, launch.SHMEM4PY_RUNNER, *how]
    assert launch.program_command(how) == [sys.executable, *how]
    with pytest.raises(launch.LaunchError, match="there is no program nowhere"):
        launch.program_command(["nowhere"], shmem4py=True)
