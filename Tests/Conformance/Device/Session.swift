import DeviceLinux
import System
import Values
import XCacheDevice
import XCacheRuntime

/// One process of a device, from the command `open` to the end.
final class Session {
  private let clock = Locked<Int64>(0)
  private var runtime: Runtime?
  private let cookies = EngineCookies()
  private var pages: [Int64: OpenPage] = [:]
  /// Background requests by number; the command `answer` awaits one.
  private var requests: [Int64: Task<JSONValue, Never>] = [:]
  private var nextRequest: Int64 = 0

  /// Runs a command; the answer has `error` if it fails.
  func answer(to line: String) async -> JSONValue {
    guard let command = try? JSONValue.parse(Array(line.utf8)), let verb = command["do"]?.string else {
      return ["error": "this is no command"]
    }
    if verb == "open" { return await open(command) }
    guard let runtime else { return ["error": "nothing is open"] }
    switch verb {
    case "advance": clock.withLock { $0 += command["milliseconds"]?.integer ?? 0 }
    case "trigger": return await trigger(command, runtime)
    case "pageOpen": return await pageOpen(command, runtime)
    case "pageUp":
      if let page = page(command) { runtime.pageCameUp(page) }
      // What a page proves is on the disk soon after; the next command may end this process.
      await runtime.finishNotes()
    case "scriptFailed":
      if let page = page(command) {
        let (message, stack) = (command["message"]?.string, command["stack"]?.string)
        if let message {
          runtime.scriptFailed(page, PageError(message: message, stack: stack ?? ""))
        } else {
          runtime.scriptFailed(page)
        }
      }
      // The device may go back to the version before.
      await runtime.finishNotes()
    case "confirm": await runtime.confirm()
    case "reject": await runtime.reject("the case says so")
    case "pageClose":
      if let page = page(command) { runtime.close(page) }
      pages[command["page"]?.integer ?? 0] = nil
      await runtime.finishNotes()
    case "request": return await request(command, runtime)
    case "answer":
      guard let request = requests.removeValue(forKey: command["request"]?.integer ?? 0) else {
        return ["error": "there is no such request"]
      }
      return await request.value
    case "cookies": cookies.replace(command["value"]?.string)
    case "conditions":
      runtime.conditions = Conditions(command)
      await runtime.finishNotes()
    case "memoryShort": runtime.memoryIsShort()
    case "describe":
      if let version = command["appVersion"] { runtime.device?.appVersion = version.string }
      if let groups = command["groups"]?.array { runtime.device?.groups = Set(groups.compactMap(\.string)) }
    case "leaveCandidate": runtime.device?.leaveCandidate()
    case "prefetch": return prefetch(command, runtime)
    case "script": return script(command, runtime)
    case "state":
      await runtime.finishNotes()
      return state(runtime)
    default: return ["error": .string("unknown command \(verb)")]
    }
    return [:]
  }

  /// A regular end of the process.
  func end() async {
    await runtime?.close()
    runtime?.device?.finishReports()
  }

  private func page(_ command: JSONValue) -> OpenPage? { command["page"]?.integer.flatMap { pages[$0] } }

  private func open(_ command: JSONValue) async -> JSONValue {
    clock.withLock { $0 = command["now"]?.integer ?? 0 }
    let clock = clock
    do {
      // Long enough for busy machines: a request that times out is repeated, which no case expects.
      let transport = CurlTransport(connectSeconds: 10, stallSeconds: 4)
      try Self.plant(command["settings"] ?? .null)
      var settings = Self.settings(command["settings"] ?? .null)
      settings.fetcher = PageFetcher(CurlPageTransport(), cookies: cookies)
      let opened = try await Runtime(
        settings, transport: transport, clock: { clock.withLock { $0 } })
      runtime = opened
      guard let fault = opened.fault else { return [:] }
      return ["fault": .string("\(fault)")]
    } catch {
      return ["error": .string("\(error)")]
    }
  }

  private static func settings(_ given: JSONValue) -> RuntimeSettings {
    var device = DeviceSettings(
      folder: given["folder"]?.string ?? "", server: given["server"]?.string ?? "",
      app: given["app"]?.string ?? "",
      hosts: given["hosts"]?.array?.compactMap(\.string) ?? [],
      channel: given["channel"]?.string ?? "online")
    device.fallback = given["fallback"]?.string
    device.diskLimit = given["diskLimit"]?.integer ?? device.diskLimit
    device.meteredLimit = given["meteredLimit"]?.integer ?? device.meteredLimit
    device.appVersion = given["appVersion"]?.string
    device.groups = Set(given["groups"]?.array?.compactMap(\.string) ?? [])
    device.scriptKey = given["scriptKey"]?.string.flatMap { Base64.decode($0) }
    // The envelope itself, as `root.json` has it.
    device.root = given["root"].map(\.canonical)
    // Shorter than in an app, so that cases don't take long.
    device.retryPauses = [5, 10]
    device.documentPace.patience = 5_000_000_000
    var settings = RuntimeSettings(device)
    settings.preset = given["preset"]?.string
    settings.build = given["build"]?.string ?? ""
    if let limit = given["memoryLimit"]?.integer { settings.memoryLimit = Int(limit) }
    if let deadline = given["pageDeadline"]?.integer { settings.pageDeadline = deadline }
    settings.proofDelay = given["proofDelay"]?.integer ?? 0
    return settings
  }

  /// Writes the case's install id to a new folder.
  private static func plant(_ settings: JSONValue) throws {
    guard let id = settings["install"]?.string, let folder = settings["folder"]?.string,
      try Kernel.status("\(folder)/rollout.json") == nil
    else { return }
    try Kernel.makeFolder(folder)
    let document: JSONValue = ["id": .string(id)]
    try DurableFile.write(document.canonical, to: "\(folder)/rollout.json")
  }

  /// Handles one or several triggers at the same time; answers after all work has ended, or at once with `background`.
  private func trigger(_ command: JSONValue, _ runtime: Runtime) async -> JSONValue {
    let page = page(command)
    let triggers = (command["triggers"]?.array ?? []).compactMap { Self.trigger($0.string, page) }
    let work = Task {
      await withTaskGroup(of: Void.self) { group in
        for trigger in triggers { group.addTask { await runtime.handle(trigger) } }
      }
    }
    if command["background"]?.bool != true { await work.value }
    return [:]
  }

  private static func trigger(_ name: String?, _ page: OpenPage?) -> Trigger? {
    switch name {
    case "launch": .launch
    case "foreground": .foreground
    case "push": .push
    case "pageClosed": .pageClosed
    case "pageOpened": page.map { .pageOpened($0) }
    default: nil
    }
  }

  private func pageOpen(_ command: JSONValue, _ runtime: Runtime) async -> JSONValue {
    let page = runtime.open(command["url"]?.string ?? "")
    pages[Int64(page.id)] = page
    if command["sends"]?.bool == true {
      await runtime.prefetch(for: page, PageContext(userAgent: "Conformance/1"))
    }
    return ["page": .integer(page.id)]
  }

  private func request(_ command: JSONValue, _ runtime: Runtime) async -> JSONValue {
    let request = await request(command)
    guard command["background"]?.bool == true else { return await Self.answer(request, runtime) }
    nextRequest += 1
    requests[nextRequest] = Self.begin(request, runtime)
    return ["request": .integer(nextRequest)]
  }

  private func request(_ command: JSONValue) async -> PageRequest {
    var request = PageRequest(
      command["url"]?.string ?? "", method: command["method"]?.string ?? "GET", page: page(command))
    request.headers = HTTPFields(
      command["headers"]?.object?.members.map { ($0.key, $0.value.string ?? "") } ?? [])
    request.destination =
      command["destination"]?.string.flatMap(PageRequest.Destination.init(rawValue:)) ?? .other
    request.mode = command["mode"]?.string.flatMap(PageRequest.Mode.init(rawValue:)) ?? .noCORS
    request.hasCredentials = command["credentials"]?.bool ?? false
    if command["cookies"]?.bool == true, let header = await cookies.header(for: request.url) {
      request.headers.add("Cookie", header)
    }
    return request
  }

  private static func begin(_ request: PageRequest, _ runtime: Runtime) -> Task<JSONValue, Never> {
    Task { await answer(request, runtime) }
  }

  private static func answer(_ request: PageRequest, _ runtime: Runtime) async -> JSONValue {
    if let ahead = await runtime.prefetched(request) {
      return local(ahead.head.status, ahead.head.headers, ahead.body)
    }
    switch await runtime.answer(request) {
    case .network(let reason): return ["answer": "network", "reason": .string(reason.rawValue)]
    case .local(let answer):
      guard let body = try? answer.body.collect() else { return ["error": "the body can't be read"] }
      return local(answer.status, answer.headers, body)
    }
  }

  private static func local(
    _ status: Int, _ headers: HTTPFields, _ body: [UInt8]
  ) -> JSONValue {
    [
      "answer": "local", "body": .string(Base64.encode(body)),
      "headers": .array(headers.map { JSONValue.strings([$0.name, $0.value]) }), "status": .integer(status),
    ]
  }
}

// MARK: - State

extension Session {
  private func prefetch(_ command: JSONValue, _ runtime: Runtime) -> JSONValue {
    let requests = runtime.device?.prefetchRequests(for: command["url"]?.string ?? "") ?? []
    return [
      "requests": .array(
        requests.map { request in
          [
            "body": request.body.map { .string($0) } ?? .null, "method": .string(request.method),
            "url": .string(request.url),
          ]
        })
    ]
  }

  private func script(_ command: JSONValue, _ runtime: Runtime) -> JSONValue {
    do {
      let bytes = try runtime.device?.script(command["name"]?.string ?? "")
      return ["script": bytes.map { JSONValue.string(Base64.encode($0)) } ?? .null]
    } catch {
      return ["error": .string("\(error)")]
    }
  }

  /// Reports files with the right bytes only.
  private func state(_ runtime: Runtime) -> JSONValue {
    guard let device = runtime.device else { return ["version": "0"] }
    var files = JSONObject()
    for file in device.heldFiles() {
      guard let path = file.path, let bytes = try? DurableFile.read(path),
        SHA256.of(bytes).hex == file.sha256
      else { continue }
      files[file.url] = .string(file.sha256)
    }
    return [
      "digest": .string(device.digest), "files": .object(files),
      "policy": .string(device.runtimePolicy.version), "prefetch": .string(device.prefetch.version),
      "version": .string(device.version),
    ]
  }
}
