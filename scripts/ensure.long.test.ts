import { readFileSync, utimesSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { packagesOf } from './packages.mjs'
import { makeCheckout } from './testing/checkout.ts'

const ENSURE = 'scripts/ensure.mjs'
const NPM_CI = 'npm ci --ignore-scripts --no-audit --no-fund --include=dev --loglevel=error'
const INSTALLING = 'Installing the locked dependencies with npm ci.\n'
const BUILDING = 'Building packages/quartermaster.\n'
const SOURCE = 'packages/quartermaster/src/capabilities/files.ts'
const BUILT = 'packages/quartermaster/dist/modules/capabilities/files.js'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

describe('a fresh checkout', () => {
  it('is installed and built, with a line for each', async () => {
    const checkout = makeCheckout()
    expect(await checkout.run(ENSURE)).toEqual({ code: 0, stdout: '', stderr: INSTALLING + BUILDING })
    expect(checkout.calls()).toEqual([NPM_CI])
    expect(readFileSync(join(checkout.root, BUILT), 'utf8')).toContain("export const key = 'files'")
  })

  it('has source maps that lead to the sources', async () => {
    const checkout = makeCheckout()
    await checkout.run(ENSURE)
    const map = JSON.parse(readFileSync(join(checkout.root, `${BUILT}.map`), 'utf8'))
    expect(map.sources).toEqual(['../../../src/capabilities/files.ts'])
  })

  it('leaves nothing behind but the packages and the build', async () => {
    const checkout = makeCheckout()
    await checkout.run(ENSURE)
    const leftovers = ['.ensure.lock', 'packages/quartermaster/dist-next', 'packages/quartermaster/dist-old']
    expect(leftovers.filter(path => checkout.has(path))).toEqual([])
  })

  it('is installed once when two commands come at the same time', async () => {
    const checkout = makeCheckout()
    const [one, other] = await Promise.all([checkout.run(ENSURE), checkout.run(ENSURE)])
    expect([one.code, other.code]).toEqual([0, 0])
    expect(checkout.calls()).toEqual([NPM_CI])
    expect(checkout.has(BUILT)).toBe(true)
  })

  it('is not touched by a Node that is too old', async () => {
    const checkout = makeCheckout()
    checkout.write('old.cjs', "Object.defineProperty(process, 'versions', { value: { node: '18.20.4' } })")
    const { code, stderr } = await checkout.run(ENSURE, [], {
      NODE_OPTIONS: `--require ${join(checkout.root, 'old.cjs')}`,
    })
    expect(code).toBe(1)
    expect(stderr).toBe(
      'Quartermaster needs Node 20.19 or newer, and this is Node 18.20.4. Get one from https://nodejs.org and run the command again.\n',
    )
    expect(checkout.calls()).toEqual([])
  })
})

describe('installing', () => {
  it('is not repeated while nothing changed', async () => {
    const checkout = makeCheckout()
    await checkout.run(ENSURE)
    expect(await checkout.run(ENSURE)).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(checkout.calls()).toEqual([NPM_CI])
  })

  it('is not repeated after a plain npm ci, and is when that left something out', async () => {
    const checkout = makeCheckout()
    const lock = (packages: object) => JSON.stringify({ lockfileVersion: 3, packages: { '': {}, ...packages } })
    const one = { version: '1.0.0', integrity: 'sha512-one' }
    checkout.write('package-lock.json', lock({ 'node_modules/one': one, 'node_modules/mac': { optional: true } }))
    await checkout.npm('ci')
    checkout.write('node_modules/.package-lock.json', lock({ 'node_modules/one': one }))
    expect(await checkout.run(ENSURE)).toMatchObject({ code: 0, stderr: BUILDING })
    expect(checkout.calls()).toEqual(['npm ci'])
    checkout.write('node_modules/.package-lock.json', lock({}))
    expect(await checkout.run(ENSURE)).toMatchObject({ code: 0, stderr: INSTALLING })
  })

  it('says how far it is', async () => {
    const checkout = makeCheckout()
    checkout.write(
      'package-lock.json',
      '{ "packages": { "": {}, "node_modules/first": {}, "node_modules/other": {} } }',
    )
    vi.stubEnv('PATH', `${join(checkout.root, 'path')}${delimiter}${process.env.PATH}`)
    vi.stubEnv('NPM', 'waits')
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const installing = packagesOf(checkout.root).install()
    await expect.poll(() => checkout.calls().includes('first'), { timeout: 10_000 }).toBeTruthy()
    said.mockClear()
    vi.advanceTimersByTime(10_000)
    checkout.write('go', '')
    await installing
    expect(said.mock.lastCall).toEqual(['  1 of 2 packages after 10 s'])
  })

  it.each([
    ['the lockfile', 'package-lock.json'],
    ['the package.json of the workspace', 'package.json'],
    ['the package.json of the product', 'packages/quartermaster/package.json'],
  ])('is repeated when %s changed', async (_what, file) => {
    const checkout = makeCheckout()
    await checkout.run(ENSURE)
    checkout.write(file, '{ "type": "module", "lockfileVersion": 3, "version": "2.0.0" }')
    expect(await checkout.run(ENSURE)).toMatchObject({ code: 0, stderr: INSTALLING + BUILDING })
    expect(checkout.calls()).toEqual([NPM_CI, NPM_CI])
  })

  it('is repeated when the packages were removed', async () => {
    const checkout = makeCheckout()
    await checkout.run(ENSURE)
    checkout.remove('node_modules')
    expect(await checkout.run(ENSURE)).toMatchObject({ code: 0, stderr: INSTALLING })
  })

  it('passes on what npm said and its exit code when it fails, and is tried again next time', async () => {
    const checkout = makeCheckout()
    const { code, stderr } = await checkout.run(ENSURE, [], { NPM: 'fails' })
    expect(code).toBe(7)
    expect(stderr).toContain('the registry is closed on Sundays')
    expect(stderr).toContain('npm ci failed with exit code 7; nothing was built or run.')
    expect(checkout.has('node_modules/.ensure-stamp')).toBe(false)
    expect(checkout.has('packages/quartermaster/dist')).toBe(false)
    expect(await checkout.run(ENSURE)).toMatchObject({ code: 0, stderr: INSTALLING + BUILDING })
  })

  it('does not count as done when a repetition fails', async () => {
    const checkout = makeCheckout()
    await checkout.run(ENSURE)
    checkout.write('package-lock.json', '{}')
    await checkout.run(ENSURE, [], { NPM: 'fails' })
    expect(checkout.has('node_modules/.ensure-stamp')).toBe(false)
  })

  it('says so when there is no npm', async () => {
    const checkout = makeCheckout()
    const { code, stderr } = await checkout.run(ENSURE, [], { PATH: join(checkout.root, 'examples') })
    expect(code).toBe(127)
    expect(stderr).toContain('npm is not on the PATH. It comes with Node')
  })

  it.skipIf(process.platform === 'win32')(
    'stops with npm when it is told to stop, and lets go of the lock',
    async () => {
      const checkout = makeCheckout()
      const ensure = checkout.start(ENSURE, [], { NPM: 'hangs' })
      await expect.poll(() => checkout.calls().length > 0, { timeout: 10_000 }).toBeTruthy()
      ensure.kill('SIGTERM')
      expect((await ensure.finished).code).toBe(143)
      expect(checkout.has('.ensure.lock')).toBe(false)
      expect(checkout.has('node_modules/.ensure-stamp')).toBe(false)
    },
  )

  it('does not wait for a command that was killed long ago', async () => {
    const checkout = makeCheckout()
    checkout.write('.ensure.lock', 'left behind')
    utimesSync(join(checkout.root, '.ensure.lock'), new Date(0), new Date(0))
    expect(await checkout.run(ENSURE)).toMatchObject({ code: 0, stderr: INSTALLING + BUILDING })
  })
})

describe('a folder with a lockfile of its own', () => {
  it('is installed for whoever needs it, and once', async () => {
    const checkout = makeCheckout()
    checkout.write('interop/package.json', '{ "private": true }')
    checkout.write('interop/package-lock.json', '{ "lockfileVersion": 3 }')
    checkout.write(
      'need.mjs',
      "import { ensureInstalledIn } from './scripts/ensure.mjs'\nawait ensureInstalledIn('interop')",
    )
    const installing = 'Installing the locked dependencies of interop with npm ci.\n'
    expect(await checkout.run('need.mjs')).toEqual({ code: 0, stdout: '', stderr: installing })
    expect(await checkout.run('need.mjs')).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(checkout.has('interop/node_modules/.ensure-stamp')).toBe(true)
    expect(checkout.has('node_modules')).toBe(false)
    checkout.write('interop/package-lock.json', '{ "lockfileVersion": 3, "version": "2.0.0" }')
    expect(await checkout.run('need.mjs')).toMatchObject({ stderr: installing })
  })
})

describe('building', () => {
  it('follows a changed source', async () => {
    const checkout = makeCheckout()
    await checkout.run(ENSURE)
    checkout.write(SOURCE, "export const key: string = 'letters'")
    expect(await checkout.run(ENSURE)).toMatchObject({ code: 0, stderr: BUILDING })
    expect(readFileSync(join(checkout.root, BUILT), 'utf8')).toContain("'letters'")
  })

  it('follows a changed compiler setting', async () => {
    const checkout = makeCheckout()
    await checkout.run(ENSURE)
    const base = join(checkout.root, 'tsconfig.base.json')
    checkout.write('tsconfig.base.json', readFileSync(base, 'utf8').replace('{', '{ "compileOnSave": false,'))
    expect(await checkout.run(ENSURE)).toMatchObject({ code: 0, stderr: BUILDING })
  })

  it('leaves nothing of a deleted source', async () => {
    const checkout = makeCheckout()
    await checkout.run(ENSURE)
    checkout.remove(SOURCE)
    expect(await checkout.run(ENSURE)).toMatchObject({ code: 0, stderr: BUILDING })
    expect(checkout.has(BUILT)).toBe(false)
    expect(checkout.has('packages/quartermaster/dist/bin/quartermaster.js')).toBe(true)
  })

  it('replaces a folder that holds only what a type check left there', async () => {
    const checkout = makeCheckout()
    checkout.write('packages/quartermaster/dist/.tsbuildinfo', '{}')
    await checkout.run(ENSURE)
    expect(checkout.has(BUILT)).toBe(true)
    expect(checkout.has('packages/quartermaster/dist/.tsbuildinfo')).toBe(false)
  })

  it('does not mind a changed test', async () => {
    const checkout = makeCheckout()
    await checkout.run(ENSURE)
    checkout.write('packages/quartermaster/src/capabilities/files.test.ts', 'export {}')
    expect(await checkout.run(ENSURE)).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  it('keeps the last build when the sources do not compile, and says why', async () => {
    const checkout = makeCheckout()
    await checkout.run(ENSURE)
    checkout.write(SOURCE, 'export const key: string = 5')
    const { code, stderr } = await checkout.run(ENSURE)
    expect(code).not.toBe(0)
    expect(stderr).toContain('files.ts')
    expect(stderr).toContain("Type 'number' is not assignable to type 'string'")
    expect(stderr).toContain('The build failed; the last one, if any, is untouched.')
    expect(readFileSync(join(checkout.root, BUILT), 'utf8')).toContain("'files'")
  })
})
