import HTTP
import HTTPClient
import System
import Values

extension IdentityProvider {
  /// How long ago the ID token of a sign-in may have been made, in milliseconds: it comes straight from the provider.
  private static let tokenAge: Int64 = 10 * 60_000

  /// Returns the URL at which the browser signs in (OpenID Connect Core §3.1.2.1).
  /// - Parameters:
  ///   - redirectURI: where the answer goes.
  ///   - scopes: separated by spaces, `openid` among them.
  ///   - secrets: those of this sign-in.
  ///   - prompt: `none` to be signed in only without a question; nil: as the provider likes.
  /// - Throws: `providerDown`, `providerAnswer`, `busy`.
  package func authorizationURL(
    redirectURI: String, scopes: String, secrets: SignInSecrets, prompt: String? = nil
  ) throws(IdentityError) -> String {
    let client = try registered()
    guard let endpoint = try snapshot().metadata.authorization else {
      throw missing("authorization_endpoint")
    }
    var query = [
      ("response_type", "code"), ("client_id", client.id), ("redirect_uri", redirectURI), ("scope", scopes),
      ("state", secrets.state), ("nonce", secrets.nonce), ("code_challenge", secrets.challenge),
      ("code_challenge_method", "S256"),
    ]
    if let prompt { query.append(("prompt", prompt)) }
    // RFC 6749 §3.1: the endpoint's own query "MUST be retained".
    let joint =
      switch endpoint.query {
      case nil: "?"
      case ""?: ""
      default: "&"
      }
    return endpoint.text + joint + ProviderCaller.encoded(query)
  }

  /// Redeems the code of an answer, and verifies the ID token that it gives (OpenID Connect Core §3.1.3).
  ///
  /// A code is redeemed once: the request is never sent again.
  /// - Parameters:
  ///   - code: from the answer to the browser, whose state was compared.
  ///   - answerIssuer: `iss` of that answer (RFC 9207); nil if it had none.
  ///   - redirectURI: the same as in the authorization request.
  ///   - secrets: those of this sign-in.
  ///   - needed: claims that userinfo is asked for if the ID token lacks one of them and the provider has userinfo.
  package func signIn(
    code: String, answerIssuer: String?, redirectURI: String, secrets: SignInSecrets, needed: Set<String>
  ) throws(IdentityError) -> Claims {
    let client = try registered()
    let metadata = try snapshot().metadata
    try check(answerIssuer, metadata)
    let answer = try redeem(code, redirectURI, secrets.verifier, client, metadata)
    let rules = IDTokenRules(
      issuer: issuer, recipient: .client(client.id), nonce: secrets.nonce, maxAge: Self.tokenAge)
    var claims = try verify(try JSONWebToken(answer.idToken), by: rules)
    var needed = needed
    if needed.contains("email") { needed.insert("email_verified") }
    if !needed.allSatisfy(claims.has), let userinfo = metadata.userinfo, let token = answer.accessToken {
      claims.add(try self.userinfo(userinfo, token, of: claims.subject))
    }
    return claims
  }

  private func registered() throws(IdentityError) -> Client {
    guard let client else { throw .url(issuer.text, problem: "nobody signs in at this issuer") }
    return client
  }

  private func missing(_ endpoint: String) -> IdentityError {
    .providerAnswer(issuer.host, problem: "it has no \(endpoint): nobody can sign in there")
  }

  /// RFC 9207 §2.4: the answer of one provider mustn't be taken for that of another.
  private func check(_ answerIssuer: String?, _ metadata: ProviderMetadata) throws(IdentityError) {
    guard let answerIssuer else {
      if metadata.sendsIssuer { throw .answerIssuer }
      return
    }
    guard UTF8Order.areEqual(answerIssuer, issuer.text) else { throw .answerIssuer }
  }

  private struct TokenAnswer {
    let idToken: String
    /// For userinfo; nil if it isn't a bearer token.
    let accessToken: String?
  }

  private func redeem(
    _ code: String, _ redirectURI: String, _ verifier: String, _ client: Client, _ metadata: ProviderMetadata
  ) throws(IdentityError) -> TokenAnswer {
    guard let endpoint = metadata.token else { throw missing("token_endpoint") }
    var form = [
      ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectURI),
      ("code_verifier", verifier),
    ]
    let fields = try authenticate(client, metadata, &form)
    let reply = try caller.post(form, to: endpoint, fields: fields)
    let answer = try? JSONValue.parse(reply.body)
    guard reply.status == 200 else {
      guard let error = answer?["error"]?.string else {
        throw .providerAnswer(endpoint.place, problem: "it answers with status \(reply.status)")
      }
      let description = answer?["error_description"]?.string
      // Some repeat what they were sent.
      let secrets = [code, verifier, client.secret].compactMap { $0 }.filter { !$0.isEmpty }
      let isTold = description.map { text in !secrets.contains { text.contains($0) } } ?? false
      throw .refused(error: error, description: isTold ? description : nil)
    }
    guard let token = answer?["id_token"]?.string else {
      throw .providerAnswer(
        endpoint.place, problem: "it gives no ID token; the scopes have to contain \"openid\"")
    }
    let isBearer = answer?["token_type"]?.string?.lowercased() == "bearer"
    return TokenAnswer(idToken: token, accessToken: isBearer ? answer?["access_token"]?.string : nil)
  }

  /// Proves who the client is, in the way that the provider takes (RFC 6749 §2.3.1): returns the fields, and adds to the form.
  private func authenticate(
    _ client: Client, _ metadata: ProviderMetadata, _ form: inout [(String, String)]
  ) throws(IdentityError) -> HTTPFields {
    guard let secret = client.secret else {
      form.append(("client_id", client.id))
      return []
    }
    if metadata.authentication.contains("client_secret_basic") {
      // "encoded using the application/x-www-form-urlencoded encoding algorithm".
      let pair = [client.id, secret].map { PercentEncoding.encode($0) }.joined(separator: ":")
      return [("Authorization", "Basic " + Base64.encode(Array(pair.utf8)))]
    }
    guard metadata.authentication.contains("client_secret_post") else {
      throw .providerAnswer(
        issuer.host,
        problem: "it takes client secrets neither by client_secret_basic nor by client_secret_post")
    }
    form += [("client_id", client.id), ("client_secret", secret)]
    return []
  }

  /// The claims of userinfo (OpenID Connect Core §5.3).
  private func userinfo(_ url: ProviderURL, _ token: String, of subject: String) throws(IdentityError)
    -> JSONObject
  {
    // It goes into a header field.
    guard (1...JSONWebToken.limit).contains(token.utf8.count),
      token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { throw .providerAnswer(issuer.host, problem: "its access token can't be sent") }
    let body = try caller.document(url, bearer: token)
    guard let object = try? JSONValue.parse(body).object else {
      throw .providerAnswer(
        url.place, problem: "its userinfo isn't a JSON object; set it to be sent unsigned")
    }
    // "The sub Claim in the UserInfo Response MUST be verified to exactly match the sub Claim in the ID Token".
    guard let actual = object["sub"]?.string, UTF8Order.areEqual(actual, subject) else { throw .otherSubject }
    return object
  }
}
