import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

type Environment = Readonly<Record<string, string>>

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  kill(signal: NodeJS.Signals): void
  /** What it has printed so far. */
  stdout(): string
  readonly finished: Promise<Finished>
}

/** A copy of the scripts around a small product, with an npm on the PATH that installs without a network. */
export interface Checkout {
  readonly root: string
  start(script: string, args?: readonly string[], environment?: Environment): Started
  run(script: string, args?: readonly string[], environment?: Environment): Promise<Finished>
  /** What a person does without our scripts. */
  npm(...args: string[]): Promise<Finished>
  write(path: string, text: string): void
  remove(path: string): void
  has(path: string): boolean
  /** The tools that were called so far, in order: `npm ci …`, `biome check .`. */
  calls(): string[]
}

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const NPM = join(REPOSITORY, 'scripts', 'testing', 'npm.mjs')
const COPIED = [
  'scripts/bundle.mjs',
  'scripts/ensure.mjs',
  'scripts/hash.mjs',
  'scripts/lock.mjs',
  'scripts/packages.mjs',
  'scripts/run.mjs',
  'scripts/start.mjs',
  'scripts/test.mjs',
  'packages/quartermaster/tsconfig.json',
]
const WRITTEN = {
  // Without the types of Node, which cost more than everything else here.
  'tsconfig.base.json':
    '{ "compilerOptions": { "module": "nodenext", "lib": ["es2023"], "types": [], "strict": true, "rewriteRelativeImportExtensions": true } }',
  'package.json': '{ "type": "module", "private": true }',
  'package-lock.json': '{ "lockfileVersion": 3 }',
  'tsconfig.json': '{ "extends": "./tsconfig.base.json", "include": ["packages/*/src"] }',
  'examples/hello/quartermaster.config.json': '{}',
  'packages/quartermaster/package.json': '{ "type": "module" }',
  'packages/quartermaster/src/capabilities/files.ts': "export const key: string = 'files'",
  'packages/quartermaster/src/index.ts': "export const name: string = 'small'",
  ...Object.fromEntries(
    ['probes', 'langchain', 'ai', 'openai', 'prompt'].map(entry => [
      `packages/quartermaster/src/${entry}.ts`,
      'export {}',
    ]),
  ),
  'packages/quartermaster/src/adapters/storage-sqlite/worker.ts': 'export {}',
  'packages/quartermaster/src/app/bootstrap/connect.ts': 'export {}',
  'packages/quartermaster/src/capabilities/shared/attachments.ts': 'export {}',
  'packages/quartermaster/src/bin/quartermaster.ts': `
    declare const process: { argv: string[]; exitCode: number; cwd(): string; exit(code: number): void; on(name: string, listener: () => void): void }
    declare const console: { log(text: string): void }
    declare const setInterval: (task: () => void, ms: number) => void
    const args = process.argv.slice(2)
    if (args.includes('--wait')) {
      for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => { console.log(signal); process.exit(42) })
      setInterval(() => {}, 1_000)
    } else process.exitCode = 3
    console.log(JSON.stringify({ args, cwd: process.cwd() }))
    export {}
  `,
  'path/npm.cmd': `@node "${NPM}" %*`,
}

/** Makes a checkout in a temporary folder that is gone when the test is over. */
export function makeCheckout(): Checkout {
  // The real path, because that is what a process says of its working folder.
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'quartermaster-checkout-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const write = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text, { mode })
  }
  for (const path of COPIED) cpSync(join(REPOSITORY, path), join(root, path))
  for (const [path, text] of Object.entries(WRITTEN)) write(path, text)
  write('path/npm', `#!/bin/sh\nexec node "${NPM}" "$@"\n`, 0o755)
  const start: Checkout['start'] = (script, args = [], environment = {}) =>
    startIn(root, [script, ...args], environment)
  return {
    root,
    start,
    run: (...options) => start(...options).finished,
    npm: (...args) => start(NPM, args).finished,
    write: (path, text) => write(path, text),
    remove: path => rmSync(join(root, path), { recursive: true }),
    has: path => existsSync(join(root, path)),
    calls: () => (existsSync(join(root, 'calls.log')) ? linesOf(join(root, 'calls.log')) : []),
  }
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').trim().split('\n')
}

function startIn(root: string, args: readonly string[], environment: Environment): Started {
  const { INIT_CWD: _folder, ...inherited } = process.env
  const PATH = `${join(root, 'path')}${delimiter}${inherited.PATH}`
  const child = spawn(process.execPath, args, { cwd: root, env: { ...inherited, PATH, ...environment } })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', text => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', text => (stderr += text))
  // How often it says how far it is depends on the machine.
  const kept = () => stderr.replace(/^ {2}.* after \d+ s\n/gm, '')
  const finished = new Promise<Finished>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve({ code, stdout, stderr: kept() }))
  })
  return { kill: signal => void child.kill(signal), stdout: () => stdout, finished }
}
