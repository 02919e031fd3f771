/// Connections that a listener accepted, until whoever made the other end claims them.
///
/// Any process on the machine can connect to a loopback listener: the source port of a connection tells which one is ours.
struct Arrivals<Connection> {
  private struct Arrival {
    let connection: Connection
    let time: UInt64
  }

  /// How long a connection waits to be claimed, in nanoseconds.
  static var patience: UInt64 { 5_000_000_000 }
  /// The most connections that wait.
  static var maxWaiting: Int { 64 }

  private var waiting: [UInt16: Arrival] = [:]
  /// Ports of our own connections that haven't arrived yet.
  private var expected: Set<UInt16> = []

  init() {}

  var count: Int { waiting.count }

  /// Announces a connection from this process.
  mutating func expect(_ port: UInt16) { expected.insert(port) }

  /// Adds a connection from `port`.
  /// - Returns: connections that nobody claims any more, for the caller to close.
  mutating func add(_ connection: Connection, from port: UInt16, at now: UInt64) -> [Connection] {
    var ended: [Connection] = []
    for (port, arrival) in waiting where now > arrival.time && now - arrival.time > Self.patience {
      waiting[port] = nil
      ended.append(arrival.connection)
    }
    if let former = waiting.removeValue(forKey: port) { ended.append(former.connection) }
    // An unannounced one may still be ours: it can arrive here before its other end is ready.
    guard expected.contains(port) || waiting.count < Self.maxWaiting else { return ended + [connection] }
    waiting[port] = Arrival(connection: connection, time: now)
    return ended
  }

  /// Claims the connection from `port`; nil if it isn't here yet.
  mutating func take(_ port: UInt16) -> Connection? {
    guard let arrival = waiting.removeValue(forKey: port) else { return nil }
    expected.remove(port)
    return arrival.connection
  }

  /// Stops expecting a connection from `port`; returns it if it is here.
  mutating func forget(_ port: UInt16) -> Connection? {
    expected.remove(port)
    return waiting.removeValue(forKey: port)?.connection
  }
}
