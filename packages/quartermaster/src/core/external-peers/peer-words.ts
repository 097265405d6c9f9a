import {
  AppError,
  type ExternalPeerFacts,
  type ExternalPeerRow,
  type WorkspaceFacts,
  type WorkspaceRow,
} from '../../contracts/index.ts'
import { RemoteFailure } from './ports.ts'

/** As it is shown. */
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

/** The error for one that is not there, and just as well for one of another organisation. */
export function unknownExternalPeer(idOrName: string): AppError {
  return new AppError(
    'NAME_UNKNOWN',
    `There is no external peer "${idOrName.slice(0, 100)}". List them and take one of those.`,
  )
}
