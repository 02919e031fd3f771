import Foundation

/// WebKit's network process. WebKit doesn't report that it ended, and forgets its downloads.
struct NetworkProcess {
  private let id: pid_t

  /// The running network process; nil if it isn't a child of this process, as in a Flatpak.
  static var current: NetworkProcess? {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.lazy.compactMap { pid_t($0) }.map(NetworkProcess.init).first(where: \.isRunning)
  }

  private init(_ id: pid_t) { self.id = id }

  /// Whether the process hasn't ended.
  var isRunning: Bool {
    // proc_pid_stat(5): process ID, name in parentheses (cut to 15 bytes), state, parent.
    guard let stat = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
      let start = stat.firstIndex(of: "("), let end = stat.lastIndex(of: ")"),
      stat[start...end] == "(WebKitNetworkPr)"
    else { return false }
    let fields = stat[end...].split(separator: " ")
    return fields.count > 2 && fields[1] != "Z" && fields[2] == "\(getpid())"
  }
}
