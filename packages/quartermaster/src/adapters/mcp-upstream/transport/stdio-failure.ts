import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isAppError, type StdioUpstream } from '../../../contracts/index.ts'
import { commandText } from '../../../core/secrets/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import { type ChildExit, programPlaces, type WorkingFolderOptions, workingFolder } from '../../programs/index.ts'
import type { Trouble } from '../peer/channel.ts'

/** What to do about a program that could not be started, in a sentence or two. */
export async function startFailure(error: unknown, program: { command: string; cwd: string }): Promise<string> {
  if (isAppError(error)) return error.message
  const { cwd } = program
  const command = commandText(program.command)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (process.platform === 'win32' && (code === 'EINVAL' || code === 'ENOENT')) return windowsReason(command)
  if (code === 'ENOENT' && !(await isFolder(cwd))) return `The working folder "${cwd}" is not there.`
  if (code === 'ENOENT') return missingReason(command)
  if (code === 'EACCES' && program.command.includes('/') && (await isFolder(resolve(cwd, program.command))))
    return `"${command}" is a folder. Write the path of the program itself as "command".`
  if (code === 'EACCES')
    return `"${command}" may not be run. Make it executable (chmod +x), or name the program that runs it.`
  if (code === 'E2BIG')
    return `"${command}" was given more arguments and variables than a program can have. Give it fewer.`
  // Its message may contain an argument, and with it a secret.
  return `"${command}" could not be started (${code || 'for an unknown reason'}). Check its command, arguments and environment.`
}

/** A program with arguments. A path may have a space in it, but hardly an option. */
const WHOLE_LINE = /^[^\s/\\]+\s|\s--?[A-Za-z]/

function missingReason(command: string): string {
  if (WHOLE_LINE.test(command))
    return `There is no program "${command}". Write the program alone as "command", and each argument by itself in "args".`
  if (command.includes('/')) return `There is no program "${command}", or what its first line names is not there.`
  return `There is no program "${command}" on the PATH. Install it, or write its full path as "command".`
}

function windowsReason(command: string): string {
  return (
    `"${command}" is no program that can be started. A .cmd or .bat file, as npx is one, is run by cmd: ` +
    `set "command" to "cmd" and "args" to ["/c", "${command}", …].`
  )
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    stats => stats.isDirectory(),
    () => false,
  )
}

/** How a program ended, and its last line where that can be why. */
export function exitTrouble(exit: ChildExit, lastWords: string | undefined): Trouble {
  const reason = exitReason(exit)
  return lastWords === undefined || isEndedByOthers(exit)
    ? { reason }
    : { reason, said: excerptOf(lastWords, MOST_SAID) }
}

function exitReason({ code, signal }: ChildExit): string {
  if (signal) return `It was ended by ${signal}.`
  // By its own account nothing went wrong, so both are said.
  return code === 0 ? 'It closed its output and ended, with exit code 0.' : `It ended with exit code ${code}.`
}

/** A killed program said nothing about it: its last line may be its greeting. A program that aborts did. */
function isEndedByOthers({ code, signal }: ChildExit): boolean {
  return signal === null ? SIGNALLED.has(code ?? 0) : !BY_ITSELF.has(signal)
}

/** The exit codes of npx and shells whose program was killed: 128 and the signal, here KILL and TERM. */
const SIGNALLED: ReadonlySet<number> = new Set([137, 143])

const BY_ITSELF: ReadonlySet<NodeJS.Signals> = new Set([
  'SIGABRT',
  'SIGBUS',
  'SIGFPE',
  'SIGILL',
  'SIGSEGV',
  'SIGSYS',
  'SIGTRAP',
])

/**
 * An interrupted download leaves a folder in the cache of npx in which packages are missing, and every later start
 * fails the same way, with a message that names only the package. Only the folder's name is copied from it.
 */
export function withCacheTrouble(trouble: Trouble, lines: readonly string[]): Trouble {
  const folder = DAMAGED_CACHE.exec(lines.join('\n'))?.[1]
  if (folder === undefined) return trouble
  const found = 'Packages are missing in the cache of npx, as after a download that was cut off.'
  const fix = `Remove "_npx/${folder}" from npm's cache ("npm config get cache" says where it is), and it is downloaded again.`
  return { ...trouble, reason: `${trouble.reason} ${found} ${fix}` }
}

/** The message names the folder and a missing package, in one line or with the requiring files below. */
const DAMAGED_CACHE =
  /(?:Cannot find (?:package|module) '[^'./\\][^'\n]*'[^\n]{0,400}?|Cannot find (?:package|module) '(?:[A-Za-z]:)?(?=[\\/])[^'\n]{0,400}?|Cannot find module '[^'./\\][^'\n]*'\nRequire stack:\n- [^\n]{0,400}?|ENOTEMPTY[^\n]{0,400}?)[\\/]_npx[\\/]([0-9a-f]{8,64})[\\/]/

interface UnstartedProgram extends Pick<StdioUpstream, 'command' | 'env'>, WorkingFolderOptions {}

/** Why a program could not be started, in the words of an attempt; nothing where only a start would tell. */
export async function foreseenFailure({ command, env, ...place }: UnstartedProgram): Promise<string | undefined> {
  try {
    const folder = await workingFolder(place)
    // Windows finds programs in several ways.
    if (process.platform !== 'win32') await requireOne(programPlaces(command, folder, env['PATH']))
    return undefined
  } catch (error) {
    return startFailure(error, { command, cwd: resolve(place.projectDir, place.cwd ?? '.') })
  }
}

/** Throws the error of a start: that there is no program, or that it may not be run. */
async function requireOne(places: readonly string[]): Promise<void> {
  const looks = await Promise.allSettled(places.map(requireProgram))
  if (looks.some(look => look.status === 'fulfilled')) return
  const failures: unknown[] = looks.map(look => look.status === 'rejected' && look.reason)
  const refusal = failures.find(failure => failure instanceof Error && 'code' in failure && failure.code === 'EACCES')
  if (failures.length > 0) throw refusal ?? failures[0]
}

/** A folder has the same permission, but cannot be run. */
async function requireProgram(place: string): Promise<void> {
  await access(place, constants.X_OK)
  if (!(await stat(place)).isFile()) throw Object.assign(new Error('It is no file.'), { code: 'EACCES' })
}
