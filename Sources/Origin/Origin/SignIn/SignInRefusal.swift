import HTTP
import Identity
import OriginAPI
import Store

/// Why a person isn't signed in: for the page that says so, and for the log.
struct SignInRefusal: Error {
  let status: Status
  /// One of a fixed set.
  let code: String
  let title: String
  /// What is wrong and what to do, in sentences.
  let words: String
  /// Whether signing in again may help.
  let mayTryAgain: Bool

  init(
    _ status: Status, _ code: String, _ words: String, title: String = "You are not signed in",
    mayTryAgain: Bool = true
  ) {
    self.status = status
    self.code = code
    self.title = title
    self.words = words
    self.mayTryAgain = mayTryAgain
  }

  /// What the provider's answer, or its silence, means for the person.
  init(_ error: IdentityError) {
    let detail = error.message.capitalizedSentence
    guard error.isOfProvider else {
      self.init(.forbidden, error.code, detail)
      return
    }
    self.init(
      .serviceUnavailable, error.code,
      "\(detail) Try again in a minute. If it can't wait, an admin signs in to the console with a token, "
        + "which needs no provider.", title: "Signing in doesn't work now")
  }

  /// What the store says.
  init(_ error: StoreError) {
    let problem = Problem(error)
    self.init(
      Status(UInt16(clamping: problem.status)), problem.code,
      (problem.detail ?? problem.title).capitalizedSentence, mayTryAgain: problem.status >= 500)
  }
}

extension Problem {
  /// What the API says where an ID token isn't taken, or a provider can't be asked.
  init(_ error: IdentityError) {
    switch error {
    case _ where error.isOfProvider:
      self.init(.serviceUnavailable, error.code, error.message)
      retryAfter = error == .busy ? 2 : 10
    case .malformed, .tooLong: self.init(.badRequest, error.code, error.message)
    default: self.init(.forbidden, error.code, error.message)
    }
  }
}

extension String {
  /// The text as a sentence: with a capital letter and a period.
  fileprivate var capitalizedSentence: String {
    guard let first = unicodeScalars.first else { return self }
    let ends = last.map { ".!?".contains($0) } ?? true
    let begin = first.properties.isAlphabetic && first.isASCII ? prefix(1).uppercased() : String(prefix(1))
    return begin + dropFirst() + (ends ? "" : ".")
  }
}
