#!/usr/bin/env python3
"""Tests the web runtime in Chromium, or with ENGINE=webkit in WebKitGTK, with a real origin and real pages.

    Tests/Browser/Worker/run.py [XCACHE [WORD…]]     XCACHE: the program (default: .build/debug/xcache); WORD: cases by name, number or
                                                     file; -WORD: all but these; -jN: N at once

Exits with 0 if all cases pass. Needs Chromium (Debian: apt-get install chromium), which CHROMIUM may name; or what webkit.py says.
"""
import os, sys

import bench
import answers, attacks, copies, costs, failing, firsts, healing, hostile, lazies, lives, opening, routes, samples, shared, sources, stops, switches, tended, trust, trusted, updates, workers

here = os.path.dirname(os.path.abspath(__file__))
xcache = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../../.build/debug/xcache"))
sys.exit(bench.main(xcache, sys.argv[2:]))
