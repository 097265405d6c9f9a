export { type Child, type ChildExit, type StopTimes, wait } from './child.ts'
export type { ProcessManager } from './process-manager.ts'
export { locatedProgram, programPlaces, type WorkingFolderOptions, workingFolder } from './working-folder.ts'

/** Loads what runs programs; a process without upstreams and programs does without it. */
export const loadProgramParts = async () => ({
  ...(await import('./process-manager.ts')),
  ...(await import('./program-runner.ts')),
})
