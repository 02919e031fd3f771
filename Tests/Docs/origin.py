"""An origin on a free loopback port, in a folder of its own, for the tests of the documentation."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def environment(program, home):
    """The environment of a new user: nothing of ours, and the program in the path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XCACHE_")}
    return {**kept, "PATH": f"{pathlib.Path(program).resolve().parent}:{kept['PATH']}", "HOME": str(home),
            "XDG_CONFIG_HOME": str(home), "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}


class Origin:
    """`with Origin(program) as origin:` gives `url`, `folder` and `xcache(…)`."""

    def __init__(self, program, *options):
        self.options = options
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="xcache-docs-"))
        (self.folder / "home").mkdir()
        (self.folder / "bin").mkdir()
        (self.folder / "bin/xcache").symlink_to(pathlib.Path(program).resolve())
        self.environment = environment(self.folder / "bin/xcache", self.folder / "home")
        self.environment["PATH"] = f"{self.folder}/bin:{os.environ['PATH']}"
        self.url = f"http://127.0.0.1:{free_port()}"

    def __enter__(self):
        self.log = open(self.folder / "serve.log", "wb")
        self.process = subprocess.Popen(
            ["xcache", "serve", "--data", "data", "--listen", self.url[7:], *self.options], cwd=self.folder, env=self.environment,
            executable=self.folder / "bin/xcache", stdout=self.log, stderr=self.log)
        for _ in range(300):
            try:
                urllib.request.urlopen(self.url + "/readyz", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise SystemExit("the origin didn't start: " + (self.folder / "serve.log").read_text())
        self.environment |= {"XCACHE_SERVER": self.url, "XCACHE_TOKEN": (self.folder / "data/admin.token").read_text().strip()}
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def xcache(self, *arguments, wanted=0):
        done = subprocess.run([self.folder / "bin/xcache", *arguments], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=120)
        if done.returncode != wanted:
            raise SystemExit(f"xcache {' '.join(arguments)}: exit code {done.returncode}, expected {wanted}: {done.stderr}")
        return done.stdout

    def get(self, path, body=None):
        """The body at a path, whatever its status."""
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, data=body), timeout=30) as answer:
                return answer.read()
        except urllib.error.HTTPError as failure:
            return failure.read()
