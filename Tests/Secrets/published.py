#!/usr/bin/env python3
"""What the rule `secret` of `xcache check` says of published front ends: nothing.   published.py XCACHE [CACHE]

Each is the folder of a web app's build, as it comes in a wheel of PyPI. Real ones, with real pages, scripts and source maps, are full
of what only looks like a secret: examples in documentation, keys that are meant for browsers, libraries that handle keys. In the end,
secrets are planted in one of them, so that a run which looks at nothing can't pass.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

# Package, version, and the folder of the wheel.
BUILDS = [
    ("apache-airflow-core", "3.3.2", "airflow/ui/dist"),
    ("bokeh", "3.9.2", "bokeh/server/static"),
    ("dash", "4.4.1", "dash"),
    ("fastapi-offline", "1.7.7", "fastapi_offline/static"),
    ("furo", "2025.12.19", "furo/theme"),
    ("gradio", "6.31.0", "gradio/templates/frontend"),
    ("jupyterlab", "4.6.6", "jupyterlab/static"),
    ("label-studio", "1.23.2", "label_studio/core/static_build"),
    ("locust", "2.47.0", "locust/webui/dist"),
    ("marimo", "0.25.2", "marimo/_static"),
    ("mkdocs-material", "9.8.2", "material/templates/assets"),
    ("mlflow", "3.18.0", "mlflow/server/js/build"),
    ("nbclassic", "1.3.3", "nbclassic/static"),
    ("notebook", "7.6.5", "notebook/static"),
    ("panel", "1.9.4", "panel/dist"),
    ("plotly", "7.1.0", "plotly/package_data"),
    ("prefect", "3.9.1", "prefect/server/ui-v2"),
    ("pydata-sphinx-theme", "0.24.0", "pydata_sphinx_theme/theme"),
    ("streamlit", "1.67.0", "streamlit/static"),
    ("swagger-ui-bundle", "1.1.0", "swagger_ui_bundle/vendor"),
    ("tensorboard", "2.21.0", "tensorboard"),
    ("voila", "0.5.13", "voila-0.5.13.data/data/share"),
]

PLANTED = {
    ".env": "PASSWORD=x\n", ".aws/credentials": "[default]\n", "id_rsa": "x\n", "release.p12": "x\n",
    "assets/deep/key.txt": "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAx7Vn2Lq9PzKjR4tYbWcUeHsDgF3mA1oQ" * 2 + "\n",
    "assets/deep/token.js": "const t='xcache_" + "0a1b2c3d4e5f" + "_Zk3vQ9xRb7Tn2LmPw8YsHc4JdFg6UaEi5oKqNr1tVyX'",
}


def unpack(package, version, folder, cache, work):
    """The folder of a package's front end."""
    name = package.replace("-", "_")
    wheels = list(cache.glob(f"{name}-{version}-*.whl"))
    if not wheels:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", cache, f"{package}=={version}"], check=True)
        wheels = list(cache.glob(f"{name}-{version}-*.whl"))
    to = work / package
    with zipfile.ZipFile(wheels[0]) as wheel:
        for member in wheel.namelist():
            # What a package has for its own server is no part of the front end.
            if member.startswith(folder + "/") and not member.endswith((".py", ".pyi", "/")):
                wheel.extract(member, to)
    return to / folder


def check(xcache, folder):
    """What `check` says: the document, and the seconds that it took."""
    start = time.monotonic()
    done = subprocess.run([xcache, "check", folder, "--no-check", "all", "--json"], capture_output=True, text=True)
    seconds = time.monotonic() - start
    if done.returncode not in (0, 3):
        raise SystemExit(done.stdout + done.stderr)
    return json.loads(done.stdout), seconds


def main():
    xcache = str(pathlib.Path(sys.argv[1]).resolve())
    cache = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "~/.cache/xcache-bench/wheels").expanduser()
    cache.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix="xcache-secrets-"))
    alarms, folders = 0, []
    print(f"{'BUILD':34} {'FILES':>6} {'MB':>7} {'SECONDS':>8} {'ALARMS':>7}")
    try:
        for package, version, folder in BUILDS:
            folders.append(unpack(package, version, folder, cache, work))
            size = sum(file.stat().st_size for file in folders[-1].rglob("*") if file.is_file())
            report, seconds = check(xcache, folders[-1])
            found = [one for one in report["findings"] if one["rule"] == "secret"]
            assert report["files"] > 0, f"{package} {version} has no files in {folder}"
            print(f"{package + ' ' + version:34} {report['files']:6} {size / 1e6:7.1f} {seconds:8.2f} {len(found):7}")
            for one in found:
                print(f"  {one['file']}:{one['line']}:{one['column']}: {one['message']}")
            alarms += len(found)
        for name, text in PLANTED.items():
            file = folders[0] / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        report, _ = check(xcache, folders[0])
        found = {one["file"].removeprefix(f"{folders[0]}/") for one in report["findings"] if one["rule"] == "secret"}
        print(f"planted in {BUILDS[0][0]}: {len(found)} of {len(PLANTED)} found")
    finally:
        shutil.rmtree(work)
    if alarms or found != set(PLANTED):
        raise SystemExit(f"{alarms} false alarms, {len(set(PLANTED) - found)} planted secrets not found")
    print(f"no alarm on {len(BUILDS)} published front ends")


main()
