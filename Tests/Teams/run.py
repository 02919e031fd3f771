#!/usr/bin/env python3
"""Sign-in, CI without secrets and approvals: real and hostile providers in front of `xcache serve`, by hand and in Chromium.

    run.py XCACHE [WORD …]      those parts and cases whose name has one of the words: signing-in trading canaille lemonldap, forgery …

Prints what was tried and what a person reads, and exits with 1 if anything was otherwise. README.md says what each case is."""
import os, sys, tempfile, time, traceback

from table import Table


def parts(words):
    """The parts that are asked for, each with its cases."""
    from signing_in import SigningIn
    from trading import Trading
    found = [("signing-in", SigningIn), ("trading", Trading)]
    if not words or any(word not in SigningIn.cases + Trading.cases + ["signing-in", "trading"] for word in words):
        from people import AtCanaille, AtLemonLDAP
        found += [("canaille", AtCanaille), ("lemonldap", AtLemonLDAP)]
    for name, kind in found:
        cases = kind.cases if not words or any(word in name for word in words) else [one for one in kind.cases if any(word in one for word in words)]
        if cases:
            yield name, kind, cases


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    xcache, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
    table, begin = Table(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="xcache-teams-", ignore_cleanup_errors=True) as folder:
        for name, kind, cases in parts(words):
            here = f"{folder}/{name}"
            os.makedirs(here)
            try:
                part = kind(xcache, here, table)
            except Exception as error:
                traceback.print_exc()
                table.error(name, error)
                continue
            try:
                for case in cases:
                    print(f"{time.monotonic() - begin:6.1f} s  {name}: {case}", flush=True)
                    try:
                        getattr(part, case)()
                    except Exception as error:
                        traceback.print_exc()
                        table.error(f"{name}: {case}", error)
            finally:
                try:
                    part.close()
                except Exception as error:
                    table.error(f"{name}: the end", error)
                if table.failures and os.environ.get("KEEP_LOGS"):
                    print(open(part.origin.log).read()[-8000:])
    table.show()
    sys.exit(1 if table.failures or not table.rows else 0)


main()
