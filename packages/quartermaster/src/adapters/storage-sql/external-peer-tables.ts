import { type Builder, index, PLACE, table } from './migration-parts.ts'

/** A2A agents elsewhere, and the tasks that are on their way to them. */
export function externalPeerTables(builder: Builder): readonly string[] {
  const peers = 'externalpeers'
  const tasks = 'outgoingtasks'
  return [
    table(builder, peers, {
      ...PLACE,
      card_url: 'text',
      hosts: 'text',
      secret: 'text?',
      header: 'text?',
      url: 'text',
      binding: 'text',
      tenant: 'text?',
      streaming: 'integer',
      checked_at: 'integer',
      next_check_at: 'integer',
      error: 'text?',
      version: 'integer',
    }),
    index(builder, 'externalpeers_by_check', { on: peers, columns: ['next_check_at', 'id'] }),
    table(builder, tasks, {
      ...PLACE,
      peer_id: 'text',
      remote_id: 'text?',
      context_id: 'text?',
      attempts: 'integer',
      next_at: 'integer',
      trouble: 'text?',
      lease_owner: 'text?',
      lease_until: 'integer?',
      version: 'integer',
    }),
    index(builder, 'outgoingtasks_by_next', { on: tasks, columns: ['next_at', 'id'] }),
  ]
}

/** Whoever measures asks for these every few seconds, and most of the time there are none. */
export function stuckTasks(builder: Builder): readonly string[] {
  const on = 'outgoingtasks'
  return [index(builder, 'outgoingtasks_by_trouble', { on, columns: ['peer_id', 'id'], notNull: 'trouble' })]
}
