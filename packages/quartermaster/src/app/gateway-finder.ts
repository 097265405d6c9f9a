import { stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createControlClient } from '../adapters/control-client/index.ts'
import { connectToOwner, type Owner } from '../adapters/data-folder/index.ts'
import type { FindOptions, Gateway } from '../adapters/mcp-bridge/index.ts'
import { AppError, type Control } from '../contracts/index.ts'
import type { Clock } from '../core/kernel/index.ts'
import { startBackgroundUp } from './background-up.ts'
import { locateProject, type ProjectPlace } from './locate-project.ts'

export interface GatewayFinderDeps {
  readonly place: ProjectPlace
  readonly agent: string
  /** Whose agent; the first one's when absent. */
  readonly organisation?: string | undefined
  readonly clock: Clock
  tell(text: string): void
}

/** Whoever stopped an `up` may be about to start it again; one of ours would take the folder away from them. */
const GRACE_MS = 3_000
const LOOK_EVERY_MS = 50
/** A first start on a busy machine; what takes longer is looked for again. */
const START_MS = 10_000
/** What keeps a token good is answered from memory; whoever takes longer is asked again. */
const ANSWER_MS = 5_000

/** Finds the `up` that owns a project's data folder, starts one where there is none, and borrows a token from it. */
export function createGatewayFinder(deps: GatewayFinderDeps): (options: FindOptions) => Promise<Gateway> {
  const place = ownPlace(deps.place)
  // One that ends its running calls first is there for a while after it was lost.
  let seenAt: number | undefined
  return async options => {
    const { dataDir, ...project } = await locateProject(place)
    const running = await connectToOwner({ dir: dataDir })
    if (running) seenAt = deps.clock.now()
    const owner = running ?? (await startOwner({ ...project, dataDir }))
    return borrow(owner, { ...deps, dataDir })

    async function startOwner(found: Found): Promise<Owner> {
      const { lostAt, signal } = options
      if (lostAt !== undefined && deps.clock.now() - Math.max(lostAt, seenAt ?? lostAt) < GRACE_MS)
        throw new AppError('DEPENDENCY_UNAVAILABLE', '"up" has stopped. Start it again: quartermaster up')
      await mustBeProject(found)
      deps.tell('Nothing runs here yet; starting "up" in the background.')
      return start(found, { ...place, from: found.projectDir }, signal)
    }
  }
}

interface Found {
  readonly projectDir: string
  readonly configFile: string | undefined
  readonly dataDir: string
}

/** Clients start us anywhere; a data folder under its usual name tells where its project is. */
export function ownPlace(place: ProjectPlace): ProjectPlace {
  if (place.data === undefined || place.config !== undefined) return place
  const data = resolve(place.from, place.data)
  return basename(data) === '.quartermaster' ? { ...place, data, from: dirname(data) } : place
}

/** A client may start us in any folder, and not every folder wants to become a project. */
async function mustBeProject({ projectDir, configFile, dataDir }: Found): Promise<void> {
  if (configFile !== undefined || (await exists(dataDir)) || (await exists(join(projectDir, 'agents')))) return
  throw new AppError(
    'CONFIG_INVALID',
    `There is no project in "${projectDir}". Run "quartermaster up" there once, or name another with --config.`,
  )
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

async function start({ dataDir }: Found, place: ProjectPlace, signal: AbortSignal): Promise<Owner> {
  const up = await startBackgroundUp(dataDir, place)
  for (const until = performance.now() + START_MS; performance.now() < until && !signal.aborted; ) {
    const owner = await connectToOwner({ dir: dataDir })
    if (owner) return owner
    const failure = up.failure()
    if (failure) throw failure
    await wait(LOOK_EVERY_MS)
  }
  throw new AppError('DEPENDENCY_UNAVAILABLE', '"up" did not start in time. Start it yourself: quartermaster up')
}

interface BorrowDeps extends Pick<GatewayFinderDeps, 'agent' | 'organisation'> {
  readonly dataDir: string
}

/** A token of the owner's for this agent. */
export async function borrow(owner: Owner, { agent, organisation, dataDir }: BorrowDeps): Promise<Gateway> {
  const { id, token, goodForMs, files } = await createControlClient(owner).lendToken(
    organisation === undefined ? { agent } : { agent, organisation },
  )
  const withLender = async <T>(ask: (control: Control, signal: AbortSignal) => Promise<T>): Promise<void> => {
    await ask(createControlClient(await lender(owner, id, dataDir)), AbortSignal.timeout(ANSWER_MS))
  }
  return {
    url: `${owner.url}/mcp`,
    token,
    goodForMs,
    files: files && { ...files, url: `${owner.url}/api/v1/attachments` },
    extend: () => withLender((control, signal) => control.extendToken({ id }, { signal })),
    giveBack: () => withLender((control, signal) => control.revokeToken({ id }, { signal })),
  }
}

/** Whoever lent a token, after it has proved again who it is: it may have ended, and its port may be anyone's by now. */
async function lender({ url }: Owner, id: string, dir: string): Promise<Owner> {
  const owner = await connectToOwner({ dir })
  if (!owner) throw new AppError('DEPENDENCY_UNAVAILABLE', '"up" does not answer. Start it again: quartermaster up')
  if (owner.url === url) return owner
  throw new AppError('NAME_UNKNOWN', `The "up" that lent the token "${id}" has ended. Borrow another.`)
}
