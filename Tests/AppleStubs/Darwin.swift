// swift-format-ignore-file
// A stand-in for Apple's C library: the declarations that our code uses, from Apple's manual pages and documented headers,
// with bodies that nobody runs. It exists so that a machine without Apple's SDK can type-check the code that is for it.
// Results of C functions may be left unused. Where C gives a function and a struct one name, Swift can't declare both here,
// and the code uses another function.

// MARK: - Types

public typealias mode_t = UInt16
public typealias dev_t = Int32
public typealias ino_t = UInt64
public typealias off_t = Int64
public typealias time_t = Int
public typealias pid_t = Int32
public typealias uid_t = UInt32
public typealias rlim_t = UInt64
public typealias fsblkcnt_t = UInt32
public typealias sigset_t = UInt32

public struct timespec {
  public var tv_sec: time_t
  public var tv_nsec: Int
  public init() { (tv_sec, tv_nsec) = (0, 0) }
  public init(tv_sec: time_t, tv_nsec: Int) { (self.tv_sec, self.tv_nsec) = (tv_sec, tv_nsec) }
}

public struct stat {
  public var st_dev: dev_t = 0
  public var st_mode: mode_t = 0
  public var st_uid: uid_t = 0
  public var st_nlink: UInt16 = 0
  public var st_ino: ino_t = 0
  public var st_size: off_t = 0
  public var st_blocks: Int64 = 0
  public var st_mtimespec = timespec()
  public var st_ctimespec = timespec()
  public init() {}
}

public struct statvfs {
  public var f_frsize: UInt = 0
  public var f_blocks: fsblkcnt_t = 0
  public var f_bavail: fsblkcnt_t = 0
  public init() {}
}

public struct rlimit {
  public var rlim_cur: rlim_t = 0
  public var rlim_max: rlim_t = 0
  public init() {}
}

public struct tm {
  public var tm_sec: Int32 = 0
  public var tm_min: Int32 = 0
  public var tm_hour: Int32 = 0
  public var tm_mday: Int32 = 0
  public var tm_mon: Int32 = 0
  public var tm_year: Int32 = 0
  public init() {}
}

public struct DIR {}
public struct dirent {
  /// 1,024 bytes in C; only its address is taken.
  public var d_name: (CChar, CChar) = (0, 0)
}

public struct clockid_t: Equatable, Sendable {
  public let rawValue: UInt32
}

public typealias socklen_t = UInt32
public struct sockaddr {}
public struct addrinfo {
  public var ai_flags: Int32 = 0
  public var ai_family: Int32 = 0
  public var ai_socktype: Int32 = 0
  public var ai_protocol: Int32 = 0
  public var ai_addrlen: socklen_t = 0
  public var ai_canonname: UnsafeMutablePointer<CChar>!
  public var ai_addr: UnsafeMutablePointer<sockaddr>!
  public var ai_next: UnsafeMutablePointer<addrinfo>!
  public init() {}
}

// MARK: - Numbers

public let AF_UNSPEC: Int32 = 0
public let AF_INET: Int32 = 2
public let AF_INET6: Int32 = 30
public let SOCK_STREAM: Int32 = 1

public let O_RDONLY: Int32 = 0
public let O_WRONLY: Int32 = 1
public let O_RDWR: Int32 = 2
public let O_NONBLOCK: Int32 = 4
public let O_APPEND: Int32 = 8
public let O_NOFOLLOW: Int32 = 0x100
public let O_CREAT: Int32 = 0x200
public let O_TRUNC: Int32 = 0x400
public let O_EXCL: Int32 = 0x800
public let O_DIRECTORY: Int32 = 0x10_0000
public let O_CLOEXEC: Int32 = 0x100_0000
public let AT_FDCWD: Int32 = -2
public let AT_SYMLINK_NOFOLLOW: Int32 = 0x20
public let F_FULLFSYNC: Int32 = 51
public let S_IFMT: mode_t = 0o170000
public let S_IFREG: mode_t = 0o100000
public let S_IFDIR: mode_t = 0o040000
public let S_IFLNK: mode_t = 0o120000
public let LOCK_EX: Int32 = 2
public let LOCK_NB: Int32 = 4
public let LOCK_UN: Int32 = 8
public let RLIMIT_NOFILE: Int32 = 8
public let OPEN_MAX: Int32 = 10240
public let _SC_NPROCESSORS_ONLN: Int32 = 58
public let _SC_PAGESIZE: Int32 = 29
public let SIGHUP: Int32 = 1
public let SIGINT: Int32 = 2
public let SIGPIPE: Int32 = 13
public let SIGXFSZ: Int32 = 25
public let SIGTERM: Int32 = 15
public let SIG_BLOCK: Int32 = 1
public var SIG_IGN: @convention(c) (Int32) -> Void { { _ in } }
public let IOPOL_TYPE_DISK: Int32 = 0
public let IOPOL_SCOPE_THREAD: Int32 = 1
public let IOPOL_THROTTLE: Int32 = 3
public let CLOCK_REALTIME = clockid_t(rawValue: 0)
public let CLOCK_MONOTONIC = clockid_t(rawValue: 6)
public let CLOCK_PROCESS_CPUTIME_ID = clockid_t(rawValue: 12)

public let EPERM: Int32 = 1
public let ENOENT: Int32 = 2
public let EINTR: Int32 = 4
public let EIO: Int32 = 5
public let ENXIO: Int32 = 6
public let EBADF: Int32 = 9
public let EACCES: Int32 = 13
public let EFAULT: Int32 = 14
public let EEXIST: Int32 = 17
public let EXDEV: Int32 = 18
public let ENODEV: Int32 = 19
public let ENOTDIR: Int32 = 20
public let EISDIR: Int32 = 21
public let EINVAL: Int32 = 22
public let ENFILE: Int32 = 23
public let EMFILE: Int32 = 24
public let EFBIG: Int32 = 27
public let ENOSPC: Int32 = 28
public let ESPIPE: Int32 = 29
public let EMLINK: Int32 = 31
public let EPIPE: Int32 = 32
public let EWOULDBLOCK: Int32 = 35
public let ENOTSUP: Int32 = 45
public let EADDRINUSE: Int32 = 48
public let ETIMEDOUT: Int32 = 60
public let ELOOP: Int32 = 62
public let ENAMETOOLONG: Int32 = 63
public let ENOTEMPTY: Int32 = 66
public let EDQUOT: Int32 = 69
public let ESTALE: Int32 = 70
public let ENOSYS: Int32 = 78
public let EBADMSG: Int32 = 94
public let ENODATA: Int32 = 96

// MARK: - Files

public var errno: Int32 {
  get { 0 }
  set {}
}
@discardableResult public func open(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t) -> Int32 {
  -1
}
@discardableResult public func close(_ file: Int32) -> Int32 { -1 }
public func dup(_ file: Int32) -> Int32 { -1 }
@discardableResult public func read(_ file: Int32, _ bytes: UnsafeMutableRawPointer!, _ count: Int) -> Int {
  -1
}
@discardableResult public func pread(
  _ file: Int32, _ bytes: UnsafeMutableRawPointer!, _ count: Int, _ at: off_t
) -> Int { -1 }
public func pwrite(
  _ file: Int32, _ bytes: UnsafeRawPointer!, _ count: Int, _ at: off_t
) -> Int { -1 }
@discardableResult public func write(_ file: Int32, _ bytes: UnsafeRawPointer!, _ count: Int) -> Int { -1 }
@discardableResult public func fsync(_ file: Int32) -> Int32 { -1 }
@discardableResult public func fcntl(_ file: Int32, _ command: Int32) -> Int32 { -1 }
@discardableResult public func fcntl(_ file: Int32, _ command: Int32, _ value: Int32) -> Int32 { -1 }
public let F_GETFL: Int32 = 3
public let F_SETFL: Int32 = 4
public let R_OK: Int32 = 4
public let W_OK: Int32 = 2
public let X_OK: Int32 = 1
public let AT_EACCESS: Int32 = 16
public func faccessat(_ folder: Int32, _ path: UnsafePointer<CChar>!, _ mode: Int32, _ flags: Int32) -> Int32 { -1 }
@discardableResult public func ftruncate(_ file: Int32, _ size: off_t) -> Int32 { -1 }
@discardableResult public func rename(_ from: UnsafePointer<CChar>!, _ to: UnsafePointer<CChar>!) -> Int32 {
  -1
}
@discardableResult public func link(_ from: UnsafePointer<CChar>!, _ to: UnsafePointer<CChar>!) -> Int32 {
  -1
}
@discardableResult public func unlink(_ path: UnsafePointer<CChar>!) -> Int32 { -1 }
@discardableResult public func rmdir(_ path: UnsafePointer<CChar>!) -> Int32 { -1 }
@discardableResult public func chmod(_ path: UnsafePointer<CChar>!, _ mode: mode_t) -> Int32 { -1 }
@discardableResult public func mkdir(_ path: UnsafePointer<CChar>!, _ mode: mode_t) -> Int32 { -1 }
@discardableResult public func flock(_ file: Int32, _ operation: Int32) -> Int32 { -1 }
@discardableResult public func fstat(_ file: Int32, _ status: UnsafeMutablePointer<stat>!) -> Int32 { -1 }
@discardableResult public func fstatat(
  _ folder: Int32, _ path: UnsafePointer<CChar>!, _ status: UnsafeMutablePointer<stat>!, _ flags: Int32
) -> Int32 { -1 }
@discardableResult public func fstatvfs(_ file: Int32, _ status: UnsafeMutablePointer<statvfs>!) -> Int32 {
  -1
}
@discardableResult public func utimensat(
  _ folder: Int32, _ path: UnsafePointer<CChar>!, _ times: UnsafePointer<timespec>!, _ flags: Int32
) -> Int32 { -1 }
@discardableResult public func opendir(_ path: UnsafePointer<CChar>!) -> UnsafeMutablePointer<DIR>! { nil }
@discardableResult public func readdir(_ stream: UnsafeMutablePointer<DIR>!) -> UnsafeMutablePointer<dirent>!
{ nil }
@discardableResult public func closedir(_ stream: UnsafeMutablePointer<DIR>!) -> Int32 { -1 }
@discardableResult public func realpath(
  _ path: UnsafePointer<CChar>!, _ resolved: UnsafeMutablePointer<CChar>!
) -> UnsafeMutablePointer<CChar>! { nil }

// MARK: - Names

@discardableResult public func getaddrinfo(
  _ name: UnsafePointer<CChar>!, _ service: UnsafePointer<CChar>!, _ hints: UnsafePointer<addrinfo>!,
  _ result: UnsafeMutablePointer<UnsafeMutablePointer<addrinfo>?>!
) -> Int32 { -1 }
public func freeaddrinfo(_ list: UnsafeMutablePointer<addrinfo>!) {}

// MARK: - The process

@discardableResult public func _NSGetEnviron() -> UnsafeMutablePointer<
  UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
>! {
  nil
}
@discardableResult public func getpid() -> pid_t { 0 }
public func geteuid() -> uid_t { 0 }
public func exit(_ code: Int32) -> Never { fatalError() }
public func free(_ memory: UnsafeMutableRawPointer!) {}
@discardableResult public func isatty(_ file: Int32) -> Int32 { 0 }
@discardableResult public func sysconf(_ name: Int32) -> Int { 0 }
@discardableResult public func getrlimit(_ resource: Int32, _ limit: UnsafeMutablePointer<rlimit>!) -> Int32 {
  -1
}
@discardableResult public func setrlimit(_ resource: Int32, _ limit: UnsafePointer<rlimit>!) -> Int32 { -1 }
@discardableResult public func strerror(_ code: Int32) -> UnsafeMutablePointer<CChar>! { nil }
@discardableResult public func memcmp(_ a: UnsafeRawPointer!, _ b: UnsafeRawPointer!, _ count: Int) -> Int32 { 0 }
@discardableResult public func strlen(_ text: UnsafePointer<CChar>!) -> Int { 0 }
@discardableResult public func signal(
  _ number: Int32, _ handler: (@convention(c) (Int32) -> Void)!
) -> (@convention(c) (Int32) -> Void)! { nil }
@discardableResult public func sigemptyset(_ set: UnsafeMutablePointer<sigset_t>!) -> Int32 { 0 }
@discardableResult public func sigaddset(_ set: UnsafeMutablePointer<sigset_t>!, _ number: Int32) -> Int32 {
  0
}
@discardableResult public func sigwait(
  _ set: UnsafePointer<sigset_t>!, _ number: UnsafeMutablePointer<Int32>!
) -> Int32 { 0 }
@discardableResult public func pthread_sigmask(
  _ how: Int32, _ set: UnsafePointer<sigset_t>!, _ old: UnsafeMutablePointer<sigset_t>!
) -> Int32 { 0 }
@discardableResult public func setiopolicy_np(_ type: Int32, _ scope: Int32, _ policy: Int32) -> Int32 { -1 }

// MARK: - Time

@discardableResult public func clock_gettime(
  _ clock: clockid_t, _ time: UnsafeMutablePointer<timespec>!
) -> Int32 { -1 }
@discardableResult public func nanosleep(
  _ time: UnsafePointer<timespec>!, _ rest: UnsafeMutablePointer<timespec>!
) -> Int32 { -1 }
@discardableResult public func gmtime_r(
  _ time: UnsafePointer<time_t>!, _ parts: UnsafeMutablePointer<tm>!
) -> UnsafeMutablePointer<tm>! { nil }
@discardableResult public func localtime_r(
  _ time: UnsafePointer<time_t>!, _ parts: UnsafeMutablePointer<tm>!
) -> UnsafeMutablePointer<tm>! { nil }
@discardableResult public func timegm(_ parts: UnsafeMutablePointer<tm>!) -> time_t { 0 }

// MARK: - Threads

public struct _opaque_pthread_t {}
public typealias pthread_t = UnsafeMutablePointer<_opaque_pthread_t>
public struct pthread_attr_t {}
public struct pthread_mutex_t {
  public init() {}
}
public struct pthread_mutexattr_t {}
public struct pthread_cond_t {
  public init() {}
}
public struct pthread_condattr_t {}
public struct qos_class_t: Equatable, Sendable {}
public let QOS_CLASS_UTILITY = qos_class_t()
public let QOS_CLASS_BACKGROUND = qos_class_t()

@discardableResult public func pthread_create(
  _ thread: UnsafeMutablePointer<pthread_t?>!, _ attributes: UnsafePointer<pthread_attr_t>!,
  _ start: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?,
  _ argument: UnsafeMutableRawPointer!
) -> Int32 { -1 }
@discardableResult public func pthread_join(
  _ thread: pthread_t, _ value: UnsafeMutablePointer<UnsafeMutableRawPointer?>!
) -> Int32 { -1 }
@discardableResult public func pthread_detach(_ thread: pthread_t) -> Int32 { -1 }
@discardableResult public func pthread_setname_np(_ name: UnsafePointer<CChar>!) -> Int32 { -1 }
@discardableResult public func pthread_set_qos_class_self_np(_ qos: qos_class_t, _ priority: Int32) -> Int32 {
  -1
}
@discardableResult public func pthread_mutex_init(
  _ mutex: UnsafeMutablePointer<pthread_mutex_t>!, _ attributes: UnsafePointer<pthread_mutexattr_t>!
) -> Int32 { -1 }
@discardableResult public func pthread_mutex_lock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>!) -> Int32 {
  -1
}
@discardableResult public func pthread_mutex_unlock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>!) -> Int32
{ -1 }
@discardableResult public func pthread_mutex_destroy(_ mutex: UnsafeMutablePointer<pthread_mutex_t>!) -> Int32
{ -1 }
@discardableResult public func pthread_cond_init(
  _ condition: UnsafeMutablePointer<pthread_cond_t>!, _ attributes: UnsafePointer<pthread_condattr_t>!
) -> Int32 { -1 }
@discardableResult public func pthread_cond_signal(_ condition: UnsafeMutablePointer<pthread_cond_t>!)
  -> Int32
{ -1 }
@discardableResult public func pthread_cond_broadcast(_ condition: UnsafeMutablePointer<pthread_cond_t>!)
  -> Int32
{
  -1
}
@discardableResult public func pthread_cond_destroy(_ condition: UnsafeMutablePointer<pthread_cond_t>!)
  -> Int32
{ -1 }
@discardableResult public func pthread_cond_wait(
  _ condition: UnsafeMutablePointer<pthread_cond_t>!, _ mutex: UnsafeMutablePointer<pthread_mutex_t>!
) -> Int32 { -1 }
@discardableResult public func pthread_cond_timedwait_relative_np(
  _ condition: UnsafeMutablePointer<pthread_cond_t>!, _ mutex: UnsafeMutablePointer<pthread_mutex_t>!,
  _ time: UnsafePointer<timespec>!
) -> Int32 { -1 }

// MARK: - Real numbers

public func log(_ x: Double) -> Double { x }
public func log1p(_ x: Double) -> Double { x }
public func exp(_ x: Double) -> Double { x }
