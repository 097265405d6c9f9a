import { expect, it } from 'vitest'
import type { AddedUpstream } from '../../../../contracts/index.ts'
import { NOTES } from '../../../../testing/cli-fixtures.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

async function run(argv: string[], answer: Partial<AddedUpstream>) {
  const addUpstream = async ({ name }: { name: string }): Promise<AddedUpstream> => ({
    name,
    file: '/project/quartermaster.config.json',
    outcome: 'replaced',
    status: NOTES,
    granted: [],
    secrets: [],
    problems: [],
    ...answer,
  })
  const { host, seen } = createFakeCliHost({ control: { addUpstream } })
  return { code: await runCli(['add', ...argv], host), ...seen }
}

it('says what of the entry before stays and what does not, in a line each', async () => {
  const { code, stdout } = await run(['a', '--replace', '--', 'other'], {
    keptSettings: ['leaveOut', 'tools'],
    goneSettings: ['agents.ada.headers'],
  })
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining(
      '  Stays in its entry: leaveOut, tools.\n  Gone from its entry, because it is reached in another way now: agents.ada.headers.\n',
    ),
  })
})

it('says what to do about a secret that nothing but a setting which went referred to', async () => {
  const wasFor = ['agents.ada.env']
  const { stdout } = await run(['a', '--replace', '--', 'other'], {
    keptSecrets: [
      { name: 'ADA', usedBy: [], wasFor },
      { name: 'BOB', usedBy: ['c.json'], wasFor },
    ],
  })
  expect(stdout).toContain(
    '  Still in the secrets file: ADA, which was for agents.ada.env: refer to it again (${secret:ADA}), or take it out of secrets.json.\n' +
      '  Still in the secrets file: BOB, named in c.json.\n',
  )
})

it('warns of every package without a version but of those that keep theirs', async () => {
  const words = ['a', '--replace', '--json', '--', 'npx', '-p', 'files', '-p', 'more', 'serve']
  const { stdout } = await run(words, { keptVersions: { files: 'files@3.0.0' } })
  expect(JSON.parse(stdout)).toMatchObject({
    keptVersions: { files: 'files@3.0.0' },
    notes: [expect.stringMatching(/^"more" has no version/)],
  })
  const shown = await run(
    words.filter(word => word !== '--json'),
    { keptVersions: { files: 'files@3.0.0' } },
  )
  expect(shown.stdout).toContain('  Stays in its version: files@3.0.0.\n')
})

it('says nothing of an entry that had nothing else in it', async () => {
  expect((await run(['a', '--replace', '--', 'other'], {})).stdout).not.toMatch(/Stays|Gone/)
})
