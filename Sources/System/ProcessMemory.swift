import Libc

/// The process's own memory, as those who run it see it.
package enum ProcessMemory {
  /// Bytes that are in memory (VmRSS), the program's own among them; nil where the system doesn't tell.
  package static var resident: Int? { statm(1) }

  /// Of these, the bytes of files, such as the program's own, which the system shares with its cache and takes back at will;
  /// nil where it doesn't tell.
  package static var fileBacked: Int? { statm(2) }

  private static func statm(_ field: Int) -> Int? {
    // proc(5): size, resident, shared and so on, in pages.
    guard let file = try? Kernel.openExisting("/proc/self/statm", .read) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 128)
    let read = bytes.withUnsafeMutableBytes { buffer in try? Kernel.read(file, into: buffer) }
    let fields = bytes.prefix(read ?? 0).split(separator: UInt8(ascii: " "))
    guard fields.count > field, let pages = Int(String(decoding: fields[field], as: UTF8.self)) else {
      return nil
    }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// Bytes that were asked for and not freed, whether or not all of them are in memory; 0 where the system doesn't tell.
  package static var heapInUse: Int { Native.heapInUse }

  /// For a process that runs for months and does large work now and then: what is freed goes back to the system as soon as
  /// it can. To be called before there are threads.
  package static func keepHeapSmall() { Native.keepHeapSmall() }

  /// Gives the system back what was freed and is kept for later, wherever it lies in the heap (malloc_trim(3)).
  /// Whoever wants memory meanwhile waits for it: some milliseconds where it is some hundred megabytes.
  package static func trim() { Native.trimMemory() }
}

/// What the process takes of the machine besides memory.
package enum ProcessUse {
  /// Seconds of processor time, of all threads, the kernel's work for them among it.
  package static var processorSeconds: Double { Clock.processorSeconds() }

  /// Open descriptors; nil where the system doesn't tell.
  package static var openDescriptors: Int? {
    // proc(5): one name for each descriptor, that of the folder which is read here among them.
    (try? Folder.textNames("/proc/self/fd")).map { max(0, $0.count - 1) }
  }
}
