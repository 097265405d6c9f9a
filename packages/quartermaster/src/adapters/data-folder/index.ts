export { type DataFolder, type MovedMark, openDataFolder } from './data-folder.ts'
export {
  type ConnectOptions,
  connectToOwner,
  type Endpoint,
  type EndpointFacts,
  type Owner,
  type OwnerLock,
} from './owner.ts'
export { prover, verifier } from './secrets.ts'
