/// A kind of secret that is recognised by its text.
///
/// The formats are those that the issuers document, or that their own scanners look for. Keys that are meant for browsers,
/// such as Google's `AIza…`, Stripe's `pk_…` and Mapbox's `pk.…`, are not among them.
struct SecretPattern: Sendable {
  /// What a message calls it.
  let noun: String
  /// The bytes that the search looks for: at least four, in this case only.
  let anchor: [UInt8]
  let rule: Rule

  /// What has to surround the anchor.
  enum Rule: Sendable {
    /// A value of an alphabet follows at once, and is this long; it doesn't continue a longer word.
    case value(SecretAlphabet, ClosedRange<Int>)
    /// The anchor is a name; its value, of at least this length, follows `:` or `=`.
    case named(SecretAlphabet, ClosedRange<Int>)
    /// A PEM header (RFC 7468) of a private key, with its key.
    case pem
    /// A JSON Web Key (RFC 7517) with its private part.
    case jwk
    /// The mark that OpenAI's keys have in their middle.
    case openAI
    /// The path of a Slack webhook.
    case slackHook
    /// An xcache token: 12 hexadecimal digits, `_`, 32 bytes in base64url.
    case xcacheToken
    /// The anchor alone.
    case itself
    /// Parts with one character between each two follow at once.
    case parts([(SecretAlphabet, ClosedRange<Int>)], between: UInt8)
    /// A value as above, that isn't a file's name: no dot follows.
    case noName(SecretAlphabet, ClosedRange<Int>)
    /// The second half of a Telegram bot's token, after its number.
    case telegram
    /// A URL's scheme: the URL has a user and a password.
    case password
    /// The name of Twilio or of its accounts' ids: a key, or a token that is named as such, is near. Both are too short to be
    /// recognised alone.
    case twilio
    /// A JSON Web Token (RFC 7519) whose contents name one of these, each in the three ways that base64 can have it.
    case token([String])
  }

  private init(_ noun: String, _ anchor: String, _ rule: Rule) {
    self.noun = noun
    self.anchor = Array(anchor.utf8)
    self.rule = rule
  }

  private static func patterns(_ noun: String, _ anchors: [String], _ rule: Rule) -> [SecretPattern] {
    anchors.map { SecretPattern(noun, $0, rule) }
  }

  /// A prefix of three bytes is too short for an anchor: these are the places where such a value begins.
  private static func begun(_ prefix: String) -> [String] {
    ["\"", "'", "`", "=", ":", " ", "\n"].map { $0 + prefix }
  }

  static let all: [SecretPattern] = [
    patterns("a private key", ["-----BEGIN "], .pem),
    patterns(
      "a private key of PuTTY",
      ["ssh-", "ecdsa-"].flatMap { kind in ["2", "3"].map { "PuTTY-User-Key-File-\($0): \(kind)" } }, .itself),
    patterns("an age key", ["AGE-SECRET-KEY-1"], .value(.alphanumeric, 58...58)),
    patterns("a private JSON Web Key", ["\"kty\"", "kty:\""], .jwk),
    patterns("an xcache token", ["xcache_"], .xcacheToken),
    patterns("an AWS access key", ["AKIA", "ASIA"], .value(.base32, 16...16)),
    patterns(
      "an AWS secret key",
      ["aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "ecretAccessKey"], .named(.base64, 40...40)),
    patterns("a GitHub token", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], .value(.alphanumeric, 36...36)),
    patterns("a GitHub token", ["github_pat_"], .value(.word, 82...82)),
    patterns("a GitLab token", ["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"], .value(.dotted, 20...80)),
    patterns(
      "a Slack token", ["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xapp-"],
      .value(.word, 24...400)),
    patterns("a Slack webhook", ["hooks.slack.com/services/"], .slackHook),
    patterns(
      "a Stripe secret key", ["sk_live_", "rk_live_", "sk_test_", "rk_test_"],
      .value(.alphanumeric, 24...250)),
    patterns("a Stripe webhook secret", ["whsec_"], .value(.base64, 32...80)),
    patterns("a Google service account's key", ["\"private_key_id\""], .named(.hex, 40...40)),
    patterns("a Google OAuth client secret", ["GOCSPX-"], .value(.word, 28...28)),
    patterns("an npm token", ["npm_"], .value(.alphanumeric, 36...36)),
    patterns("an npm token", ["_authToken"], .named(.dotted, 20...200)),
    patterns("a PyPI token", ["pypi-AgE"], .value(.word, 50...1000)),
    patterns("a RubyGems key", ["rubygems_"], .value(.hex, 48...48)),
    patterns("a Docker Hub token", ["dckr_pat_"], .value(.word, 27...27)),
    patterns("an OpenAI key", ["T3BlbkFJ"], .openAI),
    patterns("an Anthropic key", ["sk-ant-"], .value(.word, 60...200)),
    patterns("an Azure storage key", ["AccountKey="], .value(.base64, 88...88)),
    patterns("a DigitalOcean token", ["dop_v1_", "doo_v1_", "dor_v1_"], .value(.hex, 64...64)),
    patterns("a Shopify token", ["shpat_", "shpss_", "shpca_", "shppa_"], .value(.hex, 32...32)),
    patterns("a Mapbox secret token", ["sk.eyJ"], .value(.dotted, 60...400)),
    patterns("a Vault token", ["hvs.", "hvb."], .value(.word, 24...300)),
    patterns("a Linear key", ["lin_api_"], .value(.alphanumeric, 40...40)),
    patterns("a Postman key", ["PMAK-"], .value(.word, 59...59)),
    patterns("a Databricks token", ["dapi"], .value(.hex, 32...32)),
    patterns("a Grafana token", ["glsa_"], .value(.word, 41...41)),
    patterns("a Sentry token", ["sntrys_", "sntryu_"], .value(.base64, 60...400)),
    patterns("a New Relic key", ["NRAK-"], .value(.alphanumeric, 27...27)),
    patterns("an Atlassian token", ["ATATT3"], .value(.dotted, 100...300)),
    patterns("a PlanetScale password", ["pscale_tkn_", "pscale_pw_"], .value(.dotted, 32...64)),
    patterns("a Supabase token", ["sbp_"], .value(.hex, 40...40)),
    patterns("a Square secret", ["sq0csp-"], .value(.word, 43...43)),
    patterns("a Firebase server key", [":APA91b"], .value(.word, 134...134)),
    patterns("a Heroku key", ["HRKU-"], .value(.word, 36...80)),
    patterns("a SendGrid key", begun("SG."), .parts([(.word, 22...22), (.word, 43...43)], between: 0x2E)),
    patterns("a Hugging Face token", begun("hf_"), .value(.alphanumeric, 34...34)),
    patterns("a Telegram bot's token", [":AAE", ":AAF", ":AAG", ":AAH"], .telegram),
    patterns(
      "a Discord webhook", [".com/api/webhooks/"],
      .parts([(.digits, 17...20), (.word, 60...80)], between: 0x2F)),
    patterns("a Mailgun key", ["key-"], .noName(.hex, 32...32)),
    patterns("a Doppler token", ["dp.pt.", "dp.st.", "dp.sa."], .value(.dotted, 40...64)),
    patterns("a Google access token", ["ya29."], .value(.dotted, 40...400)),
    patterns("a key of a Kubernetes user", ["client-key-data"], .named(.base64, 100...4095)),
    patterns(
      "a key of Twilio", ["twilio", "Twilio", "TWILIO", "ccountSid", "CCOUNT_SID", "ccount_sid"], .twilio),
    patterns("a Groq key", ["gsk_"], .value(.alphanumeric, 52...52)),
    patterns("an OpenRouter key", ["sk-or-v1-"], .value(.hex, 64...64)),
    patterns("a Pulumi token", ["pul-"], .value(.hex, 40...40)),
    patterns("a Fly.io token", ["fm1r_", "fm2_"], .value(.base64, 80...2000)),
    patterns("an Alibaba Cloud access key", ["LTAI"], .value(.alphanumeric, 12...20)),
    patterns("an Alibaba Cloud secret key", ["ccessKeySecret"], .named(.alphanumeric, 30...30)),
    patterns("a Volcengine access key", ["AKLT"], .value(.base64, 40...48)),
    patterns("a key of DashScope or DeepSeek", begun("sk-"), .value(.hex, 32...32)),
    patterns("a Perplexity key", ["pplx-"], .value(.alphanumeric, 40...56)),
    patterns(
      "a Cloudflare token", ["CLOUDFLARE_API_TOKEN", "CF_API_TOKEN", "cloudflareApiToken"],
      .named(.word, 40...40)),
    patterns("a Vercel token", ["VERCEL_TOKEN", "vercelToken"], .named(.alphanumeric, 24...24)),
    patterns("a WireGuard key", ["PrivateKey"], .named(.base64, 44...44)),
    patterns("a Tencent Cloud key", ["AKID"], .value(.alphanumeric, 32...32)),
    patterns("an xAI key", ["xai-"], .value(.alphanumeric, 80...80)),
    patterns("a Replicate token", begun("r8_"), .value(.alphanumeric, 37...37)),
    patterns("a Tailscale key", ["tskey-auth-", "tskey-api-", "tskey-client-"], .value(.word, 24...80)),
    patterns("a Figma token", ["figd_"], .value(.word, 40...60)),
    patterns("a Notion token", ["ntn_"], .value(.alphanumeric, 43...50)),
    patterns("a Contentful token", ["CFPAT-"], .value(.word, 43...43)),
    patterns("a Supabase key", ["sb_secret_"], .value(.word, 22...60)),
    patterns(
      "a service role's token", ["eyJhbGci"],
      .token(["c2VydmljZV9yb2xl", "NlcnZpY2Vfcm9sZ", "zZXJ2aWNlX3JvbG"])),
    patterns(
      "a token of a Kubernetes service account", ["eyJhbGci"],
      .token([
        "a3ViZXJuZXRlcy5pby9zZXJ2aWNlYWNjb3Vud", "t1YmVybmV0ZXMuaW8vc2VydmljZWFjY291bn",
        "rdWJlcm5ldGVzLmlvL3NlcnZpY2VhY2NvdW50",
      ])),
    patterns(
      "a password in a URL",
      [
        "https://", "http://", "postgres://", "postgresql://", "mysql://", "mongodb://", "mongodb+srv://",
        "redis://",
        "rediss://", "amqp://", "amqps://", "ftp://", "mssql://", "sqlserver://", "smtp://", "smtps://",
      ], .password),
  ].flatMap(\.self)
}

// MARK: - Whether it is one

extension SecretPattern {
  /// Whether a text has such a secret at `index`, where the anchor is.
  func isSecret(_ text: SecretText, at index: Int) -> Bool {
    let end = index + anchor.count
    switch rule {
    case .itself: return true
    case .value(let alphabet, let counts):
      return isWhole(text, at: index) && Self.isValue(text, from: end, alphabet, counts)
    case .named(let alphabet, let counts): return Self.isNamed(text, from: end, alphabet, counts)
    case .noName(let alphabet, let counts):
      return isWhole(text, at: index) && Self.isValue(text, from: end, alphabet, counts)
        && text[text.end(of: alphabet, from: end)] != UInt8(ascii: ".")
    case .parts(let parts, let separator): return Self.areParts(text, from: end, parts, separator)
    case .telegram:
      let number = text.start(of: .digits, before: index)..<index
      let value = index + 1..<text.end(of: .word, from: index + 1)
      return (8...10).contains(number.count) && value.count == 35 && text.isPlausible(value)
    case .password: return text.hasPassword(from: end)
    case .twilio: return Self.isTwilio(text, near: index)
    case .token(let names):
      let token = index..<text.end(of: .dotted, from: end)
      return isWhole(text, at: index)
        && names.contains { text.first($0, from: index, before: token.upperBound) != nil }
    case .pem: return Self.isPEM(text, from: end)
    case .jwk: return Self.isKey(text, at: index)
    case .openAI:
      let start = text.start(of: .word, before: index)
      return index - start >= 20 && text.has(Array("sk-".utf8), at: start)
        && text.end(of: .word, from: end) - end >= 20
    case .slackHook:
      let path = end..<text.end(of: .base64, from: end)
      return path.count >= 40 && text.isPlausible(path)
    case .xcacheToken:
      let id = text.end(of: .hex, from: end)
      return isWhole(text, at: index) && id - end == 12 && text[id] == UInt8(ascii: "_")
        && text.end(of: .word, from: id + 1) - id == 44
    }
  }

  /// Whether the anchor isn't the middle of a longer word.
  private func isWhole(_ text: SecretText, at index: Int) -> Bool {
    guard let before = text[index - 1], let first = anchor.first,
      SecretAlphabet.alphanumeric.contains(first)
    else { return true }
    // A line break of a JSON or script string is written as \n.
    if before | 0x20 == UInt8(ascii: "n"), text[index - 2] == UInt8(ascii: "\\") { return true }
    return !SecretAlphabet.word.contains(before)
  }

  private static func isValue(
    _ text: SecretText, from start: Int, _ alphabet: SecretAlphabet, _ counts: ClosedRange<Int>
  ) -> Bool {
    let end = text.end(of: alphabet, from: start)
    guard counts.contains(end - start) else { return false }
    if let next = text[end], SecretAlphabet.alphanumeric.contains(next) { return false }
    return text.isPlausible(start..<end)
  }

  /// How far from its name a key of Twilio is looked for, in bytes.
  private static let near = 300

  private static func isTwilio(_ text: SecretText, near index: Int) -> Bool {
    let (start, end) = (max(0, index - near), min(text.count, index + near))
    var at = start
    while at < end {
      let word = at..<text.end(of: .word, from: at)
      if word.count == 34, text.has(Array("SK".utf8), at: at), isHex(text, word.dropFirst(2)) { return true }
      if word.count == 32, isHex(text, word), isNamedToken(text, before: at) { return true }
      at = max(word.upperBound, at) + 1
    }
    return false
  }

  private static func isHex(_ text: SecretText, _ range: Range<Int>) -> Bool {
    text.end(of: .hex, from: range.lowerBound) == range.upperBound && text.isPlausible(range)
  }

  /// Whether the value at an index is that of a member or variable whose name ends with `token`.
  private static func isNamedToken(_ text: SecretText, before index: Int) -> Bool {
    let quotesAndMarks = Set(#"'"`:= "#.utf8)
    var end = index
    while end > 0, index - end < 8, let byte = text[end - 1], quotesAndMarks.contains(byte) { end -= 1 }
    guard end < index, end >= 5 else { return false }
    return ["oken", "OKEN"].contains { text.has(Array($0.utf8), at: end - 4) }
  }

  private static func areParts(
    _ text: SecretText, from start: Int, _ parts: [(SecretAlphabet, ClosedRange<Int>)], _ separator: UInt8
  ) -> Bool {
    var index = start
    for (number, (alphabet, counts)) in parts.enumerated() {
      if number > 0 {
        guard text[index] == separator else { return false }
        index += 1
      }
      let end = text.end(of: alphabet, from: index)
      guard counts.contains(end - index) else { return false }
      index = end
    }
    return text.isPlausible(start..<index)
  }

  private static func isNamed(
    _ text: SecretText, from end: Int, _ alphabet: SecretAlphabet, _ counts: ClosedRange<Int>
  ) -> Bool {
    let quotes: Set<UInt8?> = [UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`")]
    var index = end
    if quotes.contains(text[index]) { index += 1 }
    index = text.skippingSpace(from: index)
    guard text[index] == UInt8(ascii: ":") || text[index] == UInt8(ascii: "=") else { return false }
    index = text.skippingSpace(from: index + 1)
    if quotes.contains(text[index]) { index += 1 }
    return isValue(text, from: index, alphabet, counts)
  }

  /// Whether a key follows a PEM header: libraries that write keys contain the header alone.
  private static func isPEM(_ text: SecretText, from start: Int) -> Bool {
    guard let dashes = text.first("-----", from: start, before: start + 40),
      text.first("PRIVATE KEY", from: start, before: dashes) != nil
    else { return false }
    var index = dashes + 5
    // Its headers (RFC 1421), quotes, and line breaks that are written as \n come before it.
    let limit = min(text.count, index + 320)
    let footer = text.first("-----", from: index, before: limit) ?? limit
    while index < footer {
      let end = text.end(of: .base64, from: index)
      if end - index >= 40, text.isPlausible(index..<end, distinct: 12) { return true }
      index = max(end, index) + 1
    }
    return false
  }

  private static let keyLimit = 4096

  /// Whether the JSON object around a `kty` has a private member: `d`, or `k` of a symmetric key (RFC 7518 §6).
  private static func isKey(_ text: SecretText, at index: Int) -> Bool {
    var start = index
    while start > 0, index - start < keyLimit, text[start] != UInt8(ascii: "{"),
      text[start] != UInt8(ascii: "}")
    { start -= 1 }
    guard text[start] == UInt8(ascii: "{") else { return false }
    var end = index
    while end < text.count, end - index < keyLimit, text[end] != UInt8(ascii: "}") { end += 1 }
    let quote = UInt8(ascii: "\"")
    var at = start + 1
    while at < end {
      defer { at += 1 }
      guard text[at] == UInt8(ascii: "d") || text[at] == UInt8(ascii: "k") else { continue }
      guard let before = text[at - 1],
        before == quote || before == UInt8(ascii: ",") || before == UInt8(ascii: "{")
      else { continue }
      var value = at + (before == quote && text[at + 1] == quote ? 2 : 1)
      value = text.skippingSpace(from: value)
      guard text[value] == UInt8(ascii: ":") else { continue }
      value = text.skippingSpace(from: value + 1)
      guard text[value] == quote else { continue }
      let last = text.end(of: .word, from: value + 1)
      if last - value > 20, text[last] == quote, text.isPlausible(value + 1..<last) { return true }
    }
    return false
  }
}
