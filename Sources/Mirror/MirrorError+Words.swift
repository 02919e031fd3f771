extension MirrorError: CustomStringConvertible {
  /// What is wrong, where, and what to do.
  package var description: String {
    switch self {
    case .system(let error): error.description
    case .store(let error): error.description
    case .unreachable(let url, let error): "\(url): \(error)"
    case .refused(let url, let status, let words):
      "\(url) answered \(status)\(words.isEmpty ? "" : ": \(words)")"
    case .unreadable(let path, let reason): "\(path) can't be read: \(reason)"
    case .damagedMirror(let path, let reason):
      "nothing was restored: \(path) can't be read: \(reason); restore from another copy or a backup. Where the origin "
        + "still runs, `xcache mirror --repair` puts this copy right"
    case .lacksFile(let path): "the mirror lacks \(path), which a manifest of it names"
    case .wrongBytes(let path):
      "\(path) has other bytes than its manifest says; `xcache doctor` finds out where they went wrong"
    case .lost(let path): "the origin's file \(path) is damaged or gone"
    case .damaged(let files):
      "damaged or gone at the origin: \(files.map(\.path.text).joined(separator: ", ")); publish them again"
    case .locked(let place, let process):
      "another run works on \(place)\(process.map { " (process \($0))" } ?? ""); wait for it, or end it"
    case .noMirror(let place): "there is no mirror at \(place): mirror.json is missing"
    case .otherOrigin(let place):
      "\(place) is the mirror of another origin; give another place, or remove its mirror.json to take it over"
    case .newer(let place): "\(place) was written by a newer xcache, which alone may go on with it"
    case .untold(let place, let channels):
      "mirror.json of \(place) is missing or damaged, so a run about some channels would forget the others that are "
        + "there (\(channels.map(\.description).joined(separator: ", "))); run once without --channel and --app, with a "
        + "token that may read all of them"
    case .noChannel(let what): "there is nothing to mirror: \(what)"
    case .unknownName(let words, let known):
      "no channel of the copy, or of an origin that was asked, is \(words); there is "
        + known.map(\.description).joined(separator: ", ")
    case .keepsChanging(let place): "\(place) was written again and again while it was read; try again later"
    case .badPlace(let words): words
    }
  }
}
