import { link, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import type { AttachmentService } from '../../contracts/index.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { plainContext } from '../../testing/tool-fixture.ts'
import { createAttacher } from './attachments.ts'

/** Tools that run beside an agent whose folder is `work`, and what they hand in. */
async function beside(files: Record<string, string>, onReceive?: (dir: string) => Promise<void>) {
  const { dir } = await tempProject(files)
  const handedIn: string[] = []
  const desk: AttachmentService = {
    folderOf: () => join(dir, 'work'),
    maxBytes: 10,
    async receive(_actor, { name, content }) {
      await onReceive?.(dir)
      handedIn.push(`${name}=${(await buffer(content)).toString()}`)
      return `att_${handedIn.length}`
    },
    open: () => Promise.reject(new Error('Nothing is read here.')),
  }
  const attach = createAttacher({
    paths: { projectDir: dir, dataDir: join(dir, '.quartermaster') },
    attachments: async () => desk,
  })
  const call = (named: readonly string[], idempotencyKey = 'op_1') =>
    attach(named, { ...plainContext({}), idempotencyKey })
  return { dir, call, handedIn }
}

it('hands in each file of a message once, in their order, and again only for another call', async () => {
  const { dir, call, handedIn } = await beside({ 'work/a.txt': 'a', 'work/sub/b.txt': 'b' })
  const named = ['a.txt', 'att_9', join(dir, 'work/sub/b.txt'), 'a.txt']
  const attached = { attachments: ['att_1', 'att_9', 'att_2', 'att_1'], named }
  expect(await call(named)).toEqual(attached)
  expect(await call(named)).toEqual(attached)
  expect(handedIn).toEqual(['a.txt=a', 'b.txt=b'])
  await writeFile(join(dir, 'work/a.txt'), 'new')
  expect(await call(['a.txt'], 'op_2')).toMatchObject({ attachments: ['att_3'] })
  expect(handedIn.at(-1)).toBe('a.txt=new')
})

it('sends what was looked at, whatever is put in its place meanwhile', async () => {
  const { call, handedIn } = await beside({ 'work/a.txt': 'a', 'work/b.txt': 'b', 'secret.txt': 's' }, async dir => {
    await rm(join(dir, 'work/b.txt'), { force: true })
    await symlink('../secret.txt', join(dir, 'work/b.txt'))
  })
  await call(['a.txt', 'b.txt'])
  expect(handedIn).toEqual(['a.txt=a', 'b.txt=b'])
})

// Windows knows no such names.
it.skipIf(process.platform === 'win32')('takes a file whatever its name is made of, as HTTP does', async () => {
  const { call, handedIn } = await beside({ 'work/two\nlines\u202e.txt': 'a' })
  await call(['two\nlines\u202e.txt'])
  expect(handedIn).toEqual(['two\nlines\u202e.txt=a'])
  const message = expect.stringMatching(/^There is no "no one" .*Nothing was sent\.$/)
  await expect(call(['no\none'])).rejects.toMatchObject({ code: 'INPUT_INVALID', message })
})

it.each([
  ['is not there', 'none.txt', 'INPUT_INVALID'],
  ['is outside', '../secret.txt', 'INPUT_INVALID'],
  ['leads outside', 'link.txt', 'INPUT_INVALID'],
  ['is a file of the data folder by another name', 'hard.txt', 'INPUT_INVALID'],
  ['is a folder', 'sub', 'INPUT_INVALID'],
  ['is too large', 'large.txt', 'LIMIT_EXCEEDED'],
])('hands in no file of a message when one of them %s, and says which', async (_what, path, code) => {
  const { dir, call, handedIn } = await beside({
    'work/a.txt': 'a',
    'work/sub/b.txt': 'b',
    'work/large.txt': 'x'.repeat(11),
    'secret.txt': 's',
    '.quartermaster/schemas/s.json': 's',
  })
  await symlink('../secret.txt', join(dir, 'work/link.txt'))
  await link(join(dir, '.quartermaster/schemas/s.json'), join(dir, 'work/hard.txt'))
  await link(join(dir, 'work/a.txt'), join(dir, 'work/sub/a.txt'))
  const message = expect.stringMatching(new RegExp(`"${path}".*Nothing was sent`))
  await expect(call(['a.txt', path])).rejects.toMatchObject({ code, message })
  expect(handedIn).toEqual([])
})
