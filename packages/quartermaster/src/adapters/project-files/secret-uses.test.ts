import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { secretUses } from './secret-uses.ts'

async function usesIn(files: Record<string, string>, link?: [from: string, to: string]) {
  const { dir } = await tempProject(files)
  if (link) await symlink(link[0], join(dir, link[1]))
  const uses = await secretUses(['KEY'], { projectDir: dir, configFile: join(dir, 'quartermaster.config.json') })
  return uses.get('KEY')
}

const USE = "const key = secret('KEY')"

it.each([
  [
    'the configuration',
    { 'quartermaster.config.json': '{ "mcpServers": { "a": { "env": { "A": "${secret:KEY}" } } } }' },
  ],
  ['an agent', { 'agents/one.json': '{ "capabilities": { "a": { "token": "${secret:KEY}" } } }' }],
  ['a capability', { 'capabilities/one.ts': USE }],
  ['code that a capability uses', { 'lib/deep/helper.mjs': USE }],
  ['knowledge', { 'knowledge/how.md': 'It needs KEY.' }],
])('finds a secret that is named in %s', async (_what, files) => {
  expect(await usesIn(files)).toEqual(Object.keys(files))
})

it('finds no use in what others installed, in hidden folders and in words that only contain the name', async () => {
  const files = {
    'node_modules/a/index.js': USE,
    '.git/a.ts': USE,
    'capabilities/one.ts': "secret('KEY_TWO')",
    'notes.txt': USE,
  }
  expect(await usesIn(files)).toEqual([])
})

it('takes a secret for used where it could not look', async () => {
  expect(await usesIn({ 'a.ts': '' }, ['/', 'linked'])).toEqual(['linked (not looked at)'])
})

it('takes a secret for used by code that cannot be read', async () => {
  expect(await usesIn({ 'capabilities/large.ts': 'x'.repeat(1024 * 1024 + 1) })).toEqual([
    'capabilities/large.ts (not looked at)',
  ])
  expect(await usesIn({ 'capabilities/accounts.json': '{ "secret": "KEY" }' })).toEqual(['capabilities/accounts.json'])
})
