import Identity
import System
import Values

/// A sign-in between its begin and the provider's answer, kept by the provider's `state` alone: the origin remembers nothing of it.
///
/// The state is authenticated with a key of this process and the key in the browser's cookie (``LoginCookie``), so that an answer
/// counts only in the browser that began the sign-in (RFC 9700 §4.7). Because the cookie is the same for all of a browser's tabs,
/// any number of sign-ins in one browser work at once, and none makes the cookie longer. The nonce and the PKCE verifier come from
/// the same keys, and never leave the origin before they are needed.
struct LoginState: Equatable {
  /// What tells this sign-in from others: random bytes.
  let seed: [UInt8]
  /// Seconds since 1970.
  let begin: Int64
  /// The fragment of the console to return to, with `#`; empty for its first page.
  let returnTo: String

  static let browserKeyCount = 32
  private static let seedCount = 16
  private static let timeCount = 8
  private static let macCount = 32

  /// Begins a sign-in.
  init(returnTo: String, now: Int64) {
    seed = Secrets.random(Self.seedCount)
    begin = now
    self.returnTo = returnTo
  }

  /// The keys that authenticate a state.
  struct Keys {
    /// Of this process.
    let own: [UInt8]
    /// Of the browser.
    let browser: [UInt8]

    // All parts but the last have fixed lengths, so that no two messages are the same bytes.
    fileprivate func mac(_ purpose: UInt8, _ seed: [UInt8], _ rest: [UInt8] = []) -> [UInt8] {
      HMAC.sha256(own, [purpose] + browser + seed + rest)
    }
  }

  /// Why a state isn't taken.
  enum Refusal: Error {
    /// It isn't one of this process, or another browser began it.
    case foreign
    /// It was begun too long ago.
    case late
  }

  /// The text that goes to the provider and comes back.
  func text(_ keys: Keys) -> String {
    let time = withUnsafeBytes(of: begin.bigEndian) { Array($0) }
    let rest = time + Array(returnTo.utf8)
    let bytes = seed + time + keys.mac(1, seed, rest) + Array(returnTo.utf8)
    return Hex.encode(bytes.span.bytes)
  }

  /// Reads a state that came back.
  init(_ text: String, _ keys: Keys, now: Int64) throws(Refusal) {
    let fixed = Self.seedCount + Self.timeCount + Self.macCount
    let count = text.utf8.count / 2
    guard (fixed...fixed + ConsoleFragment.longest).contains(count),
      let bytes = Hex.decode(text, count: count)
    else { throw .foreign }
    seed = Array(bytes[..<Self.seedCount])
    let time = Array(bytes[Self.seedCount..<Self.seedCount + Self.timeCount])
    let mac = Array(bytes[Self.seedCount + Self.timeCount..<fixed])
    let fragment = Array(bytes[fixed...])
    guard Secrets.equal(mac, keys.mac(1, seed, time + fragment)) else { throw .foreign }
    begin = time.reduce(Int64(0)) { $0 << 8 | Int64($1) }
    returnTo = String(decoding: fragment, as: UTF8.self)
    guard now >= begin - 60, now - begin <= LoginCookie.lifetime else { throw .late }
  }

  /// What the provider is told and repeats: the state, the nonce and the PKCE verifier.
  func secrets(_ keys: Keys) -> SignInSecrets {
    SignInSecrets(
      state: text(keys), nonce: Hex.encode(keys.mac(2, seed).span.bytes),
      verifier: Hex.encode(keys.mac(3, seed).span.bytes))
  }
}

/// A place in the console, as `#/…`. Nothing else is ever returned to, so that no link leads through the sign-in to another site.
enum ConsoleFragment {
  /// Bytes.
  static let longest = 1024

  /// Returns a fragment with its `#`, fit for a Location field; empty if `text` is none.
  static func checked(_ text: String?) -> String {
    guard let text, text.hasPrefix("#/"), text.utf8.count <= longest,
      !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { return "" }
    // RFC 3986 §3.5. An escape that is there already stays one.
    let escaped =
      "#" + PercentEncoding.encode(String(text.dropFirst())) { "!$&'()*+,;=:@/?%".utf8.contains($0) }
    return escaped.utf8.count <= longest ? escaped : ""
  }
}

/// The states that were answered: each is exchanged once, so that a page that is loaded again asks the provider for nothing.
struct AnsweredStates {
  private var seeds: [[UInt8]: Int64] = [:]
  private static let most = 10_000

  /// Returns whether the state wasn't answered before.
  mutating func note(_ state: LoginState, now: Int64) -> Bool {
    if seeds.count >= Self.most {
      seeds = seeds.filter { now - $0.value <= LoginCookie.lifetime + 60 }
      // Only whoever signs in ten thousand times in ten minutes gets here; the code is good only once at the provider, too.
      if seeds.count >= Self.most { seeds.removeAll() }
    }
    return seeds.updateValue(state.begin, forKey: state.seed) == nil
  }
}
