"""A system-call filter for the sandboxed shell, as the bytes that bubblewrap passes to the kernel.

It blocks calls that ordinary programs do not make and that attacks on the kernel often start with: mounts, namespaces, kernel modules,
key rings, `bpf`, `io_uring`. Sockets are limited to the families that a policy allows, because namespaces alone would not stop sockets
in a shared network namespace, or of a family without namespaces (AF_VSOCK reaches the hypervisor). The filter is a second wall;
bubblewrap's namespaces are the first.

It is written by hand, because classic BPF needs only a few lines for it (compare the number, allow or refuse) and the usual
libraries need a system library. Numbers come from the kernel's tables for x86_64 and aarch64. Other machines get no filter.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass

# name: (x86_64, aarch64)
_REFUSED = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "mount_setattr": (442, 442),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "quotactl": (179, 60),
    "unshare": (272, 97), "setns": (308, 268),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "fanotify_init": (300, 262),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "vhangup": (153, 58),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "lookup_dcookie": (212, 18),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
}  # fmt: skip
_SOCKET = (41, 198)
_SOCKET_PAIR = (53, 199)
_CLONE = (56, 220)
_CLONE3 = 435
_NEW_USER_NAMESPACE = 0x10000000
_X32_CALLS = 0x40000000

# Opcodes of classic BPF, and the actions of seccomp.
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16


@dataclass(frozen=True)
class _Machine:
    column: int
    audit_architecture: int


_MACHINES = {"x86_64": _Machine(0, 0xC000003E), "aarch64": _Machine(1, 0xC00000B7)}


def filter_for(machine: str, *, network: bool) -> bytes | None:
    """The filter for a machine (as in `os.uname().machine`), or None if there is none."""
    known = _MACHINES.get(machine)
    families = [socket.AF_UNIX, *([socket.AF_INET, socket.AF_INET6] if network else [])]
    return None if known is None else _assemble(known, families)


def _assemble(machine: _Machine, families: Sequence[int]) -> bytes:
    refused = sorted({numbers[machine.column] for numbers in _REFUSED.values()})
    refuse = _step(_RETURN, _FAIL | errno.EPERM)
    program = [
        _step(_LOAD, _ARCHITECTURE),
        # Programs of another architecture number their calls differently.
        _step(_JUMP_EQUAL, machine.audit_architecture, yes=1),
        refuse,
        _step(_LOAD, _NUMBER),
        _step(_JUMP_AT_LEAST, _X32_CALLS, no=1),
        refuse,
        # Libraries fall back to `clone` if `clone3` is unknown, and the flags of `clone` can be inspected.
        _step(_JUMP_EQUAL, _CLONE3, no=1),
        _step(_RETURN, _FAIL | errno.ENOSYS),
        _step(_JUMP_EQUAL, _CLONE[machine.column], no=4),
        _step(_LOAD, _FIRST_ARGUMENT),
        _step(_JUMP_ANY_BIT, _NEW_USER_NAMESPACE, no=1),
        refuse,
        _step(_RETURN, _ALLOW),
        *_only_sockets_of(families, machine),
    ]
    program += [_step(_JUMP_EQUAL, number, yes=len(refused) - place) for place, number in enumerate(refused)]
    return b"".join([*program, _step(_RETURN, _ALLOW), refuse])


def _only_sockets_of(families: Sequence[int], machine: _Machine) -> list[bytes]:
    """Allows `socket` and `socketpair` by their first argument. A refused call gets the error of a kernel without that family."""
    count = len(families)
    return [
        _step(_JUMP_EQUAL, _SOCKET[machine.column], yes=1),
        _step(_JUMP_EQUAL, _SOCKET_PAIR[machine.column], no=count + 3),
        _step(_LOAD, _FIRST_ARGUMENT),
        *(_step(_JUMP_EQUAL, family, yes=count - place) for place, family in enumerate(families)),
        _step(_RETURN, _FAIL | errno.EAFNOSUPPORT),
        _step(_RETURN, _ALLOW),
    ]


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """One instruction; `yes` and `no` say how many to skip."""
    return struct.pack("=HBBI", code, yes, no, value)
