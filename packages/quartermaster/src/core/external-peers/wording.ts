import {
  type ActivityRow,
  AppError,
  type DelegationRow,
  type ExternalPeerFacts,
  type ExternalPeerRow,
  MOST_TAG_CHARACTERS,
  MOST_TAGS,
  toStorable,
  type WorkspaceFacts,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { UNSAFE } from '../kernel/index.ts'
import { remove, type Store, type Write } from '../store/index.ts'
import { RemoteFailure, type RemoteState, type ReportedFacts, type StoredFacts } from './ports.ts'

const MOST_ROWS = 100

/** The asker's messages about its task that the agent has not got yet: they wait in the inbox of the agent's workspace. */
export async function waitingMessages(store: Store, task: DelegationRow): Promise<ActivityRow[]> {
  const { id, organisation, toId: workspaceId, conversationId } = task
  const where = { organisation, workspaceId }
  const waiting = await store.find('inbox', {
    where,
    order: { by: ['sequence'] },
    limit: 1_000,
    columns: ['id', 'conversationId'],
  })
  const ids = waiting.filter(one => one.conversationId === conversationId).map(one => one.id)
  if (ids.length === 0) return []
  const rows = await store.find('activity', { where: { id: { in: ids.slice(0, MOST_ROWS) } }, limit: MOST_ROWS })
  return rows.filter(({ delegationId }) => delegationId === id).toSorted((a, b) => a.sequence - b.sequence)
}

/** Removes them from the inbox, so that they are not handed out again. */
export function popMessages(words: readonly ActivityRow[]): Write[] {
  return words.map(({ organisation, workspaceId, id }) =>
    remove('inbox', { where: { organisation, workspaceId, id }, rows: 'any' }),
  )
}

export const NO_RESULT = '(The task is done. The agent sent no text.)'
export const TASK_UNKNOWN =
  'The agent no longer knows the task; it may have been restarted. Part of the task may be done: check before you delegate it again.'
export const CANCEL_FAILED = 'cancelling a task at an external peer failed'
export const NO_QUESTION = 'The agent asks for more information, but does not say what.'

/** Why the task failed, in the agent's words if any. */
export function failureWords(state: RemoteState, said: string): string {
  if (said !== '' && state === 'failed') return said
  const did = state === 'rejected' || state === 'canceled' ? ENDED[state] : 'The agent failed'
  return said === '' ? `${did} and gave no reason.` : `${did}: ${said}`
}

const ENDED = { rejected: 'The agent rejected the task', canceled: 'The agent cancelled the task' }

/** A login there cannot be completed while a task waits. */
export function needsLogin(peer: string, said: string): string {
  const words = said === '' ? '' : ` It says: ${said}`
  return `The agent requires a person to sign in, which is not possible from here.${words} The owner can give "${peer}" a key: \`quartermaster peers remove ${peer}\`, then \`peers add\` with \`--secret\`.`
}

/** What the owner can do about a peer that rejects our credentials. */
export function credentialsRejected(peer: string, why: string): string {
  return `${why} The owner stores the key in secrets.json and adds the peer again: \`quartermaster peers remove ${peer}\`, then \`peers add … --secret NAME\`.`
}

export function messageRejected(peer: string, why: string): string {
  return `"${peer}" rejected your last message about the task: ${why}`
}

/** Limits of what a registering agent may say about itself. */
const MOST_TEXT = { description: 2_000, version: 64, skills: 100, id: 128, name: 200 } as const

/** Sanitizes what a remote agent says about itself: single lines of bounded length without invisible characters. */
export function sanitizeFacts({ description, version, skills }: ReportedFacts): StoredFacts {
  const about = plainLine(description ?? '', MOST_TEXT.description)
  const number = plainLine(version ?? '', MOST_TEXT.version)
  return {
    ...(about !== '' && { description: about }),
    ...(number !== '' && { version: number }),
    skills: skills
      .flatMap(skill => {
        const id = plainLine(skill.id, MOST_TEXT.id)
        const name = plainLine(skill.name, MOST_TEXT.name) || id
        const tags = tagsIn(skill.tags ?? [])
        const said = { id, name, description: plainLine(skill.description, MOST_TEXT.description) }
        return id === '' ? [] : [{ ...said, ...(tags.length > 0 && { tags }) }]
      })
      .slice(0, MOST_TEXT.skills),
  }
}

function tagsIn(tags: readonly string[]): string[] {
  const lines = tags.slice(0, 2 * MOST_TAGS).map(tag => plainLine(tag, MOST_TAG_CHARACTERS))
  return [...new Set(lines.filter(tag => tag !== ''))].slice(0, MOST_TAGS)
}

/** One line of foreign text, shortened, without control and bidirectional characters. */
export function plainLine(text: string, longest: number): string {
  const line = toStorable(text.slice(0, 4 * longest))
    .replace(/\s+/g, ' ')
    .replace(UNSAFE, '')
    .trim()
  return line.length <= longest ? line : `${line.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

export function externalPeerFacts(
  row: ExternalPeerRow,
  workspace: WorkspaceRow,
  facts: WorkspaceFacts,
): ExternalPeerFacts {
  const { id, organisation, name, role, parent, status, presence, capacity, createdAt } = facts
  const { cardUrl, url, binding, streaming, secret, header, hosts, checkedAt, error } = row
  return {
    ...{ id, organisation, name, role, parent, status, presence, capacity, createdAt },
    ...{ cardUrl, url, binding, streaming, secret, header, hosts, checkedAt, error },
    description: workspace.description ?? workspace.card?.description ?? null,
    skills: workspace.card?.skills ?? [],
  }
}

/** Why an agent cannot be made a peer, for its owner. */
export function refusedCard(cardUrl: string, error: unknown): AppError {
  if (!(error instanceof RemoteFailure)) throw error
  const { trouble, message } = error
  const code =
    trouble === 'unreachable' || trouble === 'busy' || trouble === 'broken' ? 'DEPENDENCY_UNAVAILABLE' : 'INPUT_INVALID'
  const next = trouble === 'unauthorized' ? ' Keep its key in secrets.json and name it with "secret".' : ''
  return new AppError(code, `The card at ${cardUrl} cannot be used: ${message}${next}`, { cause: error })
}

export function noSuchSecret(name: string): AppError {
  const message = `There is no secret "${name}". Add it to secrets.json in the data folder, and run \`quartermaster reload\` where \`up\` runs.`
  return new AppError('INPUT_INVALID', message)
}

/** The error for a peer that does not exist or is in another organisation. */
export function unknownExternalPeer(idOrName: string): AppError {
  return new AppError(
    'NAME_UNKNOWN',
    `There is no external peer "${idOrName.slice(0, 100)}". List the external peers and choose one.`,
  )
}
