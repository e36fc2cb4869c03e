"""The `rook` command. A verb is `run(Call) -> Reply`: everything of the outside comes in with the call, everything
goes out with the reply, so that a verb runs in a resident process as well as in its own.

    main.py     a process of its own: makes the Call of it, writes the Reply
    resident.py the fast door: calls of other processes (`rookery.door`), run by the daemon
    router.py   which command, the options all share, errors to text
    parser.py   a command line drawn from a verb's signature
    special.py  join and wait, following, config, doctor, backup, export, import: what is more than one call
    show.py     results for people (rich, imported when something is shown); --json needs none of it
    demo.py     a small crew in real processes
"""
