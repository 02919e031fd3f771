import Identity
import Store
import System
import Values

/// The command lines that wait to be signed in by a person at the console (RFC 8628; RFC 8252 for those that wait at 127.0.0.1). A
/// value without clock: times are monotonic milliseconds that the caller gives.
struct PendingSignIns {
  /// One of them.
  struct Entry {
    let userCode: String
    /// What it waits at; nil if it polls.
    let loopback: Loopback?
    let address: IPAddress
    /// When it asked, in milliseconds since 1970.
    let at: Int64
    fileprivate let end: Int64
    /// Milliseconds between polls.
    fileprivate var interval = PendingSignIns.interval * 1000
    fileprivate var lastPoll: Int64?
    fileprivate(set) var decision: Decision?
    /// The SHA-256 of what its token is asked with.
    fileprivate var key: SHA256
  }

  /// Where a command line waits for the browser.
  struct Loopback: Equatable {
    let port: UInt16
    /// The SHA-256 of its verifier, in base64url.
    let challenge: String
    let state: String
  }

  /// What the person decided.
  enum Decision {
    /// - Parameters:
    ///   - session: the session that decided, whose rights the command line gets.
    ///   - code: what the browser brings to the command line; nil if that polls.
    case allowed(session: AccessToken, code: String?)
    case denied(by: String)
  }

  /// What a poll finds.
  enum Poll {
    /// Nobody decided yet.
    case pending
    /// It polls faster than it may.
    case slowDown
    /// Someone said no; it is forgotten.
    case denied
    /// Never heard of, too old, or answered before.
    case unknown
    /// It is forgotten with this.
    case allowed(session: AccessToken)
  }

  /// Why none is added.
  enum Refusal: Error {
    case tooMany
    case tooManyOfAddress
  }

  /// Seconds between two polls.
  static let interval: Int64 = 5
  /// Seconds.
  static let lifetime: Int64 = 600
  static let most = 1000
  static let mostOfAddress = 20
  /// Milliseconds by which a poll may be early: networks delay one more than the next.
  private static let grace: Int64 = 500

  private var entries: [String: Entry] = [:]
  private var keys: [SHA256: String] = [:]

  /// Adds one that waits.
  /// - Parameters:
  ///   - deviceCode: the secret that it polls with.
  ///   - at: milliseconds since 1970.
  /// - Returns: its user code.
  mutating func add(
    _ deviceCode: String, _ loopback: Loopback?, from address: IPAddress, at: Int64, now: Int64
  )
    throws(Refusal) -> String
  {
    forget(now)
    guard entries.count < Self.most else { throw .tooMany }
    guard entries.values.count(where: { $0.address.holder == address.holder }) < Self.mostOfAddress else {
      throw .tooManyOfAddress
    }
    var code = UserCode.random()
    while entries[code] != nil { code = UserCode.random() }
    let key = Self.key(deviceCode)
    entries[code] = Entry(
      userCode: code, loopback: loopback, address: address, at: at, end: now + Self.lifetime * 1000, key: key)
    // One at 127.0.0.1 can't poll: whoever sends someone a link to allow would get the token without being at that machine.
    if loopback == nil { keys[key] = code }
    return code
  }

  /// Returns one that can be decided on or was.
  mutating func entry(_ userCode: String, now: Int64) -> Entry? {
    forget(now)
    return entries[userCode]
  }

  /// Notes a decision. The same one of the same session may come twice.
  /// - Returns: the entry with its decision; nil if there is none to decide on.
  mutating func decide(_ userCode: String, allow: Bool, by session: AccessToken, now: Int64) -> Entry? {
    forget(now)
    guard var entry = entries[userCode] else { return nil }
    switch entry.decision {
    case .allowed(let other, _): return allow && other.id == session.id ? entry : nil
    case .denied(let other): return !allow && other == session.id ? entry : nil
    case nil: break
    }
    if allow, entry.loopback != nil {
      let code = Hex.encode(Secrets.random(32).span.bytes)
      entry.key = Self.key(code)
      keys[entry.key] = userCode
      entry.decision = .allowed(session: session, code: code)
    } else {
      entry.decision = allow ? .allowed(session: session, code: nil) : .denied(by: session.id)
    }
    entries[userCode] = entry
    return entry
  }

  /// Answers a poll.
  mutating func poll(_ deviceCode: String, now: Int64) -> Poll {
    forget(now)
    guard let userCode = keys[Self.key(deviceCode)], var entry = entries[userCode], entry.loopback == nil
    else {
      return .unknown
    }
    switch entry.decision {
    case .allowed(let session, _):
      remove(entry)
      return .allowed(session: session)
    case .denied:
      remove(entry)
      return .denied
    case nil:
      let isEarly = entry.lastPoll.map { now - $0 < entry.interval - Self.grace } ?? false
      entry.lastPoll = now
      // RFC 8628 §3.5: "the interval MUST be increased by 5 seconds for this and all subsequent requests".
      if isEarly { entry.interval = min(entry.interval + 5000, 60_000) }
      entries[userCode] = entry
      return isEarly ? .slowDown : .pending
    }
  }

  /// Trades a code that a browser brought to 127.0.0.1.
  /// - Returns: the session that allowed it; nil if the code is unknown, was traded, or the verifier is another one. A wrong verifier
  ///   ends the code.
  mutating func trade(_ code: String, verifier: String, now: Int64) -> AccessToken? {
    forget(now)
    guard let userCode = keys[Self.key(code)], let entry = entries[userCode], let loopback = entry.loopback,
      case .allowed(let session, _) = entry.decision
    else { return nil }
    remove(entry)
    let given = SignInSecrets.challenge(of: verifier)
    return Secrets.equal(Array(given.utf8), Array(loopback.challenge.utf8)) ? session : nil
  }

  private mutating func remove(_ entry: Entry) {
    entries[entry.userCode] = nil
    keys[entry.key] = nil
  }

  private mutating func forget(_ now: Int64) {
    for entry in entries.values where entry.end <= now { remove(entry) }
  }

  /// The hash stands for the secret, so that no comparison tells how much of a guess is right.
  private static func key(_ secret: String) -> SHA256 { SHA256.of(Array(secret.utf8)) }
}

/// What a person reads in a terminal and compares in the console: `BCDF-GHJK`.
enum UserCode {
  /// RFC 8628 §6.1: no vowels, so that no words come up.
  private static let letters = Array("BCDFGHJKLMNPQRSTVWXZ")

  static func random() -> String {
    var code: [Character] = []
    while code.count < 8 {
      // 240 is the last multiple of 20 that a byte holds.
      for byte in Secrets.random(16) where byte < 240 && code.count < 8 {
        code.append(letters[Int(byte) % 20])
      }
    }
    return String(code[..<4]) + "-" + String(code[4...])
  }

  /// Returns a code as a person may have typed it; nil if it is none.
  static func read(_ text: String) -> String? {
    guard text.utf8.count <= 32 else { return nil }
    let code = text.uppercased().filter { $0 != "-" && $0 != " " }
    guard code.count == 8, code.allSatisfy(letters.contains) else { return nil }
    return "\(code.prefix(4))-\(code.dropFirst(4))"
  }
}
