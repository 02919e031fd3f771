/// Who registers a mirror or holds a lease.
package enum Holder: Sendable {
  /// A run with the data folder in hand. What it does isn't in the audit trail, as it writes these tables alone.
  case local
  /// A token, and where it was shown.
  case token(AccessToken, address: String)

  /// As its rows have it.
  var owner: String {
    switch self {
    case .local: "local"
    case .token(let token, _): token.id
    }
  }

  /// For the audit trail.
  var actor: Actor {
    switch self {
    case .local: .local
    case .token(let token, let address): Actor(name: token.name, address: address)
    }
  }

  var token: AccessToken? {
    switch self {
    case .local: nil
    case .token(let token, _): token
    }
  }

  /// Whether it may undo what others hold.
  var isAdmin: Bool { token.map { $0.scope >= .admin && $0.isUnlimited } ?? true }
}

extension Database {
  /// Whether a row's owner is a token that is still in use, or a local run. A row of another one is nobody's: tokens are
  /// replaced, and what they held must not stay out of reach.
  func isInUse(owner: String?, now: Int64) throws(StoreError) -> Bool {
    guard let owner else { return false }
    if owner == Holder.local.owner { return true }
    return try value(
      Int64.self,
      "SELECT EXISTS (SELECT 1 FROM token WHERE id = ? AND revoked_at IS NULL AND coalesce(expires_at > ?, 1))",
      owner, now) == 1
  }
}
