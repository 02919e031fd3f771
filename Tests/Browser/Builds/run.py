#!/usr/bin/env python3
"""Published builds of each bundler in Chromium, or with ENGINE=webkit in WebKitGTK, with the worker: online, offline, after a release.

    Tests/Browser/Builds/run.py [XCACHE [--write] [WORD…]]     XCACHE: the program (default: .build/debug/xcache); WORD: cases by name, number
                                                               or file (whole, features); -WORD: all but these

The builds are in wheels on PyPI (builds.py), which pip puts into ~/.cache/xcache-bench the first time. What is found is compared with
docs/builds.md, or with --write put there. Exits with 0 if all cases pass and the document says the same.
"""
import os, sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "../Worker")]
if os.environ.get("ENGINE") == "webkit":
    # In the locale C pages have the language "C", which Intl refuses.
    os.environ.update(LANG="en_US.UTF-8", LC_ALL="en_US.UTF-8", LANGUAGE="en_US")
import bench  # noqa: E402
import features  # noqa: E402,F401
import matrix, seen, whole  # noqa: E402

xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../../.build/debug/xcache"))
matrix.WRITES = "--write" in sys.argv
code = bench.main(xcache, [word for word in sys.argv[2:] if word != "--write"])
if os.environ.get("ENGINE") != "webkit":
    whole.tell()
seen.tell()
sys.exit(matrix.report() or code)
