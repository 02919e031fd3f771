import Values

/// What a provider says of itself (OpenID Connect Discovery §3, RFC 8414 §2).
struct ProviderMetadata: Sendable {
  /// Where its keys are.
  let keys: ProviderURL
  /// Where browsers sign in; nil for an issuer of jobs' tokens.
  let authorization: ProviderURL?
  /// Where codes are redeemed.
  let token: ProviderURL?
  /// Where claims are that the ID token doesn't have.
  let userinfo: ProviderURL?
  /// How a client can prove itself at the token endpoint.
  let authentication: [String]
  /// Whether answers to browsers have the issuer (RFC 9207 §3).
  let sendsIssuer: Bool

  /// - Throws: `providerAnswer`, also for an endpoint over http.
  init(_ bytes: [UInt8], of issuer: IssuerURL, from place: String) throws(IdentityError) {
    guard let object = try? JSONValue.parse(bytes).object else {
      throw .providerAnswer(place, problem: "it isn't a JSON object")
    }
    // "The issuer value returned MUST be identical to the Issuer URL that was used as the prefix" (§4.3).
    let actual = object["issuer"]?.string ?? ""
    guard UTF8Order.areEqual(actual, issuer.text) else {
      throw .providerAnswer(
        place,
        problem:
          "it calls its issuer \(Quoted.text(actual)), which has to be exactly \(Quoted.text(issuer.text))")
    }
    func endpoint(_ name: String) throws(IdentityError) -> ProviderURL? {
      guard let value = object[name] else { return nil }
      guard let text = value.string else { throw .providerAnswer(place, problem: "its \(name) isn't a URL") }
      do throws(IdentityError) {
        return try ProviderURL(text, allowsLoopback: issuer.isLoopback)
      } catch {
        throw .providerAnswer(place, problem: "its \(name) can't be used: \(error.message)")
      }
    }
    guard let keys = try endpoint("jwks_uri") else {
      throw .providerAnswer(place, problem: "it has no jwks_uri, where its keys are")
    }
    self.keys = keys
    authorization = try endpoint("authorization_endpoint")
    token = try endpoint("token_endpoint")
    userinfo = try endpoint("userinfo_endpoint")
    // "If omitted, the default is client_secret_basic."
    authentication =
      object["token_endpoint_auth_methods_supported"]?.array?.compactMap(\.string) ?? ["client_secret_basic"]
    sendsIssuer = object["authorization_response_iss_parameter_supported"]?.bool ?? false
  }
}
