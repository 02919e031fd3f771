extension Problem {
  /// Refuses a setting by which devices send no reports: where shared caches take the polls, nothing else tells which versions are in
  /// use.
  package static var reportsNeeded: Problem {
    Problem(
      status: 409, title: "Conflict", code: "reports-needed",
      detail:
        "with 0 no device would be counted: shared caches take this origin's polls (serve --edge-ttl), so usage reports alone "
        + "tell which versions are in use; send a share of them, such as 1 %")
  }
}
