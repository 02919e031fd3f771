import SocketServer
import System
import Testing
import TestSupport
import Values

/// `xcache device dns` and `xcache prefetch run`, against small servers of the test.
@Suite("Network commands of a device")
struct DeviceNetworkTests {
  private static func run(_ words: String...) throws -> Outcome {
    try Outcome(try Child([Binary.path] + words, environment: [:], in: "/"))
  }

  /// A vendor's name service that knows one host.
  private static let service = SocketServer { request in
    guard request.path.hasPrefix("/1234/d?host=localhost&") else { return .answer(404) }
    return .answer(body: #"{"host":"localhost","ips":["127.0.0.7"],"ttl":77}"#.utf8)
  }

  @Test("device dns shows the answer of each resolver")
  func names() throws {
    let resolver = "vendor:\(Self.service.url)/1234"
    let text = try Self.run("device", "dns", "localhost", "--resolver", resolver)
    #expect(text.exitCode == 0, "\(text.errors)")
    #expect(
      text.output.contains("127.0.0.7  for 77 s") && text.output.contains("service: 127.0.0.7"),
      "\(text.output)")
    // A trailing dot doesn't make it another name.
    let dotted = try Self.run("device", "dns", "localhost.", "--resolver", resolver)
    #expect(dotted.output.contains("service: 127.0.0.7"), "\(dotted.output)\(dotted.errors)")
    let json = try JSONValue.parse(
      Array(try Self.run("device", "dns", "localhost", "--resolver", resolver, "--json").output.utf8))
    #expect(json["source"]?.string == "service" && json["addresses"]?.array == [.string("127.0.0.7")])
    let queries = try #require(json["asked"]?.array)
    #expect(queries.map { $0["source"]?.string } == ["system", "service"])
    #expect(queries[0]["addresses"]?.array?.contains(.string("127.0.0.1")) == true)
    #expect(queries[1]["ttl"]?.integer == 77)
    let first = try Self.run("device", "dns", "localhost", "--resolver", resolver, "--order", "system-first")
    #expect(first.exitCode == 0 && first.output.contains("127.0.0.1"), "\(first.output)")
  }

  @Test("device dns fails if the name is unknown, and if no address accepts a connection")
  func failures() throws {
    #expect(try Self.run("device", "dns", "no-such-host.invalid").exitCode == 1)
    let cacert = try Self.run("device", "dns", "localhost", "--cacert", "/nowhere.pem")
    #expect(cacert.exitCode == 1 && cacert.errors.contains("/nowhere.pem"), "\(cacert.errors)")
    let connect = try Self.run(
      "device", "dns", "localhost", "--resolver", "vendor:\(Self.service.url)/1234", "--connect", "--port",
      "1")
    #expect(
      connect.exitCode == 1 && connect.output.contains("nothing answers at localhost port 1"),
      "\(connect.output)")
    for words in [
      ["device"], ["device", "dns"], ["device", "nonsense"], ["device", "dns", "192.0.2.1"],
      ["device", "dns", "localhost", "--order", "last"],
      ["device", "dns", "localhost", "--resolver", "http://x/"],
      ["device", "dns", "localhost", "--resolver", "https://x/", "--bootstrap", "x"],
      ["device", "dns", "localhost", "--bootstrap", "192.0.2.1"],
      ["device", "dns", "localhost", "--secret", "s"], ["device", "dns", "localhost.."],
      ["device", "dns", "localhost", "--resolver", "https://x/", "--secret", "s"],
    ] {
      #expect(
        try Outcome(try Child([Binary.path] + words, environment: [:], in: "/")).exitCode == 2, "\(words)")
    }
  }

  @Test("prefetch run sends the requests that a device would send, and shows the answers")
  func prefetch() throws {
    let received = Locked<[SocketServer.Request]>([])
    let server = SocketServer { request in
      received.withLock { $0.append(request) }
      return request.path.hasPrefix("/gone")
        ? .answer(404, body: Array("no".utf8))
        : .answer(
          body: request.path == "/much" ? [UInt8](repeating: 65, count: (4 << 20) + 1) : Array("data".utf8))
    }
    let scratch = try Scratch()
    let file = "\(scratch.path)/prefetch.json"
    let page = "https://m.example.com/help.html"
    let config = """
      [{"url":"\(page)","interfaces":[{"api":"\(server.url)/list","method":"GET","urlParam":true},
      {"api":"\(server.url)/one","method":"POST","bodyParam":true},{"api":"\(server.url)/gone","method":"GET"}]}]
      """
    try DurableFile.write(Array(config.utf8), to: file)
    let outcome = try Self.run("prefetch", "run", "\(page)?id=7", file)
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let rows = outcome.output.split(separator: "\n").dropFirst().map {
      $0.split(separator: " ").map(String.init)
    }
    #expect(rows.map { $0[0] } == ["GET", "POST", "GET"] && rows.map { $0[1] } == ["200", "200", "404"])
    #expect(rows.map { $0[2] } == ["4", "4", "2"] && rows[0].last == "\(server.url)/list?id=7")
    let requests = received.withLock { $0 }
    let post = try #require(requests.first { $0.method == "POST" })
    #expect(String(decoding: post.body, as: UTF8.self) == #"{"id":"7"}"#)
    #expect(
      post.fields["origin"] == "https://m.example.com" && post.fields["content-type"] == "application/json")
    #expect(requests.first { $0.path == "/list?id=7" }?.fields["referer"] == nil)
    let json = try JSONValue.parse(
      Array(try Self.run("prefetch", "run", page, file, "--json").output.utf8))
    #expect(json["calls"]?.array?.map { $0["status"]?.integer } == [200, 200, 404])
    #expect(json["calls"]?.array?.map { $0["dropped"] == .null } == [true, true, false])
    #expect(rows[2].joined(separator: " ").hasSuffix("a device drops it: its status isn't 2xx"))
    let largeConfig = #"[{"url":"\#(page)","interfaces":[{"api":"\#(server.url)/much","method":"GET"}]}]"#
    try DurableFile.write(Array(largeConfig.utf8), to: "\(scratch.path)/much.json")
    let large = try Self.run("prefetch", "run", page, "\(scratch.path)/much.json").output
    #expect(large.contains("a device drops it: it is over 4 MB"), "\(large)")
    #expect(
      try Self.run("prefetch", "run", "https://m.example.com/other.html", file).output.contains("no entry"))
    #expect(try Self.run("prefetch", "run").exitCode == 2)
    #expect(try Self.run("prefetch", "run", "nonsense", file).exitCode == 2)
  }

  @Test("prefetch run ends in time when a server hangs")
  func prefetchEnds() throws {
    let isOver = Monitor(false)
    defer { isOver.broadcasting { $0 = true } }
    let server = SocketServer { request in
      if request.path == "/list" { return .answer(body: Array("data".utf8)) }
      // Sends nothing, or never the whole answer.
      let start: [SocketServer.Step] =
        request.path == "/drip" ? [.send(Array("HTTP/1.1 200 OK\r\n\r\nsome".utf8))] : []
      return start + [.run { _ = isOver.waiting(for: .seconds(300)) { $0 ? () : nil } }, .close]
    }
    let scratch = try Scratch()
    let file = "\(scratch.path)/prefetch.json"
    let page = "https://m.example.com/help.html"
    let calls = ["list", "hang", "drip"].map { #"{"api":"\#(server.url)/\#($0)","method":"GET"}"# }
    let config = #"[{"url":"\#(page)","interfaces":[\#(calls.joined(separator: ","))]}]"#
    try DurableFile.write(Array(config.utf8), to: file)
    let outcome = try Self.run("prefetch", "run", page, file, "--timeout", "1s")
    #expect(outcome.exitCode == 1)
    let rows = outcome.output.split(separator: "\n").dropFirst().map(String.init)
    #expect(rows.count == 3 && rows.first?.contains("200") == true)
    for row in rows.dropFirst() { #expect(row.contains("no complete answer within 1 s"), "\(row)") }
    #expect(outcome.errors.contains("2 calls got no answer"), "\(outcome.errors)")
    #expect(try Self.run("prefetch", "run", page, file, "--timeout", "soon").exitCode == 2)
  }
}
