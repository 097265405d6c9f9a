export {
  createUpstreamCredentials,
  type KeptLogin,
  type LoginOwner,
  type UpstreamCredentialStore,
  type UpstreamCredentialsDeps,
  UpstreamLogin,
} from './credentials.ts'
export { differencesBetween } from './differences.ts'
export { type Judgement, type JudgeOptions, judge, type PinWrite } from './judge.ts'
export {
  LISTING_LIMITS,
  type ListedField,
  type Listing,
  type ListingLimits,
  type ReadListing,
  readListing,
  SERVER_NAME,
  type SeenDefinition,
} from './listing.ts'
export { type OfferedNames, type OfferedNamesOptions, offeredNames } from './offered-names.ts'
export {
  type ClaimChange,
  createPinBook,
  type PinBook,
  type PinBookDeps,
  type Sighting,
} from './pin-book.ts'
export type { Decision } from './pin-writes.ts'
export type { ListOptions } from './review-items.ts'
export { type ComparedNames, compareNames, type KnownNames, type OtherNames, otherNamesIn } from './scan/names.ts'
export { createScanner, type Scanner, scanDefinition } from './scan/scanner.ts'
export {
  askableConsent,
  consentOperationsOf,
  contradictionIn,
  countAsking,
  isAnnotated,
  type ToolFactsOptions,
  toolFacts,
  type UpstreamTool,
} from './tool-facts.ts'
export { createToolsOfOthers, type NamedTool, type ToolsOfOthers, type ToolsOfOthersDeps } from './tool-names.ts'
export {
  createUpstreamMemory,
  type UpstreamFacts,
  type UpstreamMemory,
  type UpstreamMemoryDeps,
} from './upstream-memory.ts'
export {
  type HeldDefinition,
  type HeldState,
  heldState,
  isWaiting,
  type NameClaim,
  type OfferedDefinition,
  offeredFromPins,
  type PinPolicy,
  type Verdict,
} from './verdict.ts'
export { excerptOf, shortened, showHidden } from './visible-text.ts'
export { MOST_WANTED, wantedWith } from './wanted-scope.ts'
export { type ToolWishes, unknownTools, unwantedTools, wantsDefinition, wantsTool } from './wanted-tools.ts'
