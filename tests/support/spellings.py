"""A small workspace with symlinks in it, every way to write one of its files, and every way to leave it (H24)."""

from pathlib import Path

NFC, NFD = "caf\u00e9.py", "cafe\u0301.py"

# All of them are src/io/x.py.
SPELLINGS = (
    "src/io/x.py", "./src/io/x.py", "src//io///x.py", "src/./io/x.py", "src/io/../io/x.py", "src/io/x.py/",
    "nowhere/../src/io/x.py", "io/x.py", "src/up/src/io/x.py", "src/up/io/x.py", "io/../io/x.py", "io/../up/io/x.py",
    "out/../project/src/io/x.py", "../project/src/io/x.py", "{root}/src/io/x.py", "{root}/../project//io/x.py",
    "//{root}/src/io/x.py",
)  # fmt: skip

LEAVING = (
    "..", "../x", "src/../../x", "/", "/etc/passwd", "{root}/..", "{root}x/y", "{root}/../project-2/y", "out",
    "out/secret.py", "out/new.py", "src/up/out/secret.py", "out/../../project/../outside/secret.py", "../outside",
    "io/../../../outside/x", "../projec", "../PROJECT/x",
)  # fmt: skip


def make_tree(above: Path) -> Path:
    """
    outside/secret.py
    project/src/io/x.py        project/src/up -> ..         project/io -> src/io      project/out -> ../outside
    """
    project = above / "project"
    (project / "src" / "io").mkdir(parents=True)
    (project / "src" / "io" / "x.py").write_text("x")
    (above / "outside").mkdir()
    (above / "outside" / "secret.py").write_text("s")
    (project / "src" / "up").symlink_to("..")
    (project / "io").symlink_to("src/io")
    (project / "out").symlink_to("../outside")
    (project / "loop").symlink_to("loop")
    (project / "dangling").symlink_to("src/later.py")
    return project
