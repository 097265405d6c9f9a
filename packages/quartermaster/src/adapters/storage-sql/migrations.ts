import { attachmentTables } from './attachment-tables.ts'
import { delegationTables, taskParts } from './delegation-tables.ts'
import { createSqlWriter, type DialectName } from './dialect.ts'
import { externalPeerTables, stuckTasks } from './external-peer-tables.ts'
import { firstTables } from './first-tables.ts'
import { memoryTables, wordsByShelf } from './memory-tables.ts'
import { messageTables, senderNames } from './message-tables.ts'
import type { Builder } from './migration-parts.ts'
import { nodeTables } from './node-tables.ts'
import {
  consent,
  grantsByLasting,
  operationsByTime,
  resultRoom,
  sealedEffects,
  sharing,
  tasks,
  waiting,
  whatIsListed,
  withoutIndexByEnd,
} from './operation-tables.ts'
import { organisationTables } from './organisation-tables.ts'
import { listedKinds, offeredNames, rewordedPins, upstreamTables } from './upstream-tables.ts'

/** One step from one shape of the database to the next. Once released it is never changed; the next one is added. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly statements: readonly string[]
}

/** Every step, in order. */
export function migrationsFor(dialect: DialectName): readonly Migration[] {
  const { schema } = createSqlWriter(dialect)
  return STEPS.map(({ name, build }, i) => ({ version: i + 1, name, statements: build({ schema, dialect }) }))
}

const STEPS: readonly { readonly name: string; build(builder: Builder): readonly string[] }[] = [
  { name: 'tokens, operations, audit, secrets', build: firstTables },
  { name: 'operations by time', build: operationsByTime },
  { name: 'which operations are tasks', build: tasks },
  { name: 'upstreams, pins', build: upstreamTables },
  { name: 'what an upstream has listed', build: listedKinds },
  { name: 'what may be tried again, and what is to be told', build: waiting },
  { name: 'approvals, grants', build: consent },
  { name: 'sealed effects, whole results', build: sealedEffects },
  { name: 'no index that nobody reads', build: withoutIndexByEnd },
  { name: 'how much room results take', build: resultRoom },
  { name: 'grants that last apart from those for one call', build: grantsByLasting },
  { name: 'what waits, what was taken back, and the audit of all', build: whatIsListed },
  { name: 'processes that share a store', build: sharing },
  { name: 'organisations, workspaces, persons, join codes', build: organisationTables },
  { name: 'activity, inbox', build: messageTables },
  { name: 'memories and their words', build: memoryTables },
  { name: 'attachments and their content', build: attachmentTables },
  { name: 'delegations', build: delegationTables },
  { name: 'who seats an agent, and what runs once', build: nodeTables },
  { name: 'A2A agents elsewhere, and what they are sent', build: externalPeerTables },
  { name: 'words of memories by their shelf', build: wordsByShelf },
  { name: 'what senders call their messages', build: senderNames },
  { name: 'what tasks came in', build: taskParts },
  { name: 'tasks that do not get to where they are sent', build: stuckTasks },
  { name: 'since when upstreams have their names', build: offeredNames },
  { name: 'what was changed while it was held back', build: rewordedPins },
]
