#!/usr/bin/env python3
"""The comments that the CI jobs of deploy/ci write on a pull or merge request: their own scripts, with what the program says in
files and a site that only listens.   comments.py (with ruamel.yaml, as in check-jsonschema's environment; needs node)"""
import http.server, json, os, pathlib, subprocess, sys, tempfile, threading, urllib.parse

from ruamel.yaml import YAML

CI = pathlib.Path(__file__).resolve().parents[2] / "deploy/ci"
RELEASE = "dry run: +1 ~2 −0, would become version 7\n2 pages would change:\n  https://m.example.com/shop/\n```\n"
SMOKE = "failed  https://m.example.com/shop/\n  error: x is not defined [script]\n"


def check(name, body, has_release=True):
    for words in ["### xcache", "    failed  https://m.example.com/shop/", "[Pictures of the pages](https://ci.example.com/"] + (
            ["    2 pages would change:", "    ```"] if has_release else []):
        assert words in body, f"{name}: {words!r} isn't in\n{body}"
    assert has_release or "would change" not in body, body


def jobs(name):
    return YAML(typ="safe").load((CI / name).read_text())


def github(folder):
    [step] = [step for step in jobs("github-publish.yml")["jobs"]["comment"]["steps"] if "script" in step.get("with", {})]
    for old, files in (([], True), ([{"id": 7, "body": "<!-- xcache -->old"}, {"id": 8, "body": "by a person"}], False)):
        (folder / "smoke.txt").write_text(SMOKE)
        (folder / "release.txt").unlink(missing_ok=True)
        if files:
            (folder / "release.txt").write_text(RELEASE)
        program = """
          const done = [];
          const call = (name, data) => async (given) => { done.push({ name, ...given }); return { data }; };
          const github = { rest: { issues: { listComments: call('list', OLD), createComment: call('create'), updateComment: call('update') } } };
          const context = { repo: { owner: 'o', repo: 'r' }, issue: { number: 5 } };
          (async () => { SCRIPT })().then(() => console.log(JSON.stringify(done)), (error) => { console.error(error); process.exit(1); });
        """.replace("OLD", json.dumps(old)).replace("SCRIPT", step["with"]["script"])
        said = subprocess.run(["node", "-e", program], cwd=folder, capture_output=True, text=True,
                              env={**os.environ, "PICTURES": "https://ci.example.com/artifact/9"})
        assert said.returncode == 0, said.stderr
        _, act = json.loads(said.stdout)
        assert (act["name"], act.get("comment_id"), act.get("issue_number")) == (("update", 7, None) if old else ("create", None, 5)), act
        check("GitHub", act["body"], files)


def gitlab(folder):
    asked = []

    class Site(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked.append((self.path, self.headers["PRIVATE-TOKEN"], urllib.parse.parse_qs(body)["body"][0]))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_):
            pass

    site = http.server.HTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    (folder / "release.txt").write_text(RELEASE)
    (folder / "smoke.txt").write_text(SMOKE)
    all_jobs = jobs("gitlab-publish.yml")
    [pictures] = [line for line in all_jobs["smoke"]["script"] if "pictures.txt" in line]
    variables = {"CI_JOB_URL": "https://ci.example.com/jobs/3", "CI_API_V4_URL": f"http://127.0.0.1:{site.server_port}/api/v4",
                 "CI_PROJECT_ID": "12", "CI_MERGE_REQUEST_IID": "34", "GITLAB_COMMENT_TOKEN": "a-token"}
    for line in [pictures, *all_jobs["comment"]["script"]]:
        subprocess.run(["bash", "-eo", "pipefail", "-c", line], cwd=folder, check=True, env={**os.environ, **variables})
    site.shutdown()
    [(path, token, body)] = asked
    assert (path, token) == ("/api/v4/projects/12/merge_requests/34/notes", "a-token"), asked
    check("GitLab", body)


for job in (github, gitlab):
    with tempfile.TemporaryDirectory() as work:
        job(pathlib.Path(work))
print("   the comments on pull and merge requests have cost, pages, the smoke test and its pictures")
