export { type AddressSources, readAddresses, serverAddress, type WorkspaceAddress } from './addresses.ts'
export { checkAddress } from './check.ts'
export { connectElsewhere } from './front.ts'
export { joinWorkspace } from './remote.ts'
