export {
  createUpstreamCredentials,
  type KeptLogin,
  type LoginOwner,
  MOST_WANTED,
  type UpstreamCredentialStore,
  type UpstreamCredentialsDeps,
  UpstreamLogin,
  wantedWith,
} from './credentials.ts'
export { differencesBetween } from './diff.ts'
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
export {
  createToolsOfOthers,
  type NamedTool,
  type OfferedNames,
  type OfferedNamesOptions,
  offeredNames,
  type ToolsOfOthers,
  type ToolsOfOthersDeps,
  type ToolWishes,
  unknownTools,
  unwantedTools,
  wantsDefinition,
  wantsTool,
} from './names.ts'
export {
  type ClaimChange,
  createPinBook,
  type Decision,
  type PinBook,
  type PinBookDeps,
  type SeenListing,
} from './pins.ts'
export {
  type HeldDefinition,
  type HeldState,
  heldState,
  isWaiting,
  type ListOptions,
  type NameClaim,
  type OfferedDefinition,
  offeredFromPins,
  type PinPolicy,
  type ReviewedListing,
} from './review.ts'
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
export {
  createUpstreamMemory,
  type UpstreamFacts,
  type UpstreamMemory,
  type UpstreamMemoryDeps,
} from './upstream-memory.ts'
export { excerptOf, shortened, showHidden } from './visible-text.ts'
