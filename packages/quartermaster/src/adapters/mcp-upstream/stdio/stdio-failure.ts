import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isAppError } from '../../../contracts/index.ts'
import { commandText } from '../../../core/secrets/index.ts'
import { excerptOf } from '../../../core/upstreams/index.ts'
import { MOST_SAID } from '../../http-client/index.ts'
import type { ChildExit } from '../../programs/index.ts'
import type { Trouble } from '../session/trouble.ts'

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
  // Its message may hold an argument, and with it a secret.
  return `"${command}" could not be started (${code || 'for an unknown reason'}). Check its command, arguments and environment.`
}

/** A program and more behind it. A path may have a space in it, but hardly an option. */
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

/** How a program ended, and what it said last, where that can be why. */
export function exitTrouble(exit: ChildExit, lastWords: string | undefined): Trouble {
  const reason = exitReason(exit)
  return lastWords === undefined || isEndedByOthers(exit)
    ? { reason }
    : { reason, said: excerptOf(lastWords, MOST_SAID) }
}

function exitReason({ code, signal }: ChildExit): string {
  if (signal) return `It was ended by ${signal}.`
  // Nothing went wrong by its own account, so what it did is told beside the code.
  return code === 0 ? 'It closed its output and ended, with exit code 0.' : `It ended with exit code ${code}.`
}

/** Whoever is killed has said nothing about it: its last line may be its greeting. A program that aborts has. */
function isEndedByOthers({ code, signal }: ChildExit): boolean {
  return signal === null ? SIGNALLED.has(code ?? 0) : !BY_ITSELF.has(signal)
}

/** What npx and shells end with when a signal has ended what they ran: 128 and its number, here of KILL and TERM. */
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
 * A download that was cut off leaves a folder in the cache of npx in which packages are missing, and every later start ends
 * the same way. Nobody finds that out from the name of a package. Of what was said only the folder's name is taken over.
 */
export function withCacheTrouble(trouble: Trouble, lines: readonly string[]): Trouble {
  const folder = DAMAGED_CACHE.exec(lines.join('\n'))?.[1]
  if (folder === undefined) return trouble
  const found = 'Packages are missing in the cache of npx, as after a download that was cut off.'
  const fix = `Remove "_npx/${folder}" from npm's cache ("npm config get cache" says where it is), and it is downloaded anew.`
  return { ...trouble, reason: `${trouble.reason} ${found} ${fix}` }
}

/** What stands in the folder misses a package, be it in one line or with the files that asked for it below. */
const DAMAGED_CACHE =
  /(?:Cannot find (?:package|module) '[^'./\\][^'\n]*'[^\n]{0,400}?|Cannot find (?:package|module) '(?:[A-Za-z]:)?(?=[\\/])[^'\n]{0,400}?|Cannot find module '[^'./\\][^'\n]*'\nRequire stack:\n- [^\n]{0,400}?|ENOTEMPTY[^\n]{0,400}?)[\\/]_npx[\\/]([0-9a-f]{8,64})[\\/]/
