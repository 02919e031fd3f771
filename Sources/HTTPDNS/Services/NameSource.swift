/// Whoever knows addresses: the system, or a service over HTTP.
///
/// A call blocks until there is an answer.
protocol NameSource: Sendable {
  /// The addresses of a host.
  func lookUp(_ host: HostName) throws(LookupError) -> LookupAnswer

  /// Hosts that one question may be about.
  var batch: Int { get }

  /// The addresses of several hosts, no more than `batch`; one that isn't known is missing.
  func lookUp(_ hosts: [HostName]) throws(LookupError) -> [HostName: LookupAnswer]

  /// Looks where the service is, where that may have changed.
  /// - Parameter isCurrent: whether the answer still counts once it is there.
  func refresh(_ isCurrent: () -> Bool)

  /// The device has another network.
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

/// How questions reach a service over HTTP. `DeviceLinux` has one over libcurl.
public protocol ServiceExchange: Sendable {
  /// The body of the answer with status 200 to a GET, without redirects. The call blocks.
  /// - Throws: `LookupError`: `.timedOut`, `.unreachable`, `.refused` with the status, `.badAnswer` where it is too long.
  func get(_ request: ServiceRequest) throws(LookupError) -> [UInt8]

  /// The device has another network: questions from now on go out on connections of their own.
  func networkChanged()
}

extension ServiceExchange {
  /// As far as an exchange has no connections that it keeps itself.
  public func networkChanged() {}
}

/// A question to a service over HTTP.
public struct ServiceRequest: Hashable, Sendable {
  /// Absolute, http or https.
  public let url: String
  /// What `Accept` says.
  public let accept: String
  /// Where the URL's host is; nil: wherever the system says.
  public let address: IPAddress?
  /// Until the answer must be whole.
  public let milliseconds: Int
  /// Bytes of the answer at most.
  public let limit: Int
}
