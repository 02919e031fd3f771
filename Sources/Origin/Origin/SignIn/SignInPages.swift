import HTTP
import Values

/// The pages of the sign-in: words for a person whose sign-in went wrong, and the way back. No scripts, no form; the console's style.
enum SignInPages {
  /// A page that says what happened.
  /// - Parameters:
  ///   - words: what is wrong and what to do.
  ///   - again: a place in the console to sign in for; nil if signing in again wouldn't help.
  static func page(_ status: Status, _ title: String, _ words: String, again: String? = nil) -> Response {
    let link = again.map { "<p><a href=\"\(HTMLText.escaped(loginPath($0)))\">Sign in again</a></p>\n" } ?? ""
    let text = """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <meta name="color-scheme" content="light dark">
      <title>\(HTMLText.escaped(title)) · xcache</title>
      <link rel="stylesheet" href="/console/console.css">
      </head>
      <body>
      <main>
      <h1>\(HTMLText.escaped(title))</h1>
      <p>\(HTMLText.escaped(words))</p>
      \(link)<p><a href="/console/">Go to the console</a></p>
      </main>
      </body>
      </html>

      """
    return Response(
      status, contentType: "text/html; charset=utf-8", text,
      fields + [
        (
          "Content-Security-Policy",
          "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ), ("Cross-Origin-Opener-Policy", "same-origin"),
      ])
  }

  /// The answer that sends the browser elsewhere.
  /// - Parameter cookies: Set-Cookie fields.
  static func redirect(_ status: Status, to url: String, cookies: [String] = []) -> Response {
    Response(status, HeadFields([("Location", url)] + fields + cookies.map { ("Set-Cookie", $0) }))
  }

  /// What every answer below `/auth/` has: no cache keeps it, and no other site learns the URL that led to it.
  static let fields: [(StaticString, String)] = [
    ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
  ]

  /// The path that signs in and returns to a place in the console.
  private static func loginPath(_ fragment: String) -> String {
    guard !fragment.isEmpty else { return "/auth/login" }
    return "/auth/login?return=" + PercentEncoding.encode(fragment, keepsSlashes: true)
  }
}
