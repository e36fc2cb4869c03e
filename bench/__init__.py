"""Measurements, side by side: `python -m bench` (full) or `python -m bench --ci` (small), a table and a JSON file.

Every bound is a ratio between two things measured in turns in the same run: ours, and a floor (what the disk, the
kernel or the interpreter takes anyway) or a peer. A noisy neighbour hits both. No bound is a time: a time says more
about the machine than about the program. A missed bound makes the command end with 1 if the last five readings that
were recorded (`--record`, `readings.json`) all held it with 25 % to spare; any other is only printed.

    scene.py    a place on a real disk, an environment of its own
    sizes.py    how long and how large, for CI and in full
    timing.py   times and what they say       helper.py   a second process
    floor.py    the rows of a send, written by bare apsw
    bulk.py     a million messages in one transaction
    send.py  inbox.py  wake.py  start.py  door.py  guard.py  peer.py  http.py  flat.py  daemon.py  readers.py
    connections.py  memory.py  at_once.py
                one measurement each: measure(scene, sizes) -> rows
    http_sides.py   the daemon and its floor, and what both are asked      http_floor.py   a bare starlette application
    http_load.py    requests by hand, in a process of their own            http_home.py    tasks by the thousand
    peer_mailbox.py    a stand-in for a mailbox of JSON files
    report.py   what a row is, whether its bound holds, table and JSON

docs/benchmarks.md says what each row means.
"""
