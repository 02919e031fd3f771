#!/usr/bin/env python3
"""Runs the commands of README.md and docs/quick-start.md as a new user would, in a folder of their own, and compares the output.

    commands.py PROGRAM

In the quick start a block ```sh is followed by its output, ```output, where `…` stands for anything. The README's first steps are
indented; they must only succeed. Besides, each `xcache COMMAND --option` in the guides must be one that the program has.
"""
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from origin import environment, free_port  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.argv[1]).resolve()
READY = "for i in $(seq 300); do {condition} && break; sleep 0.1; done"


def quick_start():
    """Blocks of commands, each with the output that follows it."""
    text = (ROOT / "docs/quick-start.md").read_text()
    for commands, output in re.findall(r"```sh\n(.*?)```\n(?:\n```output\n(.*?)```)?", text, re.S):
        yield commands, output


def readme():
    """The commands of the first steps, without what builds the program."""
    section = (ROOT / "README.md").read_text().split("## First steps")[1].split("\n## ")[0]
    lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
    assert "make build" in lines and any("publish" in line for line in lines), "the README has other first steps"
    for line in lines:
        if line == "make build" or line.startswith("export PATH="):
            continue
        yield line + "\n", None


def session(name, blocks):
    """Runs the blocks in one shell; the first that fails, or says something else, ends it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="xcache-docs-"))
    (folder / "bin").mkdir()
    (folder / "home").mkdir()
    (folder / "bin/xcache").symlink_to(PROGRAM)
    port, copy = free_port(), free_port()
    here = [("127.0.0.1:8080", f"127.0.0.1:{port}"), ("127.0.0.1:8081", f"127.0.0.1:{copy}"),
            ("www 8081", f"www {copy}"), ("/tmp/xcache-try", f"{folder}/try"),
            ("xcache serve --data data", f"xcache serve --data data --listen 127.0.0.1:{port}")]
    script, blocks = ["set -eu", "set -m"], list(blocks)
    for index, (commands, _) in enumerate(blocks):
        for old, new in here:
            commands = commands.replace(old, new)
        script.append(f"echo '=== {index}'")
        script.append(commands)
        if "xcache serve" in commands:
            # It answers before the line of its start is written.
            ready = f"curl -fs -o /dev/null http://127.0.0.1:{port}/readyz && grep -q 'listens on' {folder}/output"
            script.append(READY.format(condition=ready))
        elif "http.server" in commands:
            script.append(READY.format(condition=f"curl -fs -o /dev/null http://127.0.0.1:{copy}/"))
    script.append("echo '=== end'")
    # Into a file, not a pipe: the README leaves its origin running, which would hold a pipe open.
    with open(folder / "output", "w+") as said:
        shell = subprocess.Popen(["bash", "-c", "\n".join(script)], cwd=folder, env=environment(folder / "bin/nothing", folder / "home"),
                                 stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            shell.wait(timeout=180)
        except subprocess.TimeoutExpired:
            pass
        for process in list(children(shell.pid)):
            try:
                os.kill(process, signal.SIGTERM)
            except ProcessLookupError:
                pass
        said.seek(0)
        output = said.read()
    for one, shown in ((port, 8080), (copy, 8081)):
        output = output.replace(f"127.0.0.1:{one}", f"127.0.0.1:{shown}").replace(f"127.0.0.1 port {one}", f"127.0.0.1 port {shown}")
    said = dict(re.findall(r"=== (\d+)\n(.*?)(?==== )", output, re.S))
    if shell.returncode or "=== end" not in output:
        raise SystemExit(f"{name}: a command failed; the last output was\n{output[-2000:]}")
    for index, (commands, wanted) in enumerate(blocks):
        if wanted and not re.fullmatch(re.escape(wanted).replace("…", ".*?"), said[str(index)], re.S):
            raise SystemExit(f"{name}: after\n{commands}it says\n{wanted}but the output was\n{said[str(index)]}")
    shutil.rmtree(folder, ignore_errors=True)
    return len(blocks)


def children(session_id):
    """The processes of a session that we started."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(") ", 1)[1].split()
            except OSError:
                continue
            if int(fields[3]) == session_id:
                yield int(entry.name)


def options():
    """Every `xcache …` in the documentation names a command and options that the program has."""
    helps, count = {}, 0

    def help_of(words):
        if words not in helps:
            helps[words] = subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True).stdout
        return helps[words]

    files = [ROOT / "README.md", ROOT / "deploy/OPERATIONS.md", *sorted((ROOT / "docs").glob("*.md"))]
    for path in files:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = re.findall(r"`(xcache [a-z][^`]*)`", line)
            if line.startswith("    ") and line.strip().removeprefix("$ ").startswith("xcache "):
                found.append(line.strip().removeprefix("$ "))
            for command in found:
                command = re.sub(r"\s+#.*| \\$|[;&|>].*|\$\(.*", "", command)
                try:
                    words = shlex.split(command.replace("…", ""))[1:]
                except ValueError:
                    words = command.split()[1:]
                if not words or not words[0].islower():
                    continue
                text = help_of((words[0],))
                if "Usage: xcache " + words[0] not in text and words[0] not in ("help", "version"):
                    raise SystemExit(f"{path.relative_to(ROOT)}:{number}: xcache has no command {words[0]}")
                for word in words[1:]:
                    option = word.split("=")[0]
                    if option.startswith("--") and option not in ("--help",) and not re.search(re.escape(option) + r"\b", text):
                        raise SystemExit(f"{path.relative_to(ROOT)}:{number}: xcache {words[0]} has no {option}")
                count += 1
    return count


def main():
    blocks = session("docs/quick-start.md", quick_start())
    steps = session("README.md", readme())
    print(f"commands: the quick start's {blocks} blocks and the README's {steps} steps do what they say; "
          f"{options()} commands in the guides exist")


if __name__ == "__main__":
    main()
