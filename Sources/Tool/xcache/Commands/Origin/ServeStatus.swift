import Store
import System

/// The metrics of the process, its disk and its newest releases in `/metrics`.
struct ServeStatus: Sendable {
  private let store: Store
  /// The data folder.
  private let data: String
  private let start = Clock.unixMilliseconds() / 1000

  init(store: Store, data: String) {
    self.store = store
    self.data = data
  }

  /// The metrics in Prometheus's text exposition format; what the system doesn't tell is omitted.
  var prometheusText: String {
    var text = ""
    func add(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: String)]) {
      guard !samples.isEmpty else { return }
      text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
      for sample in samples { text += "\(name)\(sample.labels) \(sample.value)\n" }
    }
    func add(_ name: String, _ type: String, _ help: String, _ value: (some CustomStringConvertible)?) {
      add(name, type, help, value.map { [("", "\($0)")] } ?? [])
    }
    add(
      "xcache_build_info", "gauge", "The running version; always 1.",
      [("{version=\"\(XCache.version)\"}", "1")])
    add("process_start_time_seconds", "gauge", "When the server started, in seconds since 1970.", start)
    add(
      "process_cpu_seconds_total", "counter", "Processor time of the server, in seconds.",
      ProcessUse.processorSeconds)
    add(
      "process_resident_memory_bytes", "gauge", "Resident memory of the server.",
      ProcessMemory.resident)
    add("process_open_fds", "gauge", "Open descriptors.", ProcessUse.openDescriptors)
    add("process_max_fds", "gauge", "Limit on open descriptors.", Environment.descriptorLimit)
    let space = try? Kernel.space(data)
    add("xcache_disk_size_bytes", "gauge", "Size of the file system of the data folder.", space?.size)
    add("xcache_disk_available_bytes", "gauge", "Free space available to the server.", space?.available)
    add(
      "xcache_disk_reserve_bytes", "gauge",
      "Disk space reserved for urgent acts while the disk is full; 0: it is used up.", store.reserve.bytes
    )
    let channels = ((try? store.channels()) ?? []).map(\.full).compactMap { channel in
      channel.at.map { ("{app=\"\(channel.app)\",channel=\"\(channel.name)\"}", $0, channel.version) }
    }
    add(
      "xcache_newest_version", "gauge", "The newest version of each channel.",
      channels.map { ($0.0, $0.2.text) })
    add(
      "xcache_newest_release_timestamp_seconds", "gauge", "When it was released, in seconds since 1970.",
      channels.map { ($0.0, "\($0.1 / 1000)") })
    return text
  }
}
