import { type CancelSignal, createCancellation } from '../kernel/index.ts'
import type { Matter, VisitDeps } from './matter.ts'
import type { RemoteEvent, RemotePart, RemoteState, RemoteTask } from './ports.ts'
import { textOf, withArtifact } from './remote-result.ts'

/** What a stream has told: words and nothing more, or the task as far as it came. */
export type Heard = { readonly message: readonly RemotePart[] } | { readonly task: RemoteTask | undefined }

export interface Hearing {
  /** Follows a stream until it is over, the agent wants something, or something here counts more. */
  hear(
    matter: Matter,
    open: (signal: CancelSignal) => AsyncIterable<RemoteEvent>,
    onTaken?: () => Promise<unknown>,
  ): Promise<Heard>
}

/** How it goes is written down once in this time: some tell every word. */
const NOTE_MS = 1_000

export function createHearing({ clock, delegations }: Pick<VisitDeps, 'clock' | 'delegations'>): Hearing {
  async function hear(
    matter: Matter,
    open: (signal: CancelSignal) => AsyncIterable<RemoteEvent>,
    onTaken = async (): Promise<unknown> => undefined,
  ): Promise<Heard> {
    const { until, leave } = onceKnown(matter)
    try {
      return await followed(matter, open(until), onTaken)
    } finally {
      leave()
    }
  }

  async function followed(
    matter: Matter,
    events: AsyncIterable<RemoteEvent>,
    onTaken: () => Promise<unknown>,
  ): Promise<Heard> {
    const {
      held,
      peer,
      task: { id },
    } = matter
    let task: RemoteTask | undefined
    let notedAt = Number.NEGATIVE_INFINITY
    for await (const event of events) {
      if ('message' in event) {
        await onTaken()
        return { message: event.message }
      }
      const isFirst = task === undefined
      task = withEvent(task, event)
      if (isFirst) {
        await remember(matter, task)
        await onTaken()
      }
      if (!GOES_ON.has(task.status.state) || matter.signal.aborted || held.gone.aborted) break
      const said = textOf(task.status.said)
      if ('artifact' in event || clock.now() - notedAt < NOTE_MS) continue
      notedAt = clock.now()
      await delegations.note(peer, id, said === '' ? undefined : said)
    }
    return { task }
  }

  return { hear }
}

const GOES_ON: ReadonlySet<RemoteState> = new Set(['submitted', 'working'])

/** What the task is called there is on record before anything else is done about it. */
async function remember({ held }: Matter, { id, contextId }: RemoteTask): Promise<void> {
  const { row } = held
  if (row.remoteId === id && row.contextId === contextId && row.attempts === 0) return
  await held.save({ remoteId: id, contextId, attempts: 0, trouble: null })
}

/** Before it is known what a task is called there it cannot be cancelled, so nothing but the end of this process cuts it off. */
function onceKnown({ held, signal }: Matter): { readonly until: CancelSignal; leave(): void } {
  const until = createCancellation()
  const give = () => {
    if (held.row.remoteId !== null || held.gone.aborted) until.cancel(signal.reason)
  }
  if (signal.aborted) give()
  signal.addEventListener('abort', give)
  held.gone.addEventListener('abort', give)
  return {
    until: until.signal,
    leave() {
      signal.removeEventListener('abort', give)
      held.gone.removeEventListener('abort', give)
    },
  }
}

function withEvent(task: RemoteTask | undefined, event: Exclude<RemoteEvent, { message: unknown }>): RemoteTask {
  if ('task' in event) return event.task
  const known = task ?? {
    id: event.taskId,
    contextId: event.contextId,
    status: { state: 'working', said: [], mark: '' } as const,
    artifacts: [],
  }
  if ('status' in event) return { ...known, status: event.status }
  return { ...known, artifacts: withArtifact(known.artifacts, event.artifact, event.append) }
}
