export type { Following } from './connection.ts'
export { connectToolbox, type RemoteToolbox, type RemoteToolboxOptions } from './remote-toolbox.ts'
export { toCallAnswer } from './toolbox-error.ts'
