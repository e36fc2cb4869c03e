"""git: which of its commands touch files of the working tree, and which files.

What git keeps for itself (`.git`) is no path that is reported; that a command changes it is. Hooks and filters are the
machine's, and no text shows them.
"""

import re
from itertools import pairwise

from . import holes, reading
from .code import shell_may_write
from .edits import diff_paths, search_feeders
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
_BISECT_LOOKS = (["log"], ["view"], ["visualize"], ["terms"])
_RUNS_PROGRAMS = names("difftool mergetool filter-branch lfs gui gitk svn p4 instaweb send-email")


def git(name: str, words: list[str], site: Site) -> None:
    got = given(_GLOBAL, words, permute=False)
    if got.has("version v h"):
        return
    doubt(got, site)
    for setting in got.values("c"):
        key, _, value = setting.partition("=")
        _configured(key, value, site)
    for setting in got.values("config-env"):
        key, _, variable = setting.rpartition("=")
        _configured(key, site.variable(variable) or "", site)
    for folder in got.values("C"):
        site = site.into(folder)
    tree = got.values("work-tree")[-1:] or [site.variable("GIT_WORK_TREE") or ""]
    for folder in filter(None, tree):
        site = site.into(folder)
    if not got.operands:
        return
    command, *rest = got.operands
    if not holes.is_told(command):
        site.opaque(reading.UNTOLD_COMMAND)
        return
    placed = got.has("work-tree git-dir") or any(tree)
    if placed and command not in _QUIET and command not in _LOOKS:
        site.write(".", Reach.BENEATH)  # a working tree that is told here, and not found by looking upwards
    if command not in _LOOKS and not _lists(command, rest):
        site.record()
    for word in rest:
        if word.startswith("ext::"):
            site.commands(word.removeprefix("ext::"))
        elif command == "grep" and word.startswith(("-O", "--open-files-in-pager=")):
            _run_on_files(word.removeprefix("-O").removeprefix("--open-files-in-pager="), rest, site)
    shown = (site.definition("git: diff"), site.variable("GIT_EXTERNAL_DIFF"))
    for program in filter(None, shown if command in _SHOW_DIFFS else ()):
        _run_on_files(program, rest, site)
    if site.definition("git: runs") or any("/.git/" in path or path.endswith(_GIT_FILES) for path in site.planted()):
        site.searched("\n".join([*rest, *site.filled()]))  # a filter, hook or alias of this command may run
    _command(command, rest, site)


_WRITTEN_KEYS = r"trace2\..*|core\.worktree|.*output.*|.*directory|.*logfile"  # settings that name what git writes


_DIFF_KEYS = r"diff\.external|diff\..*\.(?:command|textconv)|(?:diff|merge)tool\..*\.(?:cmd|path)"
_RUN_KEYS = (
    r"filter\..*|trailer\..*|merge\..*\.driver|hook\..*|core\.(?:fsmonitor|hookspath|editor|pager)|gpg\..*program"
)
_GIT_FILES = ("/.gitattributes", "/.gitconfig", "/.gitmodules")
_SHOW_DIFFS = names("diff show log difftool mergetool diff-tree diff-index diff-files")


def _run_on_files(program: str, words: list[str], site: Site) -> None:
    """A program that git runs with files of the working tree: those that its words name."""
    site.commands(program)
    paths = [word for word in words if word and not word.startswith("-") and holes.is_plain(word)]
    if shell_may_write(program):
        site.may_write(paths, deep=True)
    site.shell(" ".join([program, *("'" + path.replace("'", "'\\''") + "'" for path in paths)]), ())


def _configured(key: str, value: str, site: Site) -> None:
    """An alias, a pager, a hook or an editor may be any command."""
    site.commands(value)
    if re.fullmatch(_WRITTEN_KEYS, key.lower()):
        site.may_write([value, f"{value.rstrip('/')}/?"])
    if re.fullmatch(_DIFF_KEYS, key.lower()):
        site.define("git: diff", value)
    if key.lower().startswith("credential"):
        site.may_write(re.findall(r"--file[= ]{1,9}(\S{1,999})", value))
    if re.fullmatch(_RUN_KEYS, key.lower()) and shell_may_write(value):
        site.define("git: runs", value)
    if key.lower().startswith("alias."):
        site.define(f"git {key[6:]}", value)


def _aliased(command: str, words: list[str], site: Site) -> bool:
    text = site.definition(f"git {command}")
    if text is None:
        return False
    if text.startswith("!"):
        site.shell(f'{text[1:]} "$@"', ("", *words))  # as git runs it
    elif text.split()[:1] != [command]:
        git("git", [*text.split(), *words], site)
    return True


def _lists(command: str, words: list[str]) -> bool:
    known = _LISTS.get(command)
    if known is None or not words:
        return command in _LISTS_BARE
    return words[0] in known and all(word in known for word in words if word.startswith("-"))


def _only_looks(command: str, words: list[str]) -> bool:
    return (command == "pull" and "--dry-run" in words) or (command == "bisect" and words[:1] in _BISECT_LOOKS)


def _command(command: str, words: list[str], site: Site) -> None:
    if command in _RULES:
        _RULES[command](words, site)
    elif _aliased(command, words, site) or _only_looks(command, words):
        return
    elif command in _WHOLE_TREE:
        whole_tree(site)
        if command in ("bisect", "rebase") and {"run", "-x", "--exec"} & set(words):
            site.opaque(reading.INTERPRETER)
            site.commands(" ".join(words))
    elif command in _QUIET or command == "diff":
        _outputs(words, site)
    else:
        from . import interpreters

        site.opaque(reading.INTERPRETER if command in _RUNS_PROGRAMS else reading.PROGRAM_UNKNOWN, f"git {command}")
        site.commands(" ".join(words))
        if command not in ("difftool", "gui", "instaweb", "send-email"):
            interpreters.unknown(words, site)


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
    for file in got.values("pathspec-from-file"):
        text = site.text(file)
        if text is None:
            site.opaque(reading.PATCH_ELSEWHERE)
        _pathspecs([line for line in re.split(r"[\0\n]", text or "") if line], site)


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
    if got.has("p") and not got.operands:
        whole_tree(site)


def reset(words: list[str], site: Site) -> None:
    got = given("soft mixed N hard merge keep q,quiet p,patch pathspec-from-file: refresh no-refresh U:", words)
    if got.has("hard merge keep") or got.strange:
        whole_tree(site)


def stash(words: list[str], site: Site) -> None:
    verb = words[0] if words and not words[0].startswith("-") else "push"
    if verb in ("list", "show", "drop", "clear", "create", "store", "export"):
        return
    got = given(
        "m,message: k,keep-index no-keep-index q,quiet u,include-untracked a,all p,patch S,staged pathspec-from-file: "
        "pathspec-file-nul",
        words[1:] if words[:1] == ["push"] else [],
    )
    if got.operands and not got.strange:
        _from_file(got, site)
        _pathspecs(got.operands, site)
    else:
        paths = _after_dashes(words) if verb == "push" else None
        _pathspecs(paths, site) if paths else whole_tree(site)


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
    strip = (got.values("p") or ["1"])[-1]
    for file in got.operands or ["-"]:
        text = site.text(file)
        paths = diff_paths(text, int(strip)) if text is not None and strip.isdecimal() and holes.is_told(text) else []
        if not paths:
            site.opaque(reading.PATCH_ELSEWHERE)
            search_feeders(file, site)
        elif not site.is_folder(".git") and site.root is None:
            whole_tree(site)  # the names in a patch begin at the top of the working tree, and this may not be it
        else:
            _patched(paths, got, site)


def _patched(paths: list[str], got: Given, site: Site) -> None:
    top = "" if site.is_folder(".git") else f"{site.root}/"
    below = (got.values("directory") or [""])[-1].strip("/")
    for path in paths:
        full = top + (f"{below}/{path}" if below else path)
        site.write(full)
        site.write(full + ".rej")


def merge_file(words: list[str], site: Site) -> None:
    got = given("p,stdout q L: diff3 zdiff3 ours theirs union marker-size: object-id diff-algorithm:", words)
    if not got.has("p"):
        for file in got.operands[:1]:
            site.write(file)


def clone(words: list[str], site: Site) -> None:
    got = given(
        "b,branch: o,origin: u,upload-pack: depth: c,config: j,jobs: reference: reference-if-able: template: "
        "separate-git-dir: filter: shallow-since: shallow-exclude: server-option: bundle-uri: l,local s,shared q,quiet "
        "v,verbose n bare "
        "no-checkout mirror single-branch no-single-branch recurse-submodules? recursive no-tags progress no-hardlinks "
        "dissociate sparse remote-submodules shallow-submodules also-filter-submodules no-local revision: ref-format: "
        "4,ipv4 6,ipv6 tags reject-shallow no-reject-shallow no-shallow-submodules no-remote-submodules",
        words,
    )
    doubt(got, site)
    for text in got.values("u"):
        site.commands(text)
    url, *folders = [*got.operands, ""][:2]
    if folders and folders[0]:
        site.write(folders[0], Reach.BENEATH)
    elif url:
        last = basename(url.removesuffix("/.git")).rpartition(":")[2].removesuffix(".git").removesuffix(".bundle")
        site.write(last + (".git" if got.has("bare mirror") else "") or holes.UNKNOWN, Reach.BENEATH)


def init(words: list[str], site: Site) -> None:
    got = given("q,quiet bare template: separate-git-dir: object-format: ref-format: b,initial-branch: shared?", words)
    for folder in got.operands or [".git"]:
        site.write(folder, Reach.BENEATH)
    for folder in got.values("separate-git-dir"):
        site.write(folder, Reach.BENEATH)


def pack(words: list[str], site: Site) -> None:
    if "--stdout" not in words:
        for name in [word for word in words if not word.startswith("-")]:
            site.write(name + holes.MANY)


def trailers(words: list[str], site: Site) -> None:
    got = given("in-place trim-empty where: if-exists: if-missing: only-trailers only-input unfold parse no-divider "
                "trailer:", words)  # fmt: skip
    if got.has("in-place") or got.strange:
        for file in got.operands:
            site.write(file)


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
        site.commands(" ".join(words))
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
    if len(got.operands) >= 2:
        _configured(got.operands[-2], got.operands[-1], site)
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
    "merge-file": merge_file, "pack-objects": pack, "interpret-trailers": trailers,
}  # fmt: skip
