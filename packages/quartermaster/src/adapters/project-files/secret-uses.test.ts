import { chmod, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { secretUses } from './secret-names.ts'

async function usesIn(files: Record<string, string>, link?: [from: string, to: string]) {
  const { dir } = await tempProject(files)
  if (link) await symlink(link[0], join(dir, link[1]))
  const uses = await secretUses(['KEY'], { projectDir: dir, configFile: join(dir, 'quartermaster.config.json') })
  return uses.get('KEY')
}

const CONFIG = '{ "mcpServers": { "a": { "env": { "A": "${secret:KEY}" } } } }'
const USE = "const key = secret('KEY')"

it.each([
  ['the configuration', { 'quartermaster.config.json': CONFIG }],
  ['another configuration', { 'prod.config.json': CONFIG }],
  ['an agent', { 'agents/one.json': '{ "capabilities": { "a": { "token": "${secret:KEY}" } } }' }],
  ['code that a capability uses', { 'lib/deep/helper.mjs': USE }],
  ['knowledge', { 'knowledge/how.md': 'It needs KEY.' }],
])('finds a secret that is named in %s', async (_what, files) => {
  expect(await usesIn(files)).toEqual(Object.keys(files))
})

it('finds no use in installed packages, in hidden folders and in longer words', async () => {
  const files = {
    'node_modules/a/index.js': USE,
    '.git/a.ts': USE,
    'capabilities/one.ts': "secret('KEY_TWO')",
    'notes.txt': USE,
  }
  expect(await usesIn(files)).toEqual([])
})

it('counts a secret as used where a folder cannot be read', async () => {
  expect(await usesIn({ 'a.ts': '' }, ['/', 'linked'])).toEqual(['linked (not looked at)'])
})

it('counts a secret as used by code that is too large to read', async () => {
  expect(await usesIn({ 'capabilities/large.ts': 'x'.repeat(1024 * 1024 + 1) })).toEqual([
    'capabilities/large.ts (not looked at)',
  ])
  expect(await usesIn({ 'capabilities/accounts.json': '{ "secret": "KEY" }' })).toEqual(['capabilities/accounts.json'])
})

/** Root may read everything. */
async function withoutPrivileges<T>(work: () => Promise<T>): Promise<T> {
  const own = process.geteuid?.()
  if (own === 0) process.seteuid?.(65_534)
  try {
    return await work()
  } finally {
    if (own === 0) process.seteuid?.(0)
  }
}

it.skipIf(process.platform === 'win32').each(['capabilities/mail', 'knowledge/how.md'])(
  'counts a secret as used in what this account cannot read: %s',
  async closed => {
    const files = { 'capabilities/mail/a.ts': USE, 'knowledge/how.md': '', 'prod.config.json': '' }
    const { dir, path } = await tempProject(files)
    await chmod(dir, 0o755)
    await chmod(path(closed), 0o000)
    onTestFinished(() => chmod(path(closed), 0o755))
    const uses = await withoutPrivileges(() => secretUses(['KEY'], { projectDir: dir, configFile: undefined }))
    expect(uses.get('KEY')).toContain(`${closed} (not looked at)`)
  },
)

it('counts a secret as used by a large text in the knowledge folder, and not by a picture', async () => {
  const { dir, path } = await tempProject({ 'knowledge/long.md': 'ä'.repeat(1024 * 1024) })
  const picture = Buffer.from('89504e470d0a1a0a', 'hex')
  await writeFile(path('knowledge/small.png'), picture)
  await writeFile(path('knowledge/large.png'), Buffer.concat([picture, Buffer.alloc(1024 * 1024)]))
  const uses = await secretUses(['KEY'], { projectDir: dir, configFile: undefined })
  expect(uses.get('KEY')).toEqual(['knowledge/long.md (not looked at)'])
})

it('finds no use in data that is too large for a configuration, or that has the name alone', async () => {
  const files = { 'package-lock.json': `"${'x'.repeat(1024 * 1024)}"`, 'data/secrets.json': '{ "KEY": "hush" }' }
  expect(await usesIn(files)).toEqual([])
})
