#!/bin/bash
# What requests cost xcache and nginx, the same requests with the same answers, in alternating rounds.
#   THREADS=1 ROUNDS=5 SECONDS_EACH=3 BARS=1 (the bars are multiplied with it: 0.5 makes all fail)
#   OPEN_FILE_CACHE=off (nginx's default: it opens and closes the file for each request; `on` spares it that)
. "$(dirname "$0")/http-lib.sh"
needs python3 wrk nginx
start_shop
start_nginx "$work/nginx"
python3 "$repository/Benchmarks/http_rounds.py" "$server_pid" "$nginx_pid" "$work/nginx" "${ROUNDS:-5}" \
  "${SECONDS_EACH:-3}" "$threads" "${BARS:-1}"
