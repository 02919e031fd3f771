import CLinux
import Glibc

/// What the process was started with and what it may use.
package enum Environment {
  /// The environment variables; those whose text isn't UTF-8 are left out.
  package static var variables: [String: String] {
    var variables: [String: String] = [:]
    var next = xcache_environment()
    while let line = next?.pointee {
      if let text = String(validatingCString: line), let equals = text.firstIndex(of: "=") {
        variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
      }
      next = next?.advanced(by: 1)
    }
    return variables
  }

  /// Cores that this process may run on.
  package static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  /// Raises the limit of open descriptors as far as it goes without being root, and gives it.
  package static func raiseDescriptorLimit() -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    limit.rlim_cur = limit.rlim_max
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int(clamping: limit.rlim_cur)
  }
}
