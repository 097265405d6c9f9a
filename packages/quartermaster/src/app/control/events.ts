import { type Control, type ControlEvent, messageOf, type OperationChange, type Table } from '../../contracts/index.ts'
import type { Clock, Emitter, Log } from '../../core/kernel/index.ts'
import type { StoreNews } from '../../core/store/index.ts'

/** Lets others follow what happens in this process. */
export interface EventFeed {
  /** Everything: for the owner. */
  readonly all: Control['events']
  /** What is asked, answered and taken back in an organisation: for its persons. */
  ofConsent(organisation: string): Control['events']
  /** Ends all who follow. */
  stop(): void
}

interface EventFeedDeps {
  readonly emitter: Pick<Emitter, 'on'>
  readonly clock: Pick<Clock, 'now'>
}

type Tell = (event: ControlEvent) => void

export function createEventFeed({ emitter, clock }: EventFeedDeps): EventFeed {
  const stopping = new AbortController()
  const at = () => Math.round(clock.now())

  function consentEvents(tell: Tell) {
    const answered = new Set<string>()
    /** Whether a question was closed without an answer: an answer is announced right before what it leads to. */
    const isClosing = ({ id, from }: OperationChange) => from === 'waitingForApproval' && !answered.delete(id)
    return [
      emitter.on('approval.opened', ({ id, tool, organisation, agent }) =>
        tell({ name: 'approval.opened', at: at(), id, tool, organisation, agent }),
      ),
      emitter.on('approval.answered', ({ id, tool, organisation, agent, state, by: { name, via } }) => {
        answered.add(id)
        tell({ name: 'approval.answered', at: at(), id, tool, organisation, agent, state, by: { name, via } })
      }),
      emitter.on('operation.changed', change => {
        if (isClosing(change)) tell({ name: 'approval.closed', ...factsOf(change) })
      }),
      emitter.on('grants.revoked', ({ organisation, id, agent, operation, grantedBy, by, count }) =>
        tell({ name: 'grants.revoked', at: at(), organisation, id, agent, operation, grantedBy, by, count }),
      ),
    ]
  }

  const operationEvents = (tell: Tell) => [
    emitter.on('operation.changed', change =>
      tell({ name: 'operation.changed', ...factsOf(change), from: change.from, to: change.to }),
    ),
    emitter.on('operation.dropped', dropped => tell({ name: 'operation.dropped', ...factsOf(dropped) })),
  ]

  const presenceEvents = (tell: Tell) => [
    emitter.on('presence.changed', ({ name: workspace, ...change }) =>
      tell({ ...change, name: 'presence.changed', workspace }),
    ),
  ]

  const delegationEvents = (tell: Tell) => [
    emitter.on('delegation.changed', ({ organisation, id, from, to, before, state, at: when }) =>
      tell({ name: 'delegation.changed', at: when, organisation, id, from, to, before, state }),
    ),
  ]

  const follow =
    (...kinds: ((tell: Tell) => (() => void)[])[]): Control['events'] =>
    async (_, { signal, onEvent = () => {} } = {}) => {
      const offs = kinds.flatMap(kind => kind(onEvent))
      onEvent({ name: 'events.started', at: at() })
      await aborted([stopping.signal, ...(signal ? [signal] : [])])
      for (const off of offs) off()
      return {}
    }

  return {
    all: follow(consentEvents, operationEvents, presenceEvents, delegationEvents),
    ofConsent: organisation =>
      follow(tell =>
        consentEvents(event => {
          if ('organisation' in event && event.organisation === organisation) tell(event)
        }),
      ),
    stop: () => stopping.abort(),
  }
}

function factsOf({ id, tool, caller, at }: Pick<OperationChange, 'id' | 'tool' | 'caller' | 'at'>) {
  return { at, id, tool, organisation: caller.organisation, agent: caller.name }
}

function aborted(signals: readonly AbortSignal[]): Promise<void> {
  const either = AbortSignal.any([...signals])
  return new Promise(resolve => {
    if (either.aborted) resolve()
    else either.addEventListener('abort', () => resolve(), { once: true })
  })
}

interface Following {
  readonly table: Table
  readonly log: Log
  /** What the log says when it could not be looked. */
  readonly warning: string
  /** Takes in what has changed. */
  look(): Promise<void>
}

/** Looks again whenever another process has changed a table. */
export function followTable(news: StoreNews, { table, log, warning, look }: Following): () => void {
  let isWanted = false
  let looking: Promise<void> | undefined

  async function lookWhileWanted(): Promise<void> {
    while (isWanted) {
      isWanted = false
      await look().catch(error => log.warn(warning, { error: messageOf(error) }))
    }
  }

  /** Many changes at once are one reason to look. */
  function want(): void {
    isWanted = true
    looking ??= lookWhileWanted().finally(() => {
      looking = undefined
    })
  }

  return news.listen({
    changed: rows => rows.some(changed => changed.table === table) && want(),
    back: want,
  })
}
