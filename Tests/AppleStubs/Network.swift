// swift-format-ignore-file
// A stand-in for Apple's Network.framework: what `Sources/Device/DeviceApple` uses, from Apple's documentation.

import Dispatch
import Foundation
@_exported import Security

public struct IPv4Address: Hashable, Sendable {
  public init?(_ rawValue: Data, _ interface: NWInterface? = nil) {}
  public static var loopback: IPv4Address { IPv4Address(Data())! }
}

public struct IPv6Address: Hashable, Sendable {
  public init?(_ rawValue: Data, _ interface: NWInterface? = nil) {}
}

public struct NWInterface: Hashable, Sendable {}

public enum NWError: Error, Equatable, Sendable {
  case posix(POSIXErrorCode)
  case dns(Int32)
  case tls(Int32)
}

public enum NWEndpoint: Hashable, Sendable {
  public enum Host: Hashable, Sendable {
    case name(String, NWInterface?)
    case ipv4(IPv4Address)
    case ipv6(IPv6Address)
  }

  public struct Port: Hashable, RawRepresentable, Sendable {
    public let rawValue: UInt16
    public init?(rawValue: UInt16) { self.rawValue = rawValue }
    public static var any: NWEndpoint.Port { Port(rawValue: 0)! }
  }

  case hostPort(host: NWEndpoint.Host, port: NWEndpoint.Port)
  case unix(path: String)
}

public class NWProtocolOptions {}

public enum NWProtocolTCP {
  public final class Options: NWProtocolOptions {
    public override init() {}
    public var noDelay = false
    public var enableKeepalive = false
  }
}

public enum NWProtocolTLS {
  public final class Options: NWProtocolOptions {
    public override init() {}
    public var securityProtocolOptions: sec_protocol_options_t { fatalError() }
  }
}

public final class NWParameters: @unchecked Sendable {
  public convenience init(tls: NWProtocolTLS.Options?, tcp: NWProtocolTCP.Options = NWProtocolTCP.Options()) { self.init() }
  init() {}
  public var requiredLocalEndpoint: NWEndpoint?
  public var allowLocalEndpointReuse = false
  public var acceptLocalOnly = false
}

public struct NWPath: Equatable, Sendable {
  public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
  public var status: NWPath.Status { .satisfied }
  public var isExpensive: Bool { false }
  public var isConstrained: Bool { false }
  public var localEndpoint: NWEndpoint? { nil }
  public var remoteEndpoint: NWEndpoint? { nil }
}

public final class NWPathMonitor: @unchecked Sendable {
  public init() {}
  public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
  public func start(queue: DispatchQueue) {}
  public func cancel() {}
}

public final class NWListener: @unchecked Sendable {
  public enum State: Equatable, Sendable {
    case setup
    case waiting(NWError)
    case ready
    case failed(NWError)
    case cancelled
  }

  public init(using parameters: NWParameters, on port: NWEndpoint.Port = .any) throws {}
  public var stateUpdateHandler: (@Sendable (NWListener.State) -> Void)?
  public var newConnectionHandler: (@Sendable (NWConnection) -> Void)?
  public var port: NWEndpoint.Port? { nil }
  public func start(queue: DispatchQueue) {}
  public func cancel() {}
}

@available(macOS 14.0, iOS 17.0, *)
public struct ProxyConfiguration: Sendable {
  public init(httpCONNECTProxy: NWEndpoint, tlsOptions: NWProtocolTLS.Options? = nil) {}
  public mutating func applyCredential(username: String, password: String) {}
  public var allowFailover: Bool { get { false } set {} }
  public var matchDomains: [String] { get { [] } set {} }
  public var excludedDomains: [String] { get { [] } set {} }
}

public final class NWConnection: @unchecked Sendable {
  public enum State: Equatable, Sendable {
    case setup
    case waiting(NWError)
    case preparing
    case ready
    case failed(NWError)
    case cancelled
  }

  public final class ContentContext: @unchecked Sendable {
    public static let defaultMessage = ContentContext()
    public static let finalMessage = ContentContext()
  }

  public enum SendCompletion {
    case contentProcessed(@Sendable (NWError?) -> Void)
    case idempotent
  }

  public init(to endpoint: NWEndpoint, using parameters: NWParameters) {}
  public var endpoint: NWEndpoint { fatalError() }
  public var currentPath: NWPath? { nil }
  public var stateUpdateHandler: (@Sendable (NWConnection.State) -> Void)?
  public func start(queue: DispatchQueue) {}
  public func cancel() {}
  public func send(
    content: Data?, contentContext: NWConnection.ContentContext = .defaultMessage, isComplete: Bool = true,
    completion: NWConnection.SendCompletion
  ) {}
  public func receive(
    minimumIncompleteLength: Int, maximumLength: Int,
    completion: @escaping @Sendable (Data?, NWConnection.ContentContext?, Bool, NWError?) -> Void
  ) {}
}
