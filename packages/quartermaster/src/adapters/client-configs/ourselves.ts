import { firstOperand, type ProgramLine, packageRunIn, programLines } from '../../core/kernel/index.ts'

/** How we are known to others. */
export interface OwnFace {
  /** Where our own server listens, if it does. */
  readonly url?: string | undefined
  /** Names by which it is reached from elsewhere: `box.lan`, or `box.lan:8443` for that port alone. */
  readonly hosts?: readonly string[] | undefined
}

/** The port that `up` takes unless told otherwise. */
const USUAL_PORT = '7420'

/** Whether a foreign entry leads back to us: mounting it would be a circle. */
export function isOurselves(entry: Entry, face: OwnFace): boolean {
  return isOurProgram(entry) || leadsToUs(entry, face)
}

/** An entry as somebody wrote it. */
type Entry = Readonly<Record<string, unknown>>

/** Whether an entry has our address, or a program is given it, as bridges such as mcp-remote are: by itself or behind `--url=`. */
export function leadsToUs({ command, args, url }: Entry, face: OwnFace): boolean {
  if (typeof url === 'string') return isOwnAddress(url, face)
  const words = linesOf({ command, args }).flatMap(line => line.words)
  return words.some(word => isOwnAddress(word.replace(/^-[^=]*=/, ''), face))
}

/** Whether the program of an entry is our own bridge, also by way of a shell. */
export function isOurProgram(entry: Entry): boolean {
  return linesOf(entry).some(line =>
    runPlaces(line).some(at => OURS.test(line.words[at] ?? '') && line.words.includes('connect', at + 1)),
  )
}

function linesOf({ command, args }: Entry): ProgramLine[] {
  if (typeof command !== 'string') return []
  return programLines(command, Array.isArray(args) ? args.map(String) : [])
}

const OURS = /(?:^|[\\/]|^--package=)quartermaster(?:[@:][\w.-]+)?(?:\.(?:[cm]?[jt]s|cmd|exe))?$/

/** The words that say what is run: the program, and the package or the script that is given to it. Others may name our folder. */
function runPlaces(line: ProgramLine): number[] {
  const { words } = line
  const run = packageRunIn(line)
  if (run) return [0, ...run.packages]
  const script = firstOperand(words, 1, SCRIPT_OPTIONS) ?? 0
  return words[script] === 'run' ? [0, script, script + 1] : [0, script]
}

const SCRIPT_OPTIONS: ReadonlySet<string> = new Set(['-r', '--require', '--import', '--loader', '-C', '--conditions'])

/** Whether an address is where our own server listens, or where none runs, would listen unless told otherwise. */
function isOwnAddress(text: string, { url: own, hosts = [] }: OwnFace): boolean {
  const ours = own !== undefined && URL.canParse(own) ? new URL(own) : new URL(`http://127.0.0.1:${USUAL_PORT}`)
  if (!URL.canParse(text)) return false
  const { host, hostname, port, pathname } = new URL(text)
  const isHere = port === ours.port && (LOCAL_HOSTS.has(hostname) || hostname === ours.hostname)
  // Without a port it is that of a proxy before us; on another one there may be another server.
  const isNamed = hosts.some(name => name.toLowerCase() === (port === ours.port ? hostname : host))
  return (isHere || isNamed) && decoded(pathname).replace(/\/+$/, '') === '/mcp'
}

/** Names of this machine as they stand in an address that was read: those that stand for all of its addresses lead here too. */
const LOCAL_HOSTS: ReadonlySet<string> = new Set([
  ...['localhost', 'localhost.', '127.0.0.1', '[::1]', '[::ffff:7f00:1]'],
  ...['0.0.0.0', '[::]', '[::ffff:0:0]'],
])

/** As our own server reads it: `/%6dcp` is `/mcp`. */
function decoded(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    // Half a character is in no path of ours.
    return path
  }
}
