import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { definition, listing } from './support/listing-fixture.ts'
import { makeProject, quartermaster } from './support/product.ts'
import { ILL_SERVER, program } from './support/upstream-fixture.ts'

const UNLISTED = 'Have it started: quartermaster upstreams restart desk, or: quartermaster up'

it('shows what was listed last and starts no server for it, where no `up` runs', async () => {
  const { entry, say } = await listing([definition('note'), definition('draft')])
  const dir = await makeProject({
    'quartermaster.config.json': JSON.stringify({ mcpServers: { desk: { ...entry, era: 'legacy' } } }),
    'agents/default.json': '{ "capabilities": { "desk": {} } }',
  })
  const run = (...args: string[]) => quartermaster(args, { cwd: dir })
  expect((await run('tools')).stderr).toContain(UNLISTED)
  expect(await run('call', 'desk_note')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('It has not been reached yet'),
  })
  expect(await run('upstreams', 'restart', 'desk')).toMatchObject({ code: 0 })
  expect((await run('tools')).stdout).toMatch(/desk_draft[^]*desk_note/)

  await say(definition('note', { description: 'About another note.' }))
  expect((await run('tools')).stdout).toMatch(/desk_draft[^]*desk_note/)
  await run('upstreams', 'restart', 'desk')
  const gone =
    '"desk_draft" is not offered now. Its server does not list it any more. Look again: quartermaster upstreams restart desk'
  expect(await run('call', 'desk_draft')).toMatchObject({ code: 5, stderr: expect.stringContaining(gone) })
  expect(await run('call', 'desk_note')).toMatchObject({ code: 5, stderr: expect.stringContaining('changed it') })

  await say(definition('note'), definition('draft'))
  await run('upstreams', 'restart', 'desk')
  expect(await run('do', 'desk-draft', '--path', 'a')).toMatchObject({ code: 0, stdout: '{"path":"a"}' })
  expect(await run('call', 'desk_note', 'path=b')).toMatchObject({ code: 0, stdout: '{"path":"b"}' })
})

it('says of a server that was seen before whether it works now, and how to try it, where no `up` runs', async () => {
  const licence = join(await makeProject({ licence: '' }), 'licence')
  const fixture = { ...program(ILL_SERVER, `--needs=${licence}`), era: 'legacy' }
  const dir = await makeProject({
    'quartermaster.config.json': JSON.stringify({
      mcpServers: { desk: fixture, lazy: { ...fixture, start: 'lazy' } },
      settings: { restartWaitSeconds: 1 },
    }),
    'agents/default.json': '{ "capabilities": { "desk": {} } }',
  })
  const run = (...args: string[]) => quartermaster(args, { cwd: dir })
  expect(await run('doctor')).toMatchObject({ code: 0, stdout: expect.stringContaining('Upstream "desk" is up') })
  await rm(licence)
  const { code, stdout } = await run('doctor')
  expect(code).toBe(1)
  for (const name of ['desk', 'lazy'])
    expect(stdout).toMatch(
      new RegExp(`Upstream "${name}" is down: .*licence is missing\\n.*quartermaster upstreams restart ${name}\\n`),
    )
  const failed = { code: 5, stderr: expect.stringContaining('quartermaster upstreams restart desk') }
  expect(await run('call', 'desk_echo')).toMatchObject(failed)
  await writeFile(licence, '')
  expect(await run('upstreams', 'restart', 'desk')).toMatchObject({ code: 0 })
  expect(await run('doctor')).toMatchObject({ code: 0 })
})
