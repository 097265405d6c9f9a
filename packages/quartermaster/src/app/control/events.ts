import { type Control, type ControlEvent, messageOf, type OperationChange, type Table } from '../../contracts/index.ts'
import type { Clock, Emitter, Log } from '../../core/kernel/index.ts'
import type { StoreNews } from '../../core/store/index.ts'

/** Streams what happens in this process to followers. */
export interface EventFeed {
  /** All events: for the owner. */
  readonly all: Control['events']
  /** Approvals and grants of one organisation: for its persons. */
  ofConsent(organisation: string): Control['events']
  /** Ends all streams. */
  stop(): void
}

type Emit = (event: ControlEvent) => void

export function createEventFeed({
  emitter,
  clock,
}: {
  readonly emitter: Pick<Emitter, 'on'>
  readonly clock: Pick<Clock, 'now'>
}): EventFeed {
  const stopping = new AbortController()
  const at = () => Math.round(clock.now())

  function consentEvents(emit: Emit) {
    const answered = new Set<string>()
    /** Whether an approval was closed without an answer: an answer is emitted right before the change that it leads to. */
    const isClosing = ({ id, from }: OperationChange) => from === 'waitingForApproval' && !answered.delete(id)
    return [
      emitter.on('approval.opened', ({ id, tool, organisation, agent }) =>
        emit({ name: 'approval.opened', at: at(), id, tool, organisation, agent }),
      ),
      emitter.on('approval.answered', ({ id, tool, organisation, agent, state, by: { name, via } }) => {
        answered.add(id)
        emit({ name: 'approval.answered', at: at(), id, tool, organisation, agent, state, by: { name, via } })
      }),
      emitter.on('operation.changed', change => {
        if (isClosing(change)) emit({ name: 'approval.closed', ...factsOf(change) })
      }),
      emitter.on('grants.revoked', ({ organisation, id, agent, operation, grantedBy, by, count }) =>
        emit({ name: 'grants.revoked', at: at(), organisation, id, agent, operation, grantedBy, by, count }),
      ),
    ]
  }

  const operationEvents = (emit: Emit) => [
    emitter.on('operation.changed', change =>
      emit({ name: 'operation.changed', ...factsOf(change), from: change.from, to: change.to }),
    ),
    emitter.on('operation.dropped', dropped => emit({ name: 'operation.dropped', ...factsOf(dropped) })),
  ]

  const presenceEvents = (emit: Emit) => [
    emitter.on('presence.changed', ({ name: workspace, ...change }) =>
      emit({ ...change, name: 'presence.changed', workspace }),
    ),
  ]

  const delegationEvents = (emit: Emit) => [
    emitter.on('delegation.changed', ({ organisation, id, from, to, before, state, at: when }) =>
      emit({ name: 'delegation.changed', at: when, organisation, id, from, to, before, state }),
    ),
  ]

  const follow =
    (...kinds: ((emit: Emit) => (() => void)[])[]): Control['events'] =>
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
      follow(emit =>
        consentEvents(event => {
          if ('organisation' in event && event.organisation === organisation) emit(event)
        }),
      ),
    stop: () => stopping.abort(),
  }
}

function factsOf({ id, tool, caller, at }: Pick<OperationChange, 'id' | 'tool' | 'caller' | 'at'>) {
  return { at, id, tool, organisation: caller.organisation, agent: caller.name }
}

/** Resolves when one of them aborts, and leaves nothing with the others, which may last as long as the process. */
function aborted(signals: readonly AbortSignal[]): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      for (const signal of signals) signal.removeEventListener('abort', done)
      resolve()
    }
    for (const signal of signals) signal.addEventListener('abort', done, { once: true })
    if (signals.some(({ aborted: isOver }) => isOver)) done()
  })
}

/** Reads again whenever another process has changed a table. */
export function followTable(
  news: StoreNews,
  {
    table,
    log,
    warning,
    read,
  }: {
    readonly table: Table
    readonly log: Log
    /** Logged when reading fails. */
    readonly warning: string
    read(): Promise<void>
  },
): () => void {
  let isWanted = false
  let reading: Promise<void> | undefined

  async function readWhileWanted(): Promise<void> {
    while (isWanted) {
      isWanted = false
      await read().catch(error => log.warn(warning, { error: messageOf(error) }))
    }
  }

  /** Many changes at once are one reason to read. */
  function want(): void {
    isWanted = true
    reading ??= readWhileWanted().finally(() => {
      reading = undefined
    })
  }

  return news.listen({
    changed: rows => rows.some(changed => changed.table === table) && want(),
    back: want,
  })
}
