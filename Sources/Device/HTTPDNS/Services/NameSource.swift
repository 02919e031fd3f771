/// A source of addresses: the system, or a service over HTTP.
///
/// Calls block until there is an answer.
protocol NameSource: Sendable {
  /// Returns the addresses of a host.
  func lookUp(_ host: HostName) throws(LookupError) -> LookupAnswer

  /// The most hosts that one query may contain.
  var batch: Int { get }

  /// Returns the addresses of several hosts, at most `batch`; hosts without a known address are missing.
  func lookUp(_ hosts: [HostName]) throws(LookupError) -> [HostName: LookupAnswer]

  /// Refreshes the service's own addresses, if they may have changed.
  /// - Parameter isCurrent: whether the result is still valid when it arrives.
  func refresh(_ isCurrent: () -> Bool)

  /// Tells the source that the device changed networks.
  func networkChanged()
}

extension NameSource {
  var batch: Int { 1 }

  func lookUp(_ hosts: [HostName]) throws(LookupError) -> [HostName: LookupAnswer] {
    var answers: [HostName: LookupAnswer] = [:]
    for host in hosts {
      do throws(LookupError) {
        answers[host] = try lookUp(host)
      } catch {
        guard error == .noAddress else { throw error }
      }
    }
    return answers
  }

  func refresh(_ isCurrent: () -> Bool) {}

  func networkChanged() {}
}

/// Sends queries to a service over HTTP. `DeviceLinux` has an implementation over libcurl.
public protocol ServiceExchange: Sendable {
  /// Performs a GET without following redirects, and returns the body of an answer with status 200. The call blocks.
  /// - Throws: `LookupError`: `.timedOut`, `.unreachable`, `.refused` with the status, `.badAnswer` if the answer is too
  ///   long.
  func get(_ request: ServiceRequest) throws(LookupError) -> [UInt8]

  /// Tells the exchange that the device changed networks: later queries use new connections.
  func networkChanged()
}

extension ServiceExchange {
  /// Does nothing, for exchanges that keep no connections themselves.
  public func networkChanged() {}
}

/// A query to a service over HTTP.
public struct ServiceRequest: Hashable, Sendable {
  /// Absolute, http or https.
  public let url: String
  /// The value of `Accept`.
  public let accept: String
  /// The address of the URL's host; if nil, the system resolves it.
  public let address: IPAddress?
  /// The time within which the answer has to be complete.
  public let milliseconds: Int
  /// The most bytes of the answer.
  public let limit: Int
}
