import { setTimeout as wait } from 'node:timers/promises'
import { createControlClient } from '../../adapters/control-client/index.ts'
import { connectToOwner } from '../../adapters/data-folder/index.ts'
import type { Environment } from '../../adapters/project-files/index.ts'
import { createSystemClock } from '../../adapters/system/index.ts'
import { type AppError, CONTROL, type Control, type ControlOperation, isAppError } from '../../contracts/index.ts'
import { createCancellation, type Log, unlessCancelled } from '../../core/kernel/index.ts'
import type { Runtime } from '../bootstrap/runtime.ts'
import { isLocked } from '../project/lazy-store.ts'
import { brokenConfig, locateProject, type ProjectPlace } from '../project/locate-project.ts'
import { withPreload } from './control-preload.ts'

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

/** A busy machine may keep an `up` from answering for a while; without it the command fails at the locked folder. */
const PATIENCE_MS = 5_000

/** A server or a tool that does not stop must not keep the terminal. */
const STOP_MS = 2_000

const closeNothing = async () => {}

/** The control of the `up` that owns the data folder or, where none runs, of a runtime for this one command. */
export async function openControl(options: OpenControlOptions): Promise<OpenControl> {
  const { dataDir } = await locateProject(options)
  const owner = await connectToOwner({ dir: dataDir, timeoutMs: PATIENCE_MS })
  if (owner) return { control: createControlClient(owner), from: 'up', close: closeNothing }
  try {
    return await openInProcess(options)
  } catch (error) {
    if (!isAppError(error) || error.code !== 'CONFIG_INVALID') throw error
    return { control: await controlWithoutConfig(error), from: 'process', close: closeNothing }
  }
}

async function openInProcess({ log, ownsProcess, ...place }: OpenControlOptions): Promise<OpenControl> {
  // Loaded on demand: not needed when an `up` answers.
  const [{ openProject }, { createLocalRuntime }] = await Promise.all([
    import('../project/project.ts'),
    import('../bootstrap/local-runtime.ts'),
  ])
  const project = await openProject({ ...place, log, watch: false })
  const { runtime, control, storage } = await createLocalRuntime(project, { log, forOneCommand: true, ownsProcess })
  await runtime.load()
  await runtime.probe()
  return {
    control: withOwnerFallback(withPreload(control, runtime), project.dataDir),
    from: 'process',
    async close() {
      await stopInTime(runtime)
      // Always awaited: a process that ends while the thread of its store works is aborted.
      await storage.close()
    },
  }
}

async function stopInTime(runtime: Runtime): Promise<void> {
  const { signal, cancel } = createCancellation()
  const enough = createSystemClock().after(STOP_MS, () => cancel(new Error('It took too long.')))
  // The answer is out already; a failure to clean up changes nothing the caller could act on.
  await unlessCancelled(runtime.stop(), signal).catch(() => {})
  enough()
}

const OPERATIONS = Object.keys(CONTROL) as ControlOperation[]

type Execute = (input: never, options?: never) => Promise<unknown>

function controlOf(execute: (operation: ControlOperation) => Execute): Control {
  return Object.fromEntries(OPERATIONS.map(operation => [operation, execute(operation)])) as unknown as Control
}

/** When the configuration cannot be read every command says so, and `doctor` says how to fix it. */
async function controlWithoutConfig(error: AppError): Promise<Control> {
  const { diagnoseConfig } = await import('./doctor.ts')
  const refuse: Execute = async () => {
    throw error
  }
  return { ...controlOf(() => refuse), doctor: async () => diagnoseConfig(brokenConfig(error, undefined)) }
}

const RETRY_MS = 50

/** If another process locks the folder before this control does, its operations go to that `up`: it may be starting now. */
function withOwnerFallback(control: Control, dir: string): Control {
  let owner: Control | undefined
  return controlOf(operation => async (input, options) => {
    for (const until = performance.now() + PATIENCE_MS; ; await wait(RETRY_MS)) {
      try {
        return await ((owner ?? control)[operation] as Execute)(input, options)
      } catch (error) {
        // The store was not opened, so nothing was done.
        if (owner || !isLocked(error) || performance.now() > until) throw error
        const found = await connectToOwner({ dir })
        if (found) owner = createControlClient(found)
      }
    }
  })
}
