import { createControlClient } from '../adapters/control-client/index.ts'
import { AppError, type PersonControl } from '../contracts/index.ts'
import type { ProjectPlace } from './locate-project.ts'
import { givenAddress, ownAddress } from './up-address.ts'

export interface OpenPersonControlOptions extends ProjectPlace {
  /** The person's own. Nothing here falls back to the owner's. */
  readonly token: string
  /** Where an `up` listens; the one that owns the data folder when absent. */
  readonly url?: string | undefined
}

/** What persons have of the control of an `up`: only that knows whose token counts now. */
export async function openPersonControl({ token, url, ...place }: OpenPersonControlOptions) {
  const control: PersonControl = createControlClient({
    token,
    url: url === undefined ? await ownUrl(place) : givenAddress(url),
  })
  return { control, from: 'up' as const, close: async () => {} }
}

async function ownUrl(place: ProjectPlace): Promise<string> {
  const own = await ownAddress(place)
  if (own !== undefined) return own
  const message = 'Whose token counts is known to a running "up" alone, and there is none here.'
  throw new AppError('DEPENDENCY_UNAVAILABLE', `${message} Start it, or say where it listens with --url.`)
}
