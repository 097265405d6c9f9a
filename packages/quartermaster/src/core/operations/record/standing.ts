import type { OperationRow } from '../../../contracts/index.ts'

/** As much of an operation as it takes to go on from where it stands. */
export type Standing = Pick<
  OperationRow,
  | 'id'
  | 'tool'
  | 'workspace'
  | 'callerKind'
  | 'callerName'
  | 'state'
  | 'fence'
  | 'attempts'
  | 'createdAt'
  | 'startedAt'
  | 'outcome'
>
