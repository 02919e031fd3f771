#!/bin/bash
# What https costs xcache and nginx, with the same certificate and ciphers, in alternating rounds: requests over connections
# that stand, and handshakes, anew and by a ticket. And the system calls of a poll.
#   ROUNDS=5 SECONDS_EACH=3 BARS=1 (the bars are multiplied with it)
. "$(dirname "$0")/http-lib.sh"
needs python3 wrk nginx openssl strace
start_shop
stop "$server_pid"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -days 2 \
  -addext "subjectAltName=DNS:localhost,IP:127.0.0.1" -keyout "$work/tls.key" -out "$work/tls.pem" 2>/dev/null
start_server data --threads "$threads" --tls-cert "$work/tls.pem" --tls-key "$work/tls.key" --max-requests 1000000
tls=("python3" "$repository/Benchmarks/http_tls.py")
mkdir -p "$work/nginx"
"${tls[@]}" prepare "$server_port" "$work" "$threads"
nginx -c "$work/nginx/nginx.conf" -e "$work/nginx.log" &
nginx_pid=$!
started+=("$nginx_pid")
"${tls[@]}" measure "$server_pid" "$nginx_pid" "$work" "${ROUNDS:-5}" "${SECONDS_EACH:-3}" "${BARS:-1}"
