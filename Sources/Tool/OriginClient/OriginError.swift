import HTTPClient
import OriginAPI
import Values

/// Why a request to an origin brought no usable answer.
package enum OriginError: Error, Sendable {
  /// Thrown when there is no answer after all attempts.
  case unreachable(server: String, HTTPClientError)
  /// Thrown when the server isn't an xcache origin: `found` says what was wrong with its answer, `status` is the answer's.
  case notAnOrigin(server: String, found: String, status: Int = 200)
  /// Thrown when something in front of the origin refuses the request: the origin itself would say why. `by` is the name that the
  /// answer gives, such as nginx; nil if it gives none.
  case blocked(server: String, status: Int, by: String?)
  /// Thrown when an act was sent but no attempt got the origin's answer: it may have been carried out.
  case unknownOutcome(server: String, RetryPolicy.Outcome)
  /// Thrown when the origin refuses the request.
  case refused(Problem)
  /// Thrown when the request's body can't be read: what its `read` threw.
  case body(any Error)

  /// Whether the origin is unreachable or failing.
  package var isOutage: Bool {
    switch self {
    case .unreachable, .unknownOutcome: true
    case .notAnOrigin(_, _, let status): status >= 500
    case .blocked: false
    case .refused(let problem): problem.status >= 500
    case .body: false
    }
  }

  /// The origin's refusal, or nil for other errors.
  package var problem: Problem? { if case .refused(let problem) = self { problem } else { nil } }
}

extension OriginError {
  /// What is wrong, where, and what to do about it.
  package var message: String {
    switch self {
    case .unreachable(let server, .reset) where server.hasPrefix("http:"):
      "\(server) can't be reached: it closed the connection; if it uses TLS, use https:// in the address"
    case .unreachable(let server, .couldNotConnect(let host, let port)):
      "\(server) can't be reached: nothing answers at \(host) port \(port); make sure 'xcache serve' is running there, or give another "
        + "server with --server or XCACHE_SERVER"
    case .unreachable(let server, let error): "\(server) can't be reached: \(error)"
    case .notAnOrigin(let server, let found, _): "\(server) doesn't answer like an xcache origin: \(found)"
    case .blocked(let server, let status, let name):
      "\(name ?? "something") in front of \(server) refuses this request (status \(status)); the origin would say why. A proxy "
        + "often lets only some addresses reach /api/: run this from one of those, such as a CI runner of your own, or have the "
        + "proxy pass /api/ on, which the origin protects by tokens"
    case .unknownOutcome(let server, let outcome):
      "\(server) gave no answer (\(outcome)), but may have made the change: check `xcache log` and "
        + "`xcache audit log` before you retry"
    case .refused(let problem): problem.message
    case .body(let error): "the data to send can't be read: \(error)"
    }
  }

  /// 3 if the origin refuses what was asked for, 1 otherwise.
  package var exitCode: Int32 {
    problem.map {
      $0.status == 409 || ["foreign-hosts", "secret"].contains($0.code) || $0.isOldRefusalToCreate
    } == true ? 3 : 1
  }
}

extension Problem {
  /// Origins of 0.2.0 and before create what doesn't exist, and refuse a request that says not to: it is sent only then.
  fileprivate var isOldRefusalToCreate: Bool {
    status == 400 && detail?.hasPrefix("\"create\" is not a member of this request") == true
  }

  /// The origin's own words, plus what the client knows to do about it.
  package var message: String {
    guard let detail else {
      return title
        + Listing.below(conflicts.map { "\($0.url) is in bundle \($0.bundle)" }, hint: "--json lists all")
    }
    if isOldRefusalToCreate {
      return
        "there is no such app or channel, and this origin's xcache is too old to name the nearest one. Nothing was "
        + "released. To create it, add --create"
    }
    if code == "not-found" { return "\(detail): the origin's xcache is too old for this; update it" }
    guard code == "token", !isAboutGivenToken else { return detail }
    return tokenSource.map { "\(detail). It came from \($0)" }
      ?? "\(detail); give one with --token or XCACHE_TOKEN, or run `xcache login`"
  }
}
