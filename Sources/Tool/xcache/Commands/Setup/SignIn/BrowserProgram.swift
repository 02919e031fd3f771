import Linux
import Publishing
import System
import Values

/// The program that opens a web page for the person at this machine: the first of `$BROWSER`, or xdg-open on a desktop.
struct BrowserProgram: Equatable, Sendable {
  let path: String
  /// Its arguments; `%s` stands for the URL.
  let arguments: [String]

  /// Returns the program; nil if no browser can be opened here, as over SSH or in a container.
  init?(_ environment: [String: String], isProgram: (String) -> Bool = BrowserProgram.isProgram) {
    let candidates: [Substring]
    if let given = environment["BROWSER"], !given.isEmpty {
      // Several are separated by colons; none has one in it.
      candidates = given.split(separator: ":")
    } else if !(environment["DISPLAY"] ?? "").isEmpty || !(environment["WAYLAND_DISPLAY"] ?? "").isEmpty {
      candidates = ["xdg-open"]
    } else {
      return nil
    }
    for candidate in candidates {
      let words = candidate.split(separator: " ").map(String.init)
      guard let name = words.first, let path = Self.path(of: name, environment, isProgram) else { continue }
      self.path = path
      let rest = Array(words.dropFirst())
      arguments = rest.contains { $0.contains("%s") } ? rest : rest + ["%s"]
      return
    }
    return nil
  }

  private static func path(
    of name: String, _ environment: [String: String], _ isProgram: (String) -> Bool
  ) -> String? {
    if name.contains("/") { return isProgram(name) ? name : nil }
    return (environment["PATH"] ?? "").split(separator: ":").filter { $0.hasPrefix("/") }
      .map { "\($0)/\(name)" }.first(where: isProgram)
  }

  private static func isProgram(_ path: String) -> Bool {
    guard let status = try? Kernel.status(path) else { return false }
    return status.kind == .file && status.mode & 0o111 != 0
  }

  /// Starts it, without a shell and without this program's secrets. It goes on when this program has ended.
  func open(_ url: String, _ environment: [String: String]) throws(SystemError) {
    try ChildProcess.startDetached(
      path, arguments.map { $0.replacing("%s", with: url) },
      environment: environment.filter { !SignCommand.secrets.contains($0.key) })
  }
}

/// The console's page that asks a person about a sign-in, as an origin names it.
enum VerifyPage {
  /// Whether a browser may be sent to a URL that an origin names: http or https, and nothing that a program could take for an option or
  /// a command.
  static func isFit(_ url: String, of server: BaseURL) -> Bool {
    guard url.utf8.count <= 2048,
      url.utf8.allSatisfy({ ASCII.isUnreserved($0) || "/:?#[]=&%".utf8.contains($0) }),
      let base = try? BaseURL(String(url.prefix { $0 != "?" && $0 != "#" }))
    else { return false }
    // No way back from https.
    return base.text.hasPrefix("https://") || base.isLoopback || server.text.hasPrefix("http://")
  }
}
