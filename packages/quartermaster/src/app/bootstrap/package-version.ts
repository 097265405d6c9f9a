import { execFile } from 'node:child_process'
import { AppError } from '../../contracts/index.ts'

/** npm asks a registry, which may be far away; this is how long it may take. */
const PATIENCE_MS = 20_000

/** Of a package with many versions each is a few words. */
const MOST_BYTES = 4 * 1024 * 1024

const NAME = String.raw`(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~][\w.~-]*`

/** A name, and a tag or a range behind it. A shell would read more than it should in some ranges, and on Windows there is one. */
const PACKAGE =
  process.platform === 'win32'
    ? new RegExp(String.raw`^${NAME}(?:@[\w.~*+-]+)?$`, 'i')
    : new RegExp(String.raw`^${NAME}(?:@[\w.~*+^<>=| -]+)?$`, 'i')

/** The version that npm would take now for a package: `server`, `server@beta`, `server@^1.2`. */
export async function packageVersion(wanted: string, { signal }: { signal: AbortSignal }): Promise<string> {
  // Checked before it is handed to another program, which on Windows is reached through a shell.
  if (!PACKAGE.test(wanted)) {
    throw new AppError('INPUT_INVALID', `npm cannot be asked for "${wanted}". Write an exact version yourself.`)
  }
  const version = takenOf(await npmView(wanted, signal))
  if (version !== undefined) return version
  throw new AppError(
    'DEPENDENCY_UNAVAILABLE',
    `npm did not say which version "${wanted}" is. Write an exact one yourself.`,
  )
}

/** Like npm: the one that is called latest, if it is among those that are asked for, otherwise the highest. */
export function takenOf(answer: string): string | undefined {
  const found = manifestsIn(answer).filter(({ version }) => EXACT.test(version))
  const latest = found.find(one => one.version === one['dist-tags.latest'])
  return (latest ?? found.sort(byVersion).at(-1))?.version
}

const EXACT = /^\d+\.\d+\.\d+(?:-[\w.-]+)?(?:\+[\w.-]+)?$/

interface Manifest {
  readonly version: string
  readonly 'dist-tags.latest'?: unknown
}

/** Several for a range, and by itself where there is one. */
function manifestsIn(answer: string): Manifest[] {
  try {
    const parsed: unknown = JSON.parse(answer)
    return (Array.isArray(parsed) ? parsed : [parsed]).filter(isManifest)
  } catch {
    return []
  }
}

function isManifest(value: unknown): value is Manifest {
  return typeof value === 'object' && value !== null && 'version' in value && typeof value.version === 'string'
}

function byVersion({ version: one }: Manifest, { version: other }: Manifest): number {
  const [release = '', ...early] = one.split('-')
  const [otherRelease = '', ...otherEarly] = other.split('-')
  const released = release.localeCompare(otherRelease, 'en', { numeric: true })
  // What comes before a version has a word behind it: 2.0.0-beta.1.
  if (released !== 0 || early.length === 0 || otherEarly.length === 0)
    return released || otherEarly.length - early.length
  return early.join('-').localeCompare(otherEarly.join('-'), 'en', { numeric: true })
}

function npmView(wanted: string, signal: AbortSignal): Promise<string> {
  const options = {
    timeout: PATIENCE_MS,
    maxBuffer: MOST_BYTES,
    signal,
    windowsHide: true,
    shell: process.platform === 'win32',
  }
  return new Promise((resolve, reject) => {
    execFile('npm', ['view', wanted, 'version', 'dist-tags.latest', '--json'], options, (error, stdout) => {
      if (!error) return resolve(stdout)
      const message = `npm could not say which version "${wanted}" is: there may be none, or it is offline. Write an exact one yourself.`
      reject(new AppError('DEPENDENCY_UNAVAILABLE', message, { cause: error }))
    })
  })
}
