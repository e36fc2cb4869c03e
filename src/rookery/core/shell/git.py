"""git: which of its commands touch files of the working tree, and which files.

What git keeps for itself (`.git`) is no path that is reported; that a command changes it is. Hooks and filters are the
machine's, and no text shows them.
"""

from itertools import pairwise

from . import holes, reading
from .edits import diff_paths
from .files import with_parents
from .options import Given, given, names
from .reading import Reach
from .site import Site, basename, doubt

_GLOBAL = (
    "C: c: exec-path? p,paginate P,no-pager git-dir: work-tree: namespace: bare no-replace-objects literal-pathspecs "
    "no-optional-locks no-lazy-fetch glob-pathspecs noglob-pathspecs icase-pathspecs config-env: version v h,help "
    "attr-source: no-advice html-path man-path info-path list-cmds:"
)

# Only the index, the history or the configuration; or nothing at all.
_QUIET = names(
    """
    add annotate blame branch bugreport cat-file check-attr check-ignore check-ref-format cherry commit commit-graph
    commit-tree count-objects describe diff-files diff-index diff-tree fetch for-each-ref fsck gc get-tar-commit-id
    grep hash-object help interpret-trailers log ls-files ls-remote ls-tree maintenance merge-base merge-tree mktag
    mktree multi-pack-index name-rev notes pack-objects pack-refs patch-id prune prune-packed push range-diff reflog
    remote repack replace rerere rev-list rev-parse shortlog show show-branch show-index show-ref stage status
    stripspace symbolic-ref tag unpack-objects update-index update-ref update-server-info var verify-commit
    verify-pack verify-tag version whatchanged write-tree credential
    """
)
# Of those, the ones that only look, whatever they are given; and what makes others do no more than that.
_LOOKS = names(
    """
    annotate blame cat-file check-attr check-ignore check-ref-format cherry count-objects describe diff diff-files
    diff-index diff-tree for-each-ref fsck get-tar-commit-id grep help interpret-trailers log ls-files ls-remote ls-tree
    merge-base merge-tree name-rev patch-id range-diff rev-list rev-parse shortlog show show-branch show-index show-ref
    status stripspace var verify-commit verify-pack verify-tag version whatchanged format-patch archive
    """
)
_LISTS = {
    "branch": names("-a -r -v -vv -av -avv -l --list --all --remotes --verbose --show-current --contains --merged"),
    "tag": names("-l -n --list --contains --merged --points-at"), "remote": names("-v --verbose show get-url"),
    "stash": names("list show"), "worktree": names("list --porcelain"), "reflog": names("show"),
    "notes": names("list show"), "submodule": names("status summary"),
    "config": names("-l --list --get --get-all --get-regexp --show-origin --global --local get list"),
}  # fmt: skip
_LISTS_BARE = names("branch tag remote reflog notes submodule")

_WHOLE_TREE = names("merge pull rebase cherry-pick revert am bisect sparse-checkout read-tree checkout-index")
_RUNS_PROGRAMS = names("difftool mergetool filter-branch lfs gui gitk svn p4 instaweb send-email")


def git(name: str, words: list[str], site: Site) -> None:
    got = given(_GLOBAL, words, permute=False)
    if got.has("version v h"):
        return
    doubt(got, site)
    for folder in got.values("C"):
        site = site.into(folder)
    for folder in got.values("work-tree")[-1:]:
        site = site.into(folder)
    if not got.operands:
        return
    command, *rest = got.operands
    if not holes.is_told(command):
        site.opaque(reading.UNTOLD_COMMAND)
        return
    if got.has("work-tree git-dir") and command not in _QUIET:
        site.write(".", Reach.BENEATH)  # a working tree that is told here, and not found by looking upwards
    if command not in _LOOKS and not _lists(command, rest):
        site.record()
    _command(command, rest, site)


def _lists(command: str, words: list[str]) -> bool:
    known = _LISTS.get(command)
    if known is None or not words:
        return command in _LISTS_BARE
    return words[0] in known and all(word in known for word in words if word.startswith("-"))


def _command(command: str, words: list[str], site: Site) -> None:
    if command in _RULES:
        _RULES[command](words, site)
    elif command in _WHOLE_TREE:
        whole_tree(site)
        if command in ("bisect", "rebase") and {"run", "-x", "--exec"} & set(words):
            site.opaque(reading.INTERPRETER)
    elif command in _QUIET or command == "diff":
        _outputs(words, site)
    else:
        site.opaque(reading.INTERPRETER if command in _RUNS_PROGRAMS else reading.PROGRAM_UNKNOWN, f"git {command}")


def whole_tree(site: Site) -> None:
    site.write(".", Reach.REPOSITORY)


def _outputs(words: list[str], site: Site) -> None:
    """`git diff --output=x`, and whatever else has it."""
    for word, after in zip(words, [*words[1:], ""], strict=False):
        if word.startswith("--output="):
            site.write(word.partition("=")[2])
        elif word == "--output":
            site.write(after)


def pathspec(spec: str, site: Site) -> None:
    """A wildcard of git's spans folders; whatever follows the last folder without one may be meant."""
    if spec.startswith(":"):
        whole_tree(site)
        return
    shown = spec.replace("*", holes.MANY).replace("?", holes.ONE).replace("[", holes.ONE)
    if not holes.is_wild(shown):
        site.write(spec, Reach.BENEATH)
        return
    names = shown.split("/")
    first = next(index for index, name in enumerate(names) if holes.is_wild(name))
    site.write("/".join(names[:first]) or ("/" if spec.startswith("/") else "."), Reach.BENEATH)


def _pathspecs(specs: list[str], site: Site) -> None:
    for spec in specs:
        pathspec(spec, site)


def _after_dashes(words: list[str]) -> list[str] | None:
    return words[words.index("--") + 1 :] if "--" in words else None


def _from_file(got: Given, site: Site) -> None:
    if got.has("pathspec-from-file"):
        site.opaque(reading.PATCH_ELSEWHERE)


_CHECKOUT = (
    "b: B: t,track? no-track l d,detach orphan: q,quiet f,force ours theirs m,merge p,patch conflict: progress "
    "no-progress guess no-guess ignore-other-worktrees recurse-submodules no-recurse-submodules overlay no-overlay "
    "ignore-skip-worktree-bits overwrite-ignore no-overwrite-ignore pathspec-from-file: pathspec-file-nul U: "
    "inter-hunk-context:"
)


def checkout(words: list[str], site: Site) -> None:
    """Without `--` it is not told whether a branch or a file is meant: then the whole tree."""
    paths = _after_dashes(words)
    got = given(_CHECKOUT, words[: words.index("--")] if paths is not None else words)
    doubt(got, site)
    _from_file(got, site)
    if paths:
        _pathspecs(paths, site)
    elif got.has("b B") and not got.operands and not got.has("f"):
        return  # a new branch where we stand
    elif len(got.operands) >= 2 and not got.has("b B orphan"):
        _pathspecs(got.operands, site)  # the first may be a commit, or a file like the others
    elif got.operands == ["."]:
        site.write(".", Reach.BENEATH)
    else:
        whole_tree(site)


def switch(words: list[str], site: Site) -> None:
    got = given("c,create: C,force-create: orphan: d,detach f,force,discard-changes q m t,track? no-track guess", words)
    if not got.has("c C") or got.operands or got.has("f"):
        whole_tree(site)


def restore(words: list[str], site: Site) -> None:
    got = given(
        "s,source: p,patch W,worktree S,staged q,quiet progress no-progress ours theirs m,merge conflict: "
        "ignore-unmerged ignore-skip-worktree-bits recurse-submodules no-recurse-submodules overlay no-overlay "
        "pathspec-from-file: pathspec-file-nul 2 3",
        words,
    )
    if got.has("S") and not got.has("W"):
        return
    doubt(got, site)
    _from_file(got, site)
    _pathspecs(got.operands, site)


def reset(words: list[str], site: Site) -> None:
    got = given("soft mixed N hard merge keep q,quiet p,patch pathspec-from-file: refresh no-refresh U:", words)
    if got.has("hard merge keep") or got.strange:
        whole_tree(site)


def stash(words: list[str], site: Site) -> None:
    verb = words[0] if words and not words[0].startswith("-") else "push"
    if verb in ("list", "show", "drop", "clear", "create", "store", "export"):
        return
    paths = _after_dashes(words)
    if verb == "push" and paths:
        _pathspecs(paths, site)
    else:
        whole_tree(site)


def clean(words: list[str], site: Site) -> None:
    got = given("d f,force i,interactive n,dry-run q,quiet e,exclude: x X", words)
    if got.has("n"):
        return
    doubt(got, site)
    _pathspecs(got.operands or ["."], site)


def remove(words: list[str], site: Site) -> None:
    got = given("cached f,force r n,dry-run q,quiet ignore-unmatch sparse pathspec-from-file: pathspec-file-nul", words)
    if got.has("cached n"):
        return
    doubt(got, site)
    _from_file(got, site)
    _pathspecs(got.operands, site)


def move(words: list[str], site: Site) -> None:
    got = given("f,force k n,dry-run v,verbose sparse", words)
    doubt(got, site)
    if got.has("n") or len(got.operands) < 2:
        return
    *sources, target = got.operands
    for source in sources:
        site.write(source, Reach.BENEATH)
        site.write(f"{target.rstrip('/')}/{basename(source)}", Reach.BENEATH)
    if not target.endswith("/") and len(sources) == 1 and not site.is_folder(target):
        site.write(target, Reach.BENEATH)


def apply(words: list[str], site: Site) -> None:
    got = given(
        "stat numstat summary check index cached 3,3way R,reverse p: C: directory: exclude: include: reject "
        "whitespace: z recount unidiff-zero v,verbose q,quiet allow-empty apply N,intent-to-add unsafe-paths "
        "inaccurate-eof ignore-space-change ignore-whitespace build-fake-ancestor: no-add allow-overlap ours "
        "theirs union",
        words,
    )
    looks = got.has("stat numstat summary check") and not got.has("apply")
    if looks or (got.has("cached") and not got.has("3")):
        return
    doubt(got, site)
    shown = site.stdin if got.operands in ([], ["-"]) and not got.has("directory") else None
    strip = (got.values("p") or ["1"])[-1]
    paths = diff_paths(shown, int(strip)) if shown is not None and strip.isdecimal() and holes.is_told(shown) else []
    if not paths:
        site.opaque(reading.PATCH_ELSEWHERE)
    elif not site.is_folder(".git"):
        whole_tree(site)  # the names in a patch begin at the top of the working tree, and this may not be it
    else:
        for path in paths:
            site.write(path)
            site.write(path + ".rej")


def clone(words: list[str], site: Site) -> None:
    got = given(
        "b,branch: o,origin: u: depth: c,config: j,jobs: reference: reference-if-able: template: separate-git-dir: "
        "filter: shallow-since: shallow-exclude: server-option: bundle-uri: l,local s,shared q,quiet v,verbose n bare "
        "no-checkout mirror single-branch no-single-branch recurse-submodules? recursive no-tags progress no-hardlinks "
        "dissociate sparse remote-submodules shallow-submodules also-filter-submodules no-local revision: ref-format: "
        "4,ipv4 6,ipv6 tags reject-shallow no-reject-shallow no-shallow-submodules no-remote-submodules",
        words,
    )
    doubt(got, site)
    url, *folders = [*got.operands, ""][:2]
    if folders and folders[0]:
        site.write(folders[0], Reach.BENEATH)
    elif url:
        last = basename(url.removesuffix("/.git")).rpartition(":")[2].removesuffix(".git").removesuffix(".bundle")
        site.write(last + (".git" if got.has("bare mirror") else "") or holes.UNKNOWN, Reach.BENEATH)


def init(words: list[str], site: Site) -> None:
    got = given("q,quiet bare template: separate-git-dir: object-format: ref-format: b,initial-branch: shared?", words)
    for folder in got.operands:
        site.write(folder, Reach.BENEATH)


def worktree(words: list[str], site: Site) -> None:
    got = given(
        "f,force d,detach b: B: q,quiet lock reason: checkout no-checkout track no-track guess-remote no-guess-remote "
        "orphan n,dry-run v,verbose porcelain z expire: relative-paths no-relative-paths",
        words[1:],
    )
    verb = words[0] if words else "list"
    if verb in ("add", "remove"):
        doubt(got, site)
        for folder in got.operands[:1]:
            site.write(folder, Reach.BENEATH)
    elif verb == "move":
        for folder in got.operands:
            site.write(folder, Reach.BENEATH)
    elif verb not in ("list", "lock", "unlock", "prune", "repair"):
        site.opaque(reading.PROGRAM_UNKNOWN, f"git worktree {holes.shown(verb)}")


def submodule(words: list[str], site: Site) -> None:
    verb = next((word for word in words if not word.startswith("-")), "status")
    if verb == "foreach":
        site.opaque(reading.INTERPRETER)
    if verb not in ("status", "summary"):
        whole_tree(site)


def configure(words: list[str], site: Site) -> None:
    got = given(
        "f,file: global system local worktree blob: get get-all get-regexp l,list unset unset-all add replace-all "
        "t,type: bool int path e,edit z null name-only show-origin show-scope default: includes no-includes "
        "remove-section rename-section get-urlmatch get-color get-colorbool all value: fixed-value comment: append "
        "url: regexp bool-or-int expiry-date no-type",
        words,
    )
    looks = got.has("get get-all get-regexp l get-urlmatch") or got.operands[:1] in (["get"], ["list"])
    if looks or (len(got.operands) == 1 and not got.has("unset unset-all remove-section")):
        return
    doubt(got, site)
    for file in got.values("f"):
        site.write(file)


def format_patch(words: list[str], site: Site) -> None:
    got = given("o,output-directory: stdout", [word for word in words if word.startswith(("-o", "--o", "--stdout"))])
    separate = [after for word, after in pairwise(words) if word in ("-o", "--output-directory")]
    if got.has("stdout"):
        return
    for folder in separate or [value for value in got.values("o") if value]:
        with_parents(folder, site)
        site.write(f"{folder.rstrip('/')}/{holes.MANY}")
    if not separate and not any(got.values("o")):
        site.write(holes.MANY)


def archive(words: list[str], site: Site) -> None:
    _outputs(words, site)
    for value in given("o:", [word for word in _joined(words, "-o") if word.startswith("-o")]).values("o"):
        site.write(value)


def _joined(words: list[str], option: str) -> list[str]:
    return [word + after if word == option else word for word, after in zip(words, [*words[1:], ""], strict=False)]


def bundle(words: list[str], site: Site) -> None:
    if words[:1] == ["create"]:
        for file in [word for word in words[1:] if not word.startswith("-")][:1]:
            site.write(file)


_RULES = {
    "checkout": checkout, "switch": switch, "restore": restore, "reset": reset, "stash": stash, "clean": clean,
    "rm": remove, "mv": move, "apply": apply, "clone": clone, "init": init, "worktree": worktree,
    "submodule": submodule, "config": configure, "format-patch": format_patch, "archive": archive, "bundle": bundle,
}  # fmt: skip
