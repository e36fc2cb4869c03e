"""Programs that copy, move, make and pack files: those whose targets take more than reading the operands off."""

from itertools import pairwise

from . import holes, reading
from .options import Given, given
from .outputs import of_settings
from .reading import Reach
from .site import Site, basename, dirname, doubt, listed

_BACKUP = "b,backup? S,suffix: "
_COPY = (
    _BACKUP + "t,target-directory: T,no-target-directory r,R,recursive a,archive d f,force i,interactive n,no-clobber "
    "u,update? v,verbose l,link s,symbolic-link L,dereference P,no-dereference H p preserve? no-preserve: x "
    "parents sparse: reflink? attributes-only copy-contents remove-destination strip-trailing-slashes c X Z,context? "
    "one-file-system debug keep-directory-symlink help version"
)
_MOVE = (
    _BACKUP + "t,target-directory: T,no-target-directory f,force i,interactive n,no-clobber u,update? v,verbose h "
    "strip-trailing-slashes Z,context exchange no-copy debug help version"
)
_LINK = (
    _BACKUP + "t,target-directory: T,no-target-directory s,symbolic f,force i,interactive n,no-dereference r,relative "
    "L,logical P,physical v,verbose h F d,directory help version"
)
_INSTALL = (
    _BACKUP + "t,target-directory: T,no-target-directory d,directory D m,mode: o,owner: g,group: p,preserve-timestamps "
    "s,strip strip-program: v,verbose c C,compare Z,context? preserve-context debug help version"
)
_MKDIR = "p,parents m,mode: v,verbose Z,context? help version"


def copy(name: str, words: list[str], site: Site) -> None:
    got = given(_COPY, words)
    doubt(got, site)
    deep = Reach.BENEATH if got.has("r a") else Reach.FILE
    texts = [(place, site.content(source)) for source, place in _places(got)]
    targets(got, site, deep, parents=got.has("parents"))
    for place, text in texts:
        site.fill(place, text)
    if got.has("l s"):
        _linked(got, site, symbolic=got.has("s"))


def move(name: str, words: list[str], site: Site) -> None:
    got = given(_MOVE, words)
    doubt(got, site)
    texts = [(place, site.content(source)) for source, place in _places(got)]
    for source in targets(got, site, Reach.BENEATH, itself=True):
        site.write(source, Reach.BENEATH, itself=True)
    for place, text in texts:
        site.fill(place, text)
    for source, place in _places(got):
        site.renamed(source, place)


def link(name: str, words: list[str], site: Site) -> None:
    got = given(_LINK, words)
    doubt(got, site)
    if len(got.operands) == 1 and not got.has("t"):
        site.write(basename(got.operands[0]) or holes.UNKNOWN, itself=True)
        site.link(basename(got.operands[0]), got.operands[0], symbolic=got.has("s"))
    else:
        targets(got, site, Reach.FILE, itself=True)
        _linked(got, site, symbolic=got.has("s") and not got.has("r"))


def hard_link(name: str, words: list[str], site: Site) -> None:
    got = given("help version", words)
    if len(got.operands) == 2:
        source, place = got.operands
        site.write(place, itself=True)
        site.link(place, source, symbolic=False)


def mount(name: str, words: list[str], site: Site) -> None:
    """A folder that is bound to another is a second name of it."""
    got = given("B,bind R,rbind M,move o,options: t,types: r,read-only w,rw v,verbose n,no-mtab a,all f,fake", words)
    site.opaque(reading.ELSEWHERE)
    if len(got.operands) == 2:
        source, place = got.operands
        site.link(place, source, symbolic=False)


def _linked(got: Given, site: Site, *, symbolic: bool) -> None:
    for source, place in _places(got):
        site.link(place, source, symbolic=symbolic)


def _places(got: Given) -> list[tuple[str, str]]:
    """Each source with the names it may get."""
    sources, folders = got.operands, got.values("t")
    if not folders and len(sources) >= 2:
        sources, folders = sources[:-1], sources[-1:]
    told = [source for source in sources if holes.is_told(source)]
    inside = [(each, f"{folder.rstrip('/')}/{basename(each)}") for folder in folders for each in told]
    return inside + [(each, folder) for folder in folders for each in told if len(sources) == 1 and not got.has("t")]


def install(name: str, words: list[str], site: Site) -> None:
    got = given(_INSTALL, words)
    doubt(got, site)
    if got.has("d"):
        for folder in got.operands:
            with_parents(folder, site)
        return
    if got.has("D"):
        for folder in got.values("t") or [dirname(target) for target in got.operands[-1:]]:
            with_parents(folder, site)
    targets(got, site, Reach.FILE)


def targets(got: Given, site: Site, reach: Reach, *, parents: bool = False, itself: bool = False) -> list[str]:
    """Writes what several sources become in their target; returns the sources.

    Whether one source is put into `b` or in place of `b` depends on what `b` is. Where that is not known both count.
    """
    sources, folders = got.operands, got.values("t")
    if not folders and len(sources) >= 2:
        sources, folders = sources[:-1], sources[-1:]
    one = len(sources) == 1 and not got.has("t")  # a wildcard may come to one name, too
    for folder in folders:
        inside = folder.endswith("/") or folder in (".", "..") or site.is_folder(folder)
        if one and (got.has("T") or not inside):
            _put(folder, got, site, reach, itself=itself)
        if not got.has("T"):
            for source in sources:
                place = _inside(folder, source, parents=parents)
                _put(place, got, site, reach, itself=itself)
                if parents:
                    with_parents(dirname(place), site)
    return sources


def _inside(folder: str, source: str, *, parents: bool) -> str:
    if not holes.is_told(source):
        return f"{folder}/{holes.MANY}" if holes.is_told(folder) else folder
    last = basename(source)
    if last in ("", ".", ".."):
        return folder + "/" + holes.DEEP  # the contents of the source, side by side with what is there
    return f"{folder.rstrip('/')}/{source if parents else last}"


def _put(field: str, got: Given, site: Site, reach: Reach, *, itself: bool) -> None:
    site.write(field, reach, itself=itself)
    if got.has("b S"):
        site.write(field.rstrip("/") + (got.values("S") or [site.variable("SIMPLE_BACKUP_SUFFIX") or "~"])[-1])
        site.write(field.rstrip("/") + ".~" + holes.MANY)


def with_parents(folder: str, site: Site) -> None:
    """`a/b/c` and the folders above it that may have to be made; those above `..` are there already."""
    names = folder.rstrip("/").split("/")
    for count in range(len(names), 0, -1):
        if names[count - 1] in ("..", ""):
            break
        site.write("/".join(names[:count]))


def make_folder(name: str, words: list[str], site: Site) -> None:
    got = given(_MKDIR, words)
    doubt(got, site)
    for folder in got.operands:
        if got.has("p"):
            with_parents(folder, site)
        else:
            site.write(folder)


def remove_folder(name: str, words: list[str], site: Site) -> None:
    got = given("p,parents v,verbose ignore-fail-on-non-empty help version", words)
    doubt(got, site)
    for folder in got.operands:
        if got.has("p"):
            with_parents(folder, site)
        else:
            site.write(folder)


def convert(name: str, words: list[str], site: Site) -> None:
    """dd"""
    for word in words:
        key, equals, value = word.partition("=")
        if key == "of" and equals:
            site.write(value)
        elif not holes.is_told(key):
            site.opaque(reading.ARGUMENTS_UNKNOWN, holes.shown(word))


def split(name: str, words: list[str], site: Site) -> None:
    spec = {
        "split": "a: b,bytes: C,line-bytes: d e l,lines: n,number: t: u numeric-suffixes? hex-suffixes? x "
        "additional-suffix: filter: verbose suffix-length: separator: unbuffered elide-empty-files",
        "csplit": "f,prefix: b,suffix-format: n,digits: k,keep-files s,q,quiet z,elide-empty-files",
    }[name]
    got = given(spec, words)
    doubt(got, site)
    for script in got.values("filter"):
        site.opaque(reading.INTERPRETER)
        site.shell(script, ())
    prefixes = got.values("f") if name == "csplit" else got.operands[1:2]
    site.write((prefixes or ["x" if name == "split" else "xx"])[-1] + holes.MANY)


def temporary(name: str, words: list[str], site: Site) -> None:
    """mktemp: a template of the caller's own is told; the folder for temporary files is not."""
    got = given("d,directory u,dry-run q,quiet p: tmpdir? t suffix: V", words)
    got.found["p"] = [*got.values("p"), *got.values("tmpdir")] if got.has("p tmpdir") else []
    if not got.found["p"]:
        del got.found["p"]
    if got.has("u"):
        return
    folder = (got.values("p") or [""])[-1] or ("" if got.operands else site.variable("TMPDIR") or "")
    if folder:
        site.write(f"{folder.rstrip('/')}/{holes.MANY}")
        return
    if not got.operands or got.has("p t"):
        site.opaque(reading.EXPANSION)
        return
    for template in got.operands:
        ending = "".join(got.values("suffix"))
        site.write(template.replace("X", holes.ONE) + ending)


# --- archives ---------------------------------------------------------------------------------------------------------

_TAR = (
    "A,concatenate,catenate c,create d,diff,compare delete r,append t,list u,update x,extract,get f,file: C,directory: "
    "O,to-stdout v,verbose z,gzip j,bzip2 J,xz Z,compress zstd lzma lz a,auto-compress I,use-compress-program: p "
    "P,absolute-names k,keep-old-files m touch o h,dereference T,files-from: X,exclude-from: exclude: "
    "strip-components: s,transform,xform: wildcards no-same-owner same-owner no-same-permissions "
    "remove-files overwrite owner: group: mode: mtime: sort: exclude-vcs totals one-file-system keep-newer-files "
    "skip-old-files b,blocking-factor: S,sparse W,verify U,unlink-first w n,seek i,ignore-zeros format: H: "
    "numeric-owner no-recursion null warning: N,newer: one-top-level? show-transformed-names to-command: "
    "checkpoint-action: checkpoint? F,info-script: preserve-permissions same-permissions anchored "
    "ignore-failed-read no-xattrs xattrs acls no-acls selinux no-overwrite-dir exclude-backups g,listed-incremental:"
)
_PACKERS = ("gzip", "pigz", "bzip2", "pbzip2", "xz", "zstd", "lz4", "lzip", "lzma", "zstdmt", "brotli")


def tar(name: str, words: list[str], site: Site) -> None:
    words = [*words, *(site.variable("TAR_OPTIONS") or "").split()]
    if words and words[0] and words[0].isalpha() and words[0].isascii():
        words = _old_style(words)
    got = given(_TAR, words)
    doubt(got, site)
    if got.has("to-command checkpoint-action F") or any(
        value.split()[:1] and value.split()[0] not in _PACKERS for value in got.values("I")
    ):
        site.opaque(reading.INTERPRETER)
        for value in got.values("to-command checkpoint-action F I"):
            site.commands(value.removeprefix("exec="))
    if got.has("x") and not got.has("O"):
        if got.has("P"):
            site.opaque(reading.PATCH_ELSEWHERE)  # the members' names are absolute
        _unpacked(got.values("C"), site)
    elif got.has("c r u A delete"):
        for archive in got.values("f"):
            if archive != "-":
                site.write(archive)
        if got.has("remove-files"):
            for place in (site, *map(site.into, got.values("C"))):
                for member in [*got.operands, *listed(got.values("T"), site)]:
                    place.write(member, Reach.BENEATH)
    for snapshot in got.values("g"):
        site.write(snapshot)


def _old_style(words: list[str]) -> list[str]:
    """`tar xzf a.tar`: letters without a dash, whose values follow in their order."""
    letters, rest = words[0], words[1:]
    taken = [letter for letter in letters if letter in "fCITXbsHNgF"]
    attached = [f"-{letter}{value}" for letter, value in zip(taken, rest, strict=False) if value]
    return ["-" + letter for letter in letters if letter not in taken] + attached + rest[len(taken) :]


def _unpacked(folders: list[str], site: Site) -> None:
    place = site
    for folder in folders:  # each is relative to the one before
        place = place.into(folder)
    place.write(".", Reach.BENEATH)


def unzip(name: str, words: list[str], site: Site) -> None:
    got = given("d: P: x: o n f u j q v l t p c z Z a b C D L M O: I: U V W X", words)
    if got.has("l t p c v z Z"):
        return
    doubt(got, site)
    for folder in got.values("d") or ["."]:
        site.write(folder, Reach.BENEATH)


def zip_up(name: str, words: list[str], site: Site) -> None:
    words = [*(site.variable("ZIPOPT") or "").split(), *words]
    got = given(
        "b: i: x: n: t: P: s: O,output-file: m,move r,recurse-paths R j q v u f d g y l e D X o T 1 2 3 4 5 6 7 8 9 0 "
        "exclude: include: FS,filesync copy: @ A F quiet",
        words,
    )
    for word, after in pairwise(words):
        if word in ("-TT", "--unzip-command"):
            site.opaque(reading.INTERPRETER)
            site.commands(after)
    doubt(got, site)
    for archive in got.values("O") or got.operands[:1]:
        if archive != "-":
            site.write(archive)
            site.write(archive + ".zip")
    for member in [*got.operands[1:], *listed(["-"] * got.has("@"), site)] if got.has("m") else []:
        site.write(member, Reach.BENEATH)


_SQUEEZED = {
    "gzip": (".gz", ""), "pigz": (".gz", ""), "gunzip": (".gz", "d"), "bzip2": (".bz2", ""), "bunzip2": (".bz2", "d"),
    "xz": (".xz", ""), "unxz": (".xz", "d"), "zstd": (".zst", ""), "unzstd": (".zst", "d"),
    "lz4": (".lz4", ""), "compress": (".Z", ""), "uncompress": (".Z", "d"),
}  # fmt: skip


def squeeze(name: str, words: list[str], site: Site) -> None:
    """gzip and its like: one file is written beside another, which goes."""
    got = given(
        "c,stdout,to-stdout d,decompress,uncompress z f,force k,keep l,list t,test q,quiet v,verbose r,recursive n N "
        "S,suffix: o: T,threads: p: rm 1 2 3 4 5 6 7 8 9 0 e,extreme fast best name no-name ultra long? s,stdout "
        "files? files0? filelist: output-dir-flat: output-dir-mirror:",
        words,
    )
    doubt(got, site)
    if got.has("c l t"):
        return
    ending, unpacks = _SQUEEZED[name]
    ending = (got.values("S") or [ending])[-1]
    for folder in got.values("output-dir-flat output-dir-mirror"):
        site.write(folder, Reach.BENEATH)
    for file in [*got.operands, *listed([each or "-" for each in got.values("files files0 filelist")], site)]:
        if file == "-":
            continue
        site.write(file, Reach.BENEATH if got.has("r") else Reach.FILE)
        if got.has("o"):
            site.write(got.values("o")[-1])
        elif unpacks or got.has("d"):
            # Without its ending the program looks for it; with an ending of a tar it becomes one.
            site.write(file.removesuffix(ending) if file.endswith(ending) else dirname(file) + "/" + holes.MANY)
        else:
            site.write(file + ending)


# --- from elsewhere ---------------------------------------------------------------------------------------------------

_RSYNC = (
    "n,dry-run a,archive v,verbose q,quiet r,recursive R,relative z,compress u,update c,checksum b,backup l,links "
    "L,copy-links k K H,hard-links p,perms o,owner g,group D t,times E X,xattrs A,acls S,sparse W,whole-file x P h "
    "i,itemize-changes d,dirs m,prune-empty-dirs O,omit-dir-times J C,cvs-exclude F 0,from0 4,ipv4 6,ipv6 y,fuzzy "
    "I,ignore-times s N U 8 e,rsh: f,filter: B,block-size: T,temp-dir: M,remote-option: @: "
    "suffix: backup-dir: chmod: rsync-path: max-delete: max-size: min-size: partial-dir: "
    "usermap: groupmap: chown: timeout: contimeout: modify-window: compare-dest: copy-dest: link-dest: "
    "compress-choice: zc: compress-level: zl: skip-compress: exclude: exclude-from: include: include-from: files-from: "
    "address: port: sockopts: outbuf: log-file: log-file-format: password-file: bwlimit: stop-after: stop-at: "
    "write-batch: only-write-batch: read-batch: protocol: iconv: checksum-seed: checksum-choice: cc: info: debug: "
    "stderr: out-format: max-alloc: early-input: copy-as: remove-source-files delete delete-before delete-during "
    "delete-delay delete-after delete-excluded del force inplace partial progress stats human-readable existing "
    "ignore-existing ignore-errors size-only list-only no-motd append append-verify mkpath safe-links "
    "copy-unsafe-links munge-links numeric-ids executability devices specials super fake-super preallocate "
    "delay-updates blocking-io trust-sender secluded-args no-perms no-owner no-group no-times no-links no-relative "
    "no-implied-dirs one-file-system ignore-missing-args delete-missing-args open-noatime atimes crtimes "
    "help version no-o no-g no-p"
)


def sync(name: str, words: list[str], site: Site) -> None:
    got = given(_RSYNC, words)
    doubt(got, site)
    for value in got.values("log-file write-batch only-write-batch"):
        site.write(value)
    if got.has("n list-only") or len(got.operands) < 2:
        return
    *sources, target = got.operands
    if got.has("remove-source-files"):
        for source in sources:
            site.write(source, Reach.BENEATH)
    if ":" in target.partition("/")[0]:
        return  # another machine's
    site.write(target, Reach.BENEATH)
    for folder in got.values("backup-dir partial-dir T"):
        site.into(target).write(folder, Reach.BENEATH)


def secure_copy(name: str, words: list[str], site: Site) -> None:
    """scp: a target without a host is a file here."""
    got = given("3 4 6 A B C p q r v R T O i: F: l: o: P: S: c: J: D: X:", words)
    doubt(got, site)
    for value in got.values("o S"):
        site.commands(value.partition("=")[2] or value)
    if len(got.operands) >= 2 and ":" not in got.operands[-1].partition("/")[0]:
        targets(got, site, Reach.BENEATH if got.has("r") else Reach.FILE)


def archive(name: str, words: list[str], site: Site) -> None:
    """ar: the letters say whether the archive is written, or its members are taken out of it."""
    if "-M" in words:
        site.searched(site.stdin or site.feeders())
    operands = [word for word in words if not word.startswith("--")]
    letters, *rest = operands or [""]
    if set(letters) & set("rqdms"):
        for file in rest[1:2] if set(letters) & set("abi") else rest[:1]:
            site.write(file)
    if "x" in letters:
        for member in rest[1:] or [holes.MANY]:
            site.write(basename(member) or holes.MANY)


_CURL = (
    "o,output: O,remote-name D,dump-header: c,cookie-jar: J,remote-header-name output-dir: K,config: trace: "
    "trace-ascii: stderr: remote-name-all etag-save: hsts: alt-svc: libcurl: create-dirs "
    "s,silent S,show-error L,location f,fail v,verbose i,include I,head k,insecure g,globoff G,get N,no-buffer "
    "n,netrc 4,ipv4 6,ipv6 0 1 2 3 a,append j l p q,disable R,remote-time # progress-bar compressed fail-with-body Z "
    "H,header: d,data: data-raw: data-binary: data-urlencode: data-ascii: json: X,request: u,user: A,user-agent: "
    "e,referer: F,form: form-string: b,cookie: x,proxy: m,max-time: connect-timeout: retry: retry-delay: "
    "retry-max-time: w,write-out: T,upload-file: E,cert: cert-type: key: cacert: capath: C,continue-at: r,range: "
    "Y,speed-limit: y,speed-time: z,time-cond: U,proxy-user: resolve: limit-rate: max-redirs: interface: url: Q,quote: "
    "t: P: h,help? proto: proto-redir: tls-max: ciphers: oauth2-bearer: unix-socket: max-filesize: noproxy: "
    "retry-connrefused retry-all-errors http1.0 http1.1 http2 http3 tlsv1.2 tlsv1.3 location-trusted no-progress-meter "
    "path-as-is ssl-reqd digest basic ntlm negotiate anyauth netrc-file: socks5: preproxy: aws-sigv4: rate: V,version "
    "no-keepalive keepalive-time: parallel parallel-max: skip-existing remove-on-error no-clobber"
)


def curl(name: str, words: list[str], site: Site) -> None:
    got = given(_CURL, words)
    doubt(got, site)
    for file in got.values("K"):
        site.opaque(reading.SOURCED)
        site.searched(site.text(file) or "")
    for url in got.operands + got.values("url") if got.has("T") else []:
        if url.startswith("file://"):
            sent = [basename(value) for value in got.values("T")] if url.endswith("/") else [""]
            for name_of in sent:
                site.write(url.removeprefix("file://").removeprefix("localhost") + name_of)
    for value in got.values("w"):
        site.searched(value if "%{output}" in value else "")
    for value in got.values("D c trace trace-ascii stderr etag-save hsts alt-svc libcurl"):
        if value != "-":
            site.write(value)
    place = site
    for folder in got.values("output-dir"):
        place = site.into(folder)
    for value in got.values("o"):
        if value != "-":
            _output(value, got, place)
    if got.has("O remote-name-all"):
        for url in got.operands + got.values("url"):
            place.write(holes.MANY if got.has("J") else basename(url.partition("?")[0]) or holes.MANY)


def _output(value: str, got: Given, place: Site) -> None:
    numbered = value.replace("#1", holes.MANY).replace("#2", holes.MANY)
    if got.has("create-dirs"):
        with_parents(dirname(numbered), place)
    place.write(numbered)


_WGET = (
    "O,output-document: P,directory-prefix: o,output-file: a,append-output: r,recursive m,mirror p,page-requisites "
    "i,input-file: spider q,quiet v,verbose c,continue N,timestamping k K E l,level: A,accept: R,reject: U,user-agent: "
    "t,tries: T,timeout: w,wait: Q: D: I: X: np,no-parent nH,no-host-directories nc,no-clobber nv,no-verbose nd "
    "no-directories e,execute: header: user: password: post-data: post-file: no-check-certificate S,server-response "
    "b,background d,debug h,help V,version show-progress no-cookies load-cookies: save-cookies: cut-dirs: method: "
    "body-data: limit-rate: waitretry: retry-connrefused content-disposition 4 6 progress: no-verbose no-config "
    "no-hsts https-only max-redirect: connect-timeout: read-timeout: n H,span-hosts"
)


def wget(name: str, words: list[str], site: Site) -> None:
    got = given(_WGET, words)
    doubt(got, site)
    for setting in got.values("e"):
        site.opaque(reading.OPTION_UNKNOWN)
        site.may_write(list(of_settings(setting)))
    for value in got.values("o a save-cookies"):
        site.write(value)
    if got.has("b"):
        site.write("wget-log" + holes.MANY)
    documents = got.values("O")
    for document in documents:
        if document != "-":
            site.write(document)
    if documents or got.has("spider"):
        return
    place = site.into(got.values("P")[-1]) if got.has("P") else site
    if got.has("r m p i") or got.has("content-disposition"):
        place.write(".", Reach.BENEATH)
        return
    for url in got.operands:
        bare = url.partition("://")[2] or url
        last = basename(bare) if "/" in bare.rstrip("/") and not bare.endswith("/") else "index.html"
        place.write(last)
        place.write(last + "." + holes.MANY)  # where that is taken
