"""What was tried, and what was read: a row for each case."""
import sys, threading


class Table:
    def __init__(self):
        self.rows, self.failures, self.lock = [], 0, threading.Lock()

    def row(self, part, what, expected, found, good, why=""):
        """A case: what was wanted, and what a person or a program read."""
        with self.lock:
            self.rows.append((part, what, found if isinstance(found, str) else repr(found), bool(good)))
            if not good:
                self.failures += 1
                print(f"FAILED  {part}: {what}\n        expected: {expected}\n        found:    {str(found)[:600]}{'; ' + why if why else ''}", flush=True)

    def check(self, what, good, found=""):
        """Something that is true or isn't; shown when it isn't."""
        self.row("check", what, "true", found if good is not True or found else "", good)

    def error(self, part, error):
        self.row(part, "the case itself", "ends", f"{type(error).__name__}: {error}", False)

    def show(self, every=False):
        """Prints the cases that people read something in."""
        shown = [row for row in self.rows if every or row[0] != "check"]
        width = max([len(what) for _, what, _, _ in shown], default=0)
        last = None
        for part, what, found, good in shown:
            if part != last:
                print(f"\n{part}")
                last = part
            print(f"  {'ok ' if good else 'BAD'} {what:<{width}}  {' '.join(found.split())[:220]}")
        good = sum(row[3] for row in self.rows)
        print(f"\n{len(self.rows)} checks, {good} good, {self.failures} failed", file=sys.stdout)
