import System
import Values

extension Device {
  /// The prefetch config that the device follows: while it holds the candidate of a rollout, the one that goes along with it, unless
  /// the channel has a newer one. (A static copy may have ended the rollout without a word: then its config's number says so.)
  public var prefetch: PrefetchPlan {
    let taken = index.candidate
    let named = rollout.withLock { $0.prefetch(holding: taken) }
    return documents.withLock { documents in
      let candidate = documents.candidatePrefetch
      return named == candidate.number && candidate.number > documents.prefetch.number
        ? candidate : documents.prefetch
    }
  }

  /// The policy that the device holds.
  public var runtimePolicy: RuntimePolicy { documents.withLock { $0.policy } }

  /// Returns the requests to send ahead when a page opens; none for a page that must not be intercepted.
  ///
  /// Requests to hosts that aren't in the app's list are left out.
  public func prefetchRequests(for page: String) -> [PrefetchRequest] {
    guard intercepts(page), isAllowed(page) else { return [] }
    return prefetch.requests(for: page).filter { isAllowed($0.url) }
  }

  /// Whether a URL's host is in the app's list.
  public func isAllowed(_ url: String) -> Bool {
    (try? ResourceURL(url)).map { settings.hosts.contains($0) } ?? false
  }

  /// Whether the policy allows a page to be answered from the device; `page(for:)` and `resource(for:on:)` check this
  /// themselves.
  public func intercepts(_ page: String) -> Bool {
    !isDisplaced && runtimePolicy.intercepts(page, at: policyTime)
  }

  /// Returns the file for a URL that a page requests, like `resource(for:)`; nil if the policy excludes the page.
  public func resource(for url: String, on page: String) throws(DeviceError) -> LocalResource? {
    intercepts(page) ? try resource(for: url) : nil
  }

  /// Has `body` called whenever another policy is in force: at once, on the thread that fetched it.
  package func onPolicyChange(_ body: @escaping @Sendable () -> Void) {
    policyChangeHandler.withLock { $0 = body }
  }
}
