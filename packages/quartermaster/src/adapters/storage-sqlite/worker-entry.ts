import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { remembered } from '../../core/kernel/index.ts'
import type { WorkerSettings } from './protocol.ts'

/** Starts the worker's thread. */
type StartWorker = (name: string, settings: WorkerSettings) => Worker

/** Finds the worker's code: the compiled file beside this one, or the source when this is the source. */
export async function findWorker(): Promise<StartWorker> {
  const isCompiled = !import.meta.url.endsWith('.ts')
  const code = isCompiled ? new URL('worker.js', import.meta.url) : await bundleSource()
  // None of our flags and variables concern it, and those of a test runner would keep it from starting.
  const options = { eval: !isCompiled, env: {}, execArgv: [] }
  return (name, settings) => new Worker(code, { ...options, name, workerData: settings })
}

/** The same code for a process that asks one question, as arguments of Node. */
export async function findReaderProcess(): Promise<readonly string[]> {
  const file = new URL('worker.js', import.meta.url)
  return import.meta.url.endsWith('.ts') ? ['-e', await bundleSource()] : [fileURLToPath(file)]
}

const DRIVER = '@photostructure/sqlite'

/** No Node that we support runs TypeScript, and tests run on the sources: what they test is never an old build. */
const bundleSource = remembered(async (): Promise<string> => {
  const { build } = await import('esbuild')
  const driver = createRequire(import.meta.url).resolve(DRIVER)
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('worker.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'cjs',
    alias: { [DRIVER]: driver },
    external: [driver],
    write: false,
    logLevel: 'silent',
  })
  return outputFiles[0]?.text ?? ''
})
