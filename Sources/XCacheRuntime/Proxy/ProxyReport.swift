import System

/// What becomes of one request of the engine's, for tools that show it: told when the request came, and once more when it is over.
public struct ProxyReport: Sendable {
  /// Who answered.
  public enum Source: Sendable { case device, network }

  /// The same both times; counted by the proxy.
  public let id: UInt64
  /// Absolute.
  public let url: String
  /// `GET`, …
  public let method: String
  /// What the engine wants it for.
  public let destination: PageRequest.Destination
  /// Nil while there is no answer, and where there was none.
  public internal(set) var source: Source?
  /// Nil while there is no answer, and where there was none.
  public internal(set) var status: Int?
  /// Bytes of the body that were sent to the engine.
  public internal(set) var bytes: Int64 = 0
  /// How long it took.
  public internal(set) var milliseconds: Int64 = 0
  /// Whether this is told for the second time.
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
