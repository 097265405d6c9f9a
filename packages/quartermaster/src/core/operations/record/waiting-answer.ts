import type { CallAnswer, OperationRow, OperationState, WaitingHandle } from '../../../contracts/index.ts'

type Unfinished = Pick<OperationRow, 'id' | 'tool' | 'state' | 'dueAt'>

/** What an operation that has not ended waits for, in words. */
export function waitingText({ tool, state }: Pick<Unfinished, 'tool' | 'state'>): string {
  return `"${tool}" ${WORDS[waitsFor(state)]}`
}

/** What a caller gets whose call cannot end now: a handle, and the same in words for whoever reads only those. */
export function waitingAnswer({ id, tool, state, dueAt }: Unfinished): CallAnswer {
  const waiting: WaitingHandle = {
    status: 'waiting',
    operationId: id,
    for: waitsFor(state),
    ...(dueAt === null ? {} : { nextAttemptAt: dueAt }),
  }
  const text = `${waitingText({ tool, state })} Its operation is "${id}". Do not call it again; ask for the status of the operation: get_status with { "operationId": "${id}" }.`
  return { operationId: id, result: { content: [{ type: 'text', text }] }, waiting }
}

function waitsFor(state: OperationState): WaitingHandle['for'] {
  return WAITS_FOR[state as keyof typeof WAITS_FOR] ?? 'run'
}

const WAITS_FOR = { waitingForApproval: 'approval', queued: 'retry' } as const satisfies Partial<
  Record<OperationState, WaitingHandle['for']>
>

const WORDS: Readonly<Record<WaitingHandle['for'], string>> = {
  approval: 'waits for a person to allow it.',
  retry: 'could not be done now and is tried again by itself.',
  run: 'is running and has not ended.',
}
