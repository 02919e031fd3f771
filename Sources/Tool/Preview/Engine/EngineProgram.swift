import System

/// The engine's program: where it is, and what of the environment it gets.
package struct EngineProgram: Sendable {
  /// The program's name.
  package static let name = "xcache-webkit"
  /// The variable with its path, which replaces the search.
  static let variable = "XCACHE_WEBKIT"

  let path: String
  /// The variables that it gets.
  let environment: [String: String]

  /// Finds the program: in `XCACHE_WEBKIT`, beside this program, or in PATH.
  /// - Throws: `noEngine`.
  package init(_ environment: [String: String]) throws(PreviewError) {
    self.environment = Self.passed(environment)
    if let given = environment[Self.variable], !given.isEmpty {
      guard Self.isProgram(given) else { throw .noEngine(variable: given) }
      path = given
      return
    }
    let own = (try? Kernel.realPath("/proc/self/exe")).map(DurableFile.parent(of:))
    let folders = [own].compactMap { $0 } + (environment["PATH"] ?? "").split(separator: ":").map(String.init)
    guard let found = folders.map({ "\($0)/\(Self.name)" }).first(where: Self.isProgram) else {
      throw .noEngine(variable: nil)
    }
    path = found
  }

  private static func isProgram(_ path: String) -> Bool {
    guard let status = (try? Kernel.status(path)) ?? nil else { return false }
    return status.kind == .file && status.mode & 0o111 != 0
  }

  /// Returns the variables that a desktop program needs, and no others: it runs the code of pages, and variables may hold
  /// tokens and keys.
  static func passed(_ environment: [String: String]) -> [String: String] {
    environment.filter { name, value in
      (names.contains(name) || starts.contains { name.hasPrefix($0) })
        && TokenMask.first(in: Array(value.utf8)) == nil
    }
  }

  private static let names: Set<String> = [
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "http_proxy",
    "https_proxy",
    "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SWIFT_BACKTRACE",
  ]
  private static let starts = [
    "LC_", "XDG_", "FONTCONFIG_", "GDK_", "GIO_", "GSK_", "GST_", "GTK_", "G_", "LIBGL_", "MESA_", "WEBKIT_",
    "XCACHE_WEBKIT",
  ]
}
