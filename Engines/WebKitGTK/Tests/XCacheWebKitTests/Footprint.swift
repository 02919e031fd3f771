import Foundation

/// Resources of this process and of WebKit's network process, from /proc.
struct Footprint: CustomStringConvertible {
  /// Resident bytes.
  let app: Int
  let network: Int
  /// Descriptors of this process by kind: `socket`, `pipe`, `anon_inode:[eventfd]`, `file`.
  let descriptors: [String: Int]
  let networkDescriptors: Int
  /// Threads by name.
  let threads: [String: Int]
  /// Child processes, including zombies.
  let children: Int

  static func now() -> Footprint {
    let network = Processes.children(named: "WebKitNetworkPr").first
    return Footprint(
      app: Processes.residentBytes(of: getpid()), network: network.map(Processes.residentBytes) ?? 0,
      descriptors: Processes.descriptors(of: getpid()),
      networkDescriptors: network.map { Processes.descriptors(of: $0).values.reduce(0, +) } ?? 0,
      threads: Processes.threads, children: Processes.children().count)
  }

  /// All descriptors of this process.
  var allDescriptors: Int { descriptors.values.reduce(0, +) }

  /// All threads of this process.
  var allThreads: Int { threads.values.reduce(0, +) }

  var description: String {
    func list(_ counts: [String: Int]) -> String {
      counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }
    return "app \(app >> 10) KB, network process \(network >> 10) KB, \(allDescriptors) descriptors "
      + "(\(list(descriptors))), \(networkDescriptors) of the network process, \(allThreads) threads "
      + "(\(list(threads))), \(children) children"
  }
}

/// This process and its children, from /proc.
enum Processes {
  /// Children with this name, which the kernel cuts off at 15 bytes; nil: all. Zombies are included.
  static func children(named name: String? = nil) -> [pid_t] {
    names(in: "/proc").compactMap { pid_t($0) }.filter { id in
      guard let stat = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
        let start = stat.firstIndex(of: "("), let end = stat.lastIndex(of: ")")
      else { return false }
      let fields = stat[end...].split(separator: " ")
      guard fields.count > 2, fields[2] == "\(getpid())" else { return false }
      return name.map { stat[start..<end] == "(\($0)" } ?? true
    }
  }

  static func names(in folder: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
  }

  static func descriptors(of id: pid_t) -> [String: Int] {
    var kinds: [String: Int] = [:]
    for name in names(in: "/proc/\(id)/fd") {
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/fd/\(name)")
      else { continue }
      let kind =
        target.hasPrefix("anon_inode:") ? target : target.split(separator: ":").first.map(String.init)
      kinds[target.hasPrefix("/") ? "file" : kind ?? target, default: 0] += 1
    }
    return kinds
  }

  static var threads: [String: Int] {
    threads(of: getpid()).reduce(into: [:]) { $0[$1, default: 0] += 1 }
  }

  /// The names of a process's threads.
  static func threads(of id: pid_t) -> [String] {
    names(in: "/proc/\(id)/task").compactMap {
      (try? String(contentsOfFile: "/proc/\(id)/task/\($0)/comm", encoding: .utf8))?
        .trimmingCharacters(in: .newlines)
    }
  }

  static func residentBytes(of id: pid_t) -> Int { status(of: id, "VmRSS") }

  /// Peak resident bytes since `beginPeak`.
  static func peakBytes(of id: pid_t) -> Int { status(of: id, "VmHWM") }

  /// Resets `peakBytes` (proc(5), clear_refs).
  static func beginPeak(of id: pid_t) {
    try? "5".write(toFile: "/proc/\(id)/clear_refs", atomically: false, encoding: .ascii)
  }

  /// The addresses of the clients connected to a local port.
  static func connections(to port: UInt16) -> Set<String> {
    // Read to the end: the file's size is given as 0.
    let bytes = (try? FileHandle(forReadingAtPath: "/proc/self/net/tcp")?.readToEnd()) ?? Data()
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    let fields = lines.map { $0.split(separator: " ") }
    let here = ":" + String(format: "%04X", Int(port))
    // 01: established.
    return Set(fields.filter { $0.count > 3 && $0[1].hasSuffix(here) && $0[3] == "01" }.map { String($0[2]) })
  }

  private static func status(of id: pid_t, _ field: String) -> Int {
    let text = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix(field + ":") }
    let number = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
    return (number.flatMap { Int($0) } ?? 0) << 10
  }
}
