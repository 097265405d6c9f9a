import { type Builder, index, PLACE, table } from './migration-parts.ts'

/** Which data folder has seated an agent, and what at most one process runs at a time. */
export function nodeTables(builder: Builder): readonly string[] {
  return [
    table(builder, 'seats', { ...PLACE, folder: 'text' }),
    index(builder, 'seats_by_name', { on: 'seats', columns: ['organisation', 'workspace', 'folder'], unique: true }),
    table(builder, 'leases', {
      ...PLACE,
      holder: 'text',
      host: 'text',
      folder: 'text',
      lease_until: 'integer',
    }),
  ]
}
