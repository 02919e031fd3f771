// swift-format-ignore-file
// A stand-in for Apple's Foundation: what `Sources/Device/DeviceApple` uses, from Apple's documentation. The delegate protocols require
// every method that we implement, so that a misspelt one, which the real protocols would pass over, fails here.

@_exported import Dispatch
@_exported import Security

// MARK: - Values

public typealias TimeInterval = Double

public struct Data: RandomAccessCollection, Sendable {
  public init() {}
  public init<S: Sequence>(_ elements: S) where S.Element == UInt8 {}
  public mutating func append(_ other: Data) {}
  public var startIndex: Int { 0 }
  public var endIndex: Int { 0 }
  public subscript(position: Int) -> UInt8 { 0 }
  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try body(UnsafeRawBufferPointer(start: nil, count: 0))
  }
}

public struct URL: Hashable, Sendable {
  public init?(string: String) { nil }
  public var host: String? { nil }
  public var scheme: String? { nil }
  public var path: String { "" }
  public var absoluteString: String { "" }
  public func appendingPathComponent(_ component: String, isDirectory: Bool) -> URL { self }
  public mutating func setResourceValues(_ values: URLResourceValues) throws {}
}

public struct URLResourceValues: Sendable {
  public init() {}
  public var isExcludedFromBackup: Bool?
}

public struct CharacterSet: Hashable, Sendable {
  public static var alphanumerics: CharacterSet { CharacterSet() }
}

extension StringProtocol {
  public func addingPercentEncoding(withAllowedCharacters allowed: CharacterSet) -> String? { nil }
}

extension Error {
  // Swift's own Foundation adds it to every error.
  public var localizedDescription: String { "" }
}

// MARK: - Files

public struct FileAttributeKey: Hashable, Sendable {
  public static let protectionKey = FileAttributeKey()
}

public struct FileProtectionType: Hashable, Sendable {
  public static let completeUntilFirstUserAuthentication = FileProtectionType()
}

public protocol NSObjectProtocol: AnyObject {}

open class NSObject: NSObjectProtocol, Hashable {
  public init() {}
  public static func == (a: NSObject, b: NSObject) -> Bool { a === b }
  public func hash(into hasher: inout Hasher) {}
}

public struct NSKeyValueObservedChange<Value> {}
open class NSKeyValueObservation: NSObject {}
public protocol _KeyValueCodingAndObserving {}
extension NSObject: _KeyValueCodingAndObserving {}
extension _KeyValueCodingAndObserving {
  public func observe<Value>(
    _ keyPath: KeyPath<Self, Value>, changeHandler: @escaping @Sendable (Self, NSKeyValueObservedChange<Value>) -> Void
  ) -> NSKeyValueObservation { NSKeyValueObservation() }
}

// Of the errno overlay, which Foundation exports.
public enum POSIXErrorCode: Int32, Sendable { case EADDRINUSE = 48 }

open class NSCoder: NSObject {}
// Bridged without a copy.
public typealias NSDictionary = CFDictionary

open class Bundle: NSObject, @unchecked Sendable {
  open class var main: Bundle { Bundle() }
  open func path(forResource name: String?, ofType ext: String?) -> String? { nil }
  open func object(forInfoDictionaryKey key: String) -> Any? { nil }
}

public struct CGRect: Equatable, Sendable {
  public static var zero: CGRect { CGRect() }
}

// UIView or NSView, whichever the system has.
@MainActor open class WKPlatformView: NSObject {}

public struct Date: Hashable, Comparable, Sendable {
  public init() {}
  public static func < (a: Date, b: Date) -> Bool { false }
}

open class JSONSerialization: NSObject {
  public struct WritingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static var fragmentsAllowed: WritingOptions { WritingOptions(rawValue: 4) }
  }
  public struct ReadingOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static var fragmentsAllowed: ReadingOptions { ReadingOptions(rawValue: 4) }
  }
  open class func isValidJSONObject(_ obj: Any) -> Bool { false }
  open class func data(withJSONObject obj: Any, options opt: WritingOptions = []) throws -> Data { Data() }
  open class func jsonObject(with data: Data, options opt: ReadingOptions = []) throws -> Any { 0 }
}

open class FileManager: NSObject {
  public enum SearchPathDirectory: UInt, Sendable { case cachesDirectory = 13 }
  public struct SearchPathDomainMask: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static var userDomainMask: SearchPathDomainMask { SearchPathDomainMask(rawValue: 1) }
  }
  open class var `default`: FileManager { FileManager() }
  open func url(
    for directory: SearchPathDirectory, in domain: SearchPathDomainMask, appropriateFor url: URL?, create shouldCreate: Bool
  ) throws -> URL { fatalError() }
  open func createDirectory(
    at url: URL, withIntermediateDirectories: Bool, attributes: [FileAttributeKey: Any]? = nil
  ) throws {}
  open func setAttributes(_ attributes: [FileAttributeKey: Any], ofItemAtPath path: String) throws {}
}

// MARK: - URL loading

public struct URLRequest: Hashable, Sendable {
  public init(url: URL) { self.url = url }
  public var url: URL?
  public var httpMethod: String?
  public var timeoutInterval: TimeInterval = 60
  public var httpShouldHandleCookies = true
  public var httpBody: Data? { get { nil } set {} }
  public var httpBodyStream: InputStream? { get { nil } set {} }
  public var mainDocumentURL: URL? { get { nil } set {} }
  public var allHTTPHeaderFields: [String: String]? { get { nil } set {} }
  public func value(forHTTPHeaderField field: String) -> String? { nil }
  public func _bridgeToObjectiveC() -> NSURLRequest { NSURLRequest() }
  public static func _unconditionallyBridgeFromObjectiveC(_ source: NSURLRequest?) -> URLRequest { fatalError() }
  public static func == (a: URLRequest, b: URLRequest) -> Bool { true }
  public func hash(into hasher: inout Hasher) {}
  public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {}
  public enum CachePolicy: UInt, Sendable { case reloadIgnoringLocalCacheData = 1 }
}

public struct URLError: Error {
  public struct Code: Hashable, Sendable {
    public static var timedOut: Code { Code() }
    public static var networkConnectionLost: Code { Code() }
    public static var cancelled: Code { Code() }
    public static var cannotFindHost: Code { Code() }
    public static var cannotConnectToHost: Code { Code() }
    public static var dnsLookupFailed: Code { Code() }
    public static var notConnectedToInternet: Code { Code() }
    public static var secureConnectionFailed: Code { Code() }
    public static var serverCertificateUntrusted: Code { Code() }
    public static var serverCertificateHasBadDate: Code { Code() }
    public static var serverCertificateHasUnknownRoot: Code { Code() }
    public static var serverCertificateNotYetValid: Code { Code() }
    public static var internationalRoamingOff: Code { Code() }
    public static var dataNotAllowed: Code { Code() }
    public static var badURL: Code { Code() }
    public static var badServerResponse: Code { Code() }
    public static var cannotParseResponse: Code { Code() }
    public static var cannotOpenFile: Code { Code() }
    public static var httpTooManyRedirects: Code { Code() }
    public static var unsupportedURL: Code { Code() }
    public static var requestBodyStreamExhausted: Code { Code() }
  }
  public init(_ code: Code) {}
  public var code: Code { Code() }
}

open class URLResponse: NSObject, @unchecked Sendable { open var url: URL? { nil } }

open class HTTPURLResponse: URLResponse, @unchecked Sendable {
  public init?(url: URL, statusCode: Int, httpVersion HTTPVersion: String?, headerFields: [String: String]?) { nil }
  open var statusCode: Int { 0 }
  open var allHeaderFields: [AnyHashable: Any] { [:] }
  open func value(forHTTPHeaderField field: String) -> String? { nil }
}

open class URLSessionTask: NSObject, @unchecked Sendable {
  open var taskIdentifier: Int { 0 }
  open var originalRequest: URLRequest? { nil }
  open var response: URLResponse? { nil }
  open var countOfBytesReceived: Int64 { 0 }
  open func cancel() {}
  open func suspend() {}
  open func resume() {}
}

open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}
open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {}

open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
  open var networkProtocolName: String? { nil }
}

open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
  open var transactionMetrics: [URLSessionTaskTransactionMetrics] { [] }
}

open class URLCache: NSObject, @unchecked Sendable {}
open class HTTPCookie: NSObject, @unchecked Sendable {
  open class func requestHeaderFields(with cookies: [HTTPCookie]) -> [String: String] { [:] }
  open class func cookies(withResponseHeaderFields headerFields: [String: String], for URL: URL) -> [HTTPCookie] { [] }
  open var name: String { "" }
  open var value: String { "" }
  open var domain: String { "" }
  open var path: String { "" }
  open var isHTTPOnly: Bool { false }
  open var isSecure: Bool { false }
  open var expiresDate: Date? { nil }
}

open class HTTPCookieStorage: NSObject, @unchecked Sendable {
  open func cookies(for URL: URL) -> [HTTPCookie]? { nil }
}
open class URLCredentialStorage: NSObject, @unchecked Sendable {}
open class OperationQueue: NSObject, @unchecked Sendable {}

open class URLSessionConfiguration: NSObject, @unchecked Sendable {
  open class var ephemeral: URLSessionConfiguration { URLSessionConfiguration() }
  open class var `default`: URLSessionConfiguration { URLSessionConfiguration() }
  open var protocolClasses: [AnyClass]?
  open var timeoutIntervalForRequest: TimeInterval = 60
  open var httpMaximumConnectionsPerHost = 6
  open var requestCachePolicy = URLRequest.CachePolicy.reloadIgnoringLocalCacheData
  open var urlCache: URLCache?
  open var httpCookieStorage: HTTPCookieStorage?
  open var httpShouldSetCookies = true
  open var urlCredentialStorage: URLCredentialStorage?
}

open class URLSession: NSObject, @unchecked Sendable {
  public enum ResponseDisposition: Int, Sendable { case cancel, allow, becomeDownload, becomeStream }
  public init(configuration: URLSessionConfiguration) {}
  public init(
    configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue?
  ) {}
  public enum AuthChallengeDisposition: Int, Sendable {
    case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
  }
  open func dataTask(with request: URLRequest) -> URLSessionDataTask { URLSessionDataTask() }
  open func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask { URLSessionUploadTask() }
  open func finishTasksAndInvalidate() {}
}

public protocol URLSessionDelegate: AnyObject, Sendable {}

// What not every delegate of ours has comes with a default: one that is misspelt "nearly matches", which is a warning.
extension URLSessionTaskDelegate {
  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {}
  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {}
  public func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {}
  public func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
  ) {}
}

public protocol URLSessionTaskDelegate: URLSessionDelegate {
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64)
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)
  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void)
  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void)
  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)
}

public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void)
  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
}

// MARK: - Protocols of one's own

open class Stream: NSObject {
  public enum Status: UInt, Sendable { case notOpen, opening, open, reading, writing, atEnd, closed, error }
  open func open() {}
  open func close() {}
  open var streamError: (any Error)? { nil }
  open class func getBoundStreams(
    withBufferSize bufferSize: Int, inputStream: inout InputStream?, outputStream: inout OutputStream?
  ) {}
}
open class InputStream: Stream {
  public init(data: Data) {}
}
open class OutputStream: Stream {
  open func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int { 0 }
}

open class NSURLRequest: NSObject {
  open func mutableCopy() -> Any { self }
}
open class NSMutableURLRequest: NSURLRequest {}

open class CachedURLResponse: NSObject, @unchecked Sendable {}
extension URLCache {
  public enum StoragePolicy: UInt, Sendable { case allowed, allowedInMemoryOnly, notAllowed }
}

open class URLCredential: NSObject, @unchecked Sendable {
  public convenience init(trust: SecTrust) { self.init() }
}

open class URLProtectionSpace: NSObject, @unchecked Sendable {
  open var host: String { "" }
  open var port: Int { 0 }
  open var authenticationMethod: String { "" }
  open var serverTrust: SecTrust? { nil }
}
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"

public protocol URLAuthenticationChallengeSender: AnyObject {
  func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge)
  func continueWithoutCredential(for challenge: URLAuthenticationChallenge)
  func cancel(_ challenge: URLAuthenticationChallenge)
  func performDefaultHandling(for challenge: URLAuthenticationChallenge)
  func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge)
}

open class URLAuthenticationChallenge: NSObject, @unchecked Sendable {
  public init(authenticationChallenge challenge: URLAuthenticationChallenge, sender: any URLAuthenticationChallengeSender) {}
  open var protectionSpace: URLProtectionSpace { URLProtectionSpace() }
}

public protocol URLProtocolClient: AnyObject {
  func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse)
  func urlProtocol(
    _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy)
  func urlProtocol(_ protocol: URLProtocol, didLoad data: Data)
  func urlProtocolDidFinishLoading(_ protocol: URLProtocol)
  func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error)
  func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge)
}

open class URLProtocol: NSObject {
  open var client: (any URLProtocolClient)? { nil }
  open var request: URLRequest { fatalError() }
  open var task: URLSessionTask? { nil }
  open class func canInit(with request: URLRequest) -> Bool { false }
  open class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
  open class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool { false }
  open func startLoading() {}
  open func stopLoading() {}
  open class func property(forKey key: String, in request: URLRequest) -> Any? { nil }
  open class func setProperty(_ value: Any, forKey key: String, in request: NSMutableURLRequest) {}
  open class func removeProperty(forKey key: String, in request: NSMutableURLRequest) {}
}

// MARK: - Run loops

open class CFRunLoop {}
public struct CFRunLoopMode: Sendable {
  public static var defaultMode: CFRunLoopMode { CFRunLoopMode() }
  public var rawValue: CFString { CFString() }
}
public func CFRunLoopGetCurrent() -> CFRunLoop! { CFRunLoop() }
public func CFRunLoopPerformBlock(_ rl: CFRunLoop!, _ mode: AnyObject!, _ block: (() -> Void)!) {}
public func CFRunLoopWakeUp(_ rl: CFRunLoop!) {}
