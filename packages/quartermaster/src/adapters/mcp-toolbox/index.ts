export { toCallAnswer } from './call-answer.ts'
export { connectToolbox, type RemoteToolbox, type RemoteToolboxOptions } from './remote-toolbox.ts'
