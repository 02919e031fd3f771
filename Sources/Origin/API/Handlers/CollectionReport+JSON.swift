import Manifests
import OriginAPI
import Store

extension GCReport {
  /// What the API and `xcache gc --json` say of a garbage collection.
  package init(_ report: CollectionReport, dryRun: Bool) {
    self.init(
      dryRun: dryRun, channels: report.channels.map(Channel.init), freedBytes: report.freedBytes,
      blobs: Files(report.blobs), orphans: Files(report.orphans), derived: Files(report.derived),
      temporary: Files(report.temporary), entries: report.entries, resources: report.resources,
      urls: report.urls, promised: report.promised, stoppedFor: report.stoppedFor,
      longestWriteMilliseconds: (report.longestWrite + 999_999) / 1_000_000)
  }
}

extension GCReport.Files {
  fileprivate init(_ files: CollectionReport.Files) { self.init(files: files.count, bytes: files.bytes) }
}

extension GCReport.Channel {
  fileprivate init(_ channel: CollectionReport.Channel) {
    self.init(
      app: channel.app, channel: channel.name, dropped: channel.dropped,
      kept: channel.kept.map { .init(version: $0.version, reasons: $0.reasons.map(GCReport.Reason.init)) })
  }
}

extension GCReport.Reason {
  fileprivate init(_ reason: KeepReason) {
    switch reason {
    case .live: self.init("live")
    case .recent: self.init("recent")
    case .reported(let polls, let hours, let last):
      self.init("reported", polls: Int64(polls), hours: hours, last: Moment(milliseconds: last))
    case .pinned(let author, let reason): self.init("pinned", author: author, reason: reason)
    case .mirrored(let name): self.init("mirrored", mirror: name)
    case .lastNumber: self.init("lastNumber")
    }
  }
}
