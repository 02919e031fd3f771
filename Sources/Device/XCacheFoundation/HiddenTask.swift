#if !canImport(Darwin)
  import Foundation
  import FoundationNetworking

  /// What Foundation on Linux hides from custom protocols, read by reflection; what isn't found gets a safe default.
  ///
  /// A protocol isn't told the body of an upload, the session's own headers, or the queue on which a task has to be used;
  /// and a task with a completion handler takes the last piece of a body for the whole.
  struct HiddenTask: Sendable {
    enum Body: Equatable, Sendable {
      case none
      case data(Data)
      case file(URL)
      /// The request contains the stream.
      case stream
      /// The delegate provides the stream.
      case asked
      case unknown
    }

    let queue: DispatchQueue?
    let body: Body
    /// Whether the whole body has to be handed over in one piece.
    let collects: Bool
    /// The session's own headers.
    private let headers: [String: String]
    /// Read once, by the request that is passed on.
    nonisolated(unsafe) private let stream: InputStream?

    /// Call this on the task's queue, where the tables of its session may be read.
    init(_ task: URLSessionTask?) {
      let found = task.map { Self.value("knownBody", of: $0) } ?? nil
      (body, stream) = Self.body(found, of: task)
      queue = task.flatMap { Self.value("workQueue", of: $0) } as? DispatchQueue
      let session = task.flatMap { Self.value("session", of: $0) } as? URLSession
      let own = session?.configuration.httpAdditionalHeaders ?? [:]
      headers = Dictionary(
        own.compactMap { name, value in (name as? String).map { ($0, "\(value)") } },
        uniquingKeysWith: { a, _ in a })
      collects = !(task.map { Self.callsDelegate(session, $0.taskIdentifier) } ?? false)
    }

    /// The file to send.
    var file: URL? { if case .file(let url) = body { url } else { nil } }

    /// Returns the request with everything that its task would have sent.
    func complete(_ request: URLRequest) -> URLRequest {
      var request = request
      if case .data(let data) = body { request.httpBody = data }
      if let stream { request.httpBodyStream = stream }
      for (name, value) in headers where request.value(forHTTPHeaderField: name) == nil {
        request.setValue(value, forHTTPHeaderField: name)
      }
      return request
    }

    private static func body(_ found: Any?, of task: URLSessionTask?) -> (Body, InputStream?) {
      guard let found else { return (task is URLSessionUploadTask ? .unknown : .none, nil) }
      guard let known = Mirror(reflecting: found).children.first?.value else { return asked(task) }
      guard let part = Mirror(reflecting: known).children.first else { return (.none, nil) }
      switch (part.label, part.value) {
      case ("data", let bytes as DispatchData):
        return (.data(bytes.withUnsafeBytes { Data(bytes: $0, count: bytes.count) }), nil)
      case ("file", let url as URL): return (.file(url), nil)
      case ("stream", let stream as InputStream): return (.stream, stream)
      default: return (.unknown, nil)
      }
    }

    /// Asks the task's delegate for its stream.
    private static func asked(_ task: URLSessionTask?) -> (Body, InputStream?) {
      guard let task, let delegate = task.delegate, let session = value("session", of: task) as? URLSession
      else { return (.unknown, nil) }
      nonisolated(unsafe) var given: InputStream?
      let done = DispatchSemaphore(value: 0)
      delegate.urlSession(session, task: task) { stream in
        given = stream
        done.signal()
      }
      // Foundation itself waits this long.
      guard done.wait(timeout: .now() + 7) == .success, let given else { return (.unknown, nil) }
      return (.asked, given)
    }

    /// Whether the pieces of a body go to a delegate one by one.
    private static func callsDelegate(_ session: URLSession?, _ identifier: Int) -> Bool {
      guard let session, let registry = value("taskRegistry", of: session),
        let behaviours = value("behaviours", of: registry)
      else { return false }
      for entry in Mirror(reflecting: behaviours).children {
        let pair = Mirror(reflecting: entry.value).children.map(\.value)
        guard pair.count == 2, pair[0] as? Int == identifier else { continue }
        let behaviour = Mirror(reflecting: pair[1])
        return behaviour.displayStyle == .enum && behaviour.children.isEmpty
      }
      return false
    }

    /// Returns a stored property, declared in the class or any superclass.
    private static func value(_ name: String, of object: Any) -> Any? {
      var mirror: Mirror? = Mirror(reflecting: object)
      while let own = mirror {
        if let child = own.children.first(where: { $0.label == name }) { return child.value }
        mirror = own.superclassMirror
      }
      return nil
    }
  }
#endif
