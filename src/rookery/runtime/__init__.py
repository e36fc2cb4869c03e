"""The hands: places, processes, git and files of this machine. Only this room spawns, signals, types or writes files.

May touch: the disk, /proc, the clocks, the kernel's randomness. Knows no rule and no row: it reports what is there, and
`core` decides what that means. Modules here are plain functions; the classes are the ports of `core.ports` made real.

    places      where the home, the team, the settings files and the store are; the private home and files in it
    process     who a process is (pid and start time), whether it runs, and which one a session is bound to
    vitals      what all processes take, each with what is below it
    git         branch and top of a repository, read from its files
    repository  git run: worktrees made and taken away, commits looked up
    changesets  what a worker's worktree holds of its own, committed and held on to by a ref
    merging     a commit joined to a branch, and the branch moved from where it stood
    checking    a check run on a merged tree, and ended with all that it started
    folders     the members of a group, and lenses, from folders of Markdown files
    dropbox     a folder into which others put files: what lies there, what is whole, moved aside
    inotify     the kernel's word that something happened in a folder
    files       whole files written or not at all, read up to a limit
    doorway     the socket of the fast door
    resolve     a path in its one spelling, relative to the workspace it must not leave
    logs        the log of a resident process: private, rotated, without secrets
    surroundings the store's files, daemons, logs and the disk, for whoever asks how things are
    shelf       files that rows refer to, written before them, never reached through a symlink
    ndjson      files of lines that several processes write and others follow, over rotations
    workerfiles the folder of a worker, and the files in it
    trees       folders that other programs read and write, never left through a symlink
    shell/      commands parsed by tree-sitter for `core.shell`: which paths would one write
    settling    files of other programs, changed all or not at all, and brought back byte for byte
    installed   programs on the caller's PATH, and how this very `rook` is called
    hooks       where git looks for its hooks
    tmux        panes of tmux: looked at, typed into and locked, by socket, server and pane id
    starting    programs of workers on any backend: begun once, found again, harvested, put away
    runs        the processes of one run, found by what they carry and ended by who they are
    ourtmux     a tmux server of our own, for what Rookery starts
    ptys        terminals that Rookery holds itself, where there is no tmux: started, looked at, typed into
    holder      the process that holds one, with its screen in `vt/`; `attaching` shows it to a person
    clock       SystemClock, SystemProber, SystemChance, SystemPace

Invariants: nothing here opens `rookery.db`, its `-wal` or its `-shm` (hazard H39). No program is run to find out what a
file says, but for git's hooks, of which only git knows. A process is never known by its pid alone (H18). What is
created is private from the start, under any umask; what is not ours, or is a symlink where a secret belongs, is refused
rather than followed.
"""
