import OriginAPI

// How people and CI jobs get a token. The first four are asked without one.
extension OriginClient {
  /// Returns how people sign in here.
  package func signInConfiguration() throws(OriginError) -> SignInConfiguration {
    try send(OriginCall.signIn("", nil as EmptyRequest?)).value
  }

  /// Begins a sign-in that a person decides about in the console.
  package func beginSignIn(_ request: DeviceSignInRequest) throws(OriginError) -> DeviceSignInAnswer {
    try send(OriginCall.signIn("device", request)).value
  }

  /// Asks for the token of a sign-in.
  /// - Throws: `refused` with `authorization-pending`, `slow-down`, `access-denied`, `expired-token` or `invalid-verifier`.
  package func signInToken(_ request: SignInTokenRequest) throws(OriginError) -> SignInTokenAnswer {
    try send(OriginCall.signIn("token", request)).value
  }

  /// Trades a CI job's ID token for a token of the origin.
  package func trade(_ request: TradeRequest) throws(OriginError) -> OriginAnswer<TradeAnswer> {
    try send(OriginCall.signIn("trade", request))
  }

  /// Returns the identities of CI jobs, removed ones included.
  package func identities() throws(OriginError) -> OriginAnswer<IdentityList> { try get("identities") }

  /// Adds an identity.
  package func addIdentity(_ request: IdentityRequest) throws(OriginError) -> OriginAnswer<IdentityInfo> {
    try send(OriginCall("POST", "identities", request))
  }

  /// Removes an identity; what its jobs got ends with it.
  package func removeIdentity(_ name: String) throws(OriginError) -> OriginAnswer<IdentityInfo> {
    try send(OriginCall("DELETE", "identities/\(OriginCall.escaped(name))"))
  }

  /// Returns the sessions of people and the tokens of jobs, ended ones included; `kind` is `session` or `job`.
  package func tokens(of kind: String) throws(OriginError) -> OriginAnswer<TokenList> {
    try get("tokens?kind=\(OriginCall.escaped(kind))")
  }
}
