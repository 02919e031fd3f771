#if !canImport(Darwin)
  import CLinux
  import Glibc

  /// What is specific to Linux; `Apple.swift` has the same names.
  @usableFromInline enum Native {
    /// The errno of the calling thread's last call.
    @usableFromInline static var errorNumber: Int32 { xcache_errno() }

    static func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
      xcache_openat(AT_FDCWD, path, flags | O_CLOEXEC, mode)
    }

    /// On Linux, fsync(2) reaches the disk itself.
    static func sync(_ file: Int32) -> Int32 { fsync(file) }

    /// syncfs(2) flushes the whole file system of a file.
    static let syncsFileSystems = true
    static func syncFileSystem(_ file: Int32) -> Int32 { xcache_syncfs(file) }

    /// Makes `to` a clone of `from` that shares its blocks.
    static func share(_ from: Int32, with to: Int32) -> Bool { xcache_reflink(from, to) == 0 }

    /// Copies in the kernel from both files' positions. Returns the number of bytes: 0 at the end, -1 for an error.
    static func copy(_ from: Int32, to: Int32) -> Int { xcache_copy_file_range(from, to, 1 << 30) }

    static func space(_ path: String, _ status: UnsafeMutablePointer<statvfs>) -> Int32 {
      statvfs(path, status)
    }

    /// The errno of a damaged file system.
    static let damagedFileSystem = EUCLEAN

    static func modified(_ status: stat) -> timespec { status.st_mtim }
    static func changed(_ status: stat) -> timespec { status.st_ctim }

    /// The process's own `environ`.
    static var environment: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? { xcache_environment() }

    static var descriptorLimit: rlimit {
      get {
        var limit = rlimit()
        _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return limit
      }
      set {
        var limit = newValue
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      }
    }

    /// The socket type of a byte stream.
    static let streamSocket = Int32(SOCK_STREAM.rawValue)

    static func trimMemory() { xcache_trim_memory() }
    static var heapInUse: Int { xcache_heap_in_use() }
    static func keepHeapSmall() { xcache_keep_heap_small() }

    static func exit(_ code: Int32) -> Never { Glibc.exit(code) }
  }

  // MARK: - Threads

  extension Native {
    typealias Thread = pthread_t

    /// Starts a thread that runs `body` with `argument`.
    static func start(
      _ argument: UnsafeMutableRawPointer,
      _ body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    ) throws(SystemError) -> Thread {
      var thread = pthread_t()
      let code = pthread_create(&thread, nil, body, argument)
      guard code == 0 else { throw SystemError("pthread_create", code: Errno(rawValue: code)) }
      return thread
    }

    static func nameThread(_ name: String) { xcache_name_thread(name) }

    /// nice(2): "according to POSIX, the nice value is a per-process setting. However, under … Linux/NPTL … it is a
    /// per-thread attribute".
    ///
    /// A thread starts with the priority of the one that started it, so the steps count from the process's main thread.
    static func lowerPriority(by steps: Int32) { _ = xcache_lower_priority(steps) }

    static func lowerDiskPriority() { _ = xcache_lower_disk_priority() }

    /// Makes a condition whose waits use the monotonic clock, which nobody sets.
    static func makeCondition(_ condition: UnsafeMutablePointer<pthread_cond_t>) {
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(condition, &attributes)
      pthread_condattr_destroy(&attributes)
    }

    /// Waits on a condition until `end` on the monotonic clock, and returns false once that has passed.
    static func wait(
      _ condition: UnsafeMutablePointer<pthread_cond_t>, _ mutex: UnsafeMutablePointer<pthread_mutex_t>,
      until end: timespec
    ) -> Bool {
      var end = end
      return pthread_cond_timedwait(condition, mutex, &end) != ETIMEDOUT
    }

    // Swift's Mutex is a futex here, which ThreadSanitizer doesn't see.
    static func sanitizerAcquires(_ mark: UnsafeRawPointer) { xcache_tsan_acquire(mark) }
    static func sanitizerReleases(_ mark: UnsafeRawPointer) { xcache_tsan_release(mark) }
  }
#endif
