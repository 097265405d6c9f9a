import { AppError, type ApprovalRow } from '../../../contracts/index.ts'
import type { Store } from '../../store/index.ts'

/** What persons of an organisation are asked about one operation, answered or not. Throws `NAME_UNKNOWN`. */
export async function findRequest(store: Store, organisation: string, id: string): Promise<ApprovalRow> {
  const row = await store.get('approvals', id)
  if (row?.organisation === organisation) return row
  throw new AppError('NAME_UNKNOWN', `Nobody asked for consent to "${id}". See \`quartermaster approvals\`.`)
}

/** What whoever comes second is told, or comes after the end. */
export function answeredAlready({ id, state, answeredBy }: ApprovalRow): AppError {
  const how = answeredBy === null ? 'It is over.' : `It was ${state} by ${answeredBy}.`
  return new AppError('REQUEST_REFUSED', `"${id}" is not waiting for an answer any more. ${how}`, {
    details: { operationId: id, state },
  })
}
