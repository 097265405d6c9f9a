import { resolve } from 'node:path'

/** A path counts from the project folder, wherever it runs; a name is looked for on the PATH. */
export function locatedProgram(program: string, projectDir: string): string {
  return /[\\/]/.test(program) ? resolve(projectDir, program) : program
}
