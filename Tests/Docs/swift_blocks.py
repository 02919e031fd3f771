#!/usr/bin/env python3
"""Type-checks the Swift of the documents against the modules of a build, in seconds; nothing is built or run.

    swift_blocks.py MODULES          the folder Modules of a build
    swift_blocks.py --apple          prints what is for Apple's systems, for Tests/AppleStubs/check.sh, which type-checks it

The blocks of a document follow one another in one function, as a reader puts them in. What a document takes from its reader, the names
that its text says are the app's own, are the function's parameters and first lines.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from blocks import ROOT, SWIFT, blocks  # noqa: E402

SHOW = """
  func show(_ status: Int, _ headers: some Any, _ body: [UInt8]) {}
  func load(_ url: some Any, because reason: some Any) -> Int { 200 }
"""
LINUX = {
    "docs/guide-runtime.md": ("_ folder: String, _ resources: String, _ transport: some Transport", SHOW),
    "docs/guide-network.md": (
        "_ folder: String, _ device: DeviceSettings, _ engineCookies: any CookieStore, _ engine: PageContext, _ url: String, "
        "_ request: PageRequest, _ body: [UInt8]", "  func reply(_ answer: PrefetchedAnswer) {}\n"),
}
# By the number of the block, in functions of their own; None: it is checked with another system's.
WEBKIT = {
    "docs/guide-webkit.md": ["_ folder: String", "_ host: WebHost", "_ settings: RuntimeSettings", "_ host: WebHost", "_ host: WebHost"],
    "docs/guide-app.md": [None, "_ runtime: Runtime"],
}
WEBKIT_FIRST = {"docs/guide-webkit.md": ["", "", "  var settings = settings\n", "", ""], "docs/guide-app.md": ["", ""]}
KIOSK = "Examples/kiosk/Sources/kiosk/Kiosk.swift"
APPLE = {"README.md": [""], "docs/guide-app.md": ["_ device: DeviceSettings", None], "docs/guide-network.md": [None, None, "_ runtime: Runtime"]}


def swift(name):
    return [block.text for block in blocks() if block.file == name and block.check == SWIFT]


def function(number, parameters, first, text, isolation=""):
    body = "\n".join("  " + line for line in text.splitlines() if not line.startswith("import "))
    return f"{isolation}func guide{number}({parameters}) async throws {{\n{first}{body}\n}}\n"


def type_check(text, modules, *options):
    """What the compiler says, with the modules of the build; nothing if all is well."""
    with tempfile.NamedTemporaryFile("w", suffix=".swift") as file:
        file.write(text)
        file.flush()
        done = subprocess.run(["swiftc", "-typecheck", *common(modules), *options, file.name], capture_output=True, text=True)
    return "\n".join(line for line in done.stderr.splitlines() if "error: " in line) or done.stderr if done.returncode else ""


def common(modules):
    maps = [f"-I{path.parent}" for form in ("Sources/C/*/module.modulemap", "Sources/C/*/include/module.modulemap") for path in ROOT.glob(form)]
    made = [part for path in modules.glob("../*.build/module.modulemap") for part in ("-Xcc", f"-fmodule-map-file={path}")]
    return ["-swift-version", "6", "-parse-as-library", "-I", str(modules), *maps, *made]


def webkit(modules, folder):
    """The options to import XCacheWebKit, made of its sources without their bodies; None without the engine's headers."""
    flags = subprocess.run(["pkg-config", "--cflags", "webkit2gtk-4.1"], capture_output=True, text=True)
    if flags.returncode:
        return None
    sources = ROOT / "Engines/WebKitGTK/Sources"
    options = [f"-I{sources}/CWebKitGTK", *(part for flag in flags.stdout.split() for part in ("-Xcc", flag))]
    subprocess.run(
        ["swiftc", "-emit-module", "-Xfrontend", "-experimental-skip-non-inlinable-function-bodies", *common(modules), *options,
         "-module-name", "XCacheWebKit", "-package-name", "xcache-webkit", "-o", f"{folder}/XCacheWebKit.swiftmodule",
         *map(str, (sources / "XCacheWebKit").rglob("*.swift"))], check=True)
    return [*options, "-I", folder]


def main():
    if sys.argv[1] == "--apple":
        print("import DeviceApple\nimport Foundation\nimport XCacheDevice\nimport XCacheFoundation\nimport XCacheRuntime\n")
        for name, parameters in APPLE.items():
            for number, (names, text) in enumerate(zip(parameters, swift(name))):
                if names is not None:
                    used = "".join(f"_ = {new}\n" for new in re.findall(r"^let (session) =", text, re.M))
                    print(function(f"{list(APPLE).index(name)}_{number}", names, "", text + used, "@MainActor "))
        return
    modules, failed = pathlib.Path(sys.argv[1]).resolve(), False
    source, count = "import DeviceLinux\nimport HTTPDNS\nimport XCacheDevice\nimport XCacheRuntime\n", 0
    for number, (name, (parameters, first)) in enumerate(LINUX.items()):
        texts = swift(name)[:len(swift(name)) - (name in APPLE)]
        count += len(texts)
        source += function(number, parameters, first, "\n".join(texts))
    said = type_check(source, modules)
    print(f"swift: {count} blocks of {', '.join(LINUX)} type-check" if not said else said)
    failed |= bool(said)
    with tempfile.TemporaryDirectory() as folder:
        options = webkit(modules, folder)
        if options is None:
            print("swift: the blocks for WebKitGTK weren't checked: libwebkit2gtk-4.1-dev isn't installed")
            sys.exit(failed)
        said, count = "", 0
        for name, parameters in WEBKIT.items():
            # A document that says what is to be imported says all of it.
            imports = re.findall(r"^import \w+$", "\n".join(swift(name)), re.M) or ["import XCacheRuntime", "import XCacheWebKit"]
            source = "\n".join(imports) + "\n"
            for number, (names, first, text) in enumerate(zip(parameters, WEBKIT_FIRST[name], swift(name))):
                if names is not None:
                    count += 1
                    source += function(f"{list(WEBKIT).index(name)}_{number}", names, first, text, "@WebActor ")
            said = said or type_check(source, modules, *options)
        said = said or type_check((ROOT / KIOSK).read_text(), modules, *options)
    print(f"swift: {count} blocks of {', '.join(WEBKIT)}, and {KIOSK}, type-check with WebKitGTK" if not said else said)
    sys.exit(failed or bool(said))


if __name__ == "__main__":
    main()
