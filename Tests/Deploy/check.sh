#!/bin/bash
# Checks what deploy/ has, with the tools of those who read it, and runs what runs without a system of its own.
#   Tests/Deploy/check.sh XCACHE
# Packages are unpacked under .build/tools, not installed; Tests/Deploy/package.sh does the rest in a chroot.
set -euo pipefail
xcache=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$PWD/.build/tools/python
[ -x "$python/bin/check-jsonschema" ] && [ -x "$python/bin/kubernetes-validate" ] || {
  python3 -m venv "$python"
  "$python/bin/pip" install -q --disable-pip-version-check kubernetes-validate check-jsonschema
}

echo "1. Prometheus: the rules, which situation raises which alert, and that no other does"
promtool=$(.ci/tool prometheus usr/bin/promtool)
(
  cd deploy/monitoring
  "$promtool" check config prometheus.yml >/dev/null
  "$promtool" check rules --lint-fatal alerts.yml
  "$promtool" test rules alerts-test.yml
)
for alert in $(sed -n 's/.*- alert: //p' deploy/monitoring/alerts.yml); do
  grep -q "exp_samples: .*alertname=\"$alert\"" deploy/monitoring/alerts-test.yml || { echo "$alert has no test" >&2; exit 1; }
  grep -q "^### $alert\$" deploy/OPERATIONS.md || { echo "$alert isn't in OPERATIONS.md" >&2; exit 1; }
  grep -q "OPERATIONS.md#${alert,,}\$" deploy/monitoring/alerts.yml || { echo "$alert names another runbook" >&2; exit 1; }
done

echo "2. Kubernetes, Compose, GitHub and GitLab: the schemas"
"$python/bin/kubernetes-validate" --strict --quiet deploy/kubernetes.yaml
"$python/bin/check-jsonschema" --builtin-schema vendor.compose-spec deploy/compose.yaml
"$python/bin/check-jsonschema" --builtin-schema vendor.github-workflows deploy/ci/github-*.yml .github/workflows/*.yml
"$python/bin/check-jsonschema" --builtin-schema vendor.gitlab-ci deploy/ci/gitlab-*.yml

"$python/bin/python" Tests/Deploy/comments.py
"$python/bin/python" Tests/Deploy/identities.py

# Each command of a job is one that the program has.
grep -ohE '\bxcache (channel|check|identity|mirror|publish|smoke|token)\b[^;&>|)]*' deploy/ci/* | while read -r _ command rest; do
  for option in $(grep -oE -- '--[a-z-]+' <<<"$rest"); do
    "$xcache" "$command" --help | grep -q -- "$option\b" || { echo "deploy/ci: xcache $command has no $option" >&2; exit 1; }
  done
done

echo "3. systemd and logrotate"
# The program is at its place in the package's chroot alone; how open the unit is, is known without it.
sed 's|^ExecStart=/usr/bin/xcache |ExecStart=/bin/true |' deploy/xcache.service >"$work/xcache.service"
SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$work/xcache.service" 2>&1 | tee "$work/verify"
[ ! -s "$work/verify" ] || exit 1
systemd-analyze security --offline=true --threshold=20 "$work/xcache.service" | tail -1
# The library that the program is linked with.
.ci/packages libpopt0
logrotate=$(.ci/tool logrotate usr/sbin/logrotate)
sed "s|xcache adm|$(id -un) $(id -gn)|; s|/var/log/xcache|$work|" deploy/logrotate.conf >"$work/logrotate.conf"
chmod 644 "$work/logrotate.conf"
echo line >"$work/access.log"
"$logrotate" -d -s "$work/state" "$work/logrotate.conf" 2>&1 | tee "$work/logrotate" | grep -i error && exit 1
grep -q "considering log $work/access.log" "$work/logrotate"

echo "4. nginx and Caddy in front of an origin; the metrics that alerts and dashboard ask for"
caddy=$(.ci/tool caddy usr/bin/caddy)
for file in Caddyfile Caddyfile.ci; do
  HOME=$work "$caddy" validate --config "deploy/$file" --adapter caddyfile 2>&1 | grep -E "Valid configuration|Error"
done
PROMTOOL=$promtool PATH=$PATH:/usr/sbin Tests/Deploy/running.py "$xcache" "$caddy"
