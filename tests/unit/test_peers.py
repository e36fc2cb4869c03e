"""Which process is at the other end of a loopback connection."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Generator

import pytest

from rookery.runtime import peers, process

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel of Linux tells it")

CONNECTS = """
import socket, sys
line = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print("connected", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def listener() -> Generator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def found(line: socket.socket) -> object:
    return peers.Peers().find(line.getsockname(), line.getpeername())


def test_the_process_that_connected_is_found_with_those_above_it(listener: socket.socket) -> None:
    port = str(listener.getsockname()[1])
    with subprocess.Popen([sys.executable, "-c", CONNECTS, port], stdin=-1, stdout=-1) as child:
        line, _ = listener.accept()
        with line:
            origin = peers.Peers().find(line.getsockname(), line.getpeername())
            assert origin is not None
            assert origin.chain[:2] == (process.identify(child.pid), process.identify(os.getpid()))
            assert origin.whole
        child.communicate()


def test_who_came_before_is_looked_at_first(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    known = peers.Peers()
    for _ in range(2):
        with socket.create_connection(listener.getsockname()):
            line, _ = listener.accept()
            with line:
                origin = known.find(line.getsockname(), line.getpeername())
                assert origin is not None
                assert origin.pid == os.getpid()
        monkeypatch.setattr(os, "listdir", lambda _path: pytest.fail("all processes were looked at"))


def test_h42_whoever_is_gone_is_gone(listener: socket.socket) -> None:
    """A process that sends its words and leaves can not be told any more."""
    made = socket.create_connection(listener.getsockname())
    line, _ = listener.accept()
    with line:
        made.close()
        with pytest.raises(peers.Gone):
            found(line)


def test_h42_whoever_hides_its_descriptors_is_not_taken_for_unknown(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "_descriptor", lambda _pid, _inode: None)
    with socket.create_connection(listener.getsockname()):
        line, _ = listener.accept()
        with line:
            assert found(line) == peers.HIDDEN
            assert not peers.HIDDEN.whole
            monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
            assert found(line) == peers.UNKNOWN, "of another user nothing is known"


def test_where_the_kernel_does_not_tell_nothing_is_known(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(93, "no netlink")

    with socket.create_connection(listener.getsockname()):
        line, _ = listener.accept()
        with line:
            monkeypatch.setattr(peers.socket, "socket", refuse)
            assert found(line) == peers.UNKNOWN
            monkeypatch.setattr(process, "LINUX", False)
            assert found(line) is None, "a system that never tells is not asked"


def test_h42_an_ipv6_socket_to_an_ipv4_address_is_found(listener: socket.socket) -> None:
    with socket.socket(socket.AF_INET6) as made:
        made.connect(("::ffff:127.0.0.1", listener.getsockname()[1]))
        line, _ = listener.accept()
        with line:
            origin = peers.Peers().find(line.getsockname(), line.getpeername())
            assert origin is not None
            assert origin.pid == os.getpid()


def test_what_was_forwarded_from_another_machine_is_unknown_and_not_gone(listener: socket.socket) -> None:
    ours = listener.getsockname()
    assert peers.Peers().find(ours, ("198.51.100.7", 40_000)) == peers.UNKNOWN
    with pytest.raises(peers.Gone):
        peers.Peers().find(ours, ("127.0.0.9", 40_000))


ELSEWHERE = """
import fcntl, os, socket, struct
from rookery.runtime import peers
from tests.hosts.jail import raise_loopback

SIOCSIFADDR = 0x8916
raise_loopback()
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:  # ip addr add 192.0.2.2 dev lo
    address = struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton("192.0.2.2"))
    fcntl.ioctl(any_socket, SIOCSIFADDR, struct.pack("16s", b"lo:1") + address + bytes(8))
listener = socket.create_server(("127.0.0.1", 0))
made = socket.create_connection(listener.getsockname(), source_address=("192.0.2.2", 0))
line, theirs = listener.accept()
assert theirs[0] == "192.0.2.2", theirs
assert peers.Peers().find(line.getsockname(), theirs).pid == os.getpid()
made.close()
try:
    peers.Peers().find(line.getsockname(), theirs)
except peers.Gone:
    print("found, and gone")
"""


def test_h42_a_client_is_found_whatever_address_of_the_machine_it_binds() -> None:
    """In a network of its own, which has a second address."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rn", sys.executable, "-c", ""], capture_output=True).returncode:
        pytest.skip("no network namespaces here")
    done = subprocess.run([unshare, "-rn", sys.executable, "-c", ELSEWHERE], capture_output=True, text=True)
    assert done.stdout == "found, and gone\n", done.stderr
