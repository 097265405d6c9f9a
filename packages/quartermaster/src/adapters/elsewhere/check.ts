import { TLSSocket } from 'node:tls'
import { type AppError, type Finding, toAppError } from '../../contracts/index.ts'
import type { Clock } from '../../core/kernel/index.ts'
import type { WorkspaceAddress } from './addresses.ts'
import { createRemote, type Remote, type ServerFacts } from './remote.ts'

interface CheckOptions {
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Of this program. */
  readonly version: string
  /** The workspaces that were met, and where they were named. */
  readonly ids: Map<string, string>
}

/** Clocks further apart make times in messages misleading, and tokens end early or late. */
const MOST_CLOCK_SECONDS = 60
const CERTIFICATE_DAYS = 14
const STREAM_MS = 10_000

/** Looks at everything that a connection to one workspace needs, and stops where the rest cannot work. */
export async function checkAddress(address: WorkspaceAddress, options: CheckOptions): Promise<Finding[]> {
  const remote = createRemote({ address, clock: options.clock, refuse: undefined }, { filesDir: '.' })
  const findings: Finding[] = []
  const add = (level: Finding['level'], what: string, fix?: string) =>
    void findings.push({ level, what: `${labelOf(address)}: ${what}`, ...(fix === undefined ? {} : { fix }) })
  try {
    const server = await remote.look(options.signal)
    add('ok', `${address.url} answers.`)
    checkCertificate(server, options, add)
    checkClock(server, options, add)
    const { token, url } = await remote.find(options)
    const { name = '', id = '', organisation = '' } = remote.facts() ?? {}
    add('ok', `The token is that of "${name}" (${id}) in the organisation "${organisation}".`)
    const before = options.ids.get(id)
    if (before !== undefined) add('error', `It is the workspace of ${before} as well.`, 'Remove one of the two.')
    options.ids.set(id, address.source)
    checkVersion(await remote.version({ token, url }, options.signal), options.version, add)
    await checkStream(remote, options, add)
  } catch (error) {
    const { message } = toAppError(error)
    add('error', message, fixFor(toAppError(error)))
  } finally {
    remote.close()
  }
  return findings
}

type Add = (level: Finding['level'], what: string, fix?: string) => void

function labelOf({ name, url }: WorkspaceAddress): string {
  return name === undefined ? new URL(url).host : `"${name}"`
}

function fixFor({ code }: AppError): string | undefined {
  if (code === 'TOKEN_INVALID') return 'Put a token that is good into the environment or its file.'
  return code === 'DEPENDENCY_UNAVAILABLE' ? 'Check the address, the network and any proxy between.' : undefined
}

function checkCertificate({ socket }: ServerFacts, { clock }: CheckOptions, add: Add): void {
  if (!(socket instanceof TLSSocket)) {
    return add('ok', 'It is reached without TLS: over loopback, or because you allowed it.')
  }
  const until = Date.parse(socket.getPeerCertificate().valid_to)
  const days = Math.floor((until - clock.now()) / 86_400_000)
  if (days < CERTIFICATE_DAYS) add('warning', `Its certificate ends in ${days} days.`, 'Have it renewed.')
  else add('ok', `Its certificate is good for ${days} days.`)
}

function checkClock({ date }: ServerFacts, { clock }: CheckOptions, add: Add): void {
  const apart = Math.round(Math.abs(clock.now() - Date.parse(date ?? '')) / 1_000)
  if (Number.isNaN(apart)) return
  if (apart <= MOST_CLOCK_SECONDS) add('ok', 'Its clock and that of this machine agree.')
  else add('warning', `Its clock and that of this machine are ${apart} seconds apart.`, 'Set both by the network.')
}

function checkVersion(version: string | undefined, own: string, add: Add): void {
  const minor = (text: string) => text.split('.').slice(0, 2).join('.')
  if (version === undefined) return add('warning', 'It does not say its version.')
  if (minor(version) === minor(own)) return add('ok', `It has version ${version}, and this program ${own}.`)
  add('warning', `It has version ${version}, and this program ${own}.`, 'Update the older one.')
}

/** A stream that says nothing is held back by a proxy, as often as not. */
async function checkStream(remote: Remote, { clock, signal }: CheckOptions, add: Add): Promise<void> {
  const over = new AbortController()
  const stop = () => over.abort()
  signal.addEventListener('abort', stop, { once: true })
  const cancel = clock.after(STREAM_MS, stop)
  try {
    const gateway = await remote.find({ signal: over.signal })
    const stream = await remote.openEvents(gateway, { lastId: undefined, signal: over.signal })
    for await (const _ of stream) {
      add('ok', 'Its stream of events arrives.')
      return
    }
    add('error', 'Its stream of events ended at once.', 'Let the proxy in between pass on event streams.')
  } catch (error) {
    if (!over.signal.aborted) throw error
    add('error', `Nothing of its stream of events came within ${STREAM_MS / 1_000} seconds.`, NO_BUFFER)
  } finally {
    cancel()
    signal.removeEventListener('abort', stop)
    over.abort()
  }
}

const NO_BUFFER = 'Have the proxy in between pass on event streams without buffering them.'
