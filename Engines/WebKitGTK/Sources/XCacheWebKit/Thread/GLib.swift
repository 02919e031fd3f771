import CWebKitGTK

/// An error of WebKit, with its message.
public struct WebKitError: Error, Hashable, Sendable, CustomStringConvertible {
  /// GLib's domain, such as `WebKitNetworkError`; `xcache` for this module's own.
  public let domain: String
  /// The error's number in that domain.
  public let code: Int
  /// The error message.
  public let message: String

  /// The message, domain and number.
  public var description: String { "\(message) (\(domain) \(code))" }

  /// Takes ownership of an error that a function filled in.
  init(taking error: UnsafeMutablePointer<GError>) {
    self.init(copying: error)
    g_error_free(error)
  }

  init(copying error: UnsafePointer<GError>) {
    domain = g_quark_to_string(error.pointee.domain).map { String(cString: $0) } ?? ""
    code = Int(error.pointee.code)
    message = error.pointee.message.map { String(cString: $0) } ?? ""
  }

  /// Whether the load was abandoned: by the page, by the app, or for another load.
  public var isCancelled: Bool { domain == "WebKitNetworkError" && code == 302 || self == .givenUp }

  /// Whether a load ended because WebKit doesn't show the content: it is downloaded, or nobody handles it.
  public var isNotShown: Bool { domain == "WebKitPolicyError" && code == 102 }

  /// A network process that replaced one that ended doesn't know a certificate that the engine was told to accept.
  static let forgotten = WebKitError("the engine doesn't know the certificate any more", code: 2)

  /// Whether the load failed because its network process ended: an internal error, or a certificate that the next process
  /// doesn't know yet.
  var isOfNetworkProcess: Bool { self == .forgotten || domain == "WebKitErrorDomain" && code == 300 }

  /// The error of a load whose web process ended.
  static let processEnded = WebKitError("the web process ended", code: 3)

  /// The error of a download whose network process ended.
  static let networkProcessEnded = WebKitError("WebKit's network process ended", code: 4)

  /// The error of a load that ended because the page navigated elsewhere before it started, which WebKit doesn't report.
  static let givenUp = WebKitError("the page went to another place, and the load was given up", code: 5)

  init(_ message: String, code: Int = 1) {
    domain = "xcache"
    self.code = code
    self.message = message
  }
}

/// A value that C keeps as user data.
final class Box<Value> {
  private let value: Value

  init(_ value: Value) { self.value = value }

  func retained() -> gpointer { Unmanaged.passRetained(self).toOpaque() }

  static func borrow(_ data: gpointer?) -> Value? {
    data.map { Unmanaged<Box<Value>>.fromOpaque($0).takeUnretainedValue().value }
  }

  static func take(_ data: gpointer?) -> Value? {
    data.map { Unmanaged<Box<Value>>.fromOpaque($0).takeRetainedValue().value }
  }
}

/// A weak reference to an object.
final class Weak<Object: AnyObject> {
  weak var object: Object?

  init(_ object: Object) { self.object = object }
}

/// Copies and frees a string that GLib allocated for the caller.
func takeString(_ text: UnsafeMutablePointer<CChar>?) -> String? {
  guard let text else { return nil }
  defer { g_free(text) }
  return String(cString: text)
}

/// Passes strings as a NULL-terminated C array; nil for nil.
func withCStrings<Result>(
  _ strings: [String]?, _ body: (UnsafePointer<UnsafePointer<CChar>?>?) throws -> Result
) rethrows -> Result {
  guard let strings else { return try body(nil) }
  let copies = strings.map { strdup($0) }
  defer { for copy in copies { free(copy) } }
  return try body(copies.map { UnsafePointer($0) } + [nil])
}

/// Connects a C function of any signature to a signal. Its last parameter is `box`, which lives as long as the connection.
func connect<Function, Value>(_ object: gpointer, _ signal: String, _ box: Box<Value>, _ function: Function) {
  g_signal_connect_data(
    object, signal, unsafeBitCast(function, to: GCallback.self), box.retained(),
    { data, _ in if let data { Unmanaged<AnyObject>.fromOpaque(data).release() } }, GConnectFlags(rawValue: 0)
  )
}

typealias GErrorSlot = UnsafeMutablePointer<UnsafeMutablePointer<GError>?>

/// Calls an asynchronous GLib function and waits for its callback.
///
/// In some cases WebKit never calls back, for example for a script whose page navigates elsewhere; this then throws after
/// `timeout`.
@WebActor
func awaiting<Value: Sendable>(
  timeout: Duration = .seconds(30), _ start: (GAsyncReadyCallback, gpointer) -> Void,
  _ finish: @escaping @WebActor (OpaquePointer, GErrorSlot) -> Value
) async throws -> Value {
  try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
    var waiting: CheckedContinuation<Value, any Error>? = continuation
    let timer = Task { @WebActor in
      try await Task.sleep(for: timeout)
      waiting?.resume(throwing: WebKitError("WebKit gave no answer within \(timeout)"))
      waiting = nil
    }
    let box = Box<@WebActor (OpaquePointer) -> Void> { result in
      var error: UnsafeMutablePointer<GError>?
      let value = finish(result, &error)
      timer.cancel()
      if let error {
        let error = WebKitError(taking: error)
        waiting?.resume(throwing: error)
      } else {
        waiting?.resume(returning: value)
      }
      waiting = nil
    }
    start(
      { _, result, data in
        guard let finish = Box<@WebActor (OpaquePointer) -> Void>.take(data), let result else { return }
        nonisolated(unsafe) let handed = result
        WebActor.assumeIsolated { finish(handed) }
      }, box.retained())
  }
}
