import { setTimeout as wait } from 'node:timers/promises'
import { createControlClient } from '../../adapters/control-client/index.ts'
import { connectToOwner } from '../../adapters/data-folder/index.ts'
import type { Environment } from '../../adapters/project-files/index.ts'
import { createIds, createSystemClock } from '../../adapters/system/index.ts'
import { type AppError, CONTROL, type Control, type ControlOperation, isAppError } from '../../contracts/index.ts'
import { type Clock, createCancellation, type Log, remembered, unlessCancelled } from '../../core/kernel/index.ts'
import type { Runtime } from '../bootstrap/runtime.ts'
import { brokenConfig, locateProject, type ProjectPlace } from '../project/locate-project.ts'
import { isLocked } from '../project/take-folder.ts'
import { meetFirst, readFirst, withDownloadProgress } from './control-preload.ts'

interface OpenControlOptions extends ProjectPlace {
  readonly env: Environment
  readonly log: Log
  readonly ownsProcess: boolean
}

interface OpenControl {
  readonly control: Control
  readonly from: 'up' | 'process'
  close(): Promise<void>
}

/** A busy machine may keep an `up` from answering for a while; to go on without it ends at the folder it has locked. */
const PATIENCE_MS = 5_000

/** A server or a tool that does not let go must not keep the terminal. */
const LET_GO_MS = 2_000

/** The control of the `up` that owns the data folder or, where none runs, of a runtime made for this one command. */
export async function openControl(options: OpenControlOptions): Promise<OpenControl> {
  const { dataDir } = await locateProject(options)
  const owner = await connectToOwner({ dir: dataDir, timeoutMs: PATIENCE_MS })
  if (owner) return { control: createControlClient(owner), from: 'up', close: async () => {} }
  return openInProcess(options)
}

async function openInProcess(options: OpenControlOptions): Promise<OpenControl> {
  // Not needed, and so not loaded, when an `up` answers.
  const [
    { openProject },
    { createRuntime },
    { createControl },
    { lazyStore },
    { syncWorkspacesOnce },
    { buildExternalPeers },
  ] = await Promise.all([
    import('../project/project.ts'),
    import('../bootstrap/runtime.ts'),
    import('./control.ts'),
    import('../project/lazy-store.ts'),
    import('../bootstrap/sync-workspaces.ts'),
    import('../bootstrap/external-peers.ts'),
  ])
  try {
    const project = await openProject({ ...options, watch: false })
    const { dataDir, settings, storeChoice: choice } = project
    const owner = createIds().next('process')
    const clock = createSystemClock()
    const storage = lazyStore({ dataDir, choice, settings, clock, log: options.log, owner })
    const platform = async () => {
      const opened = await storage.open()
      return { ...opened, organisation: await syncWorkspacesOnce(runtime, opened.organisation) }
    }
    const runtime: Runtime = await createRuntime(project, {
      log: options.log,
      clock,
      storage,
      platform: { open: platform, current: storage.current },
      owner,
      isBrief: true,
      isBeside: true,
      ownsProcess: options.ownsProcess,
    })
    await runtime.load()
    await runtime.look()
    const tokens = async () => (await storage.open()).tokens
    const organisation = async () => (await platform()).organisation
    const memory = async () => (await storage.open()).memory
    const delegations = async () => (await storage.open()).delegations
    const built = remembered(async () => buildExternalPeers(project, await storage.open(), options.log))
    const peers = async () => (await built()).peers
    const parts = { tokens, organisation, memory, delegations, peers }
    const control = createControl(runtime, { from: 'process', isReady: () => true, ...parts })
    const close = async () => {
      await stopInTime(runtime, clock)
      // Not given up with it: a process that ends while the thread of its store is at work is aborted.
      await storage.close()
    }
    const met = meetFirst(withDownloadProgress(control, { ...runtime, clock }), runtime)
    const informed = readFirst(met, runtime)
    return { control: orOwner(informed, dataDir), from: 'process', close }
  } catch (error) {
    if (!isAppError(error) || error.code !== 'CONFIG_INVALID') throw error
    return { control: await controlWithoutConfig(error), from: 'process', close: async () => {} }
  }
}

async function stopInTime(runtime: Runtime, clock: Clock): Promise<void> {
  const { signal, cancel } = createCancellation()
  const enough = clock.after(LET_GO_MS, () => cancel(new Error('It took too long.')))
  // The answer is out already; a failure to clean up behind it changes nothing the caller could act on.
  await unlessCancelled(runtime.stop(), signal).catch(() => {})
  enough()
}

/** When the configuration cannot be read every command says so, and `doctor` says how to fix it. */
async function controlWithoutConfig(error: AppError): Promise<Control> {
  const { diagnoseConfig } = await import('./doctor.ts')
  const refuse = async (): Promise<never> => {
    throw error
  }
  const operations = Object.keys(CONTROL) as ControlOperation[]
  const control = Object.fromEntries(operations.map(operation => [operation, refuse])) as unknown as Control
  return { ...control, doctor: async () => diagnoseConfig(brokenConfig(error, undefined)) }
}

const LOOK_EVERY_MS = 50

type Ask = (input: never, options?: never) => Promise<unknown>

/** A control in process that turns to the `up` which took the folder before it did: one may be starting at this very moment. */
function orOwner(control: Control, dir: string): Control {
  let owner: Control | undefined

  const asker =
    (operation: ControlOperation): Ask =>
    async (input, options) => {
      for (const until = performance.now() + PATIENCE_MS; ; await wait(LOOK_EVERY_MS)) {
        try {
          return await ((owner ?? control)[operation] as Ask)(input, options)
        } catch (error) {
          // The store was not opened, so nothing was done.
          if (owner || !isLocked(error) || performance.now() > until) throw error
          const found = await connectToOwner({ dir })
          if (found) owner = createControlClient(found)
        }
      }
    }

  const operations = Object.keys(CONTROL) as ControlOperation[]
  return Object.fromEntries(operations.map(operation => [operation, asker(operation)])) as unknown as Control
}
