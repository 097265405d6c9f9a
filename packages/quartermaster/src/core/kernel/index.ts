export { doubtfulOptions } from './argument-secrets.ts'
export {
  type Cancellation,
  type CancelSignal,
  createCancellation,
  throwIfCancelled,
  unlessCancelled,
} from './cancellation.ts'
export { type PlacedWord, type ProgramLine, programIn, programLines, scriptIn } from './command-line.ts'
export {
  type CommandArgument,
  type CommandOption,
  type CommandParameter,
  type CommandTool,
  type CommandUsage,
  choiceText,
  commandParameters,
  commandUsage,
  OWN_OPTIONS,
} from './command-usage.ts'
export {
  createInFlight,
  createLimit,
  createRounds,
  type InFlight,
  type Limit,
  type ReopeningLimits,
  type Rounds,
  type RoundsOptions,
  remembered,
  reopening,
  type WhileAdmittedOptions,
  whileAdmitted,
} from './concurrency.ts'
export { doubtfulArguments } from './doubtful-arguments.ts'
export {
  createEmitter,
  createListeners,
  type Emitter,
  type GuardedEventsOptions,
  guardedEvents,
  type Listeners,
} from './events.ts'
export {
  basicCredentials,
  bodyChunks,
  emptyHeader,
  isOwnHeader,
  LONGEST_RETRY_MS,
  parseRetryAfter,
  textOfBody,
  toBase64,
} from './http.ts'
export { type FoundIssue, fewIssues, isLibraryText, issuePredicate, issueSentence, MOST_ISSUES } from './issues.ts'
export {
  canonicalJson,
  inputObject,
  isRecord,
  type JsonExcess,
  type JsonLimits,
  jsonExcess,
  jsonFault,
  parseBoundedJson,
  withoutUndefined,
} from './json.ts'
export { jsonInSteps } from './json-in-steps.ts'
export { jsonTextInSteps, mostJsonBytes } from './json-text.ts'
export {
  type BinaryContent,
  binaryIn,
  callForModel,
  errorResult,
  isSeenPicture,
  type ModelPiece,
  modelPieces,
  modelText,
  modelWords,
  refuseNoPlace,
  toldError,
  withoutBinary,
  withoutRest,
} from './model-output.ts'
export { firstOperand, type PackageRun, packageRunIn, packageRunsOf } from './package-run.ts'
export { type ProgramCall, withVersionsOf } from './package-versions.ts'
export type { Cancel, Clock, Digest, FollowingClock, Ids, Log, Random } from './ports.ts'
export { programIdentity } from './program-identity.ts'
export {
  type AccessGuard,
  createFullness,
  createRateLimit,
  type RateLimit,
  type RateLimitOptions,
  watchAccess,
} from './rate-limit.ts'
export { redactedJson } from './redacted-json.ts'
export {
  alternatives,
  fieldsOf,
  isSchema,
  listAt,
  type MirroredParameter,
  mirroredParameters,
  mirroredText,
  referredBy,
  type SchemaField,
  schemasAt,
  typeOf,
  typesAt,
} from './schema-fields.ts'
export { SECRET_FORMS } from './secret-forms.ts'
export { freeName, secretNamesOf } from './secret-store.ts'
export { isSecretName, isSecretText } from './secret-text.ts'
export { createSecretTexts, type Redact, type RedactStart, type SecretTexts } from './secret-texts.ts'
export { type SeparatedEntry, separateSecrets } from './separate-secrets.ts'
export { shellCommands } from './shell-commands.ts'
export { withShellVariables } from './shell-variables.ts'
export {
  closest,
  didYouMean,
  escapeCharacter,
  escapeLine,
  isStripped,
  line,
  paragraphs,
  sentence,
  toJsonEscape,
  toSafeJson,
  toVisibleJson,
  UNSAFE,
  UNSEEN,
  unmarked,
  unsaid,
  whichThereAre,
  withoutHidden,
} from './text.ts'
export { type Span, type SpanFacts, type SpanStart, type Tracer, traceFrom, traceIdOf } from './tracing.ts'
export { atOnce, createTurns, inTurns, type Steps, type Turns } from './turns.ts'
export { findUnpinned, isFilledIn, type Unpinned, withTexts } from './unpinned-packages.ts'
export {
  callerKey,
  commandOf,
  commandText,
  consentPrefix,
  hasLoginStep,
  loginStep,
  loginStepIn,
  neededLogin,
  targetText,
  upstreamBehind,
  upstreamDependency,
  upstreamIn,
  upstreamUnit,
  withoutLoginStep,
} from './upstream-names.ts'
