import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDataFolder } from './index.ts'

let root: string
let dir: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'data-folder-'))
  dir = join(root, 'project', '.quartermaster')
})

afterEach(() => rm(root, { recursive: true, force: true }))

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

const FACTS = { url: 'http://127.0.0.1:7420', pid: 42, startedAt: 1_700_000_000_000, version: '1.2.3' }

/** Root may write anywhere, so what is refused to others is tried as a user without rights. */
async function withoutRights<T>(task: () => Promise<T>): Promise<T> {
  const own = process.geteuid?.()
  if (own === 0) process.seteuid?.(65_534)
  try {
    return await task()
  } finally {
    if (own === 0) process.seteuid?.(own)
  }
}

describe('the folder', () => {
  it('is made for its owner only, and kept out of git', async () => {
    await openDataFolder(dir).ensure()
    expect(await modeOf(dir)).toBe('700')
    expect(await readFile(join(dir, '.gitignore'), 'utf8')).toBe('*\n')
  })

  it('may be there already, with a .gitignore of its own', async () => {
    await openDataFolder(dir).ensure()
    await writeFile(join(dir, '.gitignore'), '# mine\n')
    await openDataFolder(dir).ensure()
    expect(await readFile(join(dir, '.gitignore'), 'utf8')).toBe('# mine\n')
  })

  it('is closed to others while it is empty', async () => {
    await mkdir(dir, { recursive: true })
    await chmod(dir, 0o755)
    await openDataFolder(dir).ensure()
    expect(await modeOf(dir)).toBe('700')
  })

  it('is refused, and left as it is, when it holds something that others can read', async () => {
    await mkdir(dir, { recursive: true })
    await writeFile(join(dir, 'secrets.json'), '{}')
    await chmod(dir, 0o750)
    await expect(openDataFolder(dir).ensure()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`chmod 700 "${dir}"`),
    })
    expect(await modeOf(dir)).toBe('750')
    expect(await readdir(dir)).toEqual(['secrets.json'])
  })

  it.each(['quartermaster.config.json', '.git'])('is not a project folder, told by its %s', async name => {
    await mkdir(dir, { recursive: true, mode: 0o700 })
    await writeFile(join(dir, name), '')
    await expect(openDataFolder(dir).ensure()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('.quartermaster'),
    })
    expect(await readdir(dir)).toEqual([name])
  })

  it('is not a file', async () => {
    await writeFile(join(root, 'file'), '')
    for (const path of [join(root, 'file'), join(root, 'file', 'below')]) {
      await expect(openDataFolder(path).ensure()).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('a file is in its place'),
      })
    }
  })

  it.skipIf(process.platform === 'win32')('must be writable by this user', async () => {
    await chmod(root, 0o555)
    await expect(withoutRights(() => openDataFolder(dir).ensure())).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('may not be read or written by this user'),
    })
  })
})

describe('the sealing key', () => {
  it('is made once, 256 bits, also when many ask at once', async () => {
    await openDataFolder(dir).ensure()
    const keys = await Promise.all(Array.from({ length: 20 }, () => openDataFolder(dir).sealingKey()))
    expect(new Set(keys.map(key => Buffer.from(key).toString('hex'))).size).toBe(1)
    expect(keys[0]).toHaveLength(32)
  })

  it.skipIf(process.platform === 'win32')('is for its owner only, and not used when others could read it', async () => {
    const folder = openDataFolder(dir)
    await folder.ensure()
    await folder.sealingKey()
    expect(await modeOf(join(dir, 'sealing-key'))).toBe('600')
    await chmod(join(dir, 'sealing-key'), 0o640)
    await expect(folder.sealingKey()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    expect(await modeOf(join(dir, 'sealing-key'))).toBe('640')
  })

  it('is put back from a backup when the file holds something else', async () => {
    const folder = openDataFolder(dir)
    await folder.ensure()
    await writeFile(join(dir, 'sealing-key'), 'short\n', { mode: 0o600 })
    await expect(folder.sealingKey()).rejects.toMatchObject({ message: expect.stringContaining('backup') })
  })
})

describe('the admin token', () => {
  it('is made once, 256 bits, for its owner only', async () => {
    const folder = openDataFolder(dir)
    await folder.ensure()
    const token = await folder.adminToken()
    expect(Buffer.from(token, 'base64url')).toHaveLength(32)
    expect(await modeOf(join(dir, 'admin-token'))).toBe('600')
    expect(await openDataFolder(dir).adminToken()).toBe(token)
  })

  it('is the same for all who ask at once, and leaves no drafts', async () => {
    const folder = openDataFolder(dir)
    await folder.ensure()
    const tokens = await Promise.all(Array.from({ length: 20 }, () => openDataFolder(dir).adminToken()))
    expect(new Set(tokens).size).toBe(1)
    expect((await readdir(dir)).sort()).toEqual(['.gitignore', 'admin-token'])
  })

  it.skipIf(process.platform === 'win32').each([0o640, 0o604, 0o660])(
    'is not used when others could read it (mode %o)',
    async mode => {
      const folder = openDataFolder(dir)
      await folder.ensure()
      const token = await folder.adminToken()
      await chmod(join(dir, 'admin-token'), mode)
      const refused = folder.adminToken()
      await expect(refused).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('chmod 600'),
      })
      await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining(token) })
    },
  )

  it.each(['', 'short\n', `${'x'.repeat(43)} y`])('is not whatever the file holds (%j)', async text => {
    const folder = openDataFolder(dir)
    await folder.ensure()
    await writeFile(join(dir, 'admin-token'), text, { mode: 0o600 })
    await expect(folder.adminToken()).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('Delete it'),
    })
  })

  it.skipIf(process.platform === 'win32')('is not read through a link', async () => {
    const folder = openDataFolder(dir)
    await folder.ensure()
    await writeFile(join(root, 'planted'), 'x'.repeat(43), { mode: 0o600 })
    await symlink(join(root, 'planted'), join(dir, 'admin-token'))
    await expect(folder.adminToken()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it('is recognised, and nothing else is', () => {
    const isAdmin = openDataFolder(dir).verifier('the token')
    expect(['the token', 'the Token', 'the toke', 'the token ', ''].map(isAdmin)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ])
  })

  it('is proved for one challenge and one port at a time', () => {
    const { prover } = openDataFolder(dir)
    const proof = prover('token')('challenge', 7420)
    expect(prover('token')('challenge', 7420)).toBe(proof)
    const others = [
      prover('token')('challenge', 7421),
      prover('token')('other', 7420),
      prover('other')('challenge', 7420),
    ]
    expect(others).not.toContain(proof)
    expect(proof).not.toContain('token')
  })
})

describe('the endpoint', () => {
  it('is written for its owner only, replaced in one step, and read back', async () => {
    const folder = openDataFolder(dir)
    await folder.ensure()
    expect(await folder.readEndpoint()).toBeUndefined()
    await folder.writeEndpoint({ ...FACTS, pid: 1 })
    await folder.writeEndpoint(FACTS)
    expect(await openDataFolder(dir).readEndpoint()).toMatchObject(FACTS)
    expect(await modeOf(join(dir, 'endpoint.json'))).toBe('600')
    expect((await readdir(dir)).sort()).toEqual(['.gitignore', 'endpoint.json'])
  })

  it.each([
    '',
    '{',
    '{"url":"http://127.0.0.1:7420"',
    '[]',
    '{"url":"file:///etc/passwd","pid":1,"startedAt":1,"version":"1","instance":"x"}',
  ])('is no endpoint when it reads %j', async text => {
    const folder = openDataFolder(dir)
    await folder.ensure()
    await writeFile(join(dir, 'endpoint.json'), text)
    expect(await folder.readEndpoint()).toBeUndefined()
  })

  it('is taken back only by who wrote it', async () => {
    const [first, second] = [openDataFolder(dir), openDataFolder(dir)]
    await first.ensure()
    await first.writeEndpoint(FACTS)
    await second.writeEndpoint(FACTS)
    await first.removeEndpoint()
    expect(await first.readEndpoint()).toMatchObject(FACTS)
    await second.removeEndpoint()
    await second.removeEndpoint()
    expect(await first.readEndpoint()).toBeUndefined()
  })

  it('cannot be written where there is no folder', async () => {
    await expect(openDataFolder(dir).writeEndpoint(FACTS)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})
