import System
import XCacheRuntime

/// The cookies that a case says the engine has; what answers set is the case's to say, too.
final class EngineCookies: CookieStore {
  private let value = Locked<String?>(nil)

  func replace(_ value: String?) { self.value.withLock { $0 = value } }

  func header(for url: String) async -> String? { value.withLock { $0 } }

  func take(_ values: [String], from url: String) async {}
}
