import Values

/// The time of the channel's servers, as far as the `Date` of their answers tells it: when a policy ends is a time of theirs, and
/// a device's own clock may be hours off.
///
/// One `Date` proves nothing, since a cache may have kept the answer. A clock that goes on does: two answers between which `Date`
/// moved on by as much as the device's clock did. What a cache has kept doesn't move on. A cache that looks answers up anew after
/// some time is behind by less than that, so less than `minDifference` isn't corrected.
///
/// It does no I/O and reads no clock; times are in milliseconds since 1970.
struct ServerClock: Equatable, Sendable {
  /// How far two answers are apart, by the device's clock.
  static let gapRange: ClosedRange<Int64> = 20_000...7_200_000
  /// How much less or more the server's clock may have moved on meanwhile.
  static let tolerance: Int64 = 10_000
  /// The smallest difference between the clocks that counts.
  static let minDifference: Int64 = 7_200_000

  private struct Reading: Equatable {
    let source: PollPolicy.Source
    let server: Int64
    let own: Int64

    var ahead: Int64 { own - server }
  }

  private var last: Reading?
  /// How far the device's clock is ahead of the server's; 0 if that is little, or isn't known.
  private var ahead: Int64 = 0

  init() {}

  /// Takes note of an answer that a server sent at `server` by its clock, and that came at `own`.
  mutating func record(_ server: Int64, from source: PollPolicy.Source, at own: Int64) {
    forgetIfSetBack(own)
    let reading = Reading(source: source, server: server, own: own)
    defer { last = reading }
    guard let last, last.source == source, Self.gapRange.contains(own - last.own) else { return }
    guard (-Self.tolerance...Self.tolerance).contains((server - last.server) - (own - last.own)) else {
      return
    }
    ahead = reading.ahead.magnitude < Self.minDifference ? 0 : reading.ahead
  }

  /// Returns the server's time, as far as it is known.
  mutating func time(at own: Int64) -> Int64 {
    forgetIfSetBack(own)
    return own - ahead
  }

  /// A clock that was set back is another one.
  private mutating func forgetIfSetBack(_ own: Int64) {
    if let last, own < last.own { self = ServerClock() }
  }
}

extension ServerClock {
  /// Returns the contents of `clock.json`; nil if the device's clock is about right.
  func saved(server: String) -> [UInt8]? {
    guard let last, ahead != 0 || last.ahead.magnitude >= Self.minDifference else { return nil }
    var document = JSONObject()
    document["ahead"] = .integer(ahead)
    document["own"] = .integer(last.own)
    document["server"] = .string(server)
    document["source"] = .string(last.source.rawValue)
    document["time"] = .integer(last.server)
    return JSONValue.object(document).canonical
  }

  /// Reads what was saved; knows nothing if that can't be read, or is about another server.
  init(saved bytes: [UInt8]?, server: String) {
    self.init()
    guard let document = bytes.flatMap({ try? JSONValue.parse($0) }), document["server"]?.string == server,
      let ahead = document["ahead"]?.integer, let own = document["own"]?.integer,
      let time = document["time"]?.integer,
      let source = document["source"]?.string.flatMap(PollPolicy.Source.init(rawValue:))
    else { return }
    self.ahead = ahead
    last = Reading(source: source, server: time, own: own)
  }
}
