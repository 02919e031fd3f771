#!/usr/bin/env python3
"""Type-checks the Swift of the guides against the modules of a build, in seconds; nothing is built or run.

    swift_blocks.py MODULES          the folder Modules of a build

The blocks of a guide follow one another in one function, as a reader puts them in. FIRST has what a guide takes from its reader: the
names that its text says are the app's own, and how many of its blocks are checked, if not all.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
IMPORTS = "import DeviceLinux\nimport HTTPDNS\nimport XCacheClient\nimport XCacheRuntime\n"
FIRST = {
    "guide-runtime.md": ("_ folder: String, _ resources: String, _ transport: some Transport", """
  func show(_ status: Int, _ headers: some Any, _ body: [UInt8]) {}
  func load(_ url: some Any, because reason: some Any) -> Int { 200 }
""", None),
    "guide-network.md": ("_ folder: String, _ device: DeviceSettings", "\n", 1),  # the next ones leave parts out, or are Apple's
}


def blocks(name):
    return re.findall(r"^```swift\n(.*?)^```$", (DOCS / name).read_text(), re.M | re.S)[:FIRST[name][2]]


def main():
    modules, failed = pathlib.Path(sys.argv[1]), False
    for name, (parameters, first, _) in FIRST.items():
        body = "\n".join("  " + line for block in blocks(name) for line in block.splitlines())
        with tempfile.NamedTemporaryFile("w", suffix=".swift") as file:
            file.write(f"{IMPORTS}func guide({parameters}) async throws {{{first}{body}\n}}\n")
            file.flush()
            root = DOCS.parent
            done = subprocess.run(
                ["swiftc", "-typecheck", "-swift-version", "6", "-parse-as-library", "-I", modules,
                 *[f"-I{path.parent}" for path in root.glob("Sources/C*/module.modulemap")],
                 *[f"-I{path.parent}" for path in root.glob("Sources/C*/include/module.modulemap")],
                 *[part for path in modules.glob("../*.build/module.modulemap") for part in ("-Xcc", f"-fmodule-map-file={path}")],
                 file.name],
                capture_output=True, text=True)
        errors = re.findall(r"error: .*", done.stderr)
        failed |= done.returncode != 0
        print(f"{name}: Swift blocks that were type-checked: {len(blocks(name))}" + ("" if done.returncode == 0 else ": " + "; ".join(errors) or done.stderr))
    sys.exit(failed)


if __name__ == "__main__":
    main()
