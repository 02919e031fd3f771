import System
import XCacheRuntime

/// Cookies set by the case; `Set-Cookie` headers of responses are ignored.
final class EngineCookies: CookieStore {
  private let value = Locked<String?>(nil)

  func replace(_ value: String?) { self.value.withLock { $0 = value } }

  func header(for url: String) async -> String? { value.withLock { $0 } }

  func take(_ values: [String], from url: String) async {}
}
