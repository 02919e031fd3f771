import HTTP

/// What is answered below `/auth/`.
enum SignInRoute: String, CaseIterable {
  /// How people sign in here.
  case configuration = "/auth/"
  /// Sends the browser to the provider.
  case login = "/auth/login"
  /// The provider's answer, by the browser.
  case callback = "/auth/callback"
  /// A session of a token, for the console.
  case session = "/auth/session"
  /// Ends a session.
  case logout = "/auth/logout"
  /// A job's ID token for a token.
  case trade = "/auth/trade"
  /// A command line that wants to be signed in.
  case device = "/auth/device"
  /// The same, asking for its token.
  case token = "/auth/token"

  /// Returns the route of a path; nil if there is none.
  static func at(_ path: RawSpan) -> SignInRoute? {
    path.starts(with: "/auth/") ? SignInRoute(rawValue: path.text) : nil
  }

  /// Whether it is read; others are acts.
  private var isRead: Bool {
    switch self {
    case .configuration, .login, .callback: true
    case .session, .logout, .trade, .device, .token: false
    }
  }

  /// Its methods, as in the Allow field.
  var allow: String { isRead ? "GET, HEAD, OPTIONS" : "POST, OPTIONS" }

  func takes(_ method: Method) -> Bool { isRead ? method == .get || method == .head : method == .post }

  /// Where its work waits. What asks the provider may take 10 s, and has workers of its own: publishers and devices, jobs, and those
  /// who sign out, wait for none of it.
  var lane: Scheduling.Lane {
    switch self {
    case .login, .callback: .signIn
    case .trade: .trade
    case .configuration, .session, .logout, .device, .token: .open
    }
  }

  /// The largest body, in bytes.
  var bodyLimit: Int { self == .trade ? 64 << 10 : 4 << 10 }
}
