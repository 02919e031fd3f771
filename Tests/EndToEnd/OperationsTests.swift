import Glibc
import System
import Testing
import TestSupport
import Values

@Suite("Running a server")
struct OperationsTests {
  @Test("SIGHUP opens a new access log without interrupting connections")
  func hangUp() throws {
    let scratch = try Scratch()
    let log = scratch.path + "/access.log"
    try Site.with(["--access-log", log]) { site throws in
      #expect(try site.web.ask("/healthz?first").status == 200)
      #expect(Wait.until(20) { Self.text(log).contains("first") })
      #expect(rename(log, log + ".1") == 0)
      site.server.signal(SIGHUP)
      #expect(Wait.until(20) { site.server.standardError.contains("reopened the access log \(log)") })
      #expect(try site.web.ask("/healthz?second").status == 200)
      #expect(Wait.until(20) { Self.text(log).contains("second") })
      #expect(!Self.text(log).contains("first") && !Self.text(log + ".1").contains("second"))
    }
  }

  @Test("SIGHUP with an unread FIFO at the log's path blocks neither answers nor shutdown")
  func hangUpToFIFO() throws {
    let scratch = try Scratch()
    let log = scratch.path + "/access.log"
    try Site.with(["--access-log", log]) { site throws in
      #expect(rename(log, log + ".1") == 0)
      #expect(mkfifo(log, 0o600) == 0)
      site.server.signal(SIGHUP)
      #expect(Wait.until(20) { site.server.standardError.contains("reopened the access log \(log)") })
      #expect(try site.web.ask("/healthz?for-the-reader").status == 200)
      let reader = try Kernel.open(log, [.read, .nonBlocking])
      var text = ""
      let isRead = Wait.until(20) {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = (try? bytes.withUnsafeMutableBytes { try Kernel.read(reader, into: $0) }) ?? 0
        text += String(decoding: bytes.prefix(count), as: UTF8.self)
        return text.contains("for-the-reader")
      }
      #expect(isRead, "\(text)")
    }
  }

  @Test(
    "Blocked readers of standard output and standard error block neither answers nor shutdown")
  func stuckReaders() throws {
    let scratch = try Scratch()
    let script = """
      mkfifo out err; exec 4<>out 5<>err
      '\(Binary.path)' serve --data data --listen 127.0.0.1:0 --access-log - >out 2>err & S=$!
      while read -r -t 60 line <&5; do case $line in *listens*) break;; esac; done
      URL=$(grep -o 'http://127[^,]*' <<<"$line")
      # What a pipe takes is 64 KB.
      head -c 200000 /dev/zero >&5 & FILLER=$!
      target=$(printf 'x%.0s' $(seq 1000))
      for i in $(seq 300); do echo "url=$URL/healthz?$target"; echo 'output=/dev/null'; done >requests
      curl -s -f -K requests -m 60; echo "requests $?"
      sleep 2
      curl -s -f -m 20 -o /dev/null $URL/healthz; echo "later $?"
      kill -HUP $S; kill -TERM $S
      for i in $(seq 300); do kill -0 $S 2>/dev/null || break; sleep 0.1; done
      kill -0 $S 2>/dev/null && echo 'still there'
      kill -9 $FILLER $S 2>/dev/null; wait $S; echo "end $?"
      """
    let child = try Child(
      ["bash", "-c", script], environment: ["PATH": "/usr/bin:/bin"], in: scratch.path)
    let outcome = try Outcome(child, seconds: 200)
    #expect(outcome.output == "requests 0\nlater 0\nend 0\n", "\(outcome.output) \(outcome.errors)")
  }

  @Test("A failed start is logged in the chosen format")
  func failedStart() throws {
    let scratch = try Scratch()
    try scratch.write("data/blobs/ab/cd", "1")
    for (format, isJSON) in [("json", true), ("text", false)] {
      let child = try Child(
        [Binary.path, "serve", "--data", "data", "--listen", "127.0.0.1:0", "--log-format", format],
        environment: [:],
        in: scratch.path)
      let outcome = try Outcome(child)
      let lines = outcome.errors.split(separator: "\n").map { try? JSONValue.parse(Array($0.utf8)) }
      #expect(outcome.exitCode == 1 && lines.allSatisfy { ($0 != nil) == isJSON }, "\(outcome.errors)")
      #expect(outcome.errors.contains("its database xcache.db is missing"), "\(outcome.errors)")
      if isJSON { #expect(lines.last??["level"]?.string == "error") }
    }
  }

  @Test("A start warns of a public URL that devices can't use, and of channels that keep another one")
  func publicURLs() throws {
    let site = try Site()
    try site.publish(["a.js": "1"])
    #expect(!site.server.standardError.contains("warning"), "\(site.server.standardError)")
    site.options = ["--public-url", "https://cdn.example.com/hxm"]
    site.server.signal(SIGTERM)
    #expect(try site.server.wait() == 0)
    try site.start()
    let old = site.server.standardError
    #expect(
      Wait.until(20) {
        site.server.standardError.contains(
          "warning: channel online of shop keeps its public URL http://127.0.0.1:")
      }, "\(old)")
    try site.stop()
    let scratch = try Scratch()
    let child = try Child(
      [Binary.path, "serve", "--data", "data", "--listen", "0.0.0.0:0"], environment: [:], in: scratch.path)
    #expect(
      Wait.until(20) {
        child.standardError.contains("warning: new channels get the public URL http://0.0.0.0:")
      },
      "\(child.standardError)")
    child.signal(SIGTERM)
    #expect(try child.wait() == 0)
  }

  @Test("Requests answered before SIGHUP are in the old access log, also those not yet written")
  func lastLines() throws {
    let scratch = try Scratch()
    let log = scratch.path + "/access.log"
    try Site.with(["--access-log", log]) { site throws in
      for round in 1...3 {
        // Lines are buffered for up to a second: these are still in the two event loops' buffers.
        for part in ["a", "b", "c", "d"] {
          #expect(try site.web.ask("/healthz?\(round)\(part)").status == 200)
        }
        #expect(rename(log, "\(log).\(round)") == 0)
        site.server.signal(SIGHUP)
        let logged = "reopened the access log \(log)"
        #expect(Wait.until(60) { site.server.standardError.count(of: logged) == round })
        for part in ["a", "b", "c", "d"] {
          #expect(Wait.until(60) { Self.text("\(log).\(round)").contains("healthz?\(round)\(part)") })
        }
      }
    }
  }

  @Test(
    "SIGHUP has no effect without an access log, and a server that can't reopen its log continues with the old file"
  )
  func nothingToReopen() throws {
    try Site.with { site throws in
      site.server.signal(SIGHUP)
      #expect(try site.web.ask("/healthz").status == 200)
    }
    let scratch = try Scratch()
    let folder = scratch.path + "/logs"
    try Kernel.makeFolder(folder)
    try Site.with(["--access-log", folder + "/access.log"]) { site throws in
      #expect(rename(folder, folder + "-old") == 0)
      site.server.signal(SIGHUP)
      #expect(Wait.until(20) { site.server.standardError.contains("still writing to the old file") })
      #expect(try site.web.ask("/healthz?kept").status == 200)
      #expect(Wait.until(20) { Self.text(folder + "-old/access.log").contains("kept") })
    }
  }

  @Test("--access-log - writes to standard output, also after SIGHUP")
  func standardOutput() throws {
    try Site.with(["--access-log", "-", "--access-log-format", "json"]) { site throws in
      site.server.signal(SIGHUP)
      #expect(try site.web.ask("/healthz?line").status == 200)
      #expect(Wait.until(20) { site.server.standardOutput.contains("\"target\":\"/healthz?line\"") })
    }
  }

  @Test("An access log on a closed standard output is refused at start")
  func closedOutput() throws {
    let scratch = try Scratch()
    let child = try Child(
      ["sh", "-c", "exec \"$0\" serve --data data --listen 127.0.0.1:0 --access-log - >&-", Binary.path],
      environment: ["PATH": "/usr/bin:/bin"], in: scratch.path)
    #expect(try child.wait(seconds: 30) == 1)
    #expect(child.standardError.contains("which is closed; give --access-log FILE"), "\(child.standardError)")
  }

  @Test("A first start that fails because of its port creates no data folder")
  func failedStartCreatesNoFolder() throws {
    try Site.with { site throws in
      let scratch = try Scratch()
      let child = try Child(
        [Binary.path, "serve", "--data", "data", "--listen", "127.0.0.1:\(site.port)"], environment: [:],
        in: scratch.path)
      #expect(try child.wait() == 1)
      #expect(child.standardError.contains("can't listen on"))
      #expect(try Kernel.status(scratch.path + "/data") == nil)
    }
  }

  @Test("Options of serve are taken from the environment unless given")
  func environment() throws {
    let scratch = try Scratch()
    func start(_ words: [String], _ variables: [String: String]) throws -> Child {
      try Child(
        [Binary.path, "serve", "--data", scratch.path + "/data", "--listen", "127.0.0.1:0"] + words,
        environment: variables, in: scratch.path)
    }
    for (name, value) in [("XCACHE_MAX_HEAD", "1"), ("XCACHE_GC", "noon"), ("XCACHE_TRUST_PROXY", "::1, x")] {
      let child = try start([], [name: value])
      #expect(try child.wait(seconds: 20) == 2, "\(name)")
      #expect(child.standardError.contains(value.split(separator: " ").last ?? ""), "\(child.standardError)")
    }
    let child = try start(["--max-head", "4096"], ["XCACHE_MAX_HEAD": "1"])
    #expect(Wait.until(30) { child.standardError.contains(" listens on ") })
    child.signal(SIGTERM)
    #expect(try child.wait() == 0)
  }

  @Test("Each option of serve has a variable") func variables() throws {
    let help = try Outcome(try Child([Binary.path, "serve", "--help"], environment: [:], in: "/")).output
    let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
    let common = ["--json", "--quiet", "--verbose", "--no-color", "--help"]
    var count = 0
    for (index, line) in lines.enumerated() where line.hasPrefix("  -") {
      guard let start = line.firstRange(of: "--")?.lowerBound else { continue }
      let name = line[start...].prefix { $0 != " " }
      if common.contains(String(name)) { continue }
      let variable = "[XCACHE_" + name.dropFirst(2).uppercased().replacing("-", with: "_") + "]"
      // The description continues on the following lines.
      let more = lines[(index + 1)...].prefix { !$0.hasPrefix("  -") }
      #expect((line + more.joined()).contains(variable), "\(name)")
      count += 1
    }
    #expect(count > 30)
    let scratch = try Scratch()
    let child = try Child(
      [Binary.path, "serve", "--data", "data", "--listen", "127.0.0.1:0"],
      environment: ["XCACHE_CDN": "push \(scratch.path)/www"], in: scratch.path)
    #expect(Wait.until(60) { child.standardError.contains(" listens on ") }, "\(child.standardError)")
    child.signal(SIGTERM)
    #expect(try child.wait() == 0)
  }

  @Test("--log-format json writes the server's log as JSON")
  func logFormat() throws {
    let scratch = try Scratch()
    let words = [Binary.path, "serve", "--data", scratch.path + "/data", "--listen", "127.0.0.1:0"]
    let child = try Child(
      words + ["--access-log", scratch.path + "/logs/access.log"], environment: ["XCACHE_LOG_FORMAT": "xml"],
      in: scratch.path)
    #expect(try child.wait(seconds: 20) == 2 && child.standardError.contains("XCACHE_LOG_FORMAT xml"))
    try Kernel.makeFolder(scratch.path + "/logs")
    let server = try Child(
      words + ["--log-format", "json", "--access-log", scratch.path + "/logs/access.log"], environment: [:],
      in: scratch.path)
    #expect(Wait.until(30) { server.standardError.contains(" listens on ") })
    #expect(rename(scratch.path + "/logs", scratch.path + "/gone") == 0)
    server.signal(SIGHUP)
    #expect(Wait.until(20) { server.standardError.contains("still writing to the old file") })
    server.signal(SIGTERM)
    #expect(try server.wait() == 0)
    let lines = try server.standardError.split(separator: "\n").map { try JSONValue.parse(Array($0.utf8)) }
    #expect(lines.allSatisfy { $0["time"]?.string?.hasSuffix("Z") == true })
    #expect(lines.last?["message"]?.string == "stopped" && lines.last?["level"]?.string == "info")
    let error = lines.first { $0["level"]?.string == "error" }
    #expect(error?["message"]?.string?.hasPrefix("the access log ") == true)
  }

  @Test("Metrics of the process, its disk and its newest releases")
  func metrics() throws {
    try Site.with { site throws in
      try site.publish(["a.js": "1"])
      let text = try site.web.ask("/metrics").text
      let values = Dictionary(
        text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
          let end = line.lastIndex(of: " ") ?? line.startIndex
          return (String(line[..<end]), Double(line[line.index(after: end)...]) ?? -1)
        }, uniquingKeysWith: { _, new in new })
      let channel = "{app=\"shop\",channel=\"online\"}"
      let now = Double(Clock.unixMilliseconds()) / 1000
      #expect(values["xcache_newest_version\(channel)"] == 1)
      #expect(abs((values["xcache_newest_release_timestamp_seconds\(channel)"] ?? 0) - now) < 600)
      #expect(abs((values["process_start_time_seconds"] ?? 0) - now) < 600)
      #expect(values["process_cpu_seconds_total"] ?? 0 > 0)
      #expect(values["process_resident_memory_bytes"] ?? 0 > 1_000_000)
      #expect(values["process_open_fds"] ?? 0 > 3)
      #expect(values["process_max_fds"] ?? 0 > values["process_open_fds"] ?? 0)
      let size = values["xcache_disk_size_bytes"] ?? 0
      #expect(size > 0 && values["xcache_disk_available_bytes"] ?? -1 <= size)
      #expect(text.contains("\nxcache_build_info{version=\"0.") || text.hasPrefix("# HELP xcache_build_info"))
    }
  }

  private static func text(_ path: String) -> String {
    String(decoding: (try? DurableFile.read(path)) ?? [], as: UTF8.self)
  }
}

extension String {
  /// The number of occurrences of `text`.
  fileprivate func count(of text: String) -> Int { ranges(of: text).count }
}
