extension StoreError {
  /// What is said of people and CI jobs that can't sign in; empty for other errors.
  var signInMessage: String {
    switch self {
    case .noGrants:
      "none of the roles of this origin is yours; ask an admin, who gives roles with `xcache serve --role`"
    case .tooManyGrants(let count, let limit):
      """
      you have \(count) roles, and a session may have \(limit); ask an admin to give you fewer ones, which cover more, with \
      `xcache serve --role`
      """
    case .identityNameTaken(let name):
      "an identity named \"\(name)\" already exists; remove it first with `xcache identity remove`, or choose another name"
    case .unknownIdentity(let name):
      "no identity is named \"\(name)\"; `xcache identity list` shows all identities"
    case .tooManyIdentities(let limit):
      "there are \(limit) identities already, as many as allowed; remove one first with `xcache identity remove`"
    case .foreignIDToken(let name):
      """
      the ID token is not for identity \"\(name)\": its issuer is another one, or its subject doesn't match; \
      `xcache identity list` shows what an identity requires
      """
    case .idTokenExpired: "the ID token has expired; let the job ask for a new one"
    case .idTokenReplayed:
      "the ID token was traded before, and can't be traded twice; let the job ask for a new one"
    default: ""
    }
  }
}
