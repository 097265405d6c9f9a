import { execFile } from 'node:child_process'
import { AppError } from '../contracts/index.ts'

/** npm asks a registry, which may be far away; beyond this nobody waits for it. */
const PATIENCE_MS = 20_000

const PACKAGE = /^(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*$/i

/** The version of a package that npm would take now. */
export async function packageVersion(name: string, { signal }: { signal: AbortSignal }): Promise<string> {
  // Checked before it is handed to another program, which on Windows is reached through a shell.
  if (!PACKAGE.test(name)) throw new AppError('INPUT_INVALID', `"${name}" is no name of an npm package.`)
  const version = (await npmView(name, signal)).trim()
  if (/^\d+\.\d+\.\d+[\w.+-]*$/.test(version)) return version
  throw new AppError(
    'DEPENDENCY_UNAVAILABLE',
    `npm did not say which version of "${name}" there is. Write it yourself: ${name}@VERSION`,
  )
}

function npmView(name: string, signal: AbortSignal): Promise<string> {
  const options = {
    timeout: PATIENCE_MS,
    maxBuffer: 64 * 1024,
    signal,
    windowsHide: true,
    shell: process.platform === 'win32',
  }
  return new Promise((resolve, reject) => {
    execFile('npm', ['view', name, 'version'], options, (error, stdout) => {
      if (!error) return resolve(stdout)
      const message = `npm could not say which version of "${name}" there is, perhaps because it is offline. Write it yourself: ${name}@VERSION`
      reject(new AppError('DEPENDENCY_UNAVAILABLE', message, { cause: error }))
    })
  })
}
