import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { memoize } from '../../core/kernel/index.ts'
import type { WorkerSettings } from './protocol.ts'

type StartWorker = (name: string, settings: WorkerSettings) => Worker

/** Finds the worker's code: the compiled file, or a bundle of the source when running from source. */
export async function findWorker(): Promise<StartWorker> {
  const code = IS_SOURCE ? await bundleSource() : COMPILED
  // Without our flags and variables: those of a test runner would keep the worker from starting.
  const options = { eval: IS_SOURCE, env: {}, execArgv: [] }
  return (name, settings) => new Worker(code, { ...options, name, workerData: settings })
}

/** The same code for a process that answers one query, as arguments of Node. */
export async function findReaderProcess(): Promise<readonly string[]> {
  return IS_SOURCE ? ['-e', await bundleSource()] : [fileURLToPath(COMPILED)]
}

const IS_SOURCE = import.meta.url.endsWith('.ts')
const COMPILED = new URL('worker.js', import.meta.url)
const DRIVER = '@photostructure/sqlite'

/** For tests: Node 20 does not run TypeScript. */
const bundleSource = memoize(async (): Promise<string> => {
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
