# Varnish as the edge of an origin that runs with `serve --edge-ttl`: it answers polls from memory.   /etc/varnish/xcache.vcl
#
#   install -m 640 -g varnish token /etc/varnish/xcache-purge.token      # one line, the origin's XCACHE_PURGE_TOKEN
#   varnishd -a :80 -f /etc/varnish/xcache.vcl -s default,256m           # README.md has it for systemd
#
# An answer depends on its key alone, and the key is all that the origin gets to see of a poll: what else a client sends can neither
# split the cache nor put one channel's answer in another's place. README.md says what this edge does and doesn't do.
vcl 4.1;

import std;

backend origin {
  .host = "127.0.0.1";
  .port = "8080";
  # The name that the origin's proxy, if it has one, serves the origin under.
  .host_header = "origin.example.com";
  .connect_timeout = 1s;
  .first_byte_timeout = 60s;
  .between_bytes_timeout = 60s;
  # While this fails, kept answers are given out right away, and nothing waits for the origin.
  .probe = { .url = "/readyz"; .interval = 2s; .timeout = 1s; .window = 3; .threshold = 2; .initial = 2; }
}

# Who may purge: the origins.
acl purgers {
  "127.0.0.1";
  "::1";
}

sub vcl_recv {
  if (req.restarts == 0) {
    unset req.http.xcache-poll;
    unset req.http.xcache-coding;
    unset req.http.xcache-grace;
    unset req.http.xcache-kept;
  }
  if (req.method == "BAN") { call xcache_purge; }
  if (req.method != "GET" && req.method != "HEAD" && req.method != "POST" && req.method != "OPTIONS") { return (synth(405)); }

  # Publishing, the console, signing in and metrics belong to the inside, which talks to the origin. The origin decodes what needs
  # no escape and resolves dots before it looks at a path; no device sends either.
  if (req.url !~ "^/" || req.url ~ "^[^?]*\\") { return (synth(400)); }
  if (req.url ~ "(?i)^[^?]*%(2[de]|3[0-9]|[46][1-9a-f]|[57][0-9a]|5f|7e)" || req.url ~ "^[^?]*/\.\.?(/|\?|$)") { return (synth(400)); }
  if (req.url ~ "(?i)^/+(api|auth|console|metrics)(/|\?|$)") { return (synth(403)); }

  if ((req.method == "GET" || req.method == "HEAD") && req.url ~ "^/configure\.json(\?|$)") { call xcache_poll; }
  # Varnish 7.1 reads all of what it passes on into memory, however slowly the client takes it. Files may be large.
  if (req.method == "GET" && req.url ~ "^/([^?]*/)?xcache(_[a-z][a-z0-9-]*)?/([0-9]+|delta|[A-Za-z][A-Za-z0-9_-]*/(pack|bundle))/") {
    return (pipe);
  }
  return (pass);
}

sub vcl_pipe {
  # The origin answers this request and ends the connection: what else the client sends on it is read by nobody.
  set bereq.http.Connection = "close";
  set bereq.http.Host = "origin.example.com";
  return (pipe);
}

# Reads a poll's parameters, of which the first counts as it does at the origin, and writes the query anew. A poll with a value that no
# device sends isn't kept: it goes to the origin as it came.
sub xcache_poll {
  if (req.http.Transfer-Encoding || req.http.Content-Length ~ "[1-9]") { return (synth(400)); }
  if (req.restarts == 0) {
    if (req.url ~ "^.{1000}") { return (pass); }
    set req.http.xcache-query = "&" + regsub(req.url, "^[^?]*\??", "") + "&";
    # A person looks at a release, and sees what the origin says now.
    if (req.http.xcache-query ~ "&preview=1&") { return (pass); }

    set req.http.xcache-poll = "";
    if (req.http.xcache-query ~ "&app[=&]") {
      set req.http.xcache-value = regsub(req.http.xcache-query, "^.*?&app(=[^&]*)?&.*$", "\1");
      if (req.http.xcache-value !~ "^=[A-Za-z][A-Za-z0-9_-]{0,63}$") { unset req.http.xcache-poll; return (pass); }
      set req.http.xcache-poll = req.http.xcache-poll + "&app" + req.http.xcache-value;
    }
    if (req.http.xcache-query ~ "&channel[=&]") {
      set req.http.xcache-value = regsub(req.http.xcache-query, "^.*?&channel(=[^&]*)?&.*$", "\1");
      if (req.http.xcache-value !~ "^=[a-z][a-z0-9-]{0,31}$") { unset req.http.xcache-poll; return (pass); }
      set req.http.xcache-poll = req.http.xcache-poll + "&channel" + req.http.xcache-value;
    }
    if (req.http.xcache-query ~ "&version[=&]") {
      set req.http.xcache-value = regsub(req.http.xcache-query, "^.*?&version(=[^&]*)?&.*$", "\1");
      if (req.http.xcache-value !~ "^=(0|[1-9][0-9]{0,17})$") { unset req.http.xcache-poll; return (pass); }
      set req.http.xcache-poll = req.http.xcache-poll + "&version" + req.http.xcache-value;
    }
    if (req.http.xcache-query ~ "&digest[=&]") {
      set req.http.xcache-value = regsub(req.http.xcache-query, "^.*?&digest(=[^&]*)?&.*$", "\1");
      if (req.http.xcache-value !~ "^=[0-9a-f]{64}$") { unset req.http.xcache-poll; return (pass); }
      set req.http.xcache-poll = req.http.xcache-poll + "&digest" + req.http.xcache-value;
    }
    if (req.http.xcache-query ~ "&patch=1&") { set req.http.xcache-poll = req.http.xcache-poll + "&patch=1"; }
    if (req.http.xcache-query ~ "&pack=1&") { set req.http.xcache-poll = req.http.xcache-poll + "&pack=1"; }
    if (req.http.xcache-query ~ "&lazy=1&") { set req.http.xcache-poll = req.http.xcache-poll + "&lazy=1"; }
    if (req.http.xcache-query ~ "&candidate=1&") { set req.http.xcache-poll = req.http.xcache-poll + "&candidate=1"; }
    if (req.http.xcache-query ~ "&skip[=&]") {
      set req.http.xcache-value = regsub(req.http.xcache-query, "^.*?&skip(=[^&]*)?&.*$", "\1");
      if (req.http.xcache-value !~ "^=[1-9][0-9]{0,17}$") { unset req.http.xcache-poll; return (pass); }
      set req.http.xcache-poll = req.http.xcache-poll + "&skip" + req.http.xcache-value;
    }
    unset req.http.xcache-query;
    unset req.http.xcache-value;
    set req.http.xcache-poll = "/configure.json" + regsub(req.http.xcache-poll, "^&", "?");

    # Three answers at most for a query. A coding with q=0 is refused (RFC 9110 §12.5.3).
    set req.http.xcache-coding = "identity";
    if (req.http.Accept-Encoding ~ "(?i)(^|,)\s*zstd\s*(;\s*q=(1|0?\.[0-9]*[1-9])[0-9.]*\s*)?(,|$)") {
      set req.http.xcache-coding = "zstd";
    } else if (req.http.Accept-Encoding ~ "(?i)(^|,)\s*gzip\s*(;\s*q=(1|0?\.[0-9]*[1-9])[0-9.]*\s*)?(,|$)") {
      set req.http.xcache-coding = "gzip";
    }
  }
  set req.url = req.http.xcache-poll;
  set req.http.Accept-Encoding = req.http.xcache-coding;
  unset req.http.Range;
  # The second look at what is kept (vcl_hit), and the third after an error, which takes what there is.
  if (req.http.xcache-kept == "have") { set req.grace = std.duration(req.http.xcache-grace, 0s); }
  if (req.http.xcache-kept == "take") { set req.grace = 1h; }
  return (hash);
}

# BAN / with `xcache-tag: xcache:APP:CHANNEL`, from `serve --purge varnish:URL`.
sub xcache_purge {
  if (client.ip !~ purgers) { return (synth(403)); }
  if (req.http.Authorization !~ "^Bearer .{16,}$" ||
      req.http.Authorization != "Bearer " + regsub(std.fileread("/etc/varnish/xcache-purge.token"), "\s+$", "")) {
    return (synth(403));
  }
  if (req.http.xcache-tag !~ "^xcache:[A-Za-z][A-Za-z0-9_-]{0,63}:[a-z][a-z0-9-]{0,31}$") { return (synth(400)); }
  # Only of the object, so that the lurker can remove what nobody asks for, and the list of bans stays short.
  if (!std.ban("obj.http.Cache-Tag == " + req.http.xcache-tag)) { return (synth(500)); }
  return (synth(200));
}

sub vcl_pass {
  unset req.http.xcache-query;
  unset req.http.xcache-value;
  return (fetch);
}

sub vcl_hash {
  hash_data(req.url);
  hash_data(req.http.xcache-coding);
  return (lookup);
}

sub vcl_hit {
  if (obj.ttl >= 0s || req.http.xcache-kept == "take" || !std.healthy(req.backend_hint)) { return (deliver); }
  # While the origin is asked in the background, for as long as it allows (stale-while-revalidate).
  if (obj.ttl + std.duration(obj.http.xcache-while, 0s) >= 0s) { return (deliver); }
  # Older: this poll, and those that come meanwhile, wait for the origin. If it fails, this answer will do (stale-if-error).
  set req.http.xcache-kept = "have";
  set req.http.xcache-grace = obj.http.xcache-while;
  return (restart);
}

sub vcl_backend_fetch {
  # The backend's name takes its place.
  unset bereq.http.Host;
  if (bereq.http.xcache-poll) {
    # How long a poll waits for an origin that hangs.
    set bereq.first_byte_timeout = 3s;
    set bereq.between_bytes_timeout = 3s;
    set bereq.http.Accept-Encoding = bereq.http.xcache-coding;
    # Nothing but the query and the coding may change the answer.
    unset bereq.http.Accept;
    unset bereq.http.Accept-Language;
    unset bereq.http.Authorization;
    unset bereq.http.Available-Dictionary;
    unset bereq.http.Cache-Control;
    unset bereq.http.Content-Length;
    unset bereq.http.Content-Type;
    unset bereq.http.Cookie;
    unset bereq.http.Dictionary-ID;
    unset bereq.http.Expect;
    unset bereq.http.Forwarded;
    unset bereq.http.Origin;
    unset bereq.http.Pragma;
    unset bereq.http.Prefer;
    unset bereq.http.Range;
    unset bereq.http.If-Range;
    unset bereq.http.Referer;
    unset bereq.http.User-Agent;
    unset bereq.http.X-Forwarded-For;
    unset bereq.http.X-Forwarded-Host;
    unset bereq.http.X-Forwarded-Proto;
    unset bereq.http.X-Host;
    unset bereq.http.X-HTTP-Method;
    unset bereq.http.X-HTTP-Method-Override;
    unset bereq.http.X-Method-Override;
    unset bereq.http.X-Original-URL;
    unset bereq.http.X-Rewrite-URL;
  }
  return (fetch);
}

sub vcl_backend_response {
  if (!bereq.http.xcache-poll) { return (deliver); }
  # What is kept stays (vcl_synth gives it out).
  if (beresp.status >= 500 && (bereq.is_bgfetch || bereq.http.xcache-kept)) { return (abandon); }
  set beresp.keep = 0s;
  if (beresp.status == 200 && !beresp.http.Set-Cookie && beresp.http.Cache-Tag ~ "^xcache:[^ ,]+$" &&
      beresp.http.CDN-Cache-Control ~ "^max-age=[1-9][0-9]?(,|$)") {
    # The origin says how long (RFC 9213); all that needs no ban ends by itself.
    set beresp.ttl = std.duration(regsub(beresp.http.CDN-Cache-Control, "^max-age=([0-9]+).*$", "\1") + "s", 0s);
    set beresp.http.xcache-while = "0s";
    if (beresp.http.CDN-Cache-Control ~ "stale-while-revalidate=[0-9]{1,3}(,|$)") {
      set beresp.http.xcache-while =
        regsub(beresp.http.CDN-Cache-Control, "^.*stale-while-revalidate=([0-9]{1,3})(,.*)?$", "\1") + "s";
    }
    set beresp.grace = std.duration(beresp.http.xcache-while, 0s);
    if (beresp.http.CDN-Cache-Control ~ "stale-if-error=[0-9]{1,3}(,|$)") {
      set beresp.grace =
        std.duration(regsub(beresp.http.CDN-Cache-Control, "^.*stale-if-error=([0-9]{1,3})(,.*)?$", "\1") + "s", 0s);
    }
    # The key has the coding.
    unset beresp.http.Vary;
    return (deliver);
  }
  # Not for others. Polls with this key don't wait for one another meanwhile.
  set beresp.uncacheable = true;
  set beresp.grace = 0s;
  set beresp.ttl = 2s;
  return (deliver);
}

sub vcl_backend_error {
  if (bereq.is_bgfetch || bereq.http.xcache-kept) { return (abandon); }
  set beresp.http.Content-Type = "application/json";
  set beresp.http.Cache-Control = "no-cache";
  set beresp.http.Access-Control-Allow-Origin = "*";
  set beresp.http.Retry-After = "5";
  set beresp.body = {"{"code":"} + beresp.status + {","message":"the edge can't reach the origin""} + "}";
  return (deliver);
}

sub vcl_deliver {
  if (req.http.xcache-poll) {
    if (resp.status == 200 || resp.status == 304) { set resp.http.Vary = "Accept-Encoding"; }
    # RFC 9211
    if (obj.hits > 0) {
      set resp.http.Cache-Status = "varnish; hit; ttl=" + regsub(obj.ttl, "\..*$", "");
    } else {
      set resp.http.Cache-Status = "varnish; fwd=miss";
    }
    unset resp.http.CDN-Cache-Control;
    unset resp.http.Surrogate-Control;
    unset resp.http.Cache-Tag;
    unset resp.http.Surrogate-Key;
    unset resp.http.xcache-while;
    unset resp.http.Accept-Ranges;
  }
  unset resp.http.Via;
  unset resp.http.X-Varnish;
  # Age stays: devices add it to Date where they learn the time from answers (docs/protocol.md, D-101).
  return (deliver);
}

sub vcl_synth {
  # The origin failed a poll that something is kept for.
  if (req.http.xcache-kept == "have") {
    set req.http.xcache-kept = "take";
    return (restart);
  }
  set resp.http.Content-Type = "application/json";
  set resp.http.Cache-Control = "no-cache";
  set resp.http.Access-Control-Allow-Origin = "*";
  if (resp.status == 200) {
    set resp.body = """{"code":200}""";
  } else if (resp.status >= 500) {
    set resp.http.Retry-After = "5";
    set resp.body = {"{"code":"} + resp.status + {","message":"the edge can't reach the origin""} + "}";
  } else {
    set resp.body = {"{"code":"} + resp.status + {","message":"the edge refuses this request""} + "}";
  }
  if (resp.status == 405) { set resp.http.Allow = "GET, HEAD, OPTIONS, POST"; }
  return (deliver);
}
