import Glibc
import Manifests
import System
import TestSupport
import Values

/// An origin with 200 devices and a static copy: random acts, some interrupted by SIGKILL, and the state that each should have.
struct RolloutLife {
  /// A fault injected between origin and devices, which the checks have to detect.
  enum Fault: String, CaseIterable {
    /// Buckets are computed from another id.
    case otherBucket
    /// A device forgets that it took the candidate.
    case notSticky
    /// The copy isn't updated when a rollout is halted.
    case copyIgnoresHalt
    /// A candidate that is made again gets another seed.
    case otherSeed
    /// Devices without rollouts get the candidate.
    case candidateForAll
    /// Rules don't name the candidate's prefetch config.
    case noConfig
  }

  static let devices = 200
  private static let acts = 24
  private static let bundles = ["a", "b", "c"]
  private static let contents = 5

  private let site: Site
  private let seed: UInt64
  private let fault: Fault?
  private var random: SplitMix
  private var model = RolloutModel()
  /// The content of the channel `test`, which is promoted.
  private var test: RolloutModel.Content = [:]
  /// The state of the origin when the copy was written, or nil if there is no copy.
  private var copied: RolloutModel?
  private var gadgets: [Gadget] = []
  private var seeds: Set<String> = []
  /// The origin's answers since the last act, by query.
  private var answers: [String: ConfigureAnswer] = [:]

  private(set) var problems: [String] = []
  private(set) var counts: [String: Int] = [:]

  /// - Parameter fault: the fault to inject.
  init(seed: UInt64, on site: Site, fault: Fault? = nil) throws {
    (self.site, self.seed, self.fault) = (site, seed, fault)
    random = SplitMix(seed: seed)
    for _ in 0..<Self.devices { gadgets.append(Gadget(&random)) }
  }

  /// Runs all acts and checks.
  /// - Parameter crashes: whether some acts are interrupted.
  mutating func run(crashes: Bool) throws {
    try send(["a": 0, "b": 0])
    try act(crashes: false) { model in
      model.publish(["a": 0, "b": 0], to: nil)
      return ("releases", Self.release(["a": 0, "b": 0]))
    }
    for _ in 0..<Self.acts {
      try step(crashes: crashes)
      if problems.count > 5 { return }
    }
    try pollAll(share: 1)
  }

  // MARK: - Acts

  private mutating func step(crashes: Bool) throws {
    let isInterrupted = crashes && random.below(4) == 0
    let kind = random.below(19)
    switch kind {
    case 0...4: try publish(nil, isInterrupted)
    case 5...7: try publish(audience(), isInterrupted)
    case 8: try set(isInterrupted)
    case 9: try steer(random.below(2) == 0 ? "pause" : "resume", isInterrupted)
    case 10: try steer("complete", isInterrupted)
    case 11: try steer("halt", isInterrupted)
    case 12: try rollBack(isInterrupted)
    case 13: try promote(isInterrupted)
    case 14:
      note("gc")
      _ = try site.api("POST", "gc", ["dryRun": false, "keepDays": 0, "keepVersions": 8])
    case 15: try pushPlan(nil, isInterrupted)
    case 16, 17:
      // Mostly for the audience of the open candidate.
      let open = random.below(5) > 0 ? model.candidate?.audience : nil
      try pushPlan(open ?? audience(), isInterrupted)
    default: try random.below(2) == 0 ? mirror() : restart()
    }
    try check()
    if random.below(3) == 0 { for _ in 0..<10 { gadgets[random.below(gadgets.count)].change(&random) } }
    if random.below(4) == 0 { for gadget in gadgets where random.below(2) == 0 { gadget.restart() } }
    try pollAll(share: 3)
    if copied != nil, random.below(3) == 0 { try pollCopy() }
  }

  private mutating func note(_ what: String) { counts[what, default: 0] += 1 }

  private mutating func audience() -> RolloutModel.Audience {
    RolloutModel.Audience(
      share: [0, 100, 2500, 5000, 9000, 10_000][random.below(6)], groups: random.below(4) == 0 ? ["qa"] : [],
      range: AppRange.allCases[random.below(AppRange.allCases.count)])
  }

  private mutating func content() -> RolloutModel.Content {
    var wanted: RolloutModel.Content = [:]
    for bundle in Self.bundles where random.below(2) == 0 { wanted[bundle] = random.below(Self.contents) }
    return wanted.isEmpty ? ["a": random.below(Self.contents)] : wanted
  }

  private mutating func publish(_ audience: RolloutModel.Audience?, _ isInterrupted: Bool) throws {
    let wanted = content()
    try send(wanted)
    note(audience == nil ? "publish" : "candidate")
    try act(crashes: isInterrupted) { model in
      model.publish(wanted, to: audience)
      return ("releases", Self.release(wanted, to: audience))
    }
  }

  private mutating func pushPlan(_ audience: RolloutModel.Audience?, _ isInterrupted: Bool) throws {
    let number = random.below(Self.contents)
    note(audience == nil ? "config" : "candidate's config")
    try act(crashes: isInterrupted) { model in
      let isDone = model.pushPlan(number, to: audience)
      var body = JSONObject()
      body["document"] = Self.config(number)
      body["rollout"] = audience.map(Self.terms)
      return (isDone ? "prefetch" : "prefetch?", .object(body))
    }
  }

  /// A prefetch config of this content; 0 is the empty one.
  private static func config(_ number: Int) -> JSONValue {
    if number == 0 { return [] }
    return [
      [
        "interfaces": [["api": .string("https://m.example.com/api/\(number)"), "method": "GET"]],
        "url": "https://m.example.com/a/index.html",
      ]
    ]
  }

  private mutating func set(_ isInterrupted: Bool) throws {
    guard model.candidate != nil else { return }
    let audience = audience()
    note("set")
    try act(crashes: isInterrupted) { model in
      model.candidate?.audience = audience
      return (
        "rollout/set",
        [
          "share": .integer(audience.share), "groups": .strings(audience.groups),
          "app": .string(audience.range.text ?? ""),
        ]
      )
    }
  }

  private mutating func steer(_ verb: String, _ isInterrupted: Bool) throws {
    guard model.candidate != nil else { return }
    note(verb)
    try act(crashes: isInterrupted) { model in
      switch verb {
      case "complete": model.complete()
      case "halt": model.halt()
      default: model.candidate?.isPaused = verb == "pause"
      }
      return ("rollout/\(verb)", verb == "halt" ? ["message": "no good"] : [:])
    }
  }

  private mutating func rollBack(_ isInterrupted: Bool) throws {
    // Older ones may have been removed.
    let kept = model.past.keys.filter { $0 > model.newest - 8 }.sorted()
    guard let target = kept.randomElement(using: &random) else { return }
    let audience = random.below(3) == 0 ? audience() : nil
    note("rollback")
    try act(crashes: isInterrupted) { model in
      var body: JSONObject = JSONObject()
      body["allBundles"] = true
      body["message"] = "back"
      body["now"] = true
      body["to"] = .string("\(target)")
      body["rollout"] = audience.map(Self.terms)
      let isDone = model.rollBack(to: target, for: audience)
      return (isDone ? "rollback" : "rollback?", .object(body))
    }
  }

  private mutating func promote(_ isInterrupted: Bool) throws {
    for (bundle, number) in content() { test[bundle] = number }
    try send(test)
    let made = try site.api(
      "POST", "apps/shop/channels/test/releases", Self.release(test))
    if made.status >= 300 { problems.append("seed \(seed): the test channel's release: \(made.json)") }
    let audience = random.below(2) == 0 ? audience() : nil
    note("promote")
    let source = test
    try act(crashes: isInterrupted) { model in
      model.publish(source, to: audience)
      var body = JSONObject()
      body["from"] = "test"
      body["message"] = "promoted"
      body["now"] = true
      body["rollout"] = audience.map(Self.terms)
      return ("promote", .object(body))
    }
  }

  private mutating func restart() throws {
    note("restart")
    try site.crash()
    answers = [:]
  }

  private mutating func mirror() throws {
    note("mirror")
    let outcome = try site.run("mirror", "--to", "www", "--json")
    if outcome.exitCode != 0 { problems.append("seed \(seed): mirror: \(outcome.errors)") }
    copied = model
  }

  /// Does an act at the origin and in the model. An interrupted act may have been done or not, but never partially.
  /// - Parameter change: changes the model and returns the call; its name ends in `?` if it should be refused.
  private mutating func act(crashes: Bool, _ change: (inout RolloutModel) -> (String, JSONValue)) throws {
    let before = model
    let (name, body) = change(&model)
    let isRefused = name.hasSuffix("?")
    let path = "/api/v1/apps/shop/channels/online/\(isRefused ? String(name.dropLast()) : name)"
    answers = [:]
    if model.full != before.full, model.full == model.rollback, fault == .copyIgnoresHalt { copied = before }
    guard crashes else {
      let answer = try site.web.ask(
        path, "POST", ["Authorization": "Bearer \(site.token)"], body: body.canonical)
      if isRefused != (answer.status >= 300) {
        problems.append("seed \(seed): \(name) \(body.words): \(answer.status) \(answer.text)")
      }
      return try learn()
    }
    note("kill")
    let socket = try WebSocket(site.port)
    let bytes = body.canonical
    socket.send(
      Array(
        ("POST \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(site.token)\r\n"
          + "Content-Length: \(bytes.count)\r\nConnection: close\r\n\r\n").utf8) + bytes)
    usleep(UInt32(random.below(30_000)))
    try site.crash()
    let answer = try? Web.answer(socket.receiveAll(), to: "POST")
    let state = try observed()
    let isAfter = matches(state, model)
    if !isAfter, answer.map({ $0.status < 300 }) ?? false {
      problems.append("seed \(seed): \(name) was acknowledged and is lost: \(state)")
    } else if !isAfter {
      model = before
      if model != before || !matches(state, before) {
        problems.append("seed \(seed): \(name) was done by half: \(state)")
      }
      note("undone")
    }
    try learn()
  }

  // MARK: - The origin

  /// The origin's state of both versions.
  private struct State {
    let full: JSONValue
    let candidate: JSONValue
  }

  private func observed() throws -> State {
    State(full: try site.poll()["data"] ?? .null, candidate: try site.poll("candidate=1")["data"] ?? .null)
  }

  private func matches(_ state: State, _ model: RolloutModel) -> Bool {
    difference(state, model) == nil
  }

  /// How the origin differs from a model, or nil.
  private func difference(_ state: State, _ model: RolloutModel) -> String? {
    let open = model.candidate
    let rule = state.full["rollout"]
    if rule != state.candidate["rollout"] { return "two rules" }
    if (rule != nil) != (open != nil) { return "the rule is \(rule?.words ?? "none")" }
    if let open, let rule {
      let isPaused = open.isPaused
      if rule["version"]?.string != "\(open.version)"
        || rule["share"]?.integer != Int64(isPaused ? 0 : open.audience.share)
        || (rule["groups"]?.array?.compactMap(\.string) ?? []) != (isPaused ? [] : open.audience.groups)
        || rule["app"]?.string != open.audience.range.text
        || (open.seed != nil && rule["seed"]?.string != open.seed)
        || rule["prefetch"]?.string != open.plan.map({ "\($0)" })
      {
        return "the rule is \(rule.words)"
      }
    }
    for (data, version, content, rollback) in [
      (state.full, model.full, model.content, model.rollback),
      (
        state.candidate, open?.version ?? model.full, open?.content ?? model.content,
        open?.isRollback == true ? open?.version : model.rollback
      ),
    ] {
      if data["version"]?.string != "\(version)" {
        return "version \(data["version"]?.string ?? "none"), not \(version)"
      }
      if data["prefetch"]?.string ?? "0" != "\(model.plan)" {
        return "prefetch config \(data["prefetch"]?.string ?? "none"), not \(model.plan)"
      }
      if data["rollback"]?.string != rollback.map({ "\($0)" }) {
        return "rollback \(data["rollback"]?.string ?? "none"), not \(rollback ?? 0)"
      }
      var held: [String: String] = [:]
      for entry in data["resourcemap"]?.object?.members ?? [] {
        held[entry.key] = entry.value["sha256"]?.string
      }
      if held != Self.files(content) { return "version \(version) has \(held.keys.sorted())" }
    }
    return nil
  }

  private mutating func check() throws {
    for version in [model.plan, model.candidate?.plan ?? model.plan] {
      let document = try JSONValue.parse(
        Array(try site.web.ask("/prefetchConfig?app=shop&version=\(version)").text.utf8))
      check(document, is: version, of: model)
    }
    if let difference = difference(try observed(), model) {
      problems.append("seed \(seed): \(difference), expected \(model)")
    }
  }

  private mutating func check(_ document: JSONValue, is version: Int, of model: RolloutModel) {
    let config = document["data"]?["config"]
    if document["data"]?["version"]?.string != "\(version)"
      || config != Self.config(model.plans[version] ?? 0)
    {
      problems.append("seed \(seed): prefetch config \(version) is \(document.words), expected \(model)")
    }
  }

  /// Records the seed of a new candidate.
  private mutating func learn() throws {
    guard model.candidate != nil, model.candidate?.seed == nil else { return }
    guard let known = try site.poll()["data"]?["rollout"]?["seed"]?.string else { return }
    if !seeds.insert(known).inserted { problems.append("seed \(seed): a new candidate with an old seed") }
    model.candidate?.seed = known
  }

  /// Uploads the files of a release, as gc may have removed them.
  private func send(_ content: RolloutModel.Content) throws {
    for text in Set(content.flatMap { Self.texts($0.key, $0.value).values }) {
      let bytes = Array(text.utf8)
      _ = try site.web.ask(
        "/api/v1/blobs/\(SHA256.of(bytes).hex)", "PUT",
        [
          "Authorization": "Bearer \(site.token)",
          "Content-MD5": Base64.encode(Hex.decode(MD5.of(bytes).hex, count: 16) ?? []),
        ], body: bytes)
    }
  }

  private static func texts(_ bundle: String, _ number: Int) -> [String: String] {
    var files = ["a.js": "\(bundle) \(number)", "same.js": "the same of \(bundle)"]
    if number % 2 == 1 { files["only-\(number).js"] = "of \(bundle) \(number) alone" }
    return Dictionary(
      uniqueKeysWithValues: files.map { ("https://m.example.com/\(bundle)/\($0.key)", $0.value) })
  }

  /// The sha256 of each URL of a content.
  private static func files(_ content: RolloutModel.Content) -> [String: String] {
    content.reduce(into: [:]) { all, bundle in
      for (url, text) in texts(bundle.key, bundle.value) { all[url] = SHA256.of(Array(text.utf8)).hex }
    }
  }

  private static func release(_ bundles: RolloutModel.Content, to audience: RolloutModel.Audience? = nil)
    -> JSONValue
  {
    var changes: [JSONValue] = []
    for (name, number) in bundles.sorted(by: { $0.key < $1.key }) {
      var set = JSONObject()
      for (url, text) in texts(name, number) {
        let bytes = Array(text.utf8)
        set[url] = [
          "ctype": "application/javascript", "md5": .string(MD5.of(bytes).hex),
          "sha256": .string(SHA256.of(bytes).hex), "size": .integer(bytes.count),
        ]
      }
      changes.append(["base": "0", "bundle": .string(name), "remove": .strings([]), "set": .object(set)])
    }
    var body = JSONObject()
    body["bundles"] = .array(changes)
    body["message"] = "a release"
    body["now"] = true
    body["rollout"] = audience.map(terms)
    return .object(body)
  }

  private static func terms(_ audience: RolloutModel.Audience) -> JSONValue {
    var terms = JSONObject()
    terms["app"] = audience.range.text.map { .string($0) }
    terms["groups"] = audience.groups.isEmpty ? nil : .strings(audience.groups)
    terms["share"] = .integer(audience.share)
    return .object(terms)
  }

  // MARK: - Devices

  /// Polls the origin with one of `share` devices.
  private mutating func pollAll(share: Int) throws {
    var answers = answers
    let (site, seed, fault) = (site, seed, fault)
    let isRemade = model.candidate.map { $0.version - 1 == model.full } ?? false
    func ask(_ held: Int, _ candidate: Bool, _ text: (String) -> String) throws -> ConfigureAnswer {
      let query = "version=\(held)\(seed % 2 == 0 ? "&patch=1" : "")\(candidate ? "&candidate=1" : "")"
      if let known = answers[query] { return known }
      let body = try site.web.ask("/configure.json?app=shop&\(query)").text
      let answer = try ConfigureAnswer.parse(Array(text(body).utf8))
      answers[query] = answer
      return answer
    }
    for index in gadgets.indices where random.below(share) == 0 {
      var gadget = gadgets[index]
      if fault == .notSticky { gadget.forget() }
      try gadget.poll { held, candidate in
        let isForAll = fault == .candidateForAll && !gadgets[index].knowsRollouts
        return try ask(held, candidate || isForAll) { text in
          switch fault {
          case .otherSeed where isRemade: text.replacing(#""seed":""#, with: #""seed":"0"#)
          case .noConfig: text.replacing(#""rollout":{"prefetch":"#, with: #""rollout":{"else":"#)
          case .otherBucket: text.replacing(#""seed":""#, with: #""seed":"1"#)
          default: text
          }
        }
      }
      gadget.expectPoll(of: model)
      gadgets[index] = gadget
      note("poll")
      if let problem = gadget.problem { problems.append("seed \(seed): \(problem); \(model)") }
      if problems.count > 5 { break }
    }
    self.answers = answers
  }

  private mutating func pollCopy() throws {
    guard let copied else { return }
    note("polls of the copy")
    var known: [String: ConfigureAnswer] = [:]
    let folder = site.scratch.path + "/www/xcache/shop"
    for (name, version) in [
      ("prefetchConfig.json", copied.plan),
      copied.candidate?.plan.map { ("prefetchConfig/\($0).json", $0) },
    ].compactMap(\.self) {
      guard let bytes = try DurableFile.read("\(folder)/\(name)") else {
        problems.append("seed \(seed): the copy has no \(name); \(copied)")
        continue
      }
      check(try JSONValue.parse(bytes), is: version, of: copied)
    }
    for index in gadgets.indices where random.below(4) == 0 {
      try gadgets[index].poll(copy: { name in
        if let answer = known[name] { return answer }
        // A missing file leaves the device without an answer, which the checks detect.
        let answer =
          try DurableFile.read("\(folder)/\(name)").map { try ConfigureAnswer.parse($0) }
          ?? .failure(code: 404, message: name)
        known[name] = answer
        return answer
      })
      gadgets[index].expectPoll(ofCopyFrom: copied)
      note("poll of the copy")
      if let problem = gadgets[index].problem {
        problems.append("seed \(seed), from the copy: \(problem); \(copied)")
      }
    }
  }
}

extension JSONValue {
  fileprivate var words: String { String(decoding: canonical, as: UTF8.self) }
}
