import type { Control, UpstreamStatus } from '../../contracts/index.ts'
import type { Attending, Session } from './session.ts'

/** Servers start at the same time, so waiting for all takes no longer than for the slowest. */
const FIRST_LOOK_MS = 8_000
const LOOK_EVERY_MS = 100
/** What was being downloaded is there in a moment, or never. */
const AFTER_FETCHING_MS = 5_000

/**
 * How servers that were just added are after their first moments, by name. Where no `up` goes on with it, leaving ends what is
 * being downloaded, and may spoil its cache: that is waited for until it is there, is given up, or Ctrl-C says so.
 */
export async function firstStates(
  session: Session,
  control: Pick<Control, 'upstreams'>,
  names: readonly string[],
): Promise<ReadonlyMap<string, UpstreamStatus>> {
  const seen = new Map<string, UpstreamStatus>()
  if (names.length === 0) return seen
  const label = names.length === 1 ? `Waiting for ${names[0]}` : 'Waiting for the servers'
  const look = async () => {
    for (const status of await control.upstreams({})) if (names.includes(status.name)) seen.set(status.name, status)
    return [...seen.values()].filter(({ state }) => state === 'starting')
  }
  try {
    await session.attend(label, on => watch(session, look, told(names.length, on)))
  } catch (error) {
    // Whoever leaves has added them all the same, and is told so.
    if (!session.host.signal.aborted) throw error
  }
  return seen
}

type Starting = readonly UpstreamStatus[]

async function watch(
  { host, from }: Session,
  look: () => Promise<Starting>,
  tell: (starting: Starting) => void,
): Promise<void> {
  const until = host.clock.now() + FIRST_LOOK_MS
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
