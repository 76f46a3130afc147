# SPDX-License-Identifier: MIT
#
#	fuse_readonly.py FILE COPY
#
# FILE is below a mount of spatefs, and has the bytes of COPY.  Calls whatever
# would change something there, each way that there is, and says what was not
# refused as it should be; then what reading is to do.

import ctypes
import errno
import fcntl
import mmap
import os
import socket
import stat
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
file, copy = sys.argv[1:]
folder = os.path.dirname(file)
new = folder + "/new"
inside = folder + "/by-thread"
faults = 0

RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
FS_IOC_GETFLAGS, FS_IOC_SETFLAGS = 0x80086601, 0x40086602
AT_FDCWD, UTIME_NOW = -100, (1 << 30) - 1


def fault(what):
    global faults
    faults += 1
    print(what)


def c(name, *args):
    """A call of libc that Python has not."""
    ctypes.set_errno(0)
    args = [a.encode() if isinstance(a, str) else a for a in args]
    if getattr(libc, name)(*args) < 0:
        n = ctypes.get_errno()
        raise OSError(n, os.strerror(n))


def refused(what, expected, call, *args, **more):
    names = expected.split()
    try:
        call(*args, **more)
    except OSError as e:
        got = errno.errorcode[e.errno]
        if got not in names:
            fault(f"{what}: {got}, expected {expected}")
    else:
        fault(f"{what}: was not refused")


def same(what, got, expected):
    if got != expected:
        fault(f"{what}: {got!r:.80}, expected {expected!r:.80}")


def opens():
    for flags, name in (
        (os.O_WRONLY, "O_WRONLY"),
        (os.O_RDWR, "O_RDWR"),
        (os.O_RDONLY | os.O_TRUNC, "O_TRUNC"),
        (os.O_WRONLY | os.O_APPEND, "O_APPEND"),
        (os.O_RDWR | os.O_DIRECT, "O_DIRECT"),
        (os.O_WRONLY | os.O_CREAT, "O_CREAT of what is there"),
    ):
        refused(name, "EROFS", os.open, file, flags)
    refused("O_CREAT", "EROFS", os.open, new, os.O_WRONLY | os.O_CREAT, 0o644)
    refused("O_CREAT to read", "EROFS", os.open, new, os.O_RDONLY | os.O_CREAT)
    refused("O_EXCL", "EEXIST", os.open, file,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    refused("O_TMPFILE", "EROFS ENOTSUP", os.open, folder,
            os.O_TMPFILE | os.O_RDWR, 0o600)
    refused("a folder to write", "EISDIR", os.open, folder, os.O_WRONLY)
    refused("O_DIRECTORY", "ENOTDIR", os.open, file, os.O_DIRECTORY)
    refused("below a file", "ENOTDIR", os.open, file + "/x", os.O_RDONLY)
    refused("what is not there", "ENOENT", os.open, new, os.O_RDONLY)
    refused("a long name", "ENAMETOOLONG", os.open, folder + "/" + "x" * 256,
            os.O_RDONLY)


def names():
    there = inside + "/new"
    refused("mkdir", "EROFS", os.mkdir, new)
    refused("mkdir of what is there", "EEXIST", os.mkdir, inside)
    refused("mkdir below", "EROFS", os.mkdir, there)
    refused("rmdir", "EROFS", os.rmdir, inside)
    refused("unlink", "EROFS", os.unlink, file)
    refused("symlink", "EROFS", os.symlink, "x", new)
    refused("link", "EROFS", os.link, file, new)
    refused("link to elsewhere", "EXDEV", os.link, file, copy + ".link")
    refused("link from elsewhere", "EROFS EXDEV", os.link, copy, new)
    refused("rename", "EROFS", os.rename, file, new)
    refused("rename of a folder", "EROFS", os.rename, inside, new)
    refused("rename over", "EROFS", os.rename, file, inside)
    refused("rename to elsewhere", "EXDEV", os.rename, file, copy + ".moved")
    refused("rename from elsewhere", "EROFS EXDEV", os.rename, copy, new)
    for flag in RENAME_NOREPLACE, RENAME_EXCHANGE:
        refused(f"renameat2 {flag}", "EROFS EEXIST", c, "renameat2", AT_FDCWD,
                file, AT_FDCWD, inside, flag)
    for kind, name in ((stat.S_IFREG, "file"), (stat.S_IFIFO, "fifo"),
                       (stat.S_IFCHR, "device")):
        refused(f"mknod of a {name}", "EROFS EPERM", os.mknod, new,
                kind | 0o600, os.makedev(1, 3))
    with socket.socket(socket.AF_UNIX) as s:
        refused("bind", "EROFS", s.bind, os.path.relpath(new))


def attributes():
    fd = os.open(file, os.O_RDONLY)
    refused("chmod", "EROFS", os.chmod, file, 0o666)
    refused("fchmod", "EROFS", os.fchmod, fd, 0o666)
    refused("chown", "EROFS", os.chown, file, 1, 1)
    refused("fchown", "EROFS", os.fchown, fd, 1, 1)
    refused("lchown", "EROFS", os.lchown, file, 1, 1)
    refused("utime", "EROFS", os.utime, file, (1, 1))
    refused("utime now", "EROFS", os.utime, file)
    refused("futimens", "EROFS", os.utime, fd, (1, 1))
    refused("utime of a folder", "EROFS", os.utime, folder, (1, 1))
    refused("truncate", "EROFS", os.truncate, file, 0)
    refused("truncate to more", "EROFS", os.truncate, file, 1 << 40)
    refused("ftruncate", "EINVAL", os.ftruncate, fd, 0)
    refused("setxattr", "EROFS", os.setxattr, file, "user.x", b"1")
    refused("fsetxattr", "EROFS", os.setxattr, fd, "user.x", b"1")
    refused("removexattr", "EROFS", os.removexattr, file, "user.x")
    refused("getxattr", "ENOTSUP ENODATA", os.getxattr, file, "user.x")
    try:
        same("listxattr", os.listxattr(file), [])
    except OSError as e:
        same("listxattr", e.errno, errno.EOPNOTSUPP)
    refused("flags", "EROFS ENOTTY EPERM ENOTSUP", fcntl.ioctl, fd,
            FS_IOC_SETFLAGS, struct.pack("l", 0x10))
    os.close(fd)


def data():
    fd = os.open(file, os.O_RDONLY)
    other = os.open(copy, os.O_RDONLY)
    refused("write", "EBADF", os.write, fd, b"x")
    refused("pwrite", "EBADF", os.pwrite, fd, b"x", 0)
    refused("fallocate", "EBADF", os.posix_fallocate, fd, 0, 1)
    refused("punching a hole", "EBADF", c, "fallocate", fd, 3,
            ctypes.c_long(0), ctypes.c_long(4096))
    refused("copy_file_range to it", "EBADF", os.copy_file_range, other, fd,
            4096)
    refused("sendfile to it", "EBADF", os.sendfile, fd, other, 0, 4096)
    refused("a shared mapping to write", "EACCES EPERM", mmap.mmap, fd, 4096,
            mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
    refused("write with O_APPEND", "EBADF", os.write, fd, b"x")
    os.close(fd)
    os.close(other)


def rights():
    same("access R_OK", os.access(file, os.R_OK), True)
    same("access F_OK", os.access(file, os.F_OK), True)
    same("access X_OK of a folder", os.access(folder, os.X_OK), True)
    same("access of nothing", os.access(new, os.F_OK), False)
    refused("access W_OK", "EROFS", c, "access", file, os.W_OK)
    refused("access W_OK of a folder", "EROFS", c, "access", folder, os.W_OK)
    refused("access X_OK", "EACCES", c, "access", file, os.X_OK)
    refused("execve", "EACCES", os.execv, file, [file])
    same("ST_RDONLY", bool(os.statvfs(file).f_flag & os.ST_RDONLY), True)
    same("ST_NOSUID", bool(os.statvfs(file).f_flag & os.ST_NOSUID), True)


def reads(ideal):
    fd = os.open(file, os.O_RDONLY)
    end = len(ideal)
    same("size", os.fstat(fd).st_size, end)
    same("from the middle", os.pread(fd, 100001, 77777), ideal[77777:177778])
    same("over the end", os.pread(fd, 4096, end - 5), ideal[-5:])
    same("at the end", os.pread(fd, 4096, end), b"")
    same("far behind it", os.pread(fd, 4096, 1 << 50), b"")
    refused("before the beginning", "EINVAL", os.pread, fd, 1, -1)
    same("nothing", os.pread(fd, 0, 0), b"")
    buffers = [bytearray(4097), bytearray(1), bytearray(8191)]
    same("preadv", os.preadv(fd, buffers, 3), 12289)
    same("its bytes", b"".join(buffers), ideal[3:12292])
    same("SEEK_END", os.lseek(fd, 0, os.SEEK_END), end)
    same("SEEK_DATA", os.lseek(fd, 10, os.SEEK_DATA), 10)
    same("SEEK_HOLE", os.lseek(fd, 10, os.SEEK_HOLE), end)
    refused("SEEK_DATA at the end", "ENXIO", os.lseek, fd, end, os.SEEK_DATA)
    with mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ) as m:
        same("a shared mapping", m[:] == ideal, True)
    with mmap.mmap(fd, 0, mmap.MAP_PRIVATE,
                   mmap.PROT_READ | mmap.PROT_WRITE) as m:
        m[5] ^= 255
        same("a private mapping", m[6:] == ideal[6:], True)
    same("behind what was written there", os.pread(fd, 16, 0), ideal[:16])
    direct = os.open(file, os.O_RDONLY | os.O_DIRECT)
    with mmap.mmap(-1, 1 << 20) as m:
        same("O_DIRECT", os.preadv(direct, [m], 4096), 1 << 20)
        same("its bytes", m[:] == ideal[4096:4096 + (1 << 20)], True)
    os.close(direct)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    same("after its pages are dropped", os.pread(fd, 99, 4095),
         ideal[4095:4194])
    os.fsync(fd)
    fcntl.flock(fd, fcntl.LOCK_SH)
    fcntl.flock(fd, fcntl.LOCK_UN)
    with open(copy + ".sent", "wb") as to:
        same("sendfile", os.sendfile(to.fileno(), fd, 5, 65536), 65536)
    with open(copy + ".sent", "rb") as sent:
        same("what it sent", sent.read(), ideal[5:65541])
    os.unlink(copy + ".sent")
    os.close(fd)


def lists():
    found = sorted(os.listdir(folder))
    same("listed twice", sorted(os.listdir(folder)), found)
    for name in found:
        os.lstat(folder + "/" + name)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    same("by its descriptor", sorted(os.listdir(fd)), found)
    os.lseek(fd, 0, os.SEEK_SET)
    same("from the beginning", sorted(os.listdir(fd)), found)
    refused("read of a folder", "EISDIR", os.read, fd, 1)
    same("the folder above", os.stat("..", dir_fd=fd).st_ino,
         os.stat(os.path.dirname(folder)).st_ino)
    os.close(fd)
    fd = os.open(file, os.O_PATH)
    refused("read of O_PATH", "EBADF", os.read, fd, 1)
    os.close(fd)


with open(copy, "rb") as f:
    bytes_of_it = f.read()
for look in opens, names, attributes, data, rights, lists:
    look()
reads(bytes_of_it)
sys.exit(faults != 0)
