import System

extension Archive {
  /// Writes an archive of `inputs`, in their order.
  ///
  /// The bytes depend only on names, methods, contents and the version of zlib, not on `threads`, the number of threads
  /// that deflate. The calling thread reads large entries and writes. `prepare` is called first on each deflating thread.
  ///
  /// - Throws: `ArchiveError`; what was written so far is not a valid archive.
  package static func write(
    _ inputs: [ArchiveInput], threads: Int, to sink: any ArchiveSink,
    prepare: @escaping @Sendable () -> Void = {}
  ) throws(ArchiveError) {
    let job = CompressionJob(inputs)
    let helpers = threads > 1 ? Self.helpers(min(threads, inputs.count), job, prepare) : []
    defer {
      job.end()
      for helper in helpers { helper.join() }
    }
    let compressor = EntryCompressor()
    let deflater = Deflater()
    var writer = ArchiveWriter(sink)
    var batch = -1
    for (index, input) in inputs.enumerated() {
      guard input.isSmall else {
        try writer.stream(input, deflater)
        continue
      }
      if helpers.isEmpty {
        try writer.append(compressor.compress(input), as: input)
      } else {
        batch = job.reached(index, after: batch)
        try writer.append(job.compressed(index), as: input)
      }
    }
    try writer.finish()
  }

  /// Returns fewer than `count` threads if the system has no more.
  private static func helpers(
    _ count: Int, _ job: CompressionJob, _ prepare: @escaping @Sendable () -> Void
  ) -> [OSThread] {
    var helpers: [OSThread] = []
    for index in 0..<count {
      guard
        let thread = try? OSThread(
          name: "deflate-\(index)",
          {
            prepare()
            job.work()
          })
      else { break }
      helpers.append(thread)
    }
    return helpers
  }
}
