# What http.sh, http-calm.sh and http-cost.sh share; sourced, not run.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
threads=${THREADS:-1}
servers=("python3" "$repository/Benchmarks/http_servers.py")

# start_shop: an origin with an app of 200 resources in two versions.
start_shop() {
  local folder=$work/shop
  start_server data --threads "$threads"
  for _ in 1 2; do
    "${servers[@]}" folder "$folder"
    xcache publish $create "$folder" --app shop --bundle main --base-url https://m.example.com/shop/ >/dev/null
  done
  # Started again, so that nothing of the publishing is left in the process that is measured.
  stop "$server_pid"
  start_server data --threads "$threads"
}

# start_nginx FOLDER: an nginx that serves the same answers as the server at $server_port; sets nginx_pid. What both are
# asked stands in FOLDER/cases.json then.
start_nginx() {
  nginx -V 2>&1 | grep -q gzip_static || fail "this nginx has no gzip_static module: apt-get install nginx-light"
  mkdir -p "$1"
  "${servers[@]}" prepare "$server_port" "$1" "$threads"
  nginx -c "$1/nginx.conf" -e "$1/nginx.log" &
  nginx_pid=$!
  started+=("$nginx_pid")
  "${servers[@]}" check "$server_port" "$1"
}
