export {
  createUpstreamCredentials,
  type KeptLogin,
  type LoginOwner,
  MOST_WANTED,
  type UpstreamCredentialStore,
  UpstreamLogin,
  wantedWith,
} from './credentials.ts'
export { differencesBetween } from './diff.ts'
export { type Judgement, judge, type PinWrite } from './judge.ts'
export {
  LISTING_LIMITS,
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
} from './pins.ts'
export {
  type HeldDefinition,
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
  toolFacts,
} from './tool-facts.ts'
export {
  createUpstreamMemory,
  type UpstreamMemory,
} from './upstream-memory.ts'
export { excerptOf, shortened, showHidden } from './visible-text.ts'
