#if canImport(Darwin)
  import Darwin

  /// What is specific to Apple's systems; `Linux.swift` has the same names.
  @usableFromInline enum Native {
    /// The errno of the calling thread's last call.
    @usableFromInline static var errorNumber: Int32 { errno }

    static func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
      Darwin.open(path, flags | O_CLOEXEC, mode)
    }

    /// Flushes with F_FULLFSYNC, since after fsync(2) on macOS "the drive itself may not physically write the data to the
    /// platters for quite some time". File systems that don't support it get fsync(2).
    static func sync(_ file: Int32) -> Int32 {
      let result = fcntl(file, F_FULLFSYNC)
      return result == -1 && (errno == ENOTSUP || errno == EINVAL) ? fsync(file) : result
    }

    /// Apple's systems have no such call.
    static let syncsFileSystems = false
    static func syncFileSystem(_ file: Int32) -> Int32 { sync(file) }

    /// Always false: clonefile(2) only creates new files.
    static func share(_ from: Int32, with to: Int32) -> Bool { false }

    /// There is no such call for open files; EINVAL makes the caller copy by hand.
    static func copy(_ from: Int32, to: Int32) -> Int {
      errno = EINVAL
      return -1
    }

    static func space(_ path: String, _ status: UnsafeMutablePointer<statvfs>) -> Int32 {
      let file = open(path, O_RDONLY, 0)
      if file == -1 { return -1 }
      defer { _ = close(file) }
      return fstatvfs(file, status)
    }

    /// A damaged file system has no errno of its own.
    static let damagedFileSystem = EIO

    static func modified(_ status: stat) -> timespec { status.st_mtimespec }
    static func changed(_ status: stat) -> timespec { status.st_ctimespec }

    /// environ(7): "Shared libraries and bundles don't have direct access to environ".
    static var environment: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? { _NSGetEnviron().pointee }

    static var descriptorLimit: rlimit {
      get {
        var limit = rlimit()
        _ = getrlimit(RLIMIT_NOFILE, &limit)
        return limit
      }
      set {
        var limit = newValue
        // Without a hard limit, setrlimit(2) on macOS refuses more than OPEN_MAX.
        limit.rlim_cur = min(limit.rlim_cur, rlim_t(OPEN_MAX))
        _ = setrlimit(RLIMIT_NOFILE, &limit)
      }
    }

    /// The socket type of a byte stream.
    static let streamSocket = SOCK_STREAM

    /// Not needed: under memory pressure the system takes freed memory back itself.
    static func trimMemory() {}
    static var heapInUse: Int { 0 }
    static func keepHeapSmall() {}

    static func exit(_ code: Int32) -> Never { Darwin.exit(code) }
  }

  // MARK: - Threads

  extension Native {
    typealias Thread = pthread_t

    /// Starts a thread that runs `body` with `argument`.
    static func start(
      _ argument: UnsafeMutableRawPointer,
      _ body: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?
    ) throws(SystemError) -> Thread {
      var thread: pthread_t?
      let code = pthread_create(&thread, nil, body, argument)
      guard code == 0, let thread else { throw SystemError("pthread_create", code: Errno(rawValue: code)) }
      return thread
    }

    static func nameThread(_ name: String) { _ = pthread_setname_np(name) }

    /// nice(2) applies to the whole process here, so the thread gets a lower QoS class instead.
    static func lowerPriority(by steps: Int32) {
      _ = pthread_set_qos_class_self_np(
        steps >= OSThread.Priority.background.rawValue ? QOS_CLASS_BACKGROUND : QOS_CLASS_UTILITY, 0)
    }

    /// setiopolicy_np(3): a throttled thread waits for everybody else's reads and writes.
    static func lowerDiskPriority() {
      _ = setiopolicy_np(IOPOL_TYPE_DISK, IOPOL_SCOPE_THREAD, IOPOL_THROTTLE)
    }

    static func makeCondition(_ condition: UnsafeMutablePointer<pthread_cond_t>) {
      pthread_cond_init(condition, nil)
    }

    /// Waits on a condition until `end` on the monotonic clock, and returns false once that has passed. The clock can't be
    /// chosen here, so the time left is passed.
    static func wait(
      _ condition: UnsafeMutablePointer<pthread_cond_t>, _ mutex: UnsafeMutablePointer<pthread_mutex_t>,
      until end: timespec
    ) -> Bool {
      var rest = Clock.left(until: end)
      return pthread_cond_timedwait_relative_np(condition, mutex, &rest) != ETIMEDOUT
    }

    // Not needed: Swift's Mutex is an os_unfair_lock here, which ThreadSanitizer sees.
    static func sanitizerAcquires(_ mark: UnsafeRawPointer) {}
    static func sanitizerReleases(_ mark: UnsafeRawPointer) {}
  }
#endif
