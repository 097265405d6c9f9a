import type { Control, UpstreamStatus } from '../../contracts/index.ts'
import type { Attending, Session } from './session.ts'

/** Servers start at the same time, so waiting for all takes no longer than for the slowest. */
const FIRST_LOOK_MS = 8_000
const LOOK_EVERY_MS = 100
/** What was being downloaded is there in a moment, or never. */
const AFTER_FETCHING_MS = 5_000

export interface FirstLook {
  /** Whether their first moments are over, so that only what is being downloaded is waited for. */
  readonly isLate?: boolean
}

/**
 * How servers that were just added are after their first moments, by name. Where no `up` goes on with it, leaving ends what is
 * being downloaded, and may spoil its cache: that is waited for until it is there, is given up, or Ctrl-C says so.
 */
export async function firstStates(
  session: Session,
  control: Pick<Control, 'upstreams'>,
  names: readonly string[],
  { isLate = false }: FirstLook = {},
): Promise<ReadonlyMap<string, UpstreamStatus>> {
  const seen = new Map<string, UpstreamStatus>()
  if (names.length === 0) return seen
  const label = names.length === 1 ? `Waiting for ${names[0]}` : 'Waiting for the servers'
  const look = async () => {
    for (const status of await control.upstreams({})) if (names.includes(status.name)) seen.set(status.name, status)
    return [...seen.values()].filter(({ state }) => state === 'starting')
  }
  const forMs = isLate ? 0 : FIRST_LOOK_MS
  try {
    await session.attend(label, on => watch(session, { look, tell: told(names.length, on), forMs }))
  } catch (error) {
    // Whoever leaves has added them all the same, and is told so.
    if (!session.host.signal.aborted) throw error
  }
  return seen
}

type Starting = readonly UpstreamStatus[]

interface Watching {
  look(): Promise<Starting>
  tell(starting: Starting): void
  /** How long their first moments are. */
  readonly forMs: number
}

async function watch({ host, from }: Session, { look, tell, forMs }: Watching): Promise<void> {
  const until = host.clock.now() + forMs
  const fetchedAt = new Map<string, number>()
  const isAwaited = ({ name }: UpstreamStatus) =>
    host.clock.now() - (fetchedAt.get(name) ?? Number.NEGATIVE_INFINITY) < AFTER_FETCHING_MS
  for (;;) {
    const starting = await look()
    const isLate = host.clock.now() >= until
    for (const { name, isFetching } of starting) if (isFetching) fetchedAt.set(name, host.clock.now())
    const awaited = isLate ? starting.filter(one => from === 'process' && isAwaited(one)) : starting
    if (awaited.length === 0 || host.signal.aborted) return
    if (isLate) tell(awaited)
    await new Promise<void>(resolve => host.clock.after(LOOK_EVERY_MS, resolve))
  }
}

/** Says once for each that comes what is still waited for. */
function told(all: number, { onProgress }: Attending): (starting: Starting) => void {
  let last = ''
  return starting => {
    const names = starting.map(({ name }) => name).join(', ')
    if (names === last) return
    last = names
    const message = `ready; ${names} may be downloading what it runs, and Ctrl-C leaves it`
    onProgress?.({ progress: all - starting.length, total: all, message })
  }
}
