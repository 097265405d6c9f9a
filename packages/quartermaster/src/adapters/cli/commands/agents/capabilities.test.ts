import { describe, expect, it } from 'vitest'
import type { Control } from '../../../../contracts/index.ts'
import { FILES, NOTES } from '../../../../testing/cli-fixtures.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

async function run(
  argv: string[],
  capabilities: Control['capabilities'] = async () => [FILES],
  upstreams: Control['upstreams'] = async () => [],
) {
  const { host, seen } = createFakeCliHost({ control: { capabilities, upstreams } })
  return { code: await runCli(['capabilities', ...argv], host), ...seen }
}

describe('capabilities', () => {
  it('lists what agents can be given', async () => {
    const { code, stdout } = await run([])
    expect(code).toBe(0)
    expect(stdout).toBe('KEY    TOOLS  WHAT IT IS\nfiles  1      Reading and writing in chosen folders.\n')
  })

  it('names the servers that have not been listed yet, and for a single capability only its own', async () => {
    const left = { ...NOTES, state: 'starting' as const, reason: 'It has not answered yet.', unseen: 'Wait for it.' }
    const capabilities = async () => [FILES, { ...FILES, key: 'notes', tools: [] }]
    const upstreams = async () => [left]
    const told = '"notes" has not been seen yet: It has not answered yet. Wait for it.\n'
    expect((await run([], capabilities, upstreams)).stderr).toBe(told)
    expect((await run(['--json'], capabilities, upstreams)).stderr).toBe(told)
    expect((await run(['notes'], capabilities, upstreams)).stderr).toBe(told)
    expect((await run(['files'], capabilities, upstreams)).stderr).toBe('')
  })

  it('shows one with its tools, its configuration and how to grant it', async () => {
    const { stdout } = await run(['files'])
    expect(stdout).toContain('read_file  Reads a text file.')
    expect(stdout).toContain('"dirs": {')
    expect(stdout).toContain('quartermaster grant default files')
  })

  it('shows what tools are called as, where an allowlist names them otherwise', async () => {
    const merge = { name: 'pull.merge', title: 'Merge', short: 'Merges.', calledAs: 'github_merge' }
    const { stdout } = await run(['files'], async () => [{ ...FILES, tools: [merge] }])
    expect(stdout).toContain('TOOL        CALLED AS     WHAT IT DOES\npull.merge  github_merge  Merges.\n')
  })

  it('shows the prompts and resources that come along', async () => {
    const handbook = {
      key: 'handbook',
      title: 'Handbook',
      short: 'The handbook.',
      tools: [],
      prompts: [
        {
          name: 'explain',
          title: 'Explain',
          short: 'Explains a page.',
          arguments: [
            { name: 'page', required: true },
            { name: 'reader', required: false },
          ],
        },
      ],
      resources: [
        { name: 'contents', title: 'Contents', short: 'All pages.', uri: 'handbook://contents' },
        { name: 'page', title: 'Page', short: '', uriTemplate: 'handbook://{page}' },
      ],
    }
    const { stdout } = await run(['handbook'], async () => [handbook])
    expect(stdout).toContain(
      [
        'It has no tools.',
        '',
        'PROMPT                 WHAT IT ASKS FOR',
        'explain page [reader]  Explains a page.',
        '',
        'RESOURCE             WHAT IT CONTAINS',
        'handbook://contents  All pages.',
        'handbook://{page}    page',
        '',
      ].join('\n'),
    )
  })

  it('suggests the one that was meant', async () => {
    const { code, stderr } = await run(['flies'])
    expect(code).toBe(4)
    expect(stderr).toContain('No capability is named "flies". Did you mean "files"?')
    expect(stderr).toContain('Next: See all capabilities: quartermaster capabilities')
  })

  it('says the next step when there are none', async () => {
    const { stdout, stderr } = await run([], async () => [])
    expect(stdout).toBe('')
    expect(stderr).toContain('No capabilities yet. Write one in the folder capabilities, then: quartermaster reload')
  })

  it('prints the list or the one as JSON', async () => {
    expect(JSON.parse((await run(['--json'])).stdout)).toEqual([FILES])
    expect(JSON.parse((await run(['files', '--json'])).stdout)).toEqual(FILES)
  })
})
