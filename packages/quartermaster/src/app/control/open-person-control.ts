import { createControlClient } from '../../adapters/control-client/index.ts'
import { connectToOwner } from '../../adapters/data-folder/index.ts'
import { AppError, type PersonControl } from '../../contracts/index.ts'
import { locateProject, type ProjectPlace } from '../project/locate-project.ts'

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

/** A busy machine may keep an `up` from answering for a while. */
const PATIENCE_MS = 5_000

/** Where the `up` listens that owns the data folder, if there is one. */
export async function ownAddress(place: ProjectPlace): Promise<string | undefined> {
  const { dataDir } = await locateProject(place)
  return (await connectToOwner({ dir: dataDir, timeoutMs: PATIENCE_MS }))?.url
}

/** A given address of an `up`. Refuses one where the token could be read on its way. */
export function givenAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url?.protocol === 'http:'
  if (!url || !(isPlain || url.protocol === 'https:') || url.username !== '' || url.password !== '')
    throw new AppError(
      'CONFIG_INVALID',
      'The address of an "up" looks like https://tools.example:7420, and has no more in it.',
    )
  if (!isPlain || LOOPBACK.test(url.hostname)) return url.origin
  const message = `Over "http" others on the network path to "${url.host}" could read the token.`
  throw new AppError('CONFIG_INVALID', `${message} Use an address with "https", or a tunnel to this machine.`)
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/
