import {
  type CallAnswer,
  type OperationRow,
  type OperationState,
  TOLD_TOOLS,
  type WaitingHandle,
} from '../../../contracts/index.ts'

type Unfinished = Pick<OperationRow, 'id' | 'tool' | 'state' | 'dueAt'> & {
  readonly attempts?: number | undefined
}

/** What an operation that has not ended waits for, in words. */
export function waitingText({ tool, ...how }: Pick<Unfinished, 'tool' | 'state' | 'attempts'>): string {
  return `"${tool}" ${WORDS[waitsFor(how)]}`
}

/** What a caller gets whose call cannot end now: a handle, and the same in words for whoever reads only those. */
export function waitingAnswer({ id, tool, state, dueAt, attempts }: Unfinished): CallAnswer {
  const waiting: WaitingHandle = {
    status: 'waiting',
    operationId: id,
    for: waitsFor({ state, attempts }),
    ...(dueAt === null ? {} : { nextAttemptAt: dueAt }),
  }
  const text = `${waitingText({ tool, state, attempts })} Its operation is "${id}". Do not call it again; ask for the status of the operation: ${TOLD_TOOLS.status} with { "operationId": "${id}" }.`
  return { operationId: id, result: { content: [{ type: 'text', text }] }, waiting }
}

function waitsFor({ state, attempts }: Pick<Unfinished, 'state' | 'attempts'>): WaitingHandle['for'] {
  // What was allowed and never tried is not tried again.
  if (state === 'queued' && attempts === 0) return 'run'
  return WAITS_FOR[state as keyof typeof WAITS_FOR] ?? 'run'
}

const WAITS_FOR = { waitingForApproval: 'approval', queued: 'retry' } as const satisfies Partial<
  Record<OperationState, WaitingHandle['for']>
>

const WORDS: Readonly<Record<WaitingHandle['for'], string>> = {
  approval: 'waits for a person to allow it.',
  retry: 'could not be done now and is tried again by itself.',
  run: 'is run now, or as soon as it can be, and has not ended.',
}
