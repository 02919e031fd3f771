#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The process's memory, as its operators see it.
package enum ProcessMemory {
  /// Bytes resident in memory (VmRSS), including the program's code; nil where the system doesn't tell.
  package static var resident: Int? { statm(1) }

  /// The part of `resident` that is backed by files, such as the program itself: it is shared with the page cache, and the system
  /// can reclaim it at will. nil where the system doesn't tell.
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

  /// Bytes allocated and not freed, resident or not; 0 where the system doesn't tell.
  package static var heapInUse: Int { Native.heapInUse }

  /// Makes freed memory return to the system as soon as possible, for a process that runs for months with occasional heavy work.
  /// Must be called before there are threads.
  package static func keepHeapSmall() { Native.keepHeapSmall() }

  /// Returns freed memory from anywhere in the heap to the system (malloc_trim(3)).
  /// Allocations block meanwhile: for some milliseconds if it is some hundred megabytes.
  package static func trim() { Native.trimMemory() }
}

/// What the process uses besides memory.
package enum ProcessUse {
  /// Processor time in seconds, of all threads, including the kernel's work for them.
  package static var processorSeconds: Double { Clock.processorSeconds() }

  /// The number of open descriptors; nil where the system doesn't tell.
  package static var openDescriptors: Int? {
    // proc(5): one name per descriptor, including that of the folder being read.
    (try? Folder.textNames("/proc/self/fd")).map { max(0, $0.count - 1) }
  }
}
