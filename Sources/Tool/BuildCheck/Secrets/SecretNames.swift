/// File names that say that a file isn't meant for a browser.
package enum SecretNames {
  /// Names with a leading dot that hold no secret: RFC 8615's folder, what site generators leave for their hosts and for later
  /// builds, and the settings of editors, linters and repositories that copied libraries bring along.
  private static let harmless: Set<String> = [
    ".well-known", ".nojekyll", ".gitkeep", ".keep", ".buildinfo", ".vite", ".gitattributes",
    ".gitignore", ".github", ".npmignore", ".editorconfig", ".bower.json", ".jshintrc", ".eslintrc",
    ".travis.yml",
    ".babelrc", ".prettierrc", ".browserslistrc", ".stylelintrc", ".nvmrc", ".mailmap",
  ]

  private static let keys: Set<String> = [
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "admin.token",
    "secring.gpg",
    "wallet.dat", "htpasswd", "_netrc", "terraform.tfstate", "xcache.db", "xcache.db-wal",
    "env.local", "env.production", "env.staging", "env.development", "kubeconfig", "wp-config.php",
    "client_secret.json", "dump.sql", "backup.sql",
  ]

  /// Extensions of files that hold private keys and passwords.
  private static let endings: Set<String> = [
    "p12", "pfx", "jks", "keystore", "ppk", "kdbx", "tfstate", "tfvars", "env",
  ]

  /// Returns what a path's file is if it isn't meant for a browser: `a hidden file`. `size` is the file's in bytes: an empty
  /// file with a leading dot is only a mark for some program.
  package static func secret(of path: some StringProtocol, size: Int64) -> Secret? {
    let parts = path.split(separator: "/")
    guard let name = parts.last else { return nil }
    if let folder = hiddenFolder(of: path) {
      return Secret(noun: "in the hidden folder \(folder)", position: nil)
    }
    // AppleDouble files of macOS are reported as files that no device needs.
    if name.hasPrefix("."), size > 0, !name.hasPrefix("._"), !harmless.contains(String(name)) {
      return Secret(noun: "a hidden file", position: nil)
    }
    let lowered = name.lowercased()
    let ending = lowered.split(separator: ".", omittingEmptySubsequences: false).dropFirst().last
    if keys.contains(lowered) || ending.map({ endings.contains(String($0)) }) == true {
      return Secret(noun: "a file of keys or passwords, by its name", position: nil)
    }
    return nil
  }

  /// Returns the path of the first folder on the way with a leading dot that isn't part of a site.
  package static func hiddenFolder(of path: some StringProtocol) -> String? {
    guard path.hasPrefix(".") || path.contains("/.") else { return nil }
    let parts = path.split(separator: "/").dropLast()
    guard let hidden = parts.firstIndex(where: { $0.hasPrefix(".") && !harmless.contains(String($0)) }) else {
      return nil
    }
    return parts[...hidden].joined(separator: "/")
  }
}
