import Foundation

/// WebKit's network process. WebKit doesn't say that it ended, and forgets its downloads.
struct NetworkProcess {
  private let id: pid_t

  /// The one that runs; nil where it isn't a child of this process, as in a Flatpak.
  static var current: NetworkProcess? {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.lazy.compactMap { pid_t($0) }.map(NetworkProcess.init).first(where: \.isRunning)
  }

  private init(_ id: pid_t) { self.id = id }

  /// Whether it hasn't ended.
  var isRunning: Bool {
    // proc_pid_stat(5): its number, its name in parentheses, of which there are 15 bytes, its state, its parent.
    guard let stat = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
      let start = stat.firstIndex(of: "("), let end = stat.lastIndex(of: ")"),
      stat[start...end] == "(WebKitNetworkPr)"
    else { return false }
    let fields = stat[end...].split(separator: " ")
    return fields.count > 2 && fields[1] != "Z" && fields[2] == "\(getpid())"
  }
}
