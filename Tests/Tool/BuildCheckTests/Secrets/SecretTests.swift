import System
import Testing
import Manifests
import Values

@testable import BuildCheck

/// Secrets in front ends: each kind is found with its line, and similar text isn't.
@Suite struct SecretTests {
  /// A planted secret: its file, the text, and its description in the finding.
  struct Planted: CustomTestStringConvertible, Sendable {
    let path: String
    let text: String
    let noun: String
    var testDescription: String { "\(path): \(noun)" }
  }

  /// Returns random-looking letters and digits that are the same in each run.
  private static func random(_ count: Int, _ alphabet: String = alphanumeric, seed: UInt32 = 7) -> String {
    let letters = Array(alphabet)
    var state = seed
    return String(
      (0..<count).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return letters[Int(state >> 16) % letters.count]
      })
  }

  private static let hex = "0123456789abcdef"
  private static let alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
  private static let base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

  private static func pem(_ kind: String) -> String {
    "-----BEGIN \(kind)PRIVATE KEY-----\n\(random(64))\n\(random(64, seed: 9))\n-----END \(kind)PRIVATE KEY-----\n"
  }

  /// A key in the form of a JSON string.
  private static var serviceAccount: String {
    """
    {
      "type": "service_account",
      "private_key_id": "\(random(40, hex))",
      "client_email": "deploy@shop.iam.gserviceaccount.com"
    }
    """
  }

  private static func script(_ text: String) -> String {
    "// settings\nconst a = 1;\nexport const key = \"\(text)\";\n"
  }

  /// Found by content, on line 3 unless the text says otherwise.
  static let contents: [Planted] = [
    Planted(path: "server.pem", text: "a\nb\n" + pem(""), noun: "a private key"),
    Planted(path: "rsa.txt", text: "a\nb\n" + pem("RSA "), noun: "a private key"),
    Planted(path: "deploy.txt", text: "a\nb\n" + pem("OPENSSH "), noun: "a private key"),
    Planted(
      path: "encrypted.txt",
      text:
        "a\nb\n-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,\(random(32, hex))\n\n"
        + "\(random(64))\n-----END EC PRIVATE KEY-----\n", noun: "a private key"),
    Planted(
      path: "in-json.json", text: script(pem("").split(separator: "\n").joined(separator: "\\n")),
      noun: "a private key"),
    Planted(
      path: "pgp.asc",
      text:
        "a\nb\n-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n\(random(64))\n-----END PGP PRIVATE KEY BLOCK-----\n",
      noun: "a private key"),
    Planted(
      path: "key.txt", text: "a\nb\nPuTTY-User-Key-File-3: ssh-ed25519\n", noun: "a private key of PuTTY"),
    Planted(path: "age.txt", text: "a\nb\nAGE-SECRET-KEY-1\(random(58, base32))\n", noun: "an age key"),
    Planted(
      path: "jwk.json",
      text:
        "{\"keys\":[\n\n{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"\(random(43))\", \"d\": \"\(random(43, seed: 3))\"}]}",
      noun: "a private JSON Web Key"),
    Planted(
      path: "jwk.js", text: "const a = 1\n\nexport default {kty:\"oct\",k:\"\(random(43))\"}\n",
      noun: "a private JSON Web Key"),
    Planted(
      path: "token.js", text: script("xcache_\(random(12, hex))_\(random(43))"), noun: "an xcache token"),
    Planted(path: "aws.js", text: script("AKIA" + random(16, base32)), noun: "an AWS access key"),
    Planted(path: "aws-session.js", text: script("ASIA" + random(16, base32)), noun: "an AWS access key"),
    Planted(
      path: "aws.ini", text: "[default]\n\naws_secret_access_key = \(random(40))\n", noun: "an AWS secret key"
    ),
    Planted(path: "aws.ts", text: "{\n\nsecretAccessKey: '\(random(40))'}", noun: "an AWS secret key"),
    Planted(path: "github.js", text: script("ghp_" + random(36)), noun: "a GitHub token"),
    Planted(path: "github-app.js", text: script("ghs_" + random(36)), noun: "a GitHub token"),
    Planted(
      path: "github-fine.js", text: script("github_pat_\(random(22))_\(random(59))"), noun: "a GitHub token"),
    Planted(path: "gitlab.js", text: script("glpat-" + random(20)), noun: "a GitLab token"),
    Planted(
      path: "slack.js", text: script("xoxb-\(random(12, "123456789"))-\(random(24))"), noun: "a Slack token"),
    Planted(
      path: "slack-hook.js",
      text: script(
        "https://hooks.slack.com/services/T\(random(10, base32))/B\(random(10, base32))/\(random(24))"),
      noun: "a Slack webhook"),
    Planted(path: "stripe.js", text: script("sk_live_" + random(24)), noun: "a Stripe secret key"),
    Planted(path: "stripe-limited.js", text: script("rk_live_" + random(99)), noun: "a Stripe secret key"),
    Planted(path: "stripe-hook.js", text: script("whsec_" + random(32)), noun: "a Stripe webhook secret"),
    Planted(path: "google.json", text: serviceAccount, noun: "a Google service account's key"),
    Planted(path: "google.js", text: script("GOCSPX-" + random(28)), noun: "a Google OAuth client secret"),
    Planted(path: "npm.js", text: script("npm_" + random(36)), noun: "an npm token"),
    Planted(
      path: "npmrc.txt", text: "a\nb\n//registry.example.com/:_authToken=\(random(36))\n",
      noun: "an npm token"),
    Planted(path: "pypi.js", text: script("pypi-AgEIcHlwaS5vcmc" + random(60)), noun: "a PyPI token"),
    Planted(path: "docker.js", text: script("dckr_pat_" + random(27)), noun: "a Docker Hub token"),
    Planted(
      path: "openai.js", text: script("sk-proj-\(random(20))T3BlbkFJ\(random(20))"), noun: "an OpenAI key"),
    Planted(path: "anthropic.js", text: script("sk-ant-api03-" + random(90)), noun: "an Anthropic key"),
    Planted(
      path: "azure.js", text: script("DefaultEndpointsProtocol=https;AccountKey=\(random(86))=="),
      noun: "an Azure storage key"),
    Planted(path: "ocean.js", text: script("dop_v1_" + random(64, hex)), noun: "a DigitalOcean token"),
    Planted(path: "shopify.js", text: script("shpat_" + random(32, hex)), noun: "a Shopify token"),
    Planted(path: "vault.js", text: script("hvs." + random(90)), noun: "a Vault token"),
    Planted(path: "mapbox.js", text: script("sk.eyJ" + random(80)), noun: "a Mapbox secret token"),
    Planted(path: "mail.js", text: script("SG.\(random(22)).\(random(43))"), noun: "a SendGrid key"),
    Planted(path: "mail.txt", text: "a\nb\nKEY=SG.\(random(22)).\(random(43))\n", noun: "a SendGrid key"),
    Planted(path: "hugging.js", text: script("hf_" + random(34)), noun: "a Hugging Face token"),
    Planted(path: "bot.js", text: script("7123456780:AAE" + random(32)), noun: "a Telegram bot's token"),
    Planted(
      path: "hook.js",
      text: script("https://discord.com/api/webhooks/\(random(18, "123456789"))/\(random(68))"),
      noun: "a Discord webhook"),
    Planted(path: "mailgun.js", text: script("key-" + random(32, hex)), noun: "a Mailgun key"),
    Planted(
      path: "twilio.js", text: script("t.init('twilio', 'SK\(random(32, hex))')"), noun: "a key of Twilio"),
    Planted(
      path: "twilio-account.js",
      text: "a\nb\nconst c={accountSid:\"AC\(random(32, hex))\",authToken:\"\(random(32, hex, seed: 4))\"}\n",
      noun: "a key of Twilio"),
    Planted(path: "groq.js", text: script("gsk_" + random(52)), noun: "a Groq key"),
    Planted(
      path: "tailscale.js", text: script("tskey-auth-\(random(16))-\(random(32))"), noun: "a Tailscale key"),
    Planted(path: "figma.js", text: script("figd_" + random(40)), noun: "a Figma token"),
    Planted(
      path: "openrouter.js", text: script("sk-or-v1-" + random(64, hex)), noun: "an OpenRouter key"),
    Planted(path: "pulumi.js", text: script("pul-" + random(40, hex)), noun: "a Pulumi token"),
    Planted(path: "fly.js", text: script("FlyV1 fm2_" + random(200)), noun: "a Fly.io token"),
    Planted(path: "alibaba.js", text: script("LTAI5t" + random(18)), noun: "an Alibaba Cloud access key"),
    Planted(path: "tencent.js", text: script("AKID" + random(32)), noun: "a Tencent Cloud key"),
    Planted(
      path: "alibaba-secret.js", text: "const a = 1\nconst c = {\naccessKeySecret: \"\(random(30))\"}\n",
      noun: "an Alibaba Cloud secret key"),
    Planted(path: "volcengine.js", text: script("AKLT" + random(44)), noun: "a Volcengine access key"),
    Planted(
      path: "dashscope.js", text: script("sk-" + random(32, hex)), noun: "a key of DashScope or DeepSeek"),
    Planted(path: "perplexity.js", text: script("pplx-" + random(48)), noun: "a Perplexity key"),
    Planted(
      path: "cloudflare.sh", text: "a\nb\nCLOUDFLARE_API_TOKEN=\(random(40))\n", noun: "a Cloudflare token"),
    Planted(path: "vercel.sh", text: "a\nb\nVERCEL_TOKEN=\(random(24))\n", noun: "a Vercel token"),
    Planted(
      path: "wg0.conf", text: "[Interface]\n\nPrivateKey = \(random(43))=\n", noun: "a WireGuard key"),
    Planted(path: "xai.js", text: script("xai-" + random(80)), noun: "an xAI key"),
    Planted(path: "replicate.js", text: script("r8_" + random(37)), noun: "a Replicate token"),
    Planted(path: "notion.js", text: script("ntn_" + random(46)), noun: "a Notion token"),
    Planted(path: "contentful.js", text: script("CFPAT-" + random(43)), noun: "a Contentful token"),
    Planted(path: "supabase-key.js", text: script("sb_secret_" + random(31)), noun: "a Supabase key"),
    Planted(
      path: "mail.js", text: script("smtps://app:h7Kq2vX9mZ@mail.corp.net"), noun: "a password in a URL"),
    Planted(
      path: "mssql.js", text: script("mssql://sa:h7Kq2vX9mZ@db.corp.net/a"), noun: "a password in a URL"),
    Planted(path: "zero.js", text: "a=\"\0\"\nb\nk=\"ghp_\(random(36))\"\n", noun: "a GitHub token"),
    Planted(path: "doppler.js", text: script("dp.pt." + random(43)), noun: "a Doppler token"),
    Planted(path: "google-access.js", text: script("ya29." + random(120)), noun: "a Google access token"),
    Planted(
      path: "kube.yaml", text: "users:\n-\n  client-key-data: \(random(1600))\n",
      noun: "a key of a Kubernetes user"),
    Planted(
      path: "kube-token.yaml",
      text:
        "users:\n-\n  token: eyJhbGciOiJSUzI1NiJ9.\(random(20))a3ViZXJuZXRlcy5pby9zZXJ2aWNlYWNjb3Vud\(random(40)).\(random(80))\n",
      noun: "a token of a Kubernetes service account"),
    Planted(
      path: "supabase.js",
      text: script("eyJhbGciOiJIUzI1NiJ9.\(random(20))NlcnZpY2Vfcm9sZ\(random(40)).\(random(43))"),
      noun: "a service role's token"),
    Planted(
      path: "db.js", text: script("postgres://app:h7Kq-2vX9mZ@db.shop.internal:5432/app"),
      noun: "a password in a URL"),
    Planted(
      path: "mongo.js", text: script("mongodb+srv://app:h7Kq2vX9mZ@cluster0.ab1cd.mongodb.net"),
      noun: "a password in a URL"),
    Planted(
      path: "https.js", text: script("https://ci:h7Kq2vX9mZ@registry.shop.internal/"),
      noun: "a password in a URL"),
  ]

  /// Found by file name.
  static let names: [Planted] = [
    Planted(path: ".env", text: "A=1", noun: "a hidden file"),
    Planted(path: "app/.env.production", text: "A=1", noun: "a hidden file"),
    Planted(path: ".npmrc", text: "a", noun: "a hidden file"),
    Planted(path: ".htpasswd", text: "a", noun: "a hidden file"),
    Planted(path: ".aws/credentials", text: "a", noun: "in the hidden folder .aws"),
    Planted(path: "home/.ssh/known_hosts", text: "a", noun: "in the hidden folder home/.ssh"),
    Planted(path: "id_rsa", text: "a", noun: "a file of keys or passwords, by its name"),
    Planted(path: "keys/id_ed25519", text: "a", noun: "a file of keys or passwords, by its name"),
    Planted(path: "site.p12", text: "\0", noun: "a file of keys or passwords, by its name"),
    Planted(path: "release.KEYSTORE", text: "\0", noun: "a file of keys or passwords, by its name"),
    Planted(path: "admin.token", text: "a", noun: "a file of keys or passwords, by its name"),
    Planted(path: "env.production", text: "A=1", noun: "a file of keys or passwords, by its name"),
    Planted(path: "a/wp-config.php", text: "<?php", noun: "a file of keys or passwords, by its name"),
    Planted(path: "main.tfstate", text: "{}", noun: "a file of keys or passwords, by its name"),
  ]

  /// Text of published front ends that contains no secret.
  static let harmless: [String: String] = [
    "lib.js":
      "export const pem = k => \"-----BEGIN PRIVATE KEY-----\\n\" + k + \"\\n-----END PRIVATE KEY-----\"",
    "cert.pem": "-----BEGIN CERTIFICATE-----\n\(random(64))\n-----END CERTIFICATE-----\n",
    "public.pem": "-----BEGIN PUBLIC KEY-----\n\(random(64))\n-----END PUBLIC KEY-----\n",
    "docs.html": "<code>AKIAIOSFODNN7EXAMPLE</code> <code>ghp_\(String(repeating: "x", count: 36))</code>",
    "docs.js": "{aws_secret_access_key: \"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\", token: \"glpat-…\"}",
    "maps.js":
      "{apiKey: \"AIza\(random(35))\", stripe: \"pk_live_\(random(24))\", mapbox: \"pk.eyJ\(random(80))\"}",
    "jwk.json": "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(random(43))\",\"y\":\"\(random(43, seed: 5))\"}",
    "jose.js": "if(\"oct\"===e.kty)return{kty:\"oct\",k:b(e.k)};const d={kty:\"EC\",d:\"\"}",
    "words.js":
      "const xcache_settings=1,npm_package_version_of_the_application_being_built_now=2,lin_api_version=3",
    "urls.js":
      "[\"postgres://user:password@localhost/app\", \"https://user:pa55word1@host\", \"https://a:b@c.d/\", "
      + "\"https://m.example.com:8080/a@1.2.3\", `https://${user}:${word}@host`, \"http://admin:h7Kq2vX9mZ@example.com\"]",
    "anon.js": "const anon = \"eyJhbGciOiJIUzI1NiJ9.\(random(80)).\(random(43))\"",
    "names.js":
      "{a: \"key-\(random(32, hex)).svg\", b: \"hf_model\", c: \"SG.units\", d: \"12:AAEurope\", e: \"dp.pt.x\"}",
    "blob.js": "\"\(random(4000))AKIA\(random(4000, seed: 11))\"",
    "twilio.js":
      "import(\"twilio\").then(t => t({sid: process.env.TWILIO_ACCOUNT_SID, key: \"SK\", authToken: \"\"}))",
    "chunks.js": "{account: \"AC\(random(32, hex))\", \"SK\(random(32, hex))\": 1}",
    "clouds.js":
      "{accessKeySecret: \"\", id: \"sk-\(random(20))\", theme: \"pplx-dark\", vercelToken: e.token, PrivateKey: 1}",
    ".nojekyll": "", ".gitkeep": "", "a/.keep": "", ".well-known/assetlinks.json": "[]",
    ".buildinfo": "# Sphinx",
    ".vite/manifest.json": "{}", "a/b.min.css": ".a{}", "x.key.js": "1",
    "npmrc.md": "//registry.npmjs.org/:_authToken=${NPM_TOKEN}",
  ]

  private static func findings(_ files: [String: String], allowed: Set<String> = []) throws -> CheckReport {
    let bundle = CheckedBundle(
      try files.sorted { $0.key < $1.key }.map { path, text in
        CheckedBundle.File(
          url: try ResourceURL("https://m.example.com/shop/\(path)"), ctype: ContentType.of(fileName: path),
          location: "dist/\(path)", path: path, size: Int64(text.utf8.count))
      }, bases: [try BaseURL("https://m.example.com/shop/")], filter: FileFilter())
    var options = CheckOptions.all
    options.allowedSecrets = allowed
    let check = SiteCheck([bundle], options) { location in
      files[String(location.dropFirst(5))].map { Array($0.utf8) }
    }
    var report = CheckReport()
    try check.addSecrets(to: &report)
    return report
  }

  @Test(arguments: contents) func contentIsFound(_ planted: Planted) throws {
    let report = try Self.findings([planted.path: planted.text])
    try #require(report.findings.count == 1, "\(report.findings.map(\.text))")
    let finding = report.findings[0]
    #expect(finding.rule == .secret && finding.severity == .error && finding.line == 3)
    #expect(finding.message.hasPrefix("this looks like \(planted.noun), "))
    #expect(finding.message.hasSuffix("--allow-secret \(planted.path)"))
    // The value isn't repeated in any form.
    let printed = finding.text + String(decoding: report.json.canonical, as: UTF8.self)
    for word in planted.text.split(whereSeparator: { !$0.isLetter && !$0.isNumber }) where word.count >= 16 {
      #expect(!printed.contains(word))
    }
  }

  @Test(arguments: names) func nameIsFound(_ planted: Planted) throws {
    let report = try Self.findings([planted.path: planted.text])
    #expect(report.findings.map(\.rule) == [.secret] && report.errors == 1)
    #expect(report.findings.first?.message.hasPrefix("the file is \(planted.noun), ") == true)
    #expect(report.findings.first?.line == nil)
  }

  @Test func atLeastFortyKinds() { #expect(Self.contents.count + Self.names.count >= 40) }

  @Test func harmlessTextIsNotFound() throws {
    #expect(try Self.findings(Self.harmless).findings.map(\.text) == [])
  }

  /// A file in a zip is named by its path in the zip, not by where it was unpacked.
  @Test func fileInAZipIsNamedByItsPath() throws {
    var file = CheckedBundle.File(
      url: try ResourceURL("https://m.example.com/.env"), ctype: ContentType.of(fileName: ".env"),
      location: "/tmp/1/site.zip/.env", path: ".env", size: 3)
    file.shown = "build/site.zip/.env"
    let bundle = CheckedBundle(
      [file], bases: [try BaseURL("https://m.example.com/")], filter: FileFilter())
    var report = CheckReport()
    try SiteCheck([bundle], .all) { _ in Array("a=1".utf8) }.addSecrets(to: &report)
    #expect(report.findings.map(\.place) == ["build/site.zip/.env"])
  }

  @Test func oneFileIsAllowed() throws {
    let files = ["a.pem": Self.pem(""), "b.pem": Self.pem(""), "it's.pem": Self.pem("")]
    let report = try Self.findings(files, allowed: ["a.pem", "dist/it's.pem"])
    #expect(report.findings.map(\.place) == ["dist/b.pem"])
    #expect(
      report.allowedSecrets.map(\.text) == [
        "https://m.example.com/shop/a.pem", "https://m.example.com/shop/it's.pem",
      ])
    #expect(
      try Self.findings(files).findings.contains { $0.message.hasSuffix("--allow-secret 'it'\\''s.pem'") })
  }

  @Test func hiddenFolderIsReportedOnce() throws {
    var files = [".git-old/a": "a", "b/.cache/a": "a"]
    for number in 0..<40 { files[".git-old/\(number)"] = "a" }
    let report = try Self.findings(files)
    #expect(report.findings.count == 2)
    #expect(report.findings.contains { $0.message.hasSuffix("(40 more in this folder)") })
  }

  /// The pieces of a large file overlap, so that a secret is found anywhere.
  @Test(arguments: [0, 1, 1_048_570, 1_048_576, 1_056_000, 1_064_900, 2_200_000])
  func largeFileIsReadInPieces(
    _ place: Int
  ) throws {
    let line = String(repeating: "abcdefg ", count: 12) + "\n"
    var text = Array(String(repeating: line, count: 40_000).utf8)
    let start = place - place % line.utf8.count
    let secret = Array("é ghp_\(Self.random(36))\n".utf8)
    text.replaceSubrange(start..<start, with: secret)
    let folder = try ScratchFolder("secret")
    try DurableFile.write(text, to: "\(folder.path)/a.js")
    let file = try Kernel.open("\(folder.path)/a.js", .read)
    let found = try SecretFile.secrets(in: file, size: Int64(text.count))
    let whole = SecretFile.secrets(in: text)
    #expect(found == whole && found.map(\.noun) == ["a GitHub token"])
    #expect(found.first?.position?.line == start / line.utf8.count + 1 && found.first?.position?.column == 3)
  }

  /// Some programs write UTF-16 without a byte order mark; but binary files contain zeros, too.
  @Test(arguments: [false, true]) func utf16WithoutAMarkIsRead(isBig: Bool) throws {
    let text = "a\nb\ntoken=ghp_\(Self.random(36)) und Grüße\n"
    let bytes = text.utf16.flatMap { unit in
      let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
      return isBig ? [high, low] : [low, high]
    }
    let found = SecretFile.secrets(in: bytes)
    #expect(found.map(\.noun) == ["a GitHub token"] && found.first?.position?.line == 3)
    #expect(SecretFile.secrets(in: [0, 0] + bytes).isEmpty)
  }

  /// As written by editors and shells on Windows, with a byte order mark.
  @Test(arguments: [false, true]) func utf16IsRead(isBig: Bool) throws {
    let text = "a\nb\ntoken=ghp_\(Self.random(36))\n"
    var bytes: [UInt8] = isBig ? [0xFE, 0xFF] : [0xFF, 0xFE]
    for unit in text.utf16 {
      let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
      bytes += isBig ? [high, low] : [low, high]
    }
    let found = SecretFile.secrets(in: bytes)
    #expect(found.map(\.noun) == ["a GitHub token"] && found.first?.position?.line == 3)
    let large = bytes + (0..<1_200_000).map { $0 % 2 == (isBig ? 1 : 0) ? 0x20 : 0 }
    let folder = try ScratchFolder("secret")
    try DurableFile.write(large, to: "\(folder.path)/a.txt")
    #expect(try SecretFile.secrets(inFile: "\(folder.path)/a.txt") == found)
    #expect(SecretFile.secrets(in: [0xFF, 0xFE, 0x00, 0x00, 0x01, 0x00]).isEmpty)
  }

  @Test func binaryFilesAreNotRead() {
    #expect(SecretFile.secrets(in: [0] + Array(Self.pem("").utf8)).isEmpty)
    #expect(!SecretFile.secrets(in: Array(Self.pem("").utf8)).isEmpty)
    for count in 0..<8 { #expect(SecretFile.secrets(in: Array("ghp_xox-".utf8.prefix(count))).isEmpty) }
  }
}
