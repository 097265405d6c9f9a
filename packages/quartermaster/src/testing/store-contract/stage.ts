import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '../../adapters/system/index.ts'
import type { NewRow } from '../../contracts/index.ts'
import type { Log } from '../../core/kernel/index.ts'
import type { Store } from '../../core/store/index.ts'
import { onEnd } from '../shared-fixture.ts'

/** A store that can be closed. */
export interface OpenedStore extends Store {
  close(): Promise<void>
}

/** One shape of the database, as SQL that every database understands. */
export interface Shape {
  readonly version: number
  readonly name: string
  readonly statements: readonly string[]
}

export interface OpenOptions {
  readonly dir: string
  readonly log: Log
  readonly migrations?: readonly Shape[]
}

/** What the suite has to know about a store. */
export interface StoreSubject {
  open(options: OpenOptions): Promise<OpenedStore>
  /** Every shape of this version. */
  readonly shapes: readonly Shape[]
  /** Where a process of its own finds `open`: a module below `dist`, and the name of the function. */
  readonly built: { readonly module: string; readonly name: string }
  /** What a process of its own has to be told beside the folder. */
  readonly told?: (dir: string) => Promise<Readonly<Record<string, unknown>>>
  /** Whether a migration that runs in another process has written something already. */
  isHalfWay(dir: string): Promise<boolean>
  /** Whether the process that commits is also the one that syncs. */
  readonly syncsItself: boolean
}

/** A store in a folder that is gone after the test. */
export async function openFresh(subject: StoreSubject, more: Partial<OpenOptions> = {}): Promise<OpenedStore> {
  const store = await subject.open({ dir: await freshFolder(), log: silentLog, ...more })
  onEnd(() => store.close())
  return store
}

export async function freshFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'store-'))
  onEnd(() => rm(dir, { recursive: true, force: true }))
  return dir
}

const DIGEST = 'ab'.repeat(32)
/** On whose behalf everything here is done. */
const RESEARCHER = {
  workspace: 'researcher',
  organisation: 'default',
  callerKind: 'agent',
  callerName: 'researcher',
} as const

/** An operation that is queued. */
export function operation(id: string, more: Partial<NewRow<'operations'>> = {}): NewRow<'operations'> {
  return {
    id,
    ...RESEARCHER,
    tool: 'send_mail',
    definitionHash: 'd1',
    mutates: true,
    digest: DIGEST,
    state: 'queued',
    createdAt: 1,
    updatedAt: 1,
    ...more,
  }
}

export function token(id: string, more: Partial<NewRow<'tokens'>> = {}): NewRow<'tokens'> {
  const hash = Buffer.from(id).toString('hex').padStart(64, '0')
  return {
    id,
    ...RESEARCHER,
    hash,
    createdAt: 1,
    ...more,
  }
}

export function auditLine(id: string, more: Partial<NewRow<'audit'>> = {}): NewRow<'audit'> {
  return {
    id,
    ...RESEARCHER,
    at: 1,
    operationId: 'op',
    tool: 'send_mail',
    digest: DIGEST,
    decision: 'allowed',
    outcome: 'succeeded',
    mutates: true,
    durationMs: 0.25,
    ...more,
  }
}

export function secret(id: string, more: Partial<NewRow<'secrets'>> = {}): NewRow<'secrets'> {
  return { id, workspace: 'researcher', name: id, keptIn: 'store', createdAt: 1, updatedAt: 1, ...more }
}

export function upstream(id: string, more: Partial<NewRow<'upstreams'>> = {}): NewRow<'upstreams'> {
  return { id, workspace: 'default', name: id, firstSeenAt: 1, lastSeenAt: 1, ...more }
}

export function pin(id: string, more: Partial<NewRow<'pins'>> = {}): NewRow<'pins'> {
  return {
    id,
    workspace: 'default',
    upstream: 'github',
    kind: 'tool',
    name: id,
    hash: DIGEST,
    definition: '{}',
    state: 'accepted',
    firstSight: true,
    seenAt: 1,
    ...more,
  }
}

/** A sent message; its number is found when it is written. */
export function activity(id: string, more: Partial<NewRow<'activity'>> = {}): Omit<NewRow<'activity'>, 'sequence'> {
  return {
    id,
    workspace: 'researcher',
    workspaceId: 'w',
    type: 'message.received',
    kind: 'peer_agent',
    direction: 'in',
    peerKind: 'workspace',
    peerId: 'p',
    peerName: 'writer',
    conversationId: 'c',
    messageId: id,
    text: 'Hello',
    createdAt: 1,
    ...more,
  }
}

export function inboxLine(id: string): Omit<NewRow<'inbox'>, 'sequence'> {
  return { id, workspace: 'researcher', workspaceId: 'w', conversationId: 'c' }
}
