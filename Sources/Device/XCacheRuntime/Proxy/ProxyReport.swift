import System

/// The progress of one request of the engine, for tools that display it; reported when the request arrives and again when
/// it is over.
public struct ProxyReport: Sendable {
  /// Where the answer came from.
  public enum Source: Sendable { case device, network }

  /// The same in both reports; assigned by the proxy.
  public let id: UInt64
  /// Absolute URL.
  public let url: String
  /// `GET`, …
  public let method: String
  /// What the engine wants the answer for.
  public let destination: PageRequest.Destination
  /// Nil until there is an answer; stays nil if there is none.
  public internal(set) var source: Source?
  /// Nil until there is an answer; stays nil if there is none.
  public internal(set) var status: Int?
  /// Bytes of the body sent to the engine.
  public internal(set) var bytes: Int64 = 0
  /// How long the request took.
  public internal(set) var milliseconds: Int64 = 0
  /// Whether this is the second report.
  public internal(set) var isOver = false
  private let began = Clock.continuousNanoseconds()

  init(id: UInt64, url: String, method: String, destination: PageRequest.Destination) {
    self.id = id
    self.url = url
    self.method = method
    self.destination = destination
  }

  mutating func end() {
    milliseconds = Int64((Clock.continuousNanoseconds() - began) / 1_000_000)
    isOver = true
  }
}
