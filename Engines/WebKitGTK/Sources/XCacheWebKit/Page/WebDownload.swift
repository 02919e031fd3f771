import CWebKitGTK
import Foundation

/// A file that a page has the engine download, through a link with `download` or a response that is an attachment:
/// WKDownload.
///
/// `WebHost.onDownload` receives it when the head of the response has arrived. A download that isn't saved is refused, and
/// nothing of it is written.
@WebActor
public final class WebDownload {
  /// The URL that it comes from.
  public let url: String
  /// The URL of the page shown in the view that asked for it; empty if none is shown.
  public let pageURL: String
  /// A name for the file, from the page or the response. It contains no folder, and at most 200 bytes, which leaves room
  /// for a prefix within the 255 of most file systems; but it is untrusted.
  public let suggestedName: String
  /// The status of the response.
  public let status: Int
  /// The media type of the response, without parameters.
  public let type: String
  /// The number of bytes, if the response announces it.
  public let length: Int64?

  private let download: UnsafeMutablePointer<WebKitDownload>
  private enum State {
    case offered
    case running(CheckedContinuation<Void, any Error>)
    case ended
  }
  private var state = State.offered
  private var failure: WebKitError?
  private let process = NetworkProcess.current
  /// Called if its network process ended, after which WebKit reports nothing more about it.
  var onLost: () -> Void = {}

  init(_ download: UnsafeMutablePointer<WebKitDownload>, named name: String) {
    self.download = download
    g_object_ref(download)
    let response = webkit_download_get_response(download)
    url = response.flatMap { webkit_uri_response_get_uri($0) }.map { String(cString: $0) } ?? ""
    pageURL =
      webkit_download_get_web_view(download).flatMap { xcache_shown_uri($0) }.map { String(cString: $0) }
      ?? ""
    suggestedName = Self.fileName(name)
    status = response.map { Int(webkit_uri_response_get_status_code($0)) } ?? 0
    type = response.flatMap { webkit_uri_response_get_mime_type($0) }.map { String(cString: $0) } ?? ""
    let bytes = response.map { webkit_uri_response_get_content_length($0) } ?? 0
    length = bytes > 0 ? Int64(clamping: bytes) : nil
  }

  isolated deinit { g_object_unref(download) }

  private static func fileName(_ name: String) -> String {
    let last = name.split(separator: "/").last ?? ""
    if ["", ".", ".."].contains(last) { return "download" }
    let maxBytes = 200
    if last.utf8.count <= maxBytes { return String(last) }
    let type = last.lastIndex(of: ".").map { last[$0...] }.flatMap { $0.utf8.count <= 32 ? $0 : nil } ?? ""
    var stem = last.dropLast(type.count)
    while stem.utf8.count + type.utf8.count > maxBytes { stem.removeLast() }
    return (stem.isEmpty ? "download" : String(stem)) + type
  }

  /// Accepts the download, and waits until all of it is in a new file at `path`. Cancelling the calling task cancels the
  /// download.
  ///
  /// - Throws: an error if the file exists already or can't be written, or if the download broke off; nothing of it is left
  ///   then.
  public func save(to path: String) async throws {
    guard case .offered = state else { throw WebKitError("\(url): this download was already taken") }
    guard !FileManager.default.fileExists(atPath: path) else {
      throw WebKitError("\(path): a file with that name exists; choose another one")
    }
    let place = URL(fileURLWithPath: path)
    // WebKit removes the destination of a failed download, even if the file isn't the download's.
    let partial = place.deletingLastPathComponent().appendingPathComponent(".\(UUID().uuidString).download")
    defer {
      // WebKit writes to the second one until the download is complete.
      for file in [partial, partial.appendingPathExtension("wkdownload")] {
        try? FileManager.default.removeItem(at: file)
      }
    }
    let watch = Task { @WebActor [weak self] in
      while let process = self?.process, process.isRunning { try await Task.sleep(for: .milliseconds(500)) }
      self?.lost()
    }
    defer { watch.cancel() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        state = .running(continuation)
        webkit_download_set_destination(download, partial.absoluteString)
      }
    } onCancel: {
      Task { @WebActor in self.cancel() }
    }
    try FileManager.default.moveItem(at: partial, to: place)
  }

  private func cancel() { webkit_download_cancel(download) }

  /// Cancels the download if nobody accepted it.
  func refuseUnlessTaken() {
    guard case .offered = state else { return }
    state = .ended
    cancel()
    if process?.isRunning == false { onLost() }
  }

  private func lost() {
    guard process != nil else { return }
    failure = .networkProcessEnded
    onLost()
    finished()
  }

  func failed(_ error: WebKitError) { failure = error }

  func finished() {
    defer { state = .ended }
    guard case .running(let continuation) = state else { return }
    if let failure { continuation.resume(throwing: failure) } else { continuation.resume() }
  }
}

/// The running downloads of a host.
@WebActor
final class WebDownloads {
  /// Decides about downloads; if nil, every one is refused.
  var onDownload: (@WebActor (WebDownload) async -> Void)?
  private var running: [UnsafeMutablePointer<WebKitDownload>: WebDownload] = [:]

  /// Without this handler, WebKit writes whatever a page offers into the user's download folder.
  init(_ context: UnsafeMutablePointer<WebKitWebContext>) {
    connect(
      context, "download-started", Box(Weak(self)),
      { _, object, data in
        nonisolated(unsafe) let (me, download) = (Box<Weak<WebDownloads>>.borrow(data), object)
        WebActor.assumeIsolated {
          guard let downloads = me?.object, downloads.onDownload != nil else {
            return webkit_download_cancel(download)
          }
          downloads.started(download)
        }
      } as @convention(c) (gpointer, UnsafeMutablePointer<WebKitDownload>, gpointer?) -> Void)
  }

  private func started(_ download: UnsafeMutablePointer<WebKitDownload>) {
    let me = Box(Weak(self))
    connect(
      download, "decide-destination", me,
      { object, name, data in
        nonisolated(unsafe) let (me, download) = (Box<Weak<WebDownloads>>.borrow(data), object)
        let name = String(cString: name)
        WebActor.assumeIsolated {
          guard let downloads = me?.object else { return webkit_download_cancel(download) }
          downloads.decide(download, name)
        }
        // The destination is set later, or the download is cancelled.
        return 1
      }
        as @convention(c) (UnsafeMutablePointer<WebKitDownload>, UnsafePointer<CChar>, gpointer?) -> gboolean)
    connect(
      download, "failed", me,
      { object, error, data in
        nonisolated(unsafe) let (me, download) = (Box<Weak<WebDownloads>>.borrow(data), object)
        let error = WebKitError(copying: error)
        WebActor.assumeIsolated { me?.object?.running[download]?.failed(error) }
      } as @convention(c) (UnsafeMutablePointer<WebKitDownload>, UnsafePointer<GError>, gpointer?) -> Void)
    connect(
      download, "finished", me,
      { object, data in
        nonisolated(unsafe) let (me, download) = (Box<Weak<WebDownloads>>.borrow(data), object)
        WebActor.assumeIsolated { me?.object?.running.removeValue(forKey: download)?.finished() }
      } as @convention(c) (UnsafeMutablePointer<WebKitDownload>, gpointer?) -> Void)
  }

  private func decide(_ download: UnsafeMutablePointer<WebKitDownload>, _ name: String) {
    guard let onDownload else { return webkit_download_cancel(download) }
    let offered = WebDownload(download, named: name)
    running[download] = offered
    offered.onLost = { [weak self] in self?.running[download] = nil }
    Task { @WebActor in
      await onDownload(offered)
      offered.refuseUnlessTaken()
    }
  }
}
