import HTTP
import Manifests
import OriginAPI
import Store
import System

/// The publishing API: everything below `/api/v1`.
///
/// The event loop only parses the request; authentication and the answer are left to the worker pool.
struct APIEndpoint: Sendable {
  let store: Store
  let releases: ReleaseService
  let deltas: DeltaService
  let documents: DocumentService
  let adoption: AdoptionService
  let fleet: FleetService
  /// Where the frames of stacks are in the source text; with the maps that it read last.
  let stacks: StackReader
  /// The command lines that wait to be signed in.
  let signIns: PendingSignInTable
  /// The versions that are looked at; nil if previews are off.
  let previews: PreviewTickets?
  /// In bytes.
  let largestUpload: UInt64
  let log: @Sendable (String) -> Void
  let failures: FailureLog
  /// The addresses that recently sent wrong tokens.
  let attempts = LoginAttempts()
  let running = RunningRequests()
  /// Answers that equal requests share.
  let shared = SharedAnswers()
  /// The documents that preparations were given.
  let plans = PlanCache()
  /// The memory for all documents received at once; it holds several of the largest that are published in practice.
  let bodies = BodyBudget(limit: 64 << 20)

  func answer(_ request: borrowing Request) -> Answer {
    guard let call = APIRequest(request), let route = APIRoute.at(call.path) else {
      return .now(Problem.notFound.response)
    }
    if call.method == .options { return .now(Response(.noContent, HeadFields([("Allow", route.allow)]))) }
    guard let act = route.operation(for: call.method) else {
      return .now(Problem.methodNotAllowed(route.allow).response)
    }
    // Checked here, so that a client without a token is never asked for a body, nor occupies a worker.
    guard call.token != nil else { return .now(Problem.noToken.response) }
    switch act {
    case .answer(let requirement, let handle):
      return .later {
        respond(to: call) {
          let context = try authorize(call, requirement)
          guard call.method == .delete else { return call.reader.response(try handle(context)) }
          return try once(context, body: SHA256.of([]), handle)
        }
      }
    case _ where !call.announcesBody:
      return .now(Problem.lengthRequired.response)
    case .document(let requirement, _, _) where !call.coding.isKnown,
      .upload(let requirement, _) where !call.coding.isKnown:
      return .later {
        respond(to: call) {
          _ = try authorize(call, requirement)
          throw Problem.unknownCoding
        }
      }
    case .document(let requirement, let limit, let open):
      // The receiver counts bodies without a length and reports those that are too long.
      return refusal(call, requirement, over: UInt64(limit))
        ?? .receive(limit: .max) { DocumentReceiver(call, self, requirement, limit: limit, open) }
    case .upload(let requirement, let open):
      return refusal(call, requirement, over: largestUpload)
        ?? .receive(limit: largestUpload) { UploadReceiver(call, self, requirement, open) }
    }
  }

  /// Returns the answer to a body whose declared length is too large; nil for any other.
  private func refusal(_ call: APIRequest, _ requirement: Requirement, over limit: UInt64) -> Answer? {
    guard let length = call.length, UInt64(clamping: length) > limit else { return nil }
    return .later {
      respond(to: call) {
        _ = try authorize(call, requirement)
        throw Problem.tooLarge(limit: limit)
      }
    }
  }

  /// Runs a handler and turns its errors into answers; internal errors are logged.
  func respond(to request: APIRequest, _ handle: () throws -> Response) -> Response {
    do {
      return try handle()
    } catch {
      let problem = problem(error, request)
      // Nobody is there to read about what was broken off.
      if case StoreError.cancelled = error { return problem.response }
      if problem.status >= 500 { failures.note(problem, problem.detail ?? problem.title) }
      return problem.response
    }
  }
}
