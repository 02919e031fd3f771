import Values

// Subcommands, such as `add` of `policy bypass add`.
extension Command {
  /// All subcommands: `[["list"], ["bypass"], ["bypass", "add"]]`. They are parsed from the usage line of the help, where
  /// lowercase words are literal.
  var acts: [[String]] {
    alternatives.reduce(into: []) { all, act in
      if act.isEmpty { return }
      for length in 1...act.count where !all.contains(Array(act[..<length])) {
        all.append(Array(act[..<length]))
      }
    }
  }

  /// The literal words that begin each way to use the command; empty for one that begins with an operand, such as a version.
  private var alternatives: [[String]] {
    let line = operands.filter { !"[]()".contains($0) }.split(whereSeparator: \.isWhitespace)
    return line.split(separator: "|").map { words in
      words.prefix { word in
        word.allSatisfy { ("a"..."z").contains($0) || $0 == "-" } && word.first != "-"
      }.map(String.init)
    }
  }

  var takesFiles: Bool { operands.contains("DIR") || operands.contains("FILE") }

  /// Checks that the words which select a subcommand are known.
  /// - Throws: `UsageError` with the nearest known one.
  func checkActs(_ words: [String]) throws(UsageError) {
    let alternatives = alternatives
    // A command without subcommands, or with a free first operand, checks for itself.
    guard let first = words.first, !acts.isEmpty, !alternatives.contains([]) else { return }
    try check(first, among: alternatives.map { $0[0] }, after: [])
    guard words.count > 1 else { return }
    let deeper = alternatives.filter { $0[0] == first && $0.count > 1 }.map { $0[1] }
    if !deeper.isEmpty { try check(words[1], among: deeper, after: [first]) }
  }

  /// Checks that each given option belongs to the subcommand: an ignored one might have been meant to select the target, as in
  /// `token revoke NAME --data DIR`.
  func checkOptions(_ arguments: Arguments) throws(UsageError) {
    guard let act = arguments.operands.first, acts.contains([act]) else { return }
    for option in options where !option.acts.isEmpty && !option.acts.contains(act) {
      // The same name may have an option per subcommand.
      guard arguments.isGiven(option.name),
        !options.contains(where: { $0.name == option.name && ($0.acts.isEmpty || $0.acts.contains(act)) })
      else { continue }
      let theirs = option.acts.filter { !$0.isEmpty }.map { "\(name) \($0)" }
      throw UsageError("--\(option.name) can't be used with \(name) \(act), only with \(theirs.alternatives)")
    }
  }

  private func check(_ word: String, among known: [String], after first: [String]) throws(UsageError) {
    if known.contains(word) { return }
    let names = known.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
    let place = ([name] + first).joined(separator: " ")
    let suggestion = Spelling.suggestion(for: word, among: names)
    // `mirror www`: the command without a subcommand, which writes there.
    let writes = options.contains { $0.name == "to" && ($0.acts.isEmpty || $0.acts.contains("")) }
    let target = first.isEmpty && writes ? ", or --to \(word)" : ""
    throw UsageError(
      "unknown command \"\(place) \(word)\""
        + (suggestion.isEmpty ? "; expected \(names.alternatives)\(target)" : suggestion))
  }
}

extension Spelling {
  /// Returns `; did you mean X?` if one of the candidates is near, else nothing.
  static func suggestion(for word: String, among candidates: [String]) -> String {
    (synonym(of: word, among: candidates) ?? nearest(to: word, among: candidates)).map {
      "; did you mean \($0)?"
    } ?? ""
  }

  /// Returns the candidate that other programs call `word`; nil if there is none.
  static func synonym(of word: String, among candidates: [String]) -> String? {
    candidates.first { synonyms[$0]?.contains(word.lowercased()) ?? false }
  }

  /// What other programs call the same thing.
  private static let synonyms: [String: Set<String>] = [
    "thaw": ["unfreeze", "defrost", "unlock"], "freeze": ["lock"], "list": ["ls"],
    "create": ["add", "new", "make"], "remove": ["rm", "delete", "del", "unpin"], "pin": ["unpin"],
    "revoke": ["rm", "delete", "remove"],
    "forget": ["rm", "delete", "remove"], "add": ["create", "new"], "push": ["set", "upload"],
    "set": ["push"],
    "publish": ["upload", "deploy", "release", "push", "sync"], "rollback": ["revert", "undo", "back"],
    "log": ["history", "versions", "releases", "list", "ls"],
    "channel": ["channels", "env", "environments"], "unpublish": ["remove", "rm", "delete", "withdraw"],
    "purge": ["erase", "wipe"], "show": ["cat", "describe", "get"],
    "release": ["publish", "unpublish", "promote", "deploy"], "--bundle": ["--name", "-b"],
    "--base-url": ["--url", "--base", "--baseurl"], "--for": ["--until", "--duration"],
    "--listen": ["--port", "--host", "--bind", "--address"],
    "--to": ["--out", "--output", "--target", "--dest"],
    "--dir": ["--folder", "--path"], "--message": ["--comment"], "--expires": ["--ttl", "--until"],
    "--dry-run": ["--preview", "--simulate"], "--yes": ["--force"],
    "doctor": ["fsck"], "status": ["info"], "verify": ["check"],
  ]
}

extension [String] {
  /// The elements as `a, b or c`.
  var alternatives: String {
    count < 2 ? joined() : dropLast().joined(separator: ", ") + " or " + self[count - 1]
  }
}
