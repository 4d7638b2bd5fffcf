"""Build pyshmem: the C library, its header and pkg-config file, and the Cython extension over it.

The OpenSHMEM library is that of ``OSHCC`` (path of a compiler wrapper), else of the first ``oshcc`` on
PATH, else that of ``pkg-config sandia-openshmem``; hwloc is found by pkg-config.  What the library has
is found by linking, function by function.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
ABI = 1
C_FLAGS = ["-std=c11", "-O2", "-g", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wpedantic"]

EXPORTS = ROOT / "src/libshmem_partition.map"

# The table of the specification's functions; by path, since there is no package to import it from yet.
SPECIFICATION = runpy.run_path(str(ROOT / "pyshmem/specification.py"))

# What every engine must have.
BASELINE = """\
#include <shmem.h>
int main(void)
{
    shmem_ctx_t context;
    int provided;
    return shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) || shmem_ctx_create(0, &context);
}
"""

NOTHING_FOUND = """
pyshmem needs an OpenSHMEM library and hwloc: {what}.
On Debian: apt-get install openmpi-bin libopenmpi-dev libhwloc-dev pkg-config gcc python3-dev
For Sandia OpenSHMEM or another library: OSHCC=/where/it/is/bin/oshcc pip install .
"""


def stop(what: str) -> None:
    """End the build with three lines that say what is missing and what to do."""
    sys.exit(NOTHING_FOUND.format(what=what))


def output(*command: str) -> str | None:
    """What a command prints, or None if it cannot be run or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def package_flags(package: str, *what: str) -> list[str] | None:
    """Flags of a pkg-config package, or None."""
    text = output("pkg-config", *what, package)
    return None if text is None else shlex.split(text)


@dataclass
class Engine:
    """An OpenSHMEM library to build against: how to compile and link with it."""

    oshcc: str | None
    compiler: list[str]
    compile_flags: list[str]
    link_flags: list[str]

    @property
    def version(self) -> str:
        """The library's own version, from the tools that come with it."""
        if self.oshcc:
            beside = Path(self.oshcc).parent
            told = output(str(beside / "oshmem_info"), "--version") or ""
            if match := re.search(r"v?(\d+(\.\d+)+\w*)", told):
                return match[1]
            package = Path(self.oshcc).resolve().parent.parent / "lib/pkgconfig/sandia-openshmem.pc"
            return output("pkg-config", "--modversion", str(package)) or "unknown"
        return output("pkg-config", "--modversion", "sandia-openshmem") or "unknown"


def find_engine() -> Engine:
    """The OpenSHMEM library that was asked for, or the first that is there."""
    asked = os.environ.get("OSHCC")
    oshcc = shutil.which(asked or "oshcc")
    if asked and not oshcc:
        stop(f"OSHCC={asked} is not a program")
    if oshcc:
        return Engine(oshcc, [oshcc], [], [])
    compile_flags = package_flags("sandia-openshmem", "--cflags")
    link_flags = package_flags("sandia-openshmem", "--libs")
    if compile_flags is None or link_flags is None:
        stop("no oshcc on PATH, and no package sandia-openshmem")
    return Engine(None, shlex.split(os.environ.get("CC", "cc")), compile_flags or [], link_flags or [])


def links(engine: Engine, source: str) -> bool:
    """Does a C program compile and link against the engine?"""
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch, "probe.c")
        program.write_text(source)
        command = [*engine.compiler, *engine.compile_flags, str(program), "-o", str(program.with_suffix("")),
                   *engine.link_flags]
        return subprocess.run(command, capture_output=True).returncode == 0


def symbols_of(engine: Engine, symbols: list[str]) -> set[str]:
    """Which of these the engine's library has: the linker names those that are missing, all at once."""
    declared = "".join(f"void {symbol}(void);\n" for symbol in symbols)
    used = ", ".join(symbols)
    with tempfile.TemporaryDirectory() as scratch:
        source, program = Path(scratch, "probe.c"), Path(scratch, "probe")
        source.write_text(f"{declared}void (*const all[])(void) = {{{used}}};\nint main(void) {{ return !all[0]; }}\n")
        command = [*engine.compiler, *engine.compile_flags, "-w", "-fPIC", str(source), "-o", str(program),
                   *engine.link_flags]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, LC_ALL="C"))
    missing = set(re.findall(r"undefined reference to [`']?(\w+)", done.stderr))
    if done.returncode != 0 and not missing:
        stop(f"{engine.oshcc or 'sandia-openshmem'} does not link a program:\n{done.stderr}")
    return set(symbols) - missing


def specification(engine: Engine) -> tuple[int, int]:
    """The version of the OpenSHMEM specification that the engine's header claims."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "version.c")
        source.write_text("#include <shmem.h>\nclaimed SHMEM_MAJOR_VERSION SHMEM_MINOR_VERSION\n")
        text = output(*engine.compiler, *engine.compile_flags, "-E", str(source)) or ""
    match = re.search(r"^claimed (\d+) +(\d+)", text, re.MULTILINE)
    return (int(match[1]), int(match[2])) if match else (1, 0)


def public_names(compiled: Path) -> tuple[list[str], list[str]]:
    """Names of this library's own that programs may use, and those of OpenSHMEM that it takes over."""
    text = EXPORTS.read_text().partition("local:")[0]
    patterns = re.findall(r"^ +([\w*]+);$", text, re.MULTILINE)
    defined = (output("nm", "--defined-only", "--extern-only", "--format=just-symbols", str(compiled)) or "").split()
    names = [name for name in defined if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    own = [name for name in names if name.startswith(("shmem_partition_", "shmemx_kind_"))]
    return own, [name for name in names if name not in own]


class Build(build_ext):
    """Builds the C library before the extension that stands on it."""

    def run(self) -> None:
        engine = find_engine()
        if not links(engine, BASELINE):
            stop(f"{engine.oshcc or 'sandia-openshmem'} does not compile and link an OpenSHMEM 1.4 program")
        hwloc = package_flags("hwloc", "--cflags", "--libs")
        if hwloc is None:
            stop("no package hwloc (or no pkg-config)")
        in_place = self.inplace or getattr(self, "editable_mode", False)
        self.destination = ROOT / "pyshmem" if in_place else Path(self.build_lib).resolve() / "pyshmem"
        self.generated = Path(self.build_temp).resolve() / "generated"
        for directory in (self.generated, self.destination / "lib" / "pkgconfig", self.destination / "include"):
            directory.mkdir(parents=True, exist_ok=True)
        self.write_has(engine)
        self.compile_objects(engine)
        self.build_library(engine, hwloc or [])
        self.build_archive()
        self.build_preload()
        self.write_package_files(engine)
        self.prepare_manual()
        self.prepare_extension(engine)
        super().run()

    def write_has(self, engine: Engine) -> None:
        """Write has.h: what this engine has."""
        self.version = specification(engine)
        symbols = symbols_of(engine, SPECIFICATION["symbols_to_look_for"]())
        self.features = SPECIFICATION["features_of"](self.version, symbols)
        self.functions = SPECIFICATION["origins"](self.features, symbols)
        lines = [f"#define {name} {int(has)}\n" for name, has in self.features.items()]
        (self.generated / "has.h").write_text("/* Generated: what this OpenSHMEM library has. */\n" + "".join(lines))

    def compile_objects(self, engine: Engine) -> None:
        """Compile src/, of which the shared library and the archive are made."""
        self.objects = self.generated / "objects"
        shutil.rmtree(self.objects, ignore_errors=True)
        self.objects.mkdir()
        self.compiler_of_objects = [*engine.compiler, *engine.compile_flags, *C_FLAGS, "-c", f"-I{self.generated}",
                                    f"-I{ROOT / 'include'}", *(package_flags("hwloc", "--cflags") or [])]
        sources = sorted(map(str, [*ROOT.glob("src/*.c"), *ROOT.glob("src/engine/*.c")]))
        self.call("libshmem_partition", [*self.compiler_of_objects, *sources], self.objects)

    def build_library(self, engine: Engine, hwloc: list[str]) -> None:
        """Link the shared library, with the name that programs look for at run time."""
        self.library = self.destination / "lib" / f"libshmem_partition.so.{ABI}"
        self.call(self.library.name,
                  [*engine.compiler, "-shared", *sorted(map(str, self.objects.glob("*.o"))), "-o", str(self.library),
                   f"-Wl,-soname,{self.library.name}", "-Wl,-Bsymbolic",
                   f"-Wl,--version-script={EXPORTS}", *engine.link_flags, *hwloc, "-ldl"])
        # A wheel has no links; a linker script stands in for the name that programs are linked with.
        (self.destination / "lib/libshmem_partition.so").write_text(f"INPUT({self.library.name})\n")

    def build_archive(self) -> None:
        """Make the library for programs that have the engine linked into them, where no other can stand before it.

        The linker's ``--wrap`` puts ours before the engine's there; of its names no others are seen than the public.
        """
        archive, whole = self.library.with_name("libshmem_partition.a"), self.objects / "whole.o"
        called = archive.name
        self.call(called, [*self.compiler_of_objects, "-DLINKED_INTO_PROGRAM", str(ROOT / "src/engine/start.c")],
                  self.objects)
        self.call(called, ["ld", "-r", *sorted(map(str, self.objects.glob("*.o"))), "-o", str(whole)])
        public, taken_over = public_names(whole)
        renamed = [f"--redefine-sym={name}=__wrap_{name}" for name in taken_over]
        self.call(called, ["objcopy", *renamed, str(whole)])
        kept = [*public, *(f"__wrap_{name}" for name in taken_over)]
        self.call(called, ["objcopy", *(f"--keep-global-symbol={name}" for name in kept), str(whole)])
        archive.unlink(missing_ok=True)
        self.call(called, ["ar", "rcs", str(archive), str(whole)])
        self.taken_over = taken_over

    def build_preload(self) -> None:
        """Compile the preload library: without the engine, since it is loaded into programs that have none."""
        library = self.library.with_name("libshmem_partition_preload.so")
        sources = sorted(map(str, ROOT.glob("src/preload/*.c")))
        self.call(library.name,
                  [*shlex.split(os.environ.get("CC", "cc")), *C_FLAGS, "-shared", *sources, "-o", str(library),
                   f"-I{self.generated}", f"-DLIBRARY=\"{self.library.name}\"", "-Wl,-rpath,$ORIGIN",
                   f"-Wl,-soname,{library.name}", f"-Wl,--version-script={ROOT / 'src/preload/mappings.map'}", "-ldl"])

    def call(self, made: str, command: list[str], directory: Path | None = None) -> None:
        """Call a tool that has a part in making this, or end the build with what it says."""
        print("building", made, "with", command[0])
        done = subprocess.run(command, capture_output=True, text=True, cwd=directory)
        if done.stderr:
            print(done.stderr)
        if done.returncode != 0:
            sys.exit(f"building {made} failed:\n{shlex.join(command)}\n{done.stderr}")

    def write_package_files(self, engine: Engine) -> None:
        """Write the interfaces, the pkg-config file and the record of this build."""
        for interface in ("shmem_partition.h", "shmem_partition.f90"):
            shutil.copy(ROOT / "include" / interface, self.destination / "include")
        version = self.distribution.get_version()
        wraps = " ".join(f"-Wl,--wrap={name}" for name in self.taken_over)
        for package in ("shmem_partition.pc", "shmem_partition_static.pc"):
            text = (ROOT / "src" / f"{package}.in").read_text()
            text = text.replace("@VERSION@", version).replace("@WRAPS@", wraps)
            (self.destination / "lib/pkgconfig" / package).write_text(text)
        record = {
            "oshcc": engine.oshcc,
            "engine_version": engine.version,
            "specification": "{}.{}".format(*self.version),
            "hwloc": output("pkg-config", "--modversion", "hwloc"),
            "compiler": (output(*engine.compiler, "--version") or "unknown").splitlines()[0],
            "flags": " ".join(C_FLAGS),
            "features": self.features,
            "functions": self.functions,
        }
        (self.destination / "build_record.json").write_text(json.dumps(record, indent=2) + "\n")

    def prepare_manual(self) -> None:
        """Have the manual pages installed, each under all the names that it describes."""
        files: dict[str, list[str]] = {"share/man/man3": [], "share/man/man7": []}
        for page in sorted(ROOT.glob("man/*.[37]")):
            section = page.suffix[1:]
            installed = files[f"share/man/man{section}"]
            installed.append(str(page))
            for name in re.findall(r"^\.Nm (\w+) ?,?$", page.read_text(), re.MULTILINE):
                link = self.generated / f"{name}.{section}"
                if link.name != page.name:
                    link.write_text(f".so man{section}/{page.name}\n")
                    installed.append(str(link))
        self.distribution.data_files = list(files.items())

    def prepare_extension(self, engine: Engine) -> None:
        """Point the extension at the library just built and at the engine."""
        extension = self.extensions[0]
        extension.include_dirs += [str(ROOT / "include"), str(ROOT / "src"), str(self.generated)]
        extension.library_dirs.append(str(self.library.parent))
        extension.extra_link_args += engine.link_flags
        self.engine = engine

    def build_extensions(self) -> None:
        for role in ("compiler_so", "linker_so"):
            command = getattr(self.compiler, role)
            self.compiler.set_executable(role, [*self.engine.compiler, *self.engine.compile_flags, *command[1:]])
        super().build_extensions()


setup(
    cmdclass={"build_ext": Build},
    ext_modules=[
        Extension(
            "pyshmem._core.binding",
            sources=["pyshmem/_core/binding.pyx"],
            depends=[*map(str, ROOT.glob("pyshmem/_core/*.px?")), *map(str, ROOT.glob("src/**/*.[ch]"))],
            include_dirs=[numpy.get_include()],
            libraries=["shmem_partition"],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
            extra_compile_args=["-std=c11", "-O2", "-Wno-unused-function"],
            extra_link_args=["-Wl,-rpath,$ORIGIN/../lib"],
        )
    ],
)
