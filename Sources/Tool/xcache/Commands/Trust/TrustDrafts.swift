import Manifests
import OriginAPI
import Publishing
import System
import Trust
import Values

/// The commands that write an app's next root: `xcache trust add-key | remove-key | …`.
enum TrustDrafts {
  static let options: [Option] = [
    .value("new", "FILE", "make a key, as this file (add-key, add-root)").only("add-key", "add-root"),
    .flag("no-passphrase", "make keys without a passphrase").only("init", "add-key", "add-root"),
    .value("channels", "NAMES", "only for these channels, separated by commas").only(
      "init", "add-key", "set-scope"),
    .value("bundles", "NAMES", "only for these bundles, such as home,activity-*").only(
      "init", "add-key", "set-scope"),
    .value("prefix", "URL", "only for URLs that begin like this, up to a slash; repeatable").only(
      "init", "add-key", "set-scope"),
    .value("threshold", "N", "how many of these keys must sign (set-scope; default: 1)").only("set-scope"),
    .flag("no-prefetch", "it signs no prefetch configs (add-key)").only("add-key"),
    .flag("stolen", "others have the key: set the floors of what it could sign (remove-key)").only(
      "remove-key"),
    .flag("keep", "keep the head keys before in the root (rotate-head)").only("rotate-head"),
    .value("to", "SERIAL", "the floor: a serial, now, or none (set-floor)").only("set-floor"),
  ]

  static func run(_ act: String, _ arguments: Arguments, _ terminal: Terminal) throws {
    let change = try change(act, arguments, terminal)
    let context = try TrustContext(arguments, terminal)
    let overview = try context.overview()
    guard !overview.roots.isEmpty else { throw context.noRoot() }
    let base = try context.chain(overview).newest
    guard try JSONValue.parse(base.envelope.payload) == base.document.json else {
      throw CeremonyError.unknownMembers(base.document.number)
    }
    guard let next = RootDraft(after: base.document) else {
      throw Failure("no root can follow number \(base.document.number)")
    }
    let path = context.folder.draftPath(of: next.number)
    let file = try Kernel.status(path) == nil ? nil : try RootFile(path: path)
    if let file, file.root.app != context.app || file.root.number != next.number {
      throw Failure("\(path) is a draft of something else; move it away", code: .refused, name: "exists")
    }
    var draft = file.map { RootDraft(editing: $0.root) } ?? next
    try change(&draft, Place(context: context, overview: overview, base: base.document, file: file))
    let root = try draft.root()
    if file == nil, root == (try next.root()) {
      return say(changed: false, nil, base.document, path, context)
    }
    let isChanged = file?.root != root
    // Signatures are of other bytes, and gone with these.
    let signed = isChanged ? try TrustSign.envelope(root) : file?.signed
    guard let signed else { return }
    if isChanged { try DurableFile.write(RootFile.bytes(signed), to: path) }
    if isChanged, file?.signed.envelope.signatures.isEmpty == false {
      terminal.remark("\(path) was signed already; it has to be signed anew")
    }
    say(changed: isChanged, signed, base.document, path, context)
  }

  /// What a change knows of.
  private struct Place {
    let context: TrustContext
    let overview: TrustOverview
    /// The root in force.
    let base: TrustRoot
    /// The draft that is there.
    let file: RootFile?
  }

  private typealias Change = (inout RootDraft, Place) throws -> Void

  /// Returns what an act does; its words are checked before anything is asked of the origin.
  private static func change(_ act: String, _ arguments: Arguments, _ terminal: Terminal) throws -> Change {
    switch act {
    case "off", "on":
      _ = try arguments.operands(act)
      return { draft, _ in draft.isOff = act == "off" }
    case "add-key", "add-root":
      _ = try arguments.operands(act)
      return try adding(act, arguments)
    case "remove-key":
      let key = try GivenKey(arguments.operands(act, "KEY")[1], arguments, terminal)
      return { draft, place in try remove(key, from: &draft, place) }
    case "remove-root":
      let given = try GivenKey(arguments.operands(act, "KEY")[1], arguments, terminal)
      return { draft, place in
        let (key, isGone) = try given.find(in: draft, before: place.base)
        if isGone { return }
        try draft.removeRoot(key)
        if draft.rootKeys.count == 1 {
          place.context.terminal.remark(
            "warning: one root key is left, without a spare: if it is lost, only a new build of the app helps; "
              + "`xcache trust add-root --new FILE`")
        }
      }
    case "rotate-head":
      _ = try arguments.operands(act)
      return try rotatingHead(arguments)
    case "set-scope":
      let texts = arguments.operands.dropFirst()
      guard !texts.isEmpty else { throw UsageError("KEY is missing") }
      guard (scopes + ["threshold"]).contains(where: arguments.isGiven) else {
        throw UsageError(
          "say what these keys may sign from then on: --channels, --bundles, --prefix, --threshold; '*' is all, and what isn't given "
            + "is all, too")
      }
      let keys = try texts.map { try GivenKey($0, arguments, terminal) }
      let given = try grant(arguments, keys: [])
      return { draft, place in
        warnOfUnknown(arguments, place)
        var grant = given
        for key in keys { grant.keys.insert(try draft.key(key.id)) }
        try draft.setScope(grant)
      }
    case "set-floor":
      let name = try SettingsValue.bundle(arguments.operands(act, "BUNDLE")[1], in: "BUNDLE")
      let floor = try floor(arguments)
      return { draft, place in
        let known = place.overview.channels.flatMap { $0.bundles + $0.candidate }
        if !known.contains(where: { $0.bundle == name }) {
          place.context.terminal.remark(
            "warning: no channel has a bundle \(name); is it spelt right?")
        }
        draft.setFloor(floor, of: name)
      }
    case "set-threshold":
      let words = try arguments.operands(act, "roots or releases", "N")
      guard let threshold = Int(words[2]), (1...KeyGroup.thresholdLimit).contains(threshold) else {
        throw UsageError("\(words[2]): expected a number from 1 to \(KeyGroup.thresholdLimit)")
      }
      return { draft, _ in
        if words[1] == "roots" {
          draft.setRootThreshold(threshold)
        } else {
          draft.setReleaseThreshold(threshold)
        }
      }
    default: throw UsageError("unknown command \"trust \(act)\"")
    }
  }

  // MARK: Changes

  private static func adding(_ act: String, _ arguments: Arguments) throws -> Change {
    let (new, publicKey) = (try arguments.value("new"), try arguments.value("public-key"))
    guard (new == nil) != (publicKey == nil) else {
      throw UsageError(
        "give --new FILE, which makes a key, or --public-key FILE, that of one which is there")
    }
    guard !arguments.isGiven("sign-key"), !arguments.isGiven("sign-with") else {
      throw UsageError("\(act) signs nothing: `xcache trust sign` signs the draft")
    }
    let isScoped = scopes.contains(where: arguments.isGiven)
    let given = try grant(arguments, keys: [])
    let signsPrefetch = !arguments.has("no-prefetch")
    let known = try publicKey.map { try TrustKey(reading: $0) }
    return { draft, place in
      let key = try known ?? made(new ?? "", place.context)
      if act == "add-root" { return try draft.addRoot(key) }
      var grant = given
      grant.keys = [key.id]
      warnOfUnknown(arguments, place)
      try draft.addKey(key, grant: isScoped ? grant : nil, signsPrefetch: signsPrefetch)
    }
  }

  /// Returns the key of a new file. One that is there is used: the command may have been run before.
  private static func made(_ path: String, _ context: TrustContext) throws -> TrustKey {
    let (arguments, terminal) = (context.arguments, context.terminal)
    guard try Kernel.status(path) == nil else {
      terminal.remark("\(path) is there already, and is used")
      return try KeyFile(path: path) { GivenSigner.passphrase(of: $0, arguments, terminal) }.key
    }
    let passphrase = try TrustInit.newPassphrase(of: path, arguments, terminal)
    let key = try TrustInit.makeKey(at: path, passphrase: passphrase).key
    terminal.remark("made \(path), key \(TrustOutput.short(key.id))")
    return key
  }

  private static func remove(_ given: GivenKey, from draft: inout RootDraft, _ place: Place) throws {
    let (key, isGone) = try given.find(in: draft, before: place.base)
    if place.context.arguments.has("stolen") {
      // Serials are times; what is signed from now on is above.
      guard let now = Serial(Clock.unixMilliseconds()) else { return }
      let known = try KnownBundle.all(place.overview, place.context.remote.api)
      let left = draft.setFloors(signedBy: key, under: place.base, known: known, to: now)
      if !left.isEmpty {
        place.context.terminal.remark(
          "warning: a root has room for \(TrustRoot.floorLimit) floors; there is none for \(Count.text(left.count, "bundle")), "
            + "such as \(left[0]): set them by the root after this one")
      }
    }
    if !isGone { try draft.removeKey(key) }
  }

  private static func rotatingHead(_ arguments: Arguments) throws -> Change {
    let known = try arguments.value("public-key").map { try TrustKey(reading: $0) }
    let keeps = arguments.has("keep")
    return { draft, place in
      if let known { return try draft.setHead(known, keepsOthers: keeps) }
      // Another one for each run would leave keys behind that nobody uses.
      if place.file != nil, !draft.heads.subtracting(place.base.heads).isEmpty { return }
      let answer = try place.context.remote.api.headKey(HeadKeyRequest(another: true), of: draft.app).value
      guard let key = TrustKey(base64: answer.key), key.id.text == answer.keyid else {
        throw Failure("the origin's head key isn't one on P-256")
      }
      try draft.setHead(key, keepsOthers: keeps)
    }
  }

  private static func floor(_ arguments: Arguments) throws -> Serial? {
    switch try arguments.value("to") {
    case nil: throw UsageError("--to SERIAL is required: the floor, now, or none")
    case "none"?: return nil
    case "now"?: return Serial(Clock.unixMilliseconds())
    case let text?:
      guard let floor = Int64(text).flatMap({ Serial($0) }) else {
        throw UsageError("--to \(text): expected milliseconds since 1970, now, or none")
      }
      return floor
    }
  }

  // MARK: Options

  /// The options that say what a key may sign.
  private static let scopes = ["channels", "bundles", "prefix"]

  /// Warns of channels and bundles that the origin doesn't know: they may come later, or are misspelt.
  private static func warnOfUnknown(_ arguments: Arguments, _ place: Place) {
    func texts(_ option: String) -> [String] {
      arguments.all(option).flatMap { $0.split(separator: ",").map(String.init) }.filter { $0 != "*" }
    }
    let channels = Set(place.overview.channels.map(\.channel.text))
    for name in texts("channels") where !channels.contains(name) {
      place.context.terminal.remark(
        "warning: there is no channel \(name), but \(channels.sorted().joined(separator: ", ")); is it spelt right?"
      )
    }
    let bundles = Set(place.overview.channels.flatMap { $0.bundles + $0.candidate }.map(\.bundle.text))
    for name in texts("bundles") {
      let isKnown =
        name.hasSuffix("*") ? bundles.contains { $0.hasPrefix(name.dropLast()) } : bundles.contains(name)
      if isKnown { continue }
      place.context.terminal.remark("warning: no channel has a bundle \(name); is it spelt right?")
    }
  }

  /// Reads the scope that options give: all where they say nothing.
  static func grant(_ arguments: Arguments, keys: Set<KeyID>) throws -> RootDraft.Grant {
    RootDraft.Grant(
      keys: keys, threshold: try arguments.number("threshold", in: 1...KeyGroup.thresholdLimit) ?? 1,
      channels: try scope("channels", arguments, "channels' names") { try? ChannelName($0) },
      bundles: try scope("bundles", arguments, "bundles' names, or beginnings of names such as activity-*") {
        ReleaseGrant.BundlePattern($0)
      },
      prefixes: try scope("prefix", arguments, "URLs as devices have them, that end with a slash") {
        ReleaseGrant.URLPrefix($0)
      })
  }

  private static func scope<Element>(
    _ option: String, _ arguments: Arguments, _ wanted: String, _ read: (String) -> Element?
  ) throws -> ReleaseGrant.Scope<Element> {
    let texts = arguments.all(option).flatMap { $0.split(separator: ",").map(String.init) }
    guard arguments.isGiven(option), texts != ["*"] else { return .all }
    var elements: [Element] = []
    for text in texts {
      guard let element = read(text) else { throw UsageError("--\(option) \(text): expected \(wanted)") }
      if !elements.contains(element) { elements.append(element) }
    }
    guard (1...ReleaseGrant.listLimit).contains(elements.count) else {
      throw UsageError("--\(option): expected 1 to \(ReleaseGrant.listLimit) \(wanted)")
    }
    return .some(elements)
  }

  static func scriptKey(_ arguments: Arguments) throws -> [UInt8]? {
    guard let text = try arguments.value("script-key") else { return nil }
    guard let key = Base64.decode(text), key.count == Ed25519.keyCount else {
      throw UsageError(
        "--script-key: expected \(Ed25519.keyCount) bytes in base64, as `xcache policy script key` prints")
    }
    return key
  }

  // MARK: Words

  static func say(
    changed: Bool, _ signed: Signed<TrustRoot>?, _ before: TrustRoot?, _ path: String, _ context: TrustContext
  ) {
    let terminal = context.terminal
    if context.arguments.has("json") {
      var document = json(changed: changed, signed, before, path).object ?? JSONObject()
      if !changed {
        document["detail"] = .string("\(signed == nil ? inForce(before) : path) says that already")
      }
      terminal.say(json: .object(document))
      return
    }
    guard let signed else {
      terminal.say("nothing to change: \(inForce(before)) says that already")
      return
    }
    terminal.say(
      "\(changed ? "wrote" : "unchanged:") \(path), root \(signed.document.number) of app \(context.app)"
        + (changed ? "" : ", says that already"))
    for line in TrustOutput.differences(from: before, to: signed.document) { terminal.say("  \(line)") }
    terminal.say("  \(TrustOutput.signatures(signed, after: before))")
    if let before, before.floors.contains(where: { signed.document.floors[$0.key] == nil }) {
      terminal.remark("the floors that \(inForce(before)) has set stay, and needn't be set again")
    }
    terminal.remark(
      TrustOutput.isComplete(signed, after: before)
        ? "next: `xcache trust push \(path) --sign-key FILE`"
        : "next: `xcache trust sign \(path) --key FILE`, where the root keys are; then `xcache trust push \(path)`"
    )
  }

  private static func inForce(_ root: TrustRoot?) -> String { root.map { "root \($0.number)" } ?? "the root" }

  static func json(
    changed: Bool, _ signed: Signed<TrustRoot>?, _ before: TrustRoot?, _ path: String
  ) -> JSONValue {
    guard let signed else { return ["changed": .bool(changed)] }
    return [
      "changed": .bool(changed), "complete": .bool(TrustOutput.isComplete(signed, after: before)),
      "differences": .strings(TrustOutput.differences(from: before, to: signed.document)),
      "file": .string(path), "number": .integer(signed.document.number.number),
      "signatures": .strings(signed.envelope.signatures.map(\.key.text)),
    ]
  }
}

/// A KEY of the command line: the beginning of an id, or a key's file.
private struct GivenKey {
  /// The id, or its beginning.
  let id: String

  /// - Throws: what is wrong with a file.
  init(_ text: String, _ arguments: Arguments, _ terminal: Terminal) throws {
    // A file whose name is all digits of an id is named with its folder: `./c0ffee`.
    guard !text.isEmpty, !text.allSatisfy(\.isHexDigit) else {
      id = text
      return
    }
    if let key = TrustKey(base64: text) {
      id = key.id.text
    } else if try Kernel.status(text)?.kind == .file {
      id = try TrustInit.read(text, arguments, terminal).key.id.text
    } else {
      id = text
    }
  }

  /// Returns the key of a draft, or of the root before it if the draft has taken it out already.
  func find(in draft: RootDraft, before: TrustRoot) throws -> (key: KeyID, isGone: Bool) {
    do throws(CeremonyError) {
      return (try draft.key(id), false)
    } catch {
      guard case .unknownKey = error, let key = try? RootDraft(editing: before).key(id) else { throw error }
      return (key, true)
    }
  }
}
