import System
import Values

/// The URL of a service, and its addresses, which are tried one after another.
final class ServiceEndpoint: Sendable {
  private let url: BaseURL
  private let exchange: any ServiceExchange
  private let milliseconds: Int
  /// The addresses that the app was built with; they come after those that the service lists.
  private let bootstrap: [IPAddress]
  private let state: Locked<State>

  private struct State {
    var addresses: [IPAddress]
    var current = 0
  }

  init(_ url: BaseURL, _ bootstrap: [IPAddress], _ exchange: any ServiceExchange, milliseconds: Int) {
    self.url = url
    self.bootstrap = bootstrap
    self.exchange = exchange
    self.milliseconds = milliseconds
    state = Locked(State(addresses: bootstrap))
  }

  /// Sets the service's own list of its addresses.
  func take(_ addresses: [IPAddress]) {
    let all = addresses + bootstrap.filter { !addresses.contains($0) }
    state.withLock { $0 = State(addresses: all) }
  }

  func networkChanged() { exchange.networkChanged() }

  /// Asks at the address that answered last, and if that fails, once more at the next one.
  ///
  /// `rest` is appended to the service's URL: a path or a query.
  func get(_ rest: String, accept: String, limit: Int) throws(LookupError) -> [UInt8] {
    let start = Clock.continuousMilliseconds()
    let tried = address
    do {
      return try get(rest, accept, limit, at: tried, milliseconds)
    } catch {
      let left = milliseconds - Int(clamping: Clock.continuousMilliseconds() - start)
      advance(from: tried)
      guard address != tried, left > 50, error != .badAnswer else { throw error }
      return try get(rest, accept, limit, at: address, left)
    }
  }

  private var address: IPAddress? {
    state.withLock { $0.addresses.isEmpty ? nil : $0.addresses[$0.current % $0.addresses.count] }
  }

  /// If several queries failed at one address, only the first moves on to the next.
  private func advance(from address: IPAddress?) {
    state.withLock { state in
      guard !state.addresses.isEmpty, state.addresses[state.current % state.addresses.count] == address
      else { return }
      state.current = (state.current + 1) % state.addresses.count
    }
  }

  private func get(
    _ rest: String, _ accept: String, _ limit: Int, at address: IPAddress?, _ milliseconds: Int
  ) throws(LookupError) -> [UInt8] {
    try exchange.get(
      ServiceRequest(
        url: text(at: address) + rest, accept: accept, address: address, milliseconds: milliseconds,
        limit: limit))
  }

  /// A service without a name is asked by its address.
  private func text(at address: IPAddress?) -> String {
    guard let address, let parsed = try? ResourceURL(url.text), IPAddress(String(parsed.host)) != nil else {
      return url.text
    }
    let port = parsed.authority.dropFirst(parsed.host.count)
    return "\(parsed.scheme)://\(address.authority)\(port)\(url.path)"
  }
}
