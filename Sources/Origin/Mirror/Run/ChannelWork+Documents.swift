import Manifests
import System

extension ChannelWork {
  /// How many documents are made at a time, and by how many threads.
  private static let batch = (documents: 4, threads: 2)

  /// Writes the documents that changed, stage by stage; each stage becomes visible after everything that it names.
  mutating func writeDocuments() throws(MirrorError) {
    try removeStaleCoded(plan.documents)
    for stage in PlannedDocument.Stage.allCases {
      let documents = try recordFixed(plan.documents.filter { $0.stage == stage })
      if try updateAll(documents) { try show() }
    }
  }

  /// Returns the documents that may have to be written, with their current sizes; records the others as they are.
  private mutating func recordFixed(_ documents: [PlannedDocument]) throws(MirrorError)
    -> [(document: PlannedDocument, size: Int64?)]
  {
    var rest: [(document: PlannedDocument, size: Int64?)] = []
    for (document, size) in zip(documents, try run.destination.sizes(of: documents.map(\.path))) {
      if document.isFixed, !run.options.repairs, let known = existing.recorded[document.path],
        known.size == size
      {
        try keep(document.path, known)
      } else {
        rest.append((document, size))
      }
    }
    return rest
  }

  /// Writes the documents that changed, a few at a time; returns whether any did.
  private mutating func updateAll(_ documents: [(document: PlannedDocument, size: Int64?)])
    throws(MirrorError) -> Bool
  {
    var rest = documents[...]
    var changes = false
    while !rest.isEmpty {
      let batch = Array(rest.prefix(Self.batch.documents))
      rest = rest.dropFirst(batch.count)
      for ((document, size), made) in zip(batch, try make(batch.map(\.document))) {
        changes = try update(document, size: size, made) || changes
      }
    }
    return changes
  }

  private typealias Made = (bytes: [UInt8], file: MirrorIndex.File)

  private func make(_ documents: [PlannedDocument]) throws(MirrorError) -> [Made] {
    let made = Locked([Made?](repeating: nil, count: documents.count))
    try Parallel.forEach(documents.count, threads: Self.batch.threads) { (index) throws(MirrorError) in
      let bytes = try documents[index].bytes()
      let file = MirrorIndex.File(sha256: SHA256.of(bytes), size: Int64(bytes.count))
      made.withLock { $0[index] = (bytes, file) }
    }
    return made.withLock { $0.compactMap(\.self) }
  }

  /// Writes a document unless it is already there; returns whether it did.
  private mutating func update(_ document: PlannedDocument, size: Int64?, _ made: Made) throws(MirrorError)
    -> Bool
  {
    if try existing.haveDocument(document.path, made.file, size: size) {
      try keep(document.path, made.file)
      return false
    }
    // A store without renames makes a document visible as soon as it is written.
    try run.markUnfinished()
    try write(document, made)
    return true
  }

  /// Records a document that stays as it is, with its coded siblings.
  private mutating func keep(_ path: String, _ file: MirrorIndex.File) throws(MirrorError) {
    files[path] = file
    if run.options.precompressed { try keepCodedDocument(path) }
  }

  private mutating func write(_ document: PlannedDocument, _ made: Made) throws(MirrorError) {
    let head = FileHead(type: MirrorPath.documentType(document.path), isImmutable: document.isImmutable)
    if run.options.precompressed { try writeCoded(made.bytes, document.path) }
    try run.destination.write(made.bytes, as: document.path, head)
    run.meter.wrote(made.file.size)
    files[document.path] = made.file
    try run.meter.hold()
  }

  /// Makes the documents visible, after everything they name, and their own bytes, are durable.
  private func show() throws(MirrorError) {
    try run.destination.sync()
    try run.destination.show()
  }
}
