# SPDX-License-Identifier: Apache-2.0
"""Run a command that can reach nothing but this machine: ``python scripts/offline.py make test``.

Linux only: the command gets a network namespace of its own with the loopback device and no other. Where
namespaces are not permitted the command runs as it is, and that is said.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1


def leave_the_network() -> None:
    """Move this process into a network namespace of its own, and a user's if need be; raise loopback there.

    Raises:
        OSError: The kernel, or this machine's policy, does not permit it.
    """
    unshare = ctypes.CDLL(None, use_errno=True).unshare
    # Whoever may leave the network as it is keeps every other right: tests of full disks need to mount.
    if unshare(CLONE_NEWNET):
        user, group = os.getuid(), os.getgid()
        if unshare(CLONE_NEWUSER | CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    with socket.socket() as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def main() -> None:
    """Leave the network and become the command."""
    command = sys.argv[1:]
    if not command:
        sys.exit("usage: offline.py COMMAND [WORD...]")
    try:
        leave_the_network()
    except (OSError, AttributeError) as exc:
        print(f"offline.py: the network stays, namespaces are not permitted here ({exc})", file=sys.stderr)
    os.execvp(command[0], command)  # noqa: S606 - to become the stated command is the purpose


if __name__ == "__main__":
    main()
