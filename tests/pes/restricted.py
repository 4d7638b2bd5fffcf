"""Run a program as a container would that forbids system calls, or with less address space.

    restricted.py [--forbid CALL,...] [--address-space BYTES] program.py [args]

A seccomp filter answers the calls with EPERM, as the default profiles of containers do.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import resource
import struct
import sys

NUMBERS = {"x86_64": {"mbind": 237, "get_mempolicy": 239, "move_pages": 279},
           "aarch64": {"mbind": 235, "get_mempolicy": 236, "move_pages": 239}}
# From linux/filter.h, linux/seccomp.h and linux/prctl.h.
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050001  # SECCOMP_RET_ERRNO with EPERM
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2


class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def forbid(calls: list[str]) -> None:
    numbers = [NUMBERS[platform.machine()][call] for call in calls]
    code = struct.pack("HBBI", LOAD, 0, 0, 0)  # the number of the call
    for left, number in zip(range(len(numbers), 0, -1), numbers, strict=True):
        code += struct.pack("HBBI", EQUAL, left, 0, number)
    code += struct.pack("HBBI", RETURN, 0, 0, ALLOW) + struct.pack("HBBI", RETURN, 0, 0, REFUSE)
    libc = ctypes.CDLL(None, use_errno=True)
    program = Program(len(code) // 8, code)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(SECCOMP, FILTER, ctypes.byref(program), 0, 0):
        sys.exit(f"no seccomp filter: {os.strerror(ctypes.get_errno())}")


parser = argparse.ArgumentParser()
parser.add_argument("--forbid", type=lambda text: text.split(","), default=[])
parser.add_argument("--address-space", type=int)
parser.add_argument("--locked-memory", type=int)
parser.add_argument("program", nargs=argparse.REMAINDER)
options = parser.parse_args()
if options.address_space:
    resource.setrlimit(resource.RLIMIT_AS, (options.address_space, options.address_space))
if options.locked_memory is not None:
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (options.locked_memory, options.locked_memory))
if options.forbid:
    forbid(options.forbid)
os.execv(sys.executable, [sys.executable, *options.program])
