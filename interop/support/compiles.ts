import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { compiler } from '../../scripts/run.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What the compiler says against the sources of a folder that needs more packages than the rest: nothing, one hopes. */
export function complaintsOfCompiler(folder: string): Promise<string> {
  const [node, ...tsc] = compiler(ROOT)
  return new Promise(resolve => {
    execFile(node, [...tsc, '--noEmit', '-p', folder], { cwd: ROOT }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    )
  })
}
