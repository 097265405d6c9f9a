import type { Control } from '../contracts/index.ts'
import type { Emitter } from '../core/kernel/index.ts'
import type { OperationDesk, Operations } from '../core/operations/index.ts'
import { createFollower } from './follow-operation.ts'
import type { Within } from './within.ts'

export type OperationControl = Pick<
  Control,
  'operations' | 'operation' | 'retryOperation' | 'cancelOperation' | 'verifyOperation' | 'dropOperation' | 'audit'
>

export interface OperationControlDeps {
  readonly operations: Pick<Operations, 'list' | 'find' | 'audit'>
  readonly desk: OperationDesk
  readonly within: Within
  readonly emitter: Pick<Emitter, 'on'>
}

/** What a person can see of operations, and have done about them. */
export function createOperationControl({ operations, desk, within, emitter }: OperationControlDeps): OperationControl {
  const { takeAndFollow } = createFollower({ operations, emitter })

  /** The desk does not ask whose an operation is. */
  async function expected({ organisation: named, id }: { organisation?: string | undefined; id: string }) {
    const organisation = await within(named)
    await operations.find(organisation, id)
    return { organisation, id }
  }

  return {
    operations: async ({ organisation, ...filter }) =>
      operations.list({ ...filter, organisation: await within(organisation) }),
    operation: async ({ organisation, id }) => operations.find(await within(organisation), id),
    async retryOperation(wanted, options) {
      const { organisation, id } = await expected(wanted)
      await takeAndFollow({ organisation, id }, () => desk.retry(id), options)
      return operations.find(organisation, id)
    },
    async cancelOperation(wanted, options) {
      const { organisation, id } = await expected(wanted)
      await takeAndFollow({ organisation, id }, () => desk.cancel(id), options)
      return operations.find(organisation, id)
    },
    async verifyOperation(wanted, { signal } = {}) {
      const { organisation, id } = await expected(wanted)
      const found = await desk.verify(id, { signal })
      return { ...found, operation: await operations.find(organisation, id) }
    },
    async dropOperation(wanted) {
      const { organisation, id } = await expected(wanted)
      await desk.drop(id)
      return operations.find(organisation, id)
    },
    audit: async ({ organisation, ...filter }) =>
      operations.audit({ ...filter, organisation: await within(organisation) }),
  }
}
