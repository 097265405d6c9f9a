import { AppError, type ApprovalRow, type OperationRow } from '../../../contracts/index.ts'
import { type Catalogue, isOlderHash, type Tool } from '../../catalogue/index.ts'
import { update } from '../../store/index.ts'
import { queued, type Step } from '../record/transitions.ts'

/**
 * Whether what a person is asked about is still what would be run. `unseen` where its tool is away and may come back as it was:
 * with a server that has not answered yet, for example.
 */
export type RequestWorth = 'sound' | 'changed' | 'gone' | 'unseen'

export type Definitions = Pick<Catalogue, 'current' | 'problems'>

/** What is known of the tool as it was when it was called. */
type Asked = Pick<ApprovalRow, 'definitionHash'> &
  Partial<Pick<ApprovalRow, 'asks'> & Pick<OperationRow, 'mutates' | 'retry' | 'parentId' | 'effects'>>

export function worthOf(asked: Asked & Pick<ApprovalRow, 'tool'>, catalogue: Definitions): RequestWorth {
  const { tool: name } = asked
  const generation = catalogue.current()
  const tool = generation.tools.get(name)
  if (tool) return isSameTool(asked, tool) ? 'sound' : 'changed'
  const mayReturn = [...generation.capabilities.values()].some(
    ({ unseen, leftOut }) => unseen !== undefined || leftOut.some(({ name: own, calledAs = own }) => calledAs === name),
  )
  return mayReturn || mayStillCome(catalogue) ? 'unseen' : 'gone'
}

/** Whether a tool that is missing may be in a source that is still being read, or in a file that cannot be read now. */
export function mayStillCome(catalogue: Definitions): boolean {
  return catalogue.current().isPartial || catalogue.problems().some(({ severity }) => severity === 'error')
}

/** Whether the tool is what it was when it was called. An older hash is no answer; the safety facts on record are. */
export function isSameTool(asked: Asked, tool: Tool): boolean {
  if (!isOlderHash(asked.definitionHash)) return asked.definitionHash === tool.definitionHash
  const { mutates = tool.mutates, retry = tool.retry, parentId, asks = [], effects = [] } = asked
  // What is called from inside of another call is not retried, whatever its tool says.
  const isRetriedAlike = retry === tool.retry || (parentId !== undefined && parentId !== null)
  const hasEffect = ({ name, kind }: (typeof effects)[number]) =>
    tool.effects.some(effect => effect.name === name && effect.kind === kind)
  const hasEffects = effects.length === 0 || (effects.length === tool.effects.length && effects.every(hasEffect))
  const asksAlike = asks.every(({ operation }) => tool.consent.includes(operation))
  return mutates === tool.mutates && isRetriedAlike && hasEffects && asksAlike
}

/** Closes the request of a call that can not be run any more. The call is due: its run ends it with the reason, and tells that. */
export function voided(
  row: OperationRow,
  { dueAt, expiresAt }: { dueAt: number; expiresAt: number },
  now: number,
): Step {
  const { error, attempts } = row
  const { writes, change } = queued(row, { dueAt, error, attempts, expiresAt }, now)
  const where = { id: row.id, state: 'open' as const }
  return {
    writes: [update('approvals', { where, set: { state: 'closed' }, guard: 'approval.open' }), ...writes],
    change,
  }
}

/** What whoever answers is told where an answer would be one to something else. */
export function voidAnswer({ id, tool }: Pick<ApprovalRow, 'id' | 'tool'>, worth: 'changed' | 'gone'): AppError {
  const why =
    worth === 'gone' ? `There is no tool "${tool}" any more.` : `"${tool}" has changed since it was asked for.`
  const message = `"${id}" is void: ${why} Nothing was allowed or denied, and it ends. A new call asks anew.`
  return new AppError('REQUEST_REFUSED', message, { details: { operationId: id } })
}
