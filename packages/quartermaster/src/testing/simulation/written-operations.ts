import type { Write } from '../../core/store/index.ts'
import type { Happened } from './history.ts'

type Update = Extract<Write, { kind: 'update' }>
type Fields = Readonly<Record<string, unknown>>

/** What a commit means, as it was meant: a fault that changes the commit does not change this. */
export function happeningsOf(writes: readonly Write[], rows: readonly number[], node: string): Happened[] {
  return writes.flatMap((write, index): Happened[] => {
    // Where it touched fewer than it names, which those were is not known; what it would have done did not happen.
    if (write.kind === 'delete' && rows[index] !== idsOf(write.where).length) return []
    if (write.kind === 'update' && rows[index] === 0) return []
    if (write.table === 'operations') return ofOperation(write, node)
    return write.table === 'grants' ? ofGrant(write) : []
  })
}

/** The operations that it is about. */
export function operationsIn(writes: readonly Write[]): string[] {
  return writes.flatMap(write => {
    if (write.table !== 'operations') return []
    return write.kind === 'insert' ? write.row.id : idsOf(write.where)
  })
}

function ofOperation(write: Write, node: string): Happened[] {
  if (write.kind === 'delete') return [{ kind: 'forgotten', operations: idsOf(write.where) }]
  if (write.kind === 'insert') return [begun(write.row as Fields, node)]
  if (write.kind !== 'update') return []
  const { state, leaseUntil, tellAt } = write.set as Fields
  if (state !== undefined) return [moved(write, node)]
  if (tellAt === null) return [{ kind: 'marked', operations: idsOf(write.where) }]
  if (typeof leaseUntil !== 'number') return []
  return [{ kind: 'renewed', operations: idsOf(write.where), until: leaseUntil }]
}

function begun({ id, state, fence, leaseUntil }: Fields, node: string): Happened {
  const lease = state === 'leased' ? { fence: Number(fence), until: Number(leaseUntil) } : undefined
  const own = { operation: String(id), from: 'none', to: String(state), fence: Number(fence ?? 0) }
  return { kind: 'moved', node, ...own, lease }
}

function moved({ where, set }: Update, node: string): Happened {
  const [known, next] = [where as Fields, set as Fields]
  const lease = next.state === 'leased' ? { fence: Number(next.fence), until: Number(next.leaseUntil) } : undefined
  const own = { operation: String(known.id), from: String(known.state), to: String(next.state) }
  return { kind: 'moved', node, ...own, fence: Number(known.fence), lease }
}

function ofGrant(write: Write): Happened[] {
  if (write.kind === 'update' && typeof (write.set as Fields).revokedAt === 'number')
    return [{ kind: 'revoked', grants: idsOf(write.where) }]
  if (write.kind !== 'insert') return []
  const { id, decision, lasting, askedFor, scope, expiresAt } = write.row as Fields
  const said = { decision: String(decision), lasting: String(lasting), expiresAt: Number(expiresAt) }
  return [{ kind: 'granted', grant: String(id), askedFor: String(askedFor), scope: String(scope), ...said }]
}

function idsOf(where: object): string[] {
  const { id } = where as { id?: string | { in: readonly string[] } }
  if (id === undefined) return []
  return typeof id === 'string' ? [id] : [...id.in]
}
