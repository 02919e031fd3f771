import Values

// The messages of this module's errors: what is wrong, where, and what to do.

extension NameError: CustomStringConvertible {
  package var description: String {
    let (thing, rule) = kind.message
    let quoted = Quoted.text(text)
    return switch problem {
    case .empty: "the \(thing) is empty; \(rule)"
    case .tooLong(let limit): "\(quoted) is too long for the \(thing): \(limit) characters at most"
    case .start: "the \(thing) \(quoted) can't begin like that; \(rule)"
    case .character(let scalar): "the \(thing) \(quoted) can't contain \(Quoted.character(scalar)); \(rule)"
    case .reserved: "\(quoted) can't be the \(thing), because it is used in paths; choose another"
    }
  }
}

extension NameError.Kind {
  fileprivate var message: (thing: String, rule: String) {
    switch self {
    case .app: ("app's name", "use a letter, then letters, digits, - and _")
    case .channel: ("channel's name", "use a lowercase letter, then lowercase letters, digits and -")
    case .bundle: ("bundle's name", "use a letter or digit, then letters, digits, ., - and _")
    }
  }
}

extension ManifestMismatch: CustomStringConvertible {
  package var description: String {
    switch self {
    case .base(let expected, let held):
      "the patch is for version \(expected), not for \(held), which is here; ask for the whole manifest"
    case .digest(let expected, let actual):
      "the manifest's digest is \(actual), not \(expected) as announced; ask for the whole manifest"
    case .entry(let url, let error): "the entry of \(Quoted.text(url.text)) is broken: \(error)"
    }
  }
}
