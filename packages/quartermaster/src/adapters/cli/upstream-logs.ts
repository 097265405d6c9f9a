import type { Control, UpstreamLogLine } from '../../contracts/index.ts'
import { EXIT } from './errors.ts'
import { escapeLine, toJsonText } from './escape.ts'
import type { Session } from './session.ts'

interface LogsOf {
  readonly name: string
  readonly lines?: number
  readonly follow?: boolean
}

const USUAL_LINES = 100
/** More is not kept of any upstream, so whoever follows misses nothing that could be had. */
const MOST_LINES = 10_000
const LOOK_EVERY_MS = 500

/** Shows what an upstream said and what was said about it, and goes on with it where that is asked for. */
export async function upstreamLogs(
  session: Session,
  { name, lines = USUAL_LINES, follow = false }: LogsOf,
): Promise<number> {
  session.hints = { upstream: name }
  return session.connect(async control => {
    const read = (limit: number) =>
      session.untilAborted(control.upstreamLogs({ name, limit }, { signal: session.host.signal }))
    const first = await read(follow ? MOST_LINES : lines)
    if (session.json && !follow) await session.printJson(first)
    else await print(session, first.slice(-lines))
    if (follow) await followLines(session, first, () => read(MOST_LINES))
    else if (first.length === 0 && !session.json) await session.notices.write(silence(session))
    return EXIT.done
  })
}

/** Lines are kept by whoever runs the server, and a command that looks by itself runs none for long. */
function silence({ from }: Session): string {
  return from === 'up'
    ? 'It has said nothing.\n'
    : 'Nobody has listened: lines are kept while "quartermaster up" runs.\n'
}

type Read = () => ReturnType<Control['upstreamLogs']>

/** Until Ctrl-C, which is how this ends and no failure. */
async function followLines(session: Session, shown: readonly UpstreamLogLine[], read: Read): Promise<void> {
  const { host } = session
  for (let place = endOf(shown); !host.signal.aborted; ) {
    await pause(host)
    const all = await read().catch(error => {
      if (host.signal.aborted) return undefined
      throw error
    })
    if (!all) return
    await print(session, after(all, place))
    place = all.length > 0 ? endOf(all) : place
  }
}

function pause({ clock, signal }: Session['host']): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      cancel()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(LOOK_EVERY_MS, end)
    signal.addEventListener('abort', end)
  })
}

/** Where the shown lines end: the time of the last, and how many have that time. */
interface End {
  readonly at: number
  readonly count: number
}

function endOf(lines: readonly UpstreamLogLine[]): End {
  const at = lines.at(-1)?.at ?? Number.NEGATIVE_INFINITY
  return { at, count: lines.filter(line => line.at === at).length }
}

function after(lines: readonly UpstreamLogLine[], end: End): UpstreamLogLine[] {
  const atEnd = lines.filter(line => line.at === end.at)
  return [...atEnd.slice(end.count), ...lines.filter(line => line.at > end.at)]
}

async function print({ out, json }: Session, lines: readonly UpstreamLogLine[]): Promise<void> {
  const text = lines.map(line => (json ? toJsonText(line, { pretty: false }) : lineText(line)))
  if (text.length > 0) await out.write(`${text.join('\n')}\n`)
}

function lineText({ at, from, text }: UpstreamLogLine): string {
  return `${new Date(at).toISOString()} ${from.padEnd(7)} ${escapeLine(text)}`
}
