export type { Child, ChildExit, StopTimes } from './child.ts'
export type { ChildHerd } from './child-herd.ts'
export { exposesDataFolder } from './exposure/exposes-data-folder.ts'
export { locatedProgram } from './located-program.ts'
export { programPlaces } from './program-places.ts'
export { wait } from './waiting.ts'
export { type WorkingFolderOptions, workingFolder } from './working-folder.ts'

/** Loads what programs are run by; whoever has neither upstreams nor programs does without it. */
export const loadProgramParts = () => import('./parts.ts')
