import Manifests

extension PollPolicy {
  /// What is kept in `poll.json`, for the polls of the process that comes next.
  func saved(server: String) -> [UInt8] {
    var document: JSONObject = JSONObject()
    document["failures"] = .integer(failures)
    document["interval"] = .integer(interval)
    document["lastPoll"] = lastPoll.map { .integer($0) }
    document["originDue"] = .integer(originDue)
    document["originWait"] = .integer(originWait)
    document["server"] = .string(server)
    document["source"] = .string(source.rawValue)
    return JSONValue.object(document).canonical
  }

  /// Reads what was saved; a fresh policy where that can't be read, or was about another server.
  init(saved bytes: [UInt8]?, server: String, hasFallback: Bool) {
    self.init(hasFallback: hasFallback)
    guard let document = bytes.flatMap({ try? JSONValue.parse($0) }), document["server"]?.string == server,
      let failures = document["failures"]?.integer, failures >= 0,
      let interval = document["interval"]?.integer, Self.intervals.contains(interval),
      let originDue = document["originDue"]?.integer, originDue >= 0,
      let originWait = document["originWait"]?.integer, Self.originWaits.contains(originWait),
      let source = document["source"]?.string.flatMap(Source.init(rawValue:))
    else { return }
    self.failures = Int(failures)
    self.interval = interval
    self.originDue = originDue
    self.originWait = originWait
    self.source = hasFallback ? source : .origin
    lastPoll = document["lastPoll"]?.integer.flatMap { $0 >= 0 ? $0 : nil }
  }
}
