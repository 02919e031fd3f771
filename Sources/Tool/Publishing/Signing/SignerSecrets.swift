/// What a program that signs was given and nobody is to read in a message, such as a card's PIN: logs of CI are read by many.
struct SignerSecrets {
  /// The texts, longest first, so that no part of a longer one is left.
  private let texts: [String]

  /// A shorter text would be found everywhere, and says nothing.
  private static let shortest = 3
  /// What names of options and variables have in them whose values are secret.
  private static let marks = ["pin", "pass", "secret", "token", "credential", "access_key"]
  /// What is put in the place of a secret.
  private static let mask = "***"

  /// - Parameters:
  ///   - command: what a shell runs.
  ///   - environment: its variables.
  init(command: String, _ environment: [String: String]) {
    var texts = Self.values(in: command)
    // What it says may have the whole command, as the messages of some shells do.
    texts.insert(command)
    for (name, value) in environment where Self.isSecret(name) { texts.insert(value) }
    self.texts = texts.filter { $0.utf8.count >= Self.shortest }.sorted {
      ($1.utf8.count, $0) < ($0.utf8.count, $1)
    }
  }

  /// Returns what a program wrote without them.
  func hidden(in text: String) -> String {
    texts.reduce(text) { $0.replacing($1, with: Self.mask) }
  }

  /// Returns the name of the program that a command begins with; words for it if that isn't sure.
  static func program(of command: String) -> String {
    for word in command.split(whereSeparator: \.isWhitespace) {
      if let equals = word.firstIndex(of: "="), isName(word[..<equals]) {
        // A quoted value can go on in the next word.
        guard word.allSatisfy({ !#"'"\`$("#.contains($0) }) else { break }
        continue
      }
      let name = word.split(separator: "/").last ?? ""
      guard !name.isEmpty, name.utf8.allSatisfy(isPlain) else { break }
      return String(name)
    }
    return "a command"
  }

  private static func isName(_ text: Substring) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { isPlain($0) && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ".") }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "+"):
      true
    default: false
    }
  }

  private static func isSecret(_ name: some StringProtocol) -> Bool {
    let name = name.lowercased()
    return marks.contains { name.contains($0) }
  }

  /// Returns the values of a command's options and variables that are secret by their names: of `--pin 1234`, `--pin=1234`,
  /// `PIN=1234`, `pass:1234`.
  private static func values(in command: String) -> Set<String> {
    var values: Set<String> = []
    var isNext = false
    for word in words(of: command) {
      if isNext { values.insert(word) }
      isNext = false
      guard let end = word.firstIndex(where: { $0 == "=" || $0 == ":" }) else {
        isNext = word.hasPrefix("-") && isSecret(word)
        continue
      }
      let value = String(word[word.index(after: end)...])
      if isSecret(word[..<end]) { values.insert(value) }
      // As a URI of PKCS#11 has it.
      for part in value.split(whereSeparator: { ";?&".contains($0) }) where part.hasPrefix("pin-value=") {
        values.insert(String(part.dropFirst("pin-value=".count)))
      }
    }
    return values
  }

  /// Returns the words of a command, without quotes.
  private static func words(of command: String) -> [String] {
    var words: [String] = []
    var word = ""
    var quote: Character?
    for character in command {
      if character == quote {
        quote = nil
      } else if quote == nil, character == "'" || character == "\"" {
        quote = character
      } else if quote == nil, character.isWhitespace || ";|&()".contains(character) {
        if !word.isEmpty { words.append(word) }
        word = ""
      } else {
        word.append(character)
      }
    }
    if !word.isEmpty { words.append(word) }
    return words
  }
}
