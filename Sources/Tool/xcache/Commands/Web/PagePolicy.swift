/// What a page's `<meta http-equiv="Content-Security-Policy">`, and the nonces of its scripts, mean for the pages' script and the
/// worker.
struct PagePolicy {
  private let policies: [ContentPolicy]
  /// Whether the script's line has a nonce, and whether other scripts have one.
  private let (hasNonce, othersHaveNonce): (Bool, Bool)

  /// Parses a page's policies.
  init(of page: [UInt8]) {
    let markup = PageMarkup(page)
    policies = markup.policies.map { ContentPolicy($0) }
    (hasNonce, othersHaveNonce) = (markup.loadHasNonce, markup.nonce != nil)
  }

  /// What to change in the page's policy; empty if nothing.
  var advice: [String] { policies.flatMap { $0.advice(hasNonce: hasNonce) } }

  /// Whether other scripts have a nonce and the script's line has none, which a policy in a header may refuse.
  var lacksNonce: Bool { othersHaveNonce && !hasNonce }
}
