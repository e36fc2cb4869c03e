"""The table of programs: which write, which only read, and which can not be told.

A `Plain` writes its operands, or what some of its options name. What needs more is a function of `files`, `edits`,
`git` or `wrappers`. A program that is in no table is opaque.
"""

from importlib import import_module

from rookery.core.record import NamedTuple

from . import holes, reading
from .options import given, names
from .reading import Reach
from .site import Rule, Site, doubt


class Plain(NamedTuple):
    options: str = ""
    first: int | None = 0  # the first operand that is written; None: no operand is
    beneath: str = ""  # options that reach what lies beneath an operand; `*`: always
    needs: str = ""  # one of these must be there, or operands are only read
    spares: str = ""  # with one of these nothing is written
    outputs: str = ""  # options whose value is written
    default: str = ""  # the operand that is meant where none is given
    lenient: bool = False  # an option that is not declared is taken for one without a value


_FORMATTER = "check diff quiet q verbose v"

PLAIN: dict[str, Plain] = {
    # files
    "tee": Plain("a,append i,ignore-interrupts p output-error? help version"),
    "sponge": Plain("a"),
    "touch": Plain("a m c,no-create f h,no-dereference r,reference: d,date: t: time: A: help version"),
    "rm": Plain(
        "r,R,recursive f,force i I interactive? d,dir v,verbose one-file-system no-preserve-root preserve-root? x P W "
        "help version",
        beneath="r",
    ),
    "unlink": Plain("help version"),
    "truncate": Plain("s,size: c,no-create o,io-blocks r,reference: help version"),
    "fallocate": Plain("l,length: o,offset: c d i k,keep-size n p,punch-hole x,posix z,zero-range v,verbose"),
    "shred": Plain("f,force n,iterations: random-source: s,size: u remove? v,verbose x,exact z,zero help version"),
    "mkfifo": Plain("m,mode: Z context? help version"),
    "mknod": Plain("m,mode: Z context? help version"),
    "sort": Plain(
        "b d f g i M h n R r V c,check? C m,merge s,stable u,unique z,zero-terminated k,key: t,field-separator: "
        "o,output: S,buffer-size: T,temporary-directory: parallel: batch-size: compress-program: files0-from: "
        "sort: debug ignore-case numeric-sort reverse random-sort random-source: version-sort "
        "human-numeric-sort help version "
        "general-numeric-sort ignore-leading-blanks dictionary-order month-sort ignore-nonprinting",
        first=None,
        outputs="o",
    ),
    "shuf": Plain("e,echo i,input-range: n,head-count: o,output: r,repeat z random-source:", first=None, outputs="o"),
    "uniq": Plain(
        "c,count d,repeated D all-repeated? f,skip-fields: group? i,ignore-case s,skip-chars: u,unique "
        "z,zero-terminated w,check-chars: help version",
        first=1,
    ),
    "xxd": Plain("a b c: C d e E g: h i l: n: o: p ps plain r R: s: t u v", first=1),
    "iconv": Plain("f,from-code: t,to-code: l,list c o,output: s,silent verbose", first=None, outputs="o"),
    "tree": Plain(
        "o: L: P: I: a d f i l x J X C n q N s h t r p u g D F v c U H: T: A S Q sort: charset: filelimit: noreport "
        "dirsfirst gitignore prune du si timefmt: matchdirs fromfile info metafirst hintro: houtro: inodes device",
        first=None,
        outputs="o",
    ),
    # formatters: the operands are files or folders
    "black": Plain(
        _FORMATTER + " c,code: l,line-length: t,target-version: S C config: include: exclude: extend-exclude: "
        "force-exclude: stdin-filename: W,workers: preview fast safe pyi color no-color "
        "required-version: h,help version",
        beneath="*",
        spares="check diff c h version",
    ),
    "isort": Plain(
        _FORMATTER + " c,check-only d stdout profile: l,line-length: settings-path: sp: src: p: o: m: a: s,skip: "
        "e,atomic skip-glob: filter-files float-to-top V,version h,help show-files show-config",
        beneath="*",
        spares="check c diff d stdout V h show-files show-config",
        lenient=True,
    ),
    "autopep8": Plain("i,in-place d,diff r,recursive a,aggressive", needs="i", beneath="*", lenient=True),
    "yapf": Plain("i,in-place d,diff r,recursive style: p e,exclude:", needs="i", beneath="*", lenient=True),
    "autoflake": Plain("i,in-place r,recursive c,check", needs="i", spares="c", beneath="*", lenient=True),
    "docformatter": Plain("i,in-place r,recursive c,check", needs="i", beneath="*", lenient=True),
    "pyupgrade": Plain("", beneath="*", lenient=True),
    "prettier": Plain(
        "w,write c,check l,list-different config: ignore-path: parser: plugin: log-level: stdin-filepath: u "
        "ignore-unknown no-config cache cache-location: help version",
        needs="w",
        beneath="*",
        lenient=True,
    ),
    "eslint": Plain(
        "fix fix-dry-run fix-type: c,config: ext: o,output-file: f,format: ignore-path: rule: max-warnings: parser: "
        "cache cache-location: quiet debug",
        needs="fix",
        outputs="o",
        beneath="*",
        default=".",
        lenient=True,
    ),
    "stylelint": Plain("fix? config: f,formatter: o,output-file:", needs="fix", outputs="o", beneath="*", lenient=True),
    "gofmt": Plain("w l d e s r: cpuprofile:", needs="w", beneath="*"),
    "goimports": Plain("w l d e v local: srcdir:", needs="w", beneath="*"),
    "gofumpt": Plain("w l d extra lang: modpath:", needs="w", beneath="*"),
    "clang-format": Plain("i n,dry-run style: assume-filename: Werror verbose files:", needs="i", lenient=True),
    "shfmt": Plain(
        "w,write l,list? d,diff s,simplify i,indent: ln,language-dialect: p,posix bn,binary-next-line ci,case-indent "
        "sr,space-redirects kp,keep-padding fn,func-next-line mn,minify f,find to-json tojson filename: version",
        needs="w",
        beneath="*",
    ),
    "yq": Plain("i,inplace,in-place", needs="i", lenient=True),
    "taplo": Plain("check diff", spares="check", first=1, beneath="*", default=".", lenient=True),
    "stylua": Plain("c,check", spares="c", beneath="*", lenient=True),
    "swiftformat": Plain("lint dryrun", spares="lint dryrun", beneath="*", lenient=True),
    "ktlint": Plain("F,format", needs="F", beneath="*", default=".", lenient=True),
}

_WITH_SINGLE_DASH = ("gofmt", "goimports", "gofumpt", "shfmt", "clang-format")

MODES = {
    "chmod": Plain("R,recursive c,changes f,silent,quiet v,verbose reference: h help version", first=1, beneath="R"),
    "chown": Plain("R,recursive c f v h H L P from: reference: no-dereference dereference", first=1, beneath="R"),
    "chgrp": Plain("R,recursive c f v h H L P reference: no-dereference dereference", first=1, beneath="R"),
    "chattr": Plain("R V f v: p:", first=1, beneath="R", lenient=True),
    "setfacl": Plain("b k R,recursive m,modify: x,remove: M: X: n d test P L", beneath="R", lenient=True),
}

READ_ONLY = names(
    """
    : [ test true false echo printf pwd type which whereis whatis man info help hash wait sleep kill pkill killall
    jobs bg fg disown times ulimit umask dirs compgen complete getconf getent locale ls dir vdir cat tac head tail
    less more nl wc od hexdump strings file stat readlink realpath basename dirname du df free uptime uname hostname
    hostnamectl whoami id groups who w last date cal ps pgrep top htop lsof ss netstat ip ifconfig ping traceroute dig
    host nslookup nproc lscpu lsblk lsmod lspci arch tty printenv grep egrep fgrep zgrep rg ag ack cut paste tr rev
    fold fmt pr expand unexpand column comm join look diff cmp colordiff delta sdiff md5sum sha1sum sha224sum
    sha256sum sha384sum sha512sum b2sum cksum sum md5 shasum base64 base32 seq factor yes expr bc numfmt tsort zcat
    bzcat xzcat zstdcat jq envsubst cloc tokei scc wl-paste pbpaste nm objdump readelf ldd size addr2line c++filt
    otool tput clear reset stty getopt mountpoint findmnt journalctl pstree vmstat iostat lsb_release sw_vers
    dircolors infocmp mypy pyright basedpyright flake8 pyflakes pylint shellcheck hadolint actionlint yamllint vulture
    bandit bat batcat eza exa lsd ncdu difft pydoc pydoc3 pygmentize hexyl glow mdcat xmlwf jsonlint lshw dmesg
    loginctl timedatectl acpi sensors watchman zipinfo lsattr getfacl namei pathchk peekfd fuser vmtouch
    mediainfo exiv2 identify ffprobe pdfinfo pdftotext radon xenon lizard pydocstyle pycodestyle prospector codespell
    semgrep markdownlint proselint vale write-good aspell hunspell cppcheck cpplint luacheck tflint checkov kubeval
    kubeconform dockerfilelint gitleaks trufflehog detect-secrets safety pip-audit xsv mlr dasel gron fx csvlook csvcut
    csvstat sloccount gocyclo nilaway staticcheck errcheck ineffassign revive deadcode gosec ctags-query msgfmt-check
    agrep pcregrep pcre2grep ugrep zipgrep bzgrep xzgrep zless xzless bzless tailf multitail ccze lnav say spd-say
    notify-send osc wslpath cygpath tig gitk lazygit nvidia-smi fastfetch neofetch htpasswd-verify command_not_found
    """
)
# Programs that run tests or checks: opaque, but what they are named is what they read.
CHECKERS = names(
    """
    ctest phpunit rspec behave bats karma ava tap nose2 nosetests ginkgo gotestsum minitest cucumber robot locust
    rubocop phpcs phpstan psalm eslint_d xo standard tslint golangci-lint ktlint detekt checkstyle spotbugs pmd infer
    clang-tidy scan-build valgrind perf strace ltrace dtrace time py-spy kcov lcov gcov gcovr llvm-cov llvm-nm
    nvcc valac zig nim crystal ocaml ocamlfind dune opam raku gjs qjs mocha-phantomjs testcafe nightwatch wdio storybook
    ruff-lsp pyre pytype sphinx-build mkdocs jupyter streamlit uvicorn gunicorn hypercorn celery airflow dbt scrapy
    gtags doxygen openssl
    serve http-server live-server browser-sync nodemon pm2 forever concurrently cross-env
    claude codex gemini opencode copilot aider cursor-agent pi amp llm ollama
    """
)
SHELL_OWN = names(
    """
    cd chdir pushd popd exit logout break continue return set shift unset let eval source . trap alias unalias shopt
    enable history fc read mapfile readarray getopts printf wait export declare local readonly typeset
    """
)

# Those that read, but for these options.
_READS_BUT = {
    "rg": ("--pre", "--hostname-bin"), "file": ("-C", "--compile"), "less": ("-o", "-O", "--log-file"),
    "date": ("-s", "--set"), "mypy": ("--install-types", "--junit-xml", "--html-report"), "man": ("-H",),
    "pylint": ("--output",), "flake8": ("--output-file", "--tee"), "bandit": ("-o", "--output"),
    "codespell": ("-w", "--write-changes"), "semgrep": ("--autofix", "-a", "-o", "--output"), "jsonlint": ("-i",),
    "markdownlint": ("--fix", "-f", "-o"), "pdftotext": ("-layout",), "mlr": ("-I",), "aspell": ("-c", "check"),
}  # fmt: skip

INTERPRETERS = names(
    """
    python python2 python3 python3.10 python3.11 python3.12 python3.13 python3.14 pypy pypy3 ipython node nodejs deno
    bun ts-node tsx ruby irb php lua luajit julia R Rscript ghci runghc osascript pwsh powershell tclsh expect guile
    racket make gmake ninja cmake meson bazel buck gradle mvn ant scons rake just task tox nox pytest unittest
    coverage npm pnpm yarn corepack lerna nx turbo vite webpack rollup esbuild tsc jest vitest mocha cypress
    playwright pip pip3 poetry pdm hatch conda mamba bundle gem composer cargo go rustc gcc g++ cc c++ clang clang++
    ld javac java kotlin kotlinc scala sbt mix elixir erl rebar3 stack cabal ghc dotnet msbuild swift swiftc
    xcodebuild flutter dart invoke view rview rvim gvim red
    vi vim nvim ex ed nano emacs code subl pico joe screen tmux at batch crontab entr
    watchexec gdb lldb pre-commit husky lint-staged alembic django-admin flask rails sqlite3 psql mysql mongo
    redis-cli
    """
)
ELSEWHERE = names(
    """
    ssh sftp mosh docker podman nerdctl kubectl helm docker-compose vagrant ansible ansible-playbook terraform
    tofu aws gcloud az gh glab hub heroku fly vercel netlify systemctl launchctl service lxc
    """
)

COMPILERS = names("gcc g++ cc c++ clang clang++ tcc rustc go javac kotlinc ghc nasm as ld swiftc zig nim valac")

# Each the function of a module that is imported when the program is first met: a hook reads one command, and ends.
RULES: dict[str, str] = {
    "cp": "files.copy", "gcp": "files.copy", "mv": "files.move", "gmv": "files.move", "ln": "files.link",
    "link": "files.hard_link", "mount": "files.mount",
    "scp": "files.secure_copy", "ar": "files.archive",
    "install": "files.install", "ginstall": "files.install", "mkdir": "files.make_folder",
    "rmdir": "files.remove_folder", "dd": "files.convert", "split": "files.split", "csplit": "files.split",
    "mktemp": "files.temporary", "tar": "files.tar", "gtar": "files.tar", "bsdtar": "files.tar",
    "unzip": "files.unzip", "zip": "files.zip_up", "rsync": "files.sync", "curl": "files.curl", "wget": "files.wget",
    "sed": "edits.sed", "gsed": "edits.sed", "perl": "edits.perl", "awk": "edits.awk", "gawk": "edits.awk",
    "mawk": "edits.awk", "nawk": "edits.awk", "patch": "edits.patch", "gpatch": "edits.patch",
    "apply_patch": "edits.apply_patch", "applypatch": "edits.apply_patch", "git": "git.git",
    **dict.fromkeys(("ctags", "etags", "cscope", "universal-ctags"), "interpreters.index_sources"),
    "vimdiff": "interpreters.compared", "hyperfine": "interpreters.timed", "gpg": "interpreters.signed",
    "gpg2": "interpreters.signed",
    "busybox": "interpreters.busybox", "toybox": "interpreters.busybox", "parallel": "interpreters.parallel",
    "ruff": "formatters.ruff", "rustfmt": "formatters.rustfmt", "biome": "formatters.biome",
    **{name: f"formatters.{name}" for name in ("cargo", "go", "dart", "terraform", "tofu", "deno")},
    **dict.fromkeys(
        ("gzip", "pigz", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "lz4", "compress", "uncompress"),
        "files.squeeze",
    ),
}  # fmt: skip


def rule(name: str) -> Rule | None:
    if name not in RULES:
        return None
    module, _, function = RULES[name].partition(".")
    return getattr(import_module(f"rookery.core.shell.{module}"), function)


def is_declared(name: str) -> bool:
    """Whether the options of the program are known."""
    return name in RULES or name in PLAIN or name in MODES


def is_loader(name: str) -> bool:
    """The loader of programs runs the one that it is given."""
    return name.startswith(("ld-linux", "ld-musl", "ld.so", "ld-2."))


def write_plain(name: str, program: Plain, words: list[str], site: Site) -> None:
    got = given(program.options, words, single_dash=name in _WITH_SINGLE_DASH)
    if got.has(program.spares) or got.has("help version"):
        return
    for word in got.strange:
        if not program.lenient or not holes.is_told(word):
            doubt(got._replace(strange=[word]), site)
    for value in got.values(program.outputs):
        site.write(value)
    if program.first is None or (program.needs and not got.has(program.needs)):
        return
    deep = program.beneath == "*" or got.has(program.beneath)
    operands = got.operands[program.first :]
    if name in MODES and got.has("reference"):
        operands = got.operands
    for operand in operands or ([program.default] if program.default else []):
        if operand != "-":
            site.write(operand, Reach.BENEATH if deep else Reach.FILE, itself=name in ("rm", "unlink"))


def read_only(name: str, words: list[str], site: Site) -> None:
    if name == "less" and (opener := site.variable("LESSOPEN")):
        files = [word for word in words if not word.startswith("-")]
        site.run([*opener.lstrip("|-").replace("%s", "").split(), *files])
    for word in words:
        if word.partition("=")[0] in _READS_BUT.get(name, ()):
            site.opaque(reading.OPTION_UNKNOWN, f"{name} {holes.shown(word)}")
            site.may_write([each for each in words if not each.startswith("-")], deep=True)


def is_question(words: list[str]) -> bool:
    """`python --version`: whatever the program is, it only answers."""
    return len(words) == 1 and words[0] in ("--version", "-V", "--help", "-version")
