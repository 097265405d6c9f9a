export { type AccessGuard, watchAccess } from './access-looks.ts'
export { doubtfulOptions } from './argument-secrets.ts'
export { toBase64 } from './base64.ts'
export { basicCredentials } from './basic-credentials.ts'
export { type BinaryContent, binaryIn, withoutBinary } from './binary-content.ts'
export { bodyChunks } from './body-chunks.ts'
export { type JsonExcess, type JsonLimits, jsonExcess, parseBoundedJson } from './bounded-json.ts'
export { callForModel } from './call-for-model.ts'
export { callerKey } from './caller-key.ts'
export {
  type Cancellation,
  type CancelSignal,
  createCancellation,
  throwIfCancelled,
  unlessCancelled,
} from './cancellation.ts'
export { canonicalJson } from './canonical-json.ts'
export { closest, didYouMean, whichThereAre } from './closest.ts'
export { type PlacedWord, type ProgramLine, programIn, programLines, scriptIn } from './command-line.ts'
export { type CommandParameter, choiceText, commandParameters } from './command-parameter.ts'
export {
  type CommandArgument,
  type CommandOption,
  type CommandTool,
  type CommandUsage,
  commandUsage,
  OWN_OPTIONS,
} from './command-usage.ts'
export { consentPrefix } from './consent-prefix.ts'
export { withoutRest } from './cut-result.ts'
export { doubtfulArguments } from './doubtful-arguments.ts'
export { createEmitter, type Emitter } from './emitter.ts'
export { emptyHeader } from './empty-header.ts'
export { errorResult } from './error-result.ts'
export { type FoundIssue, fewIssues, MOST_ISSUES } from './few-issues.ts'
export { createFullness } from './fullness.ts'
export { type GuardedEventsOptions, guardedEvents } from './guarded-events.ts'
export { toJsonEscape, withoutHidden } from './hidden-characters.ts'
export { createInFlight, type InFlight } from './in-flight.ts'
export { inputObject } from './input-object.ts'
export { isRecord } from './is-record.ts'
export { isLibraryText, issuePredicate, issueSentence } from './issue-sentence.ts'
export { jsonFault } from './json-faults.ts'
export { jsonInSteps } from './json-in-steps.ts'
export { jsonTextInSteps, mostJsonBytes } from './json-text.ts'
export { createLimit, type Limit } from './limit.ts'
export { createListeners, type Listeners } from './listeners.ts'
export { commandOf, hasLoginStep, loginStep, loginStepIn, neededLogin, withoutLoginStep } from './login-step.ts'
export { line, paragraphs } from './markdown-text.ts'
export { type MirroredParameter, mirroredParameters, mirroredText } from './mirrored-parameters.ts'
export { isSeenPicture, type ModelPiece, modelPieces, modelWords } from './model-pieces.ts'
export { modelText } from './model-text.ts'
export { isOwnHeader } from './own-header.ts'
export { firstOperand, type PackageRun, packageRunIn, packageRunsOf } from './package-run.ts'
export { type ProgramCall, withVersionsOf } from './package-versions.ts'
export type { Cancel, Clock, Digest, FollowingClock, Ids, Log, Random } from './ports.ts'
export { programIdentity } from './program-identity.ts'
export { createRateLimit, type RateLimit, type RateLimitOptions } from './rate-limit.ts'
export { redactedJson } from './redacted-json.ts'
export { remembered } from './remembered.ts'
export { type ReopeningLimits, reopening } from './reopening.ts'
export { refuseNoPlace } from './result-place.ts'
export { LONGEST_RETRY_MS, parseRetryAfter } from './retry-after.ts'
export { createRounds, type Rounds, type RoundsOptions } from './rounds.ts'
export {
  alternatives,
  fieldsOf,
  isSchema,
  listAt,
  referredBy,
  type SchemaField,
  schemasAt,
  typeOf,
  typesAt,
} from './schema-place.ts'
export { SECRET_FORMS } from './secret-forms.ts'
export { freeName, secretNamesOf } from './secret-shelf.ts'
export { isSecretName, isSecretText } from './secret-text.ts'
export { createSecretTexts, type Redact, type RedactStart, type SecretTexts } from './secret-texts.ts'
export { sentence } from './sentence.ts'
export { type SeparatedEntry, separateSecrets } from './separate-secrets.ts'
export { shellCommands } from './shell-commands.ts'
export { withShellVariables } from './shell-variables.ts'
export { commandText, targetText } from './target-text.ts'
export { toldError } from './told-error.ts'
export { traceFrom, traceIdOf } from './trace.ts'
export type { Span, SpanFacts, SpanStart, Tracer } from './tracer.ts'
export { atOnce, createTurns, inTurns, type Steps, type Turns } from './turns.ts'
export { isStripped, unmarked, unsaid } from './unmarked.ts'
export { findUnpinned, isFilledIn, type Unpinned, withTexts } from './unpinned-packages.ts'
export { upstreamBehind, upstreamDependency, upstreamIn, upstreamUnit } from './upstream-unit.ts'
export { textOfBody } from './utf8.ts'
export { escapeCharacter, escapeLine, toSafeJson, toVisibleJson, UNSAFE, UNSEEN } from './visible-text.ts'
export { type WhileAdmittedOptions, whileAdmitted } from './while-admitted.ts'
export { withoutUndefined } from './without-undefined.ts'
