"""Published front ends, whole, as their wheels on PyPI have them: each in two releases, as a site serves them."""
import functools, re

from open import wheel

# A package, two of its versions, the folder of its files in it, and where the site has them.
BUILDS = {
    "mlflow": ("mlflow", ("2.17.0", "2.17.2"), "mlflow/server/js/build/", "static-files/"),
    "marimo": ("marimo", ("0.9.10", "0.9.14"), "marimo/_static/", ""),
    "streamlit": ("streamlit", ("1.49.0", "1.49.1"), "streamlit/static/", ""),
    "dagster": ("dagster-webserver", ("1.12.10", "1.12.11"), "dagster_webserver/webapp/build/", ""),
    "prefect": ("prefect", ("3.4.23", "3.4.24"), "prefect/server/ui/", ""),
    "langflow": ("langflow-base", ("0.6.8", "0.7.1"), "langflow/frontend/", ""),
    "kedro-viz": ("kedro-viz", ("12.3.0", "12.4.0"), "kedro_viz/html/", ""),
}
# What their own servers fill in.
FILLED = {
    "{{ base_url }}/": "./", "{{ mode }}": "edit", "{{ user_config }}": "{}", "{{ app_config }}": "{}",
    "/PREFECT_UI_SERVE_BASE_REPLACE_PLACEHOLDER": "", "BUILDTIME_ASSETPREFIX_REPLACE_ME": "", "__PATH_PREFIX__": "",
    "__TELEMETRY_ENABLED__": "false", "__LIVE_DATA_POLL_RATE__": "15000", "__INSTANCE_ID__": "bench", "NONCE-PLACEHOLDER": "bench",
}


def is_fixed(path):
    """Whether a bundler gave a file a name with a hash of its content, so that servers say it never changes."""
    return re.search(r"(^|/)static/|^assets/", path) is not None


@functools.cache
def files_of(name, release):
    """A release of a front end: files by their paths on the site. Links to fonts and styles of other hosts are left out."""
    package, versions, folder, prefix = BUILDS[name]
    files = {}
    with wheel(package, versions[release]) as archive:
        for path in archive.namelist():
            if not path.startswith(folder) or path.endswith("/"):
                continue
            inner, data = path[len(folder):], archive.read(path)
            if path.endswith((".html", ".js", ".css", ".json")):
                for found, filled in FILLED.items():
                    data = data.replace(found.encode(), filled.encode())
            files[inner if inner == "index.html" else prefix + inner] = data
    files["index.html"] = re.sub(rb'<link[^>]*href="https://[^>]*>', b"", files["index.html"])
    return files
