"""`rook init`: agent programs are told to ask Rookery, in files of the repository; and that is taken back.

    plan.py     which programs are meant, what would be written, what would be restored
    checks.py   for `rook doctor`: are the files as written, does the hook answer, does the program run it

`hosts` knows what belongs into which file, `runtime.settling` writes all of it or nothing.
"""
