// Everything that is loaded only when a program is to run.
export { createChildHerd } from './child-herd.ts'
export { createProgramRunner } from './program-runner.ts'
