/// Connections that a listener took, until whoever made the other end comes for them.
///
/// Any process of the machine may connect to a listener on loopback: the port that a connection comes from tells which one is ours.
struct Arrivals<Connection> {
  private struct Arrival {
    let connection: Connection
    let time: UInt64
  }

  /// Nanoseconds for which a connection waits.
  static var patience: UInt64 { 5_000_000_000 }
  /// Connections that wait at most.
  static var most: Int { 64 }

  private var waiting: [UInt16: Arrival] = [:]
  /// Ports whose connection is ours, and hasn't arrived.
  private var expected: Set<UInt16> = []

  init() {}

  var count: Int { waiting.count }

  /// A connection from this process is on its way.
  mutating func expect(_ port: UInt16) { expected.insert(port) }

  /// A connection came from `port`.
  /// - Returns: those that nobody comes for any more, to be ended.
  mutating func add(_ connection: Connection, from port: UInt16, at now: UInt64) -> [Connection] {
    var ended: [Connection] = []
    for (port, arrival) in waiting where now > arrival.time && now - arrival.time > Self.patience {
      waiting[port] = nil
      ended.append(arrival.connection)
    }
    if let former = waiting.removeValue(forKey: port) { ended.append(former.connection) }
    // What isn't expected may still be: its end here can be ready before the other one is.
    guard expected.contains(port) || waiting.count < Self.most else { return ended + [connection] }
    waiting[port] = Arrival(connection: connection, time: now)
    return ended
  }

  /// The connection from `port`; nil: it isn't here yet.
  mutating func take(_ port: UInt16) -> Connection? {
    guard let arrival = waiting.removeValue(forKey: port) else { return nil }
    expected.remove(port)
    return arrival.connection
  }

  /// Nobody comes for the connection from `port`.
  mutating func forget(_ port: UInt16) -> Connection? {
    expected.remove(port)
    return waiting.removeValue(forKey: port)?.connection
  }
}
