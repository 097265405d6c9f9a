import { chmod, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { SealedPlace } from '../../core/store/index.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { createSealer } from './index.ts'

const PLACE: SealedPlace = { table: 'operations', id: 'op_1', column: 'arguments' }

async function keyIn(text?: string) {
  const project = await tempProject()
  const keyFile = project.path('key')
  if (text !== undefined) await writeFile(keyFile, text, { mode: 0o600 })
  return keyFile
}

describe('a sealer', () => {
  it.each(['', 'a', '{"city":"Zürich"}', '🂡'.repeat(10_000)])('opens what it has sealed: %.20s', async text => {
    const sealer = await createSealer({ keyFile: await keyIn() })
    const sealed = sealer.seal(text, PLACE)
    expect(sealed).toMatch(/^s1\.[\w-]{8}\.[\w-]+$/)
    expect(sealer.open(sealed, PLACE)).toBe(text)
  })

  it('never seals the same text twice alike', async () => {
    const sealer = await createSealer({ keyFile: await keyIn() })
    expect(sealer.seal('x', PLACE)).not.toBe(sealer.seal('x', PLACE))
  })

  it('refuses a text in which any one character was changed, or that was cut', async () => {
    const sealer = await createSealer({ keyFile: await keyIn() })
    const sealed = sealer.seal('ten books', PLACE)
    for (let i = 0; i < sealed.length - 1; i++) {
      const changed = sealed.slice(0, i) + (sealed[i] === 'A' ? 'B' : 'A') + sealed.slice(i + 1)
      expect(() => sealer.open(changed, PLACE)).toThrowError(expect.objectContaining({ code: 'INTERNAL' }))
      expect(() => sealer.open(sealed.slice(0, i), PLACE)).toThrowError(expect.objectContaining({ code: 'INTERNAL' }))
    }
  })

  it.each([
    { ...PLACE, id: 'op_2' },
    { ...PLACE, column: 'result' },
    { ...PLACE, table: 'secrets' as const },
  ])('opens a text nowhere but where it belongs: %j', async other => {
    const sealer = await createSealer({ keyFile: await keyIn() })
    expect(() => sealer.open(sealer.seal('x', PLACE), other)).toThrow(/belongs somewhere else/)
  })

  it('says what cannot be opened and never what it holds', async () => {
    const sealer = await createSealer({ keyFile: await keyIn() })
    expect(() => sealer.open('hunter2', PLACE)).toThrow(/"arguments" of "op_1" in operations.*not a sealed text/)
    expect(() => sealer.open('hunter2', PLACE)).not.toThrow(/hunter2/)
  })

  it('opens old texts with old keys and seals with the newest', async () => {
    const keyFile = await keyIn()
    const before = await createSealer({ keyFile })
    const old = before.seal('old', PLACE)
    await writeFile(keyFile, `${Buffer.alloc(32, 7).toString('base64url')}\n`, { flag: 'a' })
    const after = await createSealer({ keyFile })
    expect(after.open(old, PLACE)).toBe('old')
    expect(() => before.open(after.seal('new', PLACE), PLACE)).toThrow(/key is not in/)
  })
})

describe('the key file', () => {
  it('is made once, also when many ask at once', async () => {
    const keyFile = await keyIn()
    const sealers = await Promise.all(Array.from({ length: 20 }, () => createSealer({ keyFile })))
    const [first] = sealers
    for (const sealer of sealers) expect(sealer.open(first?.seal('x', PLACE) ?? '', PLACE)).toBe('x')
    expect(await readFile(keyFile, 'utf8')).toMatch(/^[\w-]{43}\n$/)
  })

  it.runIf(process.platform !== 'win32')('is for its owner only', async () => {
    const keyFile = await keyIn()
    await createSealer({ keyFile })
    expect((await stat(keyFile)).mode & 0o777).toBe(0o600)
  })

  it.runIf(process.platform !== 'win32')('is refused when others can read it, and is not changed', async () => {
    const keyFile = await keyIn()
    await createSealer({ keyFile })
    await chmod(keyFile, 0o640)
    await expect(createSealer({ keyFile })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    expect((await stat(keyFile)).mode & 0o777).toBe(0o640)
  })

  it.runIf(process.platform !== 'win32')('is never looked for behind a link', async () => {
    const keyFile = await keyIn()
    await createSealer({ keyFile })
    await symlink(keyFile, `${keyFile}-link`)
    await expect(createSealer({ keyFile: `${keyFile}-link` })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  it.each(['', 'short\n', `${'a'.repeat(43)}\nnot a key\n`])('is refused when it holds something else', async text => {
    await expect(createSealer({ keyFile: await keyIn(text) })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})
