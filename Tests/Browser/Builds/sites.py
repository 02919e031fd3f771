"""A build as its developer handles it: `init`, `web init --inject`, deploy, `publish`; and its site, which knows routes and ranges."""
import json, mimetypes, os, re, subprocess

from bench import App
from servers import Web

KINDS = {".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".woff2": "font/woff2", ".woff": "font/woff",
         ".ttf": "font/ttf", ".map": "application/json", ".webmanifest": "application/manifest+json", ".html": "text/html; charset=utf-8"}


class Site(Web):
    """Serves files with their types and ranges of them. `page` answers routes below `path`, `api` what isn't a file."""

    def __init__(self):
        self.page, self.path, self.api, self.plain = None, "/", {}, []
        super().__init__()

    def file_of(self, path):
        name = path[1:] + ("index.html" if path.endswith("/") else "")
        if name in self.files:
            return name
        # As hosts of static files do it.
        return name + ".html" if name + ".html" in self.files else None

    def handle(self, request):
        path = request.path.split("?")[0]
        name = self.file_of(path)
        if name is None and path.startswith(self.path) and "text/html" in (request.headers.get("Accept") or "") and self.page:
            name = self.page
        if name is None:
            for part, answer in self.api.items():
                if part in path:
                    return request.answer(json.dumps(answer).encode(), "application/json")
            # An API that has nothing.
            return request.answer(b"{}", "application/json", 404 if "." in path.rsplit("/", 1)[1] else 200)
        data = self.files[name]
        ending = os.path.splitext(name)[1]
        kind = KINDS.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = [("Cache-Control", "no-cache"), ("Accept-Ranges", "bytes"), *self.headers]
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range") or "")
        if asked and int(asked[1]) < len(data):
            first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
            return request.answer(data[first:last + 1], kind, 206, [*headers, ("Content-Range", f"bytes {first}-{last}/{len(data)}")])
        request.answer(data, kind, headers=headers)


class Front(App):
    """An app of a build's files, with the files and the xcache.json that the program makes."""

    def __init__(self, bench, path="/", config=None):
        super().__init__(bench, path, web=Site())
        bench.ports.add(self.web.port)
        bench.webs.append(self.web)
        self.web.path = path
        self.config = config or {}
        self.releases = 0

    def build(self, files):
        """A project's folder with its build, prepared as the guide says; returns the folder."""
        self.releases += 1
        folder = f"{self.bench.folder}/{self.app}-{self.releases}"
        for name, data in files.items():
            os.makedirs(os.path.dirname(f"{folder}/dist/{name}"), exist_ok=True)
            with open(f"{folder}/dist/{name}", "wb") as file:
                file.write(data)
        origin = self.bench.origin
        origin.run("init", "--app", self.app, "--dir", "dist", "--base-url", self.base, cwd=folder)
        with open(f"{folder}/xcache.json") as file:
            settings = json.load(file)
        bundle = settings["bundles"]["main"]
        self.proposed = {name: value for name, value in bundle.items() if name not in ("dirs", "baseURL")}
        for name, value in self.config.items():
            bundle.pop(name, None)
            if value is not None:
                bundle[name] = value
        with open(f"{folder}/xcache.json", "w") as file:
            json.dump(settings, file)
        self.used = {name: value for name, value in bundle.items() if name not in ("dirs", "baseURL")}
        # Browsers reach the origin through the proxy.
        words = ["web", "init", "--dir", "dist", "--app", self.app, "--server", origin.url, "--inject"]
        done = subprocess.run([origin.xcache, *words], cwd=folder, capture_output=True, text=True)
        self.injected = done.stdout + done.stderr
        assert done.returncode == 0, self.injected
        return folder

    def deploys(self, files):
        """Prepares a release of these files, and puts it on the site; returns its folder."""
        folder = self.build(files)
        found = {}
        for path, _, names in os.walk(f"{folder}/dist"):
            for name in names:
                with open(f"{path}/{name}", "rb") as file:
                    found[os.path.relpath(f"{path}/{name}", f"{folder}/dist")] = file.read()
        prefix = self.path[1:]
        self.deployed = found
        self.web.files = {prefix + name: data for name, data in found.items()}
        self.web.page = prefix + "index.html" if "index.html" in found else None
        return folder

    def releases_of(self, files, *words):
        """Deploys and publishes; returns the version."""
        folder = self.deploys(files)
        self.said = self.bench.origin.run("publish", "--create", "--wait-deltas", *words, cwd=folder) + self.bench.origin.warned
        self.answer = self.bench.origin.answer(self.app)
        self.version = self.answer["version"]
        return self.version

    def listed(self):
        """The URLs of the release."""
        return set(self.answer["resourcemap"])
