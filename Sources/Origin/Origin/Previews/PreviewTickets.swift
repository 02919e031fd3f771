import Manifests
import Store
import System
import Values

/// The versions that are looked at, by the tickets in the hosts' names. In memory: after a restart, people open them anew.
final class PreviewTickets: Sendable {
  /// Who looks at what. The same again gets the same tickets.
  struct Viewing: Hashable, Sendable {
    /// The token's id.
    let caller: String
    let channel: Int64
    let version: ManifestVersion
    /// The console's origin, or nothing.
    let console: String
  }

  private struct State {
    var tickets: [String: (viewing: Viewing, host: Int)] = [:]
    var versions: [Viewing: PreviewedVersion] = [:]
    /// In the order in which they were made.
    var order: [Viewing] = []

    mutating func forget(_ viewing: Viewing) {
      guard let version = versions.removeValue(forKey: viewing) else { return }
      for host in version.hosts { tickets[host.label] = nil }
      order.removeAll { $0 == viewing }
    }
  }

  /// How long a ticket lasts, in milliseconds: an hour.
  static let lifetime: Int64 = 3_600_000
  /// Tickets, of all who look.
  static let limit = 1_000
  /// Versions that one token looks at: its oldest is forgotten for a further one.
  static let versionsPerCaller = 24

  let address: PreviewAddress
  /// The origin of the console's URL, if it is known.
  let console: String?
  private let clock: @Sendable () -> Int64
  private let state = Locked(State())

  /// - Parameter clock: returns milliseconds since 1970.
  init(_ address: PreviewAddress, console: String?, clock: @escaping @Sendable () -> Int64) {
    self.address = address
    self.console = console
    self.clock = clock
  }

  /// Returns the version that a ticket stands for, and the host in it; nil if it is unknown or has ended.
  func find(_ label: String) -> (version: PreviewedVersion, host: PreviewedVersion.Host)? {
    guard label.utf8.count == PreviewTicket.length else { return nil }
    let now = clock()
    return state.withLock { state in
      guard let ticket = state.tickets[label], let version = state.versions[ticket.viewing],
        Self.isLive(version, now)
      else { return nil }
      return (version, version.hosts[ticket.host])
    }
  }

  /// Returns the tickets of a viewing, which are new unless those of before last for half their time and have the page's host.
  func open(
    _ viewing: Viewing, _ channel: ChannelInfo, _ survey: PreviewSurvey, for page: ResourceURL
  ) -> PreviewedVersion {
    let now = clock()
    let hosts = survey.hosts(before: page)
    let frames = [console, viewing.console.isEmpty ? nil : viewing.console].compactMap(\.self)
    return state.withLock { state in
      if let known = state.versions[viewing], Self.isLive(known, now),
        known.expiresAt - now > Self.lifetime / 2, known.host(of: page) != nil
      {
        return known
      }
      state.forget(viewing)
      for old in state.order where state.versions[old].map({ !Self.isLive($0, now) }) ?? true {
        state.forget(old)
      }
      if state.order.count(where: { $0.caller == viewing.caller }) >= Self.versionsPerCaller,
        let oldest = state.order.first(where: { $0.caller == viewing.caller })
      {
        state.forget(oldest)
      }
      while state.tickets.count + hosts.count > Self.limit, let oldest = state.order.first {
        state.forget(oldest)
      }
      let version = PreviewedVersion(
        channel: channel, version: viewing.version,
        hosts: hosts.map { .init(authority: $0.authority, schemes: $0.schemes, label: PreviewTicket.make()) },
        fallbacks: survey.fallbacks, frames: Set(frames).sorted(), expiresAt: now + Self.lifetime)
      for (index, host) in version.hosts.enumerated() { state.tickets[host.label] = (viewing, index) }
      state.versions[viewing] = version
      state.order.append(viewing)
      return version
    }
  }

  /// Whether a version's tickets last still. Those of a clock that was ahead don't, or they would last until it is that late.
  private static func isLive(_ version: PreviewedVersion, _ now: Int64) -> Bool {
    version.expiresAt > now && version.expiresAt - now <= lifetime + slack
  }

  /// Milliseconds by which clocks are set back at most without anything being wrong: a minute.
  private static let slack: Int64 = 60_000

  /// How many tickets there are.
  var count: Int { state.withLock { $0.tickets.count } }
}
