// Everything that is loaded only when there is an upstream, or a program to be run.
export { createChildHerd } from './child-herd.ts'
export { createProgramRunner } from './program-runner.ts'
