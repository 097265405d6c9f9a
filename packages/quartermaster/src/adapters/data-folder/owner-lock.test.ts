import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type DataFolder, openDataFolder } from './index.ts'

let dir: string
let folder: DataFolder
let child: ChildProcess | undefined

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'owner-lock-'))
  folder = openDataFolder(dir)
  await folder.ensure()
})

afterEach(async () => {
  if (child && child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  child = undefined
  await chmod(dir, 0o700)
  await rm(dir, { recursive: true, force: true })
})

const SQLITE = createRequire(import.meta.url).resolve('@photostructure/sqlite')

/** Takes the lock as an `up` in another process does, says "locked" or why not, and stays. */
const OWNER = `
const { DatabaseSync } = require(${JSON.stringify(SQLITE)})
try {
  globalThis.lock = new DatabaseSync(process.argv[1], { timeout: 0 })
  globalThis.lock.exec('BEGIN EXCLUSIVE')
  console.log('locked')
} catch (error) {
  console.log(error.message)
}
setInterval(() => {}, 1000)
`

/** Another process that tries to own the folder, and what it said. */
async function otherOwner(): Promise<{ process: ChildProcess; said: string }> {
  child = spawn(process.execPath, ['-e', OWNER, join(dir, 'lock.db')], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [output] = child.stdout ? await once(child.stdout, 'data') : ['']
  return { process: child, said: String(output).trim() }
}

describe('the lock of a data folder', () => {
  it('has one owner in a process, who may release it, more than once', async () => {
    const lock = await folder.lock()
    await expect(openDataFolder(dir).lock()).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    await lock.release()
    await lock.release()
    await (await openDataFolder(dir).lock()).release()
  })

  it('survives failed attempts of the same process: others are still kept out', async () => {
    const lock = await folder.lock()
    await expect(folder.lock()).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    expect((await otherOwner()).said).toBe('database is locked')
    await lock.release()
  })

  it('is held against other processes, and is free at once when its owner is killed', async () => {
    const other = await otherOwner()
    expect(other.said).toBe('locked')
    await expect(folder.lock()).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    other.process.kill('SIGKILL')
    await once(other.process, 'exit')
    await (await folder.lock()).release()
  })

  it('goes to exactly one of many who come at once', async () => {
    const attempts = await Promise.allSettled(Array.from({ length: 10 }, () => openDataFolder(dir).lock()))
    const locks = attempts.filter(attempt => attempt.status === 'fulfilled')
    expect(locks).toHaveLength(1)
    await locks[0]?.value.release()
  })

  it('tells who has it and what to do', async () => {
    const lock = await folder.lock()
    await folder.writeEndpoint({ url: 'http://127.0.0.1:7420', pid: 4242, startedAt: 0, version: '1.2.3' })
    await expect(openDataFolder(dir).lock()).rejects.toMatchObject({
      message: `The data folder "${dir}" belongs to the "up" at http://127.0.0.1:7420 (process 4242). Use that one. If it does not answer, stop it; or choose another folder with --data.`,
      details: { folder: dir, url: 'http://127.0.0.1:7420', pid: 4242 },
    })
    await lock.release()
  })

  it('tells what it can when its owner has not said where it listens', async () => {
    const lock = await folder.lock()
    await expect(openDataFolder(dir).lock()).rejects.toMatchObject({
      details: { folder: dir },
      message: expect.stringContaining('another process'),
    })
    await lock.release()
  })

  it('is a file for its owner only', async () => {
    const lock = await folder.lock()
    expect((await stat(join(dir, 'lock.db'))).mode & 0o777).toBe(0o600)
    await lock.release()
  })

  it('cannot be taken on a file that is no database', async () => {
    await writeFile(join(dir, 'lock.db'), 'something else '.repeat(1_000))
    await expect(folder.lock()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('lock.db'),
    })
  })

  it('cannot be taken where there is no folder', async () => {
    await expect(openDataFolder(join(dir, 'nowhere')).lock()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})

describe.skipIf(process.geteuid?.() !== 0)('for a user who may only read', () => {
  const NOBODY = 65_534

  async function lockAsNobody(): Promise<unknown> {
    await chmod(dir, 0o755)
    process.seteuid?.(NOBODY)
    try {
      return await folder.lock().catch((error: unknown) => error)
    } finally {
      process.seteuid?.(0)
    }
  }

  it('the lock is refused when there is no lock file yet', async () => {
    expect(await lockAsNobody()).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('may not be read or written'),
    })
  })

  it('the lock is refused when there is one, instead of being shared unnoticed', async () => {
    await (await folder.lock()).release()
    await chmod(join(dir, 'lock.db'), 0o644)
    expect(await lockAsNobody()).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('readonly') })
  })
})
