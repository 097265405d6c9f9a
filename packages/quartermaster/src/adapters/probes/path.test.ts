import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { path } from './index.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'probe-'))
  await writeFile(join(folder, 'notes.txt'), 'x', { mode: 0o600 })
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const context = (signal = new AbortController().signal) => ({ signal, hasSecret: () => false })
const everythingIsAllowed = process.platform === 'win32' || process.getuid?.() === 0

describe('path', () => {
  it('is up when the path is there, of the right kind', async () => {
    const file = join(folder, 'notes.txt')
    expect(await path({ path: file }).run(context())).toEqual({ up: true })
    expect(await path({ path: file, kind: 'file', access: 'write' }).run(context())).toEqual({ up: true })
    expect(await path({ path: folder, kind: 'folder', access: 'read' }).run(context())).toEqual({ up: true })
  })

  it('says what is wrong', async () => {
    const file = join(folder, 'notes.txt')
    const reason = async (options: Parameters<typeof path>[0]) => await path(options).run(context())
    expect(await reason({ path: `${file}x` })).toEqual({
      up: false,
      reason: `There is no file or folder at "${file}x".`,
    })
    expect(await reason({ path: `${file}x`, kind: 'file' })).toEqual({
      up: false,
      reason: `There is no file at "${file}x".`,
    })
    expect(await reason({ path: join(file, 'x') })).toMatchObject({ up: false })
    expect(await reason({ path: folder, kind: 'file' })).toEqual({ up: false, reason: `"${folder}" is not a file.` })
    expect(await reason({ path: file, kind: 'folder' })).toEqual({ up: false, reason: `"${file}" is not a folder.` })
  })

  it.skipIf(process.platform === 'win32')(
    'says that a file may not be executed, and that a link leads in a circle',
    async () => {
      const file = join(folder, 'notes.txt')
      expect(await path({ path: file, access: 'execute' }).run(context())).toEqual({
        up: false,
        reason: `"${file}" cannot be executed (EACCES).`,
      })
      const link = join(folder, 'link')
      await symlink(link, link)
      expect(await path({ path: link }).run(context())).toEqual({
        up: false,
        reason: `"${link}" is a link that leads back to itself.`,
      })
    },
  )

  it.skipIf(everythingIsAllowed)('says that a file may not be read or written', async () => {
    const file = join(folder, 'notes.txt')
    await chmod(file, 0o000)
    for (const [access, verb] of [
      ['read', 'read'],
      ['write', 'written'],
    ] as const) {
      expect(await path({ path: file, access }).run(context())).toEqual({
        up: false,
        reason: `"${file}" cannot be ${verb} (EACCES).`,
      })
    }
  })

  it('counts relative paths from the base, or from the working folder', async () => {
    expect(await path({ path: 'notes.txt', base: folder }).run(context())).toEqual({ up: true })
    expect(await path({ path: '.' }).run(context())).toEqual({ up: true })
    expect(path({ path: 'notes.txt', base: folder, kind: 'file', access: 'read' }).describe).toEqual({
      kind: 'path',
      path: 'notes.txt',
      base: folder,
      type: 'file',
      access: 'read',
    })
  })

  it('ends with the signal', async () => {
    const reason = new Error('deadline')
    await expect(path({ path: folder }).run(context(AbortSignal.abort(reason)))).rejects.toBe(reason)
  })
})
