# SPDX-License-Identifier: Apache-2.0
"""Files that survive a crash and files that can be believed.

Three write verbs (`create`, `create_same`, `replace`), an `Appender` that never leaves half a line
behind without telling, a `lock` that dies with its process, and reading that refuses whatever is
not one plain file. Data reaches the disk before its name does: temporary file, fsync, link or
rename, fsync of the folder, which is opened before the operation so that an error of the folder's
own write-back cannot be lost.

A crash can leave a temporary file behind; its name starts with `TEMPORARY`, `list_tree` tells it
apart and `sweep` removes it.
"""

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalsite.errors import EvalsiteError, InputError, IntegrityError, UndecidedError, shorten

TEMPORARY = ".evalsite-tmp-"
UNREADABLE = "tree.unreadable"
PUBLIC_FILE = 0o644
PRIVATE_FILE = 0o600
PUBLIC_FOLDER = 0o755
PRIVATE_FOLDER = 0o700
_MAX_DEPTH = 8  # folders below a listed root; ours need 3
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something in a tree that is not a plain file or folder with a plain name."""

    path: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Tree:
    """What stands under a folder. Paths are relative to it, with ``/``.

    ``leftovers`` are temporary files of an interrupted write.
    """

    files: dict[str, int]
    folders: tuple[str, ...]
    leftovers: tuple[str, ...]
    oddities: tuple[Oddity, ...]


def shown(name: str) -> str:
    """Return a file's name as it may stand in a report: on one line, without control characters, encodable.

    Anyone can name a file, so that a name can hold line breaks, terminal commands, or bytes that are no UTF-8.
    """
    return name if name.isprintable() else ascii(name)[1:-1]


def create(path: Path, data: bytes, *, mode: int = PUBLIC_FILE) -> None:
    """Write a new file, whole or not at all.

    Raises:
        InputError: ``path`` exists.
        UndecidedError: The operating system refused (no space, read-only); nothing was written.
    """
    with _writing(path), _open_folder(path.parent) as folder:
        temporary = _write_temporary(folder, data, mode)
        try:
            os.link(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError as exc:
            raise InputError(
                "expected no file of this name yet", at=path.name, rule="create: exclusive", advice="use another name"
            ) from exc
        finally:
            os.unlink(temporary, dir_fd=folder)
            os.fsync(folder)


def create_same(path: Path, data: bytes, *, mode: int = PUBLIC_FILE) -> None:
    """Write a new file, or accept a present one with exactly these bytes.

    Raises:
        IntegrityError: A file of this name holds other bytes, or is no plain file.
        UndecidedError: The operating system refused.
    """
    try:
        create(path, data, mode=mode)
    except InputError as exc:
        if read_regular(path, len(data)) != data:
            raise IntegrityError(
                "expected the same bytes as before, found others", at=path.name, rule="create_same: write once"
            ) from exc


def replace(path: Path, data: bytes, *, mode: int = PUBLIC_FILE) -> None:
    """Put ``data`` in the place of whatever ``path`` held, in one step.

    Raises:
        UndecidedError: The operating system refused; the old content stands.
    """
    with _writing(path), _open_folder(path.parent) as folder:
        temporary = _write_temporary(folder, data, mode)
        try:
            os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)


def remove(path: Path) -> None:
    """Remove one file and make that last.

    Raises:
        UndecidedError: The operating system refused.
    """
    with _writing(path), _open_folder(path.parent) as folder:
        os.unlink(path.name, dir_fd=folder)
        os.fsync(folder)


def remove_tree(path: Path) -> None:
    """Remove a folder with all that stands below it, and make that last; no link is followed.

    Raises:
        UndecidedError: The operating system refused; part of it may stand.
    """
    with _writing(path), _open_folder(path.parent) as folder:
        shutil.rmtree(path)
        os.fsync(folder)


def move(source: Path, target: Path) -> None:
    """Give a file or folder another place on the same file system and make that last.

    Raises:
        UndecidedError: The operating system refused.
    """
    ensure_folder(target.parent)
    with _writing(source), _open_folder(source.parent) as old, _open_folder(target.parent) as new:
        os.rename(source.name, target.name, src_dir_fd=old, dst_dir_fd=new)
        os.fsync(new)
        os.fsync(old)


def ensure_folder(path: Path, *, mode: int = PUBLIC_FOLDER) -> None:
    """Make a folder and its parents, and make their names last.

    Raises:
        UndecidedError: The operating system refused.
    """
    if path.is_dir():
        return
    ensure_folder(path.parent, mode=mode)
    with _writing(path), _open_folder(path.parent) as parent:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path.name, mode, dir_fd=parent)
        os.fsync(parent)


def sweep(folder: Path) -> tuple[str, ...]:
    """Remove temporary files that a crash left under ``folder``; return their paths below it.

    A temporary file holds nothing that any record names: its content got its name or never will.
    """
    leftovers = list_tree(folder).leftovers
    for leftover in leftovers:
        remove(folder / leftover)
    return leftovers


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Return the bytes of one plain file.

    The file itself must not be a symbolic link; that no folder above it is one is what `list_tree` checks.

    Raises:
        InputError: There is no such file, or it is longer than ``max_bytes``.
        IntegrityError: It is a symbolic link, a folder, a pipe, a device, or has a second name (hard link).
        UndecidedError: The operating system refused to read it.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as exc:
        raise InputError("expected a file, found none", at=path.name) from exc
    except OSError as exc:
        if exc.errno in {errno.ELOOP, errno.ENXIO, errno.EMLINK}:
            raise IntegrityError("expected a plain file, found a link or pipe", at=path.name, rule="lstat") from exc
        raise UndecidedError(f"could not read: {exc.strerror}", at=path.name) from exc
    try:
        return _read_plain(handle, path, max_bytes)
    except OSError as exc:
        raise UndecidedError(f"could not read: {exc.strerror}", at=path.name) from exc
    finally:
        os.close(handle)


def is_folder(path: Path) -> bool:
    """Return whether ``path`` is a folder; a symbolic link to one is none.

    Raises:
        UndecidedError: The operating system refused to tell.
    """
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as exc:
        raise UndecidedError(f"could not read: {exc.strerror}", at=path.name) from exc


def list_tree(root: Path) -> Tree:
    """List what stands under ``root`` without following any link.

    A folder that cannot be listed is an oddity with the code `UNREADABLE`.

    Raises:
        InputError: ``root`` is not a folder (a symbolic link to one is none).
        UndecidedError: The operating system refused to tell.
    """
    if not is_folder(root):
        raise InputError("expected a folder, found none or a link or file", at=root.name, rule="lstat")
    lister = _Lister()
    lister.walk(root, "", 0)
    return Tree(
        files=dict(sorted(lister.files.items())),
        folders=tuple(sorted(lister.folders)),
        leftovers=tuple(sorted(lister.leftovers)),
        oddities=tuple(sorted(lister.oddities, key=lambda oddity: (oddity.path, oddity.code))),
    )


class Appender:
    """A file that only grows, by whole pieces.

    ``size_bytes`` is the length that is known to be good. A failed write is cut back to it, so that
    a full disk leaves no torn line; if even that fails the handle is broken and refuses to go on.
    """

    def __init__(self, path: Path, *, new: bool) -> None:
        self._name = path.name
        self._broken = False
        self._waiting = False  # for the disk: something was appended and not synced
        flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe is not waited for
        flags |= (os.O_CREAT | os.O_EXCL) if new else 0
        with _writing(path):
            self._handle = os.open(path, flags, PUBLIC_FILE)
            status = os.fstat(self._handle)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
                os.close(self._handle)
                raise IntegrityError("expected a plain file with one name", at=path.name, rule="lstat")
            self.size_bytes = status.st_size
            if new:
                with _open_folder(path.parent) as folder:
                    os.fsync(folder)

    @property
    def usable(self) -> bool:
        """Return whether no write failed for good."""
        return not self._broken

    def append(self, data: bytes, *, wait: bool = True) -> None:
        """Write all of ``data`` and wait until the disk has it.

        Args:
            data: What to write.
            wait: False leaves the waiting to the next `sync`, or to the next append that waits.

        Raises:
            IntegrityError: Somebody else changed the file's length.
            UndecidedError: The operating system refused; the file was cut back to its good length.
        """
        if self._broken:
            raise UndecidedError("expected a usable file, an earlier write failed for good", at=self._name)
        found = os.fstat(self._handle).st_size
        if found != self.size_bytes:
            raise IntegrityError(
                f"expected {self.size_bytes} bytes before this write, found {found}", at=self._name, rule="one writer"
            )
        try:
            _write_all(self._handle, data)
            if wait:
                _sync_data(self._handle)
        except OSError as exc:
            self._cut_back()
            raise UndecidedError(
                f"could not write: {exc.strerror or exc}", at=self._name, advice="free some space and resume"
            ) from exc
        except BaseException:  # a signal's exception between two calls; a torn line would look like another writer's
            self._cut_back()
            raise
        self.size_bytes += len(data)
        self._waiting = not wait

    def sync(self) -> None:
        """Wait until the disk has everything that was appended.

        Raises:
            UndecidedError: The operating system refused. What of the appended pieces is on the disk is
                unknown, and asking again would not tell, so that the file is not written to any more.
        """
        if not self._waiting:
            return
        if self._broken:
            raise UndecidedError("expected a usable file, an earlier write failed for good", at=self._name)
        try:
            _sync_data(self._handle)
        except OSError as exc:
            self._broken = True
            raise UndecidedError(
                f"could not write: {exc.strerror or exc}", at=self._name, advice="resume, which reads the disk again"
            ) from exc
        self._waiting = False

    def truncate(self, size_bytes: int) -> None:
        """Cut the file to ``size_bytes`` and wait until the disk knows."""
        with _writing(self._name):
            os.ftruncate(self._handle, size_bytes)
            os.fsync(self._handle)
        self.size_bytes = size_bytes

    def close(self) -> None:
        """Close the handle; closing twice does nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _cut_back(self) -> None:
        try:
            os.ftruncate(self._handle, self.size_bytes)
            _sync_data(self._handle)
        except OSError:
            self._broken = True


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the exclusive lock of ``path`` while the block runs.

    ``flock`` ends with the process, so a killed writer leaves no stale lock. Not for network file systems.

    Raises:
        InputError: Another process holds it.
        UndecidedError: The operating system refused.
    """
    ensure_folder(path.parent)
    with _writing(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise InputError(
                "expected to be the only writer, another process holds the lock",
                at=path.name,
                rule="one writer",
                advice="wait until the other run has ended, or found another ledger",
            ) from exc
        except OSError as exc:
            raise UndecidedError(f"could not lock: {exc.strerror}", at=path.name) from exc
        yield
    finally:
        os.close(handle)


class _Lister:
    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self.folders: list[str] = []
        self.leftovers: list[str] = []
        self.oddities: list[Oddity] = []

    def walk(self, folder: Path, prefix: str, depth: int) -> None:
        folded: dict[str, str] = {}
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as exc:
            self._odd(prefix, UNREADABLE, f"could not read: {exc.strerror}")
            return
        for entry in entries:
            path = prefix + entry.name
            twin = folded.setdefault(entry.name.casefold(), entry.name)
            if twin != entry.name:
                self._odd(path, "tree.twin", f"expected names that differ by more than case, found {shorten(twin)} too")
            try:
                self._take(entry, path, depth)
            except OSError as exc:
                self._odd(path, UNREADABLE, f"could not read: {exc.strerror}")

    def _take(self, entry: "os.DirEntry[str]", path: str, depth: int) -> None:
        status = entry.stat(follow_symlinks=False)
        is_folder = stat.S_ISDIR(status.st_mode)
        if entry.name.startswith(TEMPORARY) and stat.S_ISREG(status.st_mode):
            self.leftovers.append(path)
        elif not _NAME.fullmatch(entry.name):
            self._odd(path, "tree.name", f"expected a plain name, found {shorten(entry.name)}")
        elif is_folder and depth >= _MAX_DEPTH:
            self._odd(path, "tree.depth", f"expected at most {_MAX_DEPTH} folders below each other")
        elif is_folder:
            self.folders.append(path)
            self.walk(Path(entry.path), f"{path}/", depth + 1)
        elif not stat.S_ISREG(status.st_mode):
            self._odd(path, "tree.kind", "expected a plain file or folder, found a link, pipe, socket or device")
        else:
            if status.st_nlink != 1 and not _has_one_name(Path(entry.path), status):
                self._odd(path, "tree.hardlink", f"expected one name for this file, found {status.st_nlink}")
            self.files[path] = status.st_size

    def _odd(self, path: str, code: str, message: str) -> None:
        self.oddities.append(Oddity(path, code, message))


def _has_one_name(path: Path, status: os.stat_result) -> bool:
    """Return whether a file has one name, apart from the temporary one that a crash in `create` left beside it."""
    if status.st_nlink != 2:  # noqa: PLR2004 - the name and its temporary twin
        return status.st_nlink == 1
    with os.scandir(path.parent) as found:
        return any(entry.name.startswith(TEMPORARY) and entry.inode() == status.st_ino for entry in found)


def _read_plain(handle: int, path: Path, max_bytes: int) -> bytes:
    name = path.name
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise IntegrityError("expected a plain file, found a folder, pipe or device", at=name, rule="lstat")
    if not _has_one_name(path, status):
        raise IntegrityError(f"expected one name for this file, found {status.st_nlink}", at=name, rule="lstat")
    if status.st_size > max_bytes:
        raise InputError(f"expected at most {max_bytes} bytes, found {status.st_size}", at=name, rule="size limit")
    pieces = []
    left = max_bytes + 1
    while left > 0 and (piece := os.read(handle, min(left, _CHUNK))):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise InputError(f"expected at most {max_bytes} bytes, found more", at=name, rule="size limit")
    return b"".join(pieces)


def _write_temporary(folder: int, data: bytes, mode: int) -> str:
    name = TEMPORARY + secrets.token_hex(8)
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)
    try:
        os.fchmod(handle, mode)  # whatever the umask says
        _write_all(handle, data)
        os.fsync(handle)
    except OSError:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(handle)
    return name


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(handle, view)  # may be short without any exception
        if written == 0:
            raise OSError(errno.EIO, "nothing was written")
        view = view[written:]


def _sync_data(handle: int) -> None:
    getattr(os, "fdatasync", os.fsync)(handle)


@contextlib.contextmanager
def _open_folder(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def _writing(path: Path | str) -> Iterator[None]:
    try:
        yield
    except EvalsiteError:
        raise
    except FileExistsError as exc:
        raise InputError("expected no file of this name yet", at=Path(path).name, rule="create: exclusive") from exc
    except OSError as exc:
        raise UndecidedError(f"could not write: {exc.strerror or exc}", at=Path(path).name) from exc
