import type { Control } from '../contracts/index.ts'
import type { Emitter } from '../core/kernel/index.ts'
import type { OperationDesk, Operations } from '../core/operations/index.ts'
import { createFollower } from './follow-operation.ts'

export type OperationControl = Pick<
  Control,
  'operations' | 'operation' | 'retryOperation' | 'cancelOperation' | 'verifyOperation' | 'dropOperation'
>

export interface OperationControlDeps {
  readonly operations: Pick<Operations, 'list' | 'find'>
  readonly desk: OperationDesk
  readonly emitter: Pick<Emitter, 'on'>
}

/** What a person can see of operations, and have done about them. */
export function createOperationControl({ operations, desk, emitter }: OperationControlDeps): OperationControl {
  const { takeAndFollow } = createFollower({ operations, emitter })
  return {
    operations: filter => operations.list(filter),
    operation: ({ id }) => operations.find(id),
    async retryOperation({ id }, options) {
      await takeAndFollow(id, () => desk.retry(id), options)
      return operations.find(id)
    },
    async cancelOperation({ id }, options) {
      await takeAndFollow(id, () => desk.cancel(id), options)
      return operations.find(id)
    },
    async verifyOperation({ id }, { signal } = {}) {
      const found = await desk.verify(id, { signal })
      return { ...found, operation: await operations.find(id) }
    },
    async dropOperation({ id }) {
      await desk.drop(id)
      return operations.find(id)
    },
  }
}
