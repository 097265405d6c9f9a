export { connectToolbox, type RemoteToolboxOptions } from './remote-toolbox.ts'
