export { toCallAnswer } from './call-answer.ts'
export type { Following } from './line.ts'
export { connectToolbox, type RemoteToolbox, type RemoteToolboxOptions } from './remote-toolbox.ts'
