import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Definition, definition, listing } from './support/listing-fixture.ts'
import { makeProject, quartermaster } from './support/product.ts'
import { ILL_SERVER, program } from './support/upstream-fixture.ts'

/** A server that lists what it is told to, and commands beside which nobody keeps it running. */
async function openQuietFixture(...tools: Definition[]) {
  const { entry, say } = await listing(tools)
  const dir = await makeProject({
    'quartermaster.config.json': JSON.stringify({ mcpServers: { desk: { ...entry, era: 'legacy' } } }),
    'agents/default.json': '{ "capabilities": { "desk": {} } }',
  })
  const run = (...args: string[]) => quartermaster(args, { cwd: dir })
  await run('tools')
  return { say, run }
}

it('offers a tool that is gone and comes back with its next call, also where no `up` runs', async () => {
  const { say, run } = await openQuietFixture(definition('note'), definition('draft'))
  await say(definition('note'))
  await run('upstreams', 'restart', 'desk')
  const gone =
    '"desk_draft" is not offered now. Its server does not list it any more. Look again: quartermaster upstreams restart desk'
  expect(await run('call', 'desk_draft')).toMatchObject({ code: 5, stderr: expect.stringContaining(gone) })
  expect(await run('do', 'desk-draft')).toMatchObject({ code: 5, stderr: expect.stringContaining(gone) })
  await say(definition('note'), definition('draft'))
  expect(await run('do', 'desk-draft', '--path', 'a')).toMatchObject({ code: 0, stdout: '{"path":"a"}' })
  expect(await run('call', 'desk_draft', 'path=b')).toMatchObject({ code: 0, stdout: '{"path":"b"}' })
})

it('offers a tool that is changed and changed back with its next call, also where no `up` runs', async () => {
  const { say, run } = await openQuietFixture(definition('note'))
  await say(definition('note', { description: 'About another note.' }))
  await run('upstreams', 'restart', 'desk')
  expect(await run('call', 'desk_note')).toMatchObject({ code: 5, stderr: expect.stringContaining('changed it') })
  await say(definition('note'))
  expect(await run('call', 'desk_note', 'path=a')).toMatchObject({ code: 0, stdout: '{"path":"a"}' })
})

it('says of a server that was seen before whether it works now, and how to try it, where no `up` runs', async () => {
  const licence = join(await makeProject({ licence: '' }), 'licence')
  const desk = { ...program(ILL_SERVER, `--needs=${licence}`), era: 'legacy' }
  const dir = await makeProject({
    'quartermaster.config.json': JSON.stringify({
      mcpServers: { desk, lazy: { ...desk, start: 'lazy' } },
      settings: { restartWaitSeconds: 1 },
    }),
    'agents/default.json': '{ "capabilities": { "desk": {} } }',
  })
  const run = (...args: string[]) => quartermaster(args, { cwd: dir })
  await run('tools')
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
