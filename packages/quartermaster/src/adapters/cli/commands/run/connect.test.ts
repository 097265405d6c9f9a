import { describe, expect, it } from 'vitest'
import { AppError } from '../../../../contracts/index.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

const COMMAND = {
  program: ['/usr/bin/node', '/opt/quartermaster.js'],
  name: 'quartermaster',
  args: ['connect', '--agent', 'my guide', '--config', '/a b/quartermaster.config.json'],
}

async function run(args: string[], host: CliHostOptions['host'] = {}, terminal: CliHostOptions['terminal'] = {}) {
  const asked: unknown[] = []
  const { host: fake, seen } = createFakeCliHost({
    terminal,
    host: {
      connectCommand: async options => {
        asked.push(options)
        return COMMAND
      },
      connect: async options => {
        asked.push(options)
        return {}
      },
      ...host,
    },
  })
  const code = await runCli(['connect', ...args], fake)
  return { code, asked, ...seen }
}

describe('connect', () => {
  it('is the agent "default" unless told otherwise, and writes nothing itself', async () => {
    expect(await run([])).toMatchObject({ code: 0, asked: [{ agent: 'default' }], stdout: '', stderr: '' })
    const { asked } = await run(['--agent', 'guide', '--config', 'c.json', '--data', 'd'])
    expect(asked).toEqual([{ agent: 'guide', config: 'c.json', data: 'd' }])
  })

  it('tells a person at a terminal what it is for', async () => {
    const { stdout, stderr } = await run([], {}, { stdin: true })
    expect([stdout, stderr]).toEqual(['', expect.stringContaining('quartermaster connect --print claude')])
  })

  it('ends by what kept it out', async () => {
    const failure = new AppError('AGENT_NOT_FOUND', 'There is no agent "x".')
    expect(await run(['--json'], { connect: async () => ({ failure }) })).toMatchObject({ code: 4, stdout: '' })
  })

  it.each(['claude', 'codex'])('prints the line for %s, alone on standard output', async client => {
    const { stdout, stderr } = await run(['--print', client])
    expect(stdout).toBe(
      `${client} mcp add quartermaster -- quartermaster connect --agent 'my guide' --config '/a b/quartermaster.config.json'\n`,
    )
    expect(stderr).toBe('Run this:\n')
  })

  it('prints the program itself where no shell would find it by its name', async () => {
    const connectCommand = async () => ({ ...COMMAND, name: undefined })
    const { stdout } = await run(['--print', 'claude'], { connectCommand })
    expect(stdout).toContain('-- /usr/bin/node /opt/quartermaster.js connect ')
  })

  it.each([
    { client: 'cursor', key: 'mcpServers', file: '.cursor/mcp.json' },
    { client: 'vscode', key: 'servers', file: '.vscode/mcp.json' },
  ])('prints the entry for $client, and where it goes', async ({ client, key, file }) => {
    const { stdout, stderr } = await run(['--print', client])
    const entry = { type: 'stdio', command: '/usr/bin/node', args: ['/opt/quartermaster.js', ...COMMAND.args] }
    expect(JSON.parse(stdout)).toEqual({ [key]: { quartermaster: entry } })
    expect(stderr).toBe(`Put this into ${file}, beside what is there:\n`)
  })

  it('answers a program with all of it', async () => {
    const { stdout, stderr } = await run(['--print', 'cursor', '--json'])
    expect(JSON.parse(stdout)).toEqual({
      client: 'cursor',
      name: 'quartermaster',
      file: '.cursor/mcp.json',
      text: expect.any(String),
      agent: 'default',
      command: '/usr/bin/node',
      args: ['/opt/quartermaster.js', ...COMMAND.args],
    })
    expect(stderr).toBe('')
  })

  it.each([
    [['--agent', 'default'], 'quartermaster'],
    [['--organisation', 'default'], 'quartermaster'],
    [['--agent', 'guide'], 'quartermaster-guide'],
    [['--agent', 'my guide'], 'quartermaster-my-guide'],
    [['--organisation', 'acme'], 'quartermaster-acme-default'],
    [['--organisation', 'acme', '--agent', 'guide'], 'quartermaster-acme-guide'],
    [['--agent', 'researcher_of_the_north_wing'], 'quartermaster-researcher_of-ab84'],
    [['--agent', 'researcher_of_the_south_wing'], 'quartermaster-researcher_of-2c74'],
  ])('calls the server of %j by a name of its own in every client', async (flags, name) => {
    const printed = async (client: string) => (await run(['--print', client, ...flags])).stdout
    for (const client of ['claude', 'codex']) expect(await printed(client)).toContain(`${client} mcp add ${name} -- `)
    expect(Object.keys(JSON.parse(await printed('cursor')).mcpServers)).toEqual([name])
    expect(Object.keys(JSON.parse(await printed('vscode')).servers)).toEqual([name])
  })

  it('says why the line would lead nowhere, and prints it all the same', async () => {
    const connectCommand = async () => ({ ...COMMAND, doubts: ['There is no agent "my guide".'] })
    const printed = await run(['--print', 'claude'], { connectCommand })
    expect(printed.stdout).toContain('claude mcp add quartermaster -- ')
    expect(printed).toMatchObject({ code: 0, stderr: 'Note: There is no agent "my guide".\nRun this:\n' })
    const json = await run(['--print', 'claude', '--json'], { connectCommand })
    expect(JSON.parse(json.stdout)).not.toHaveProperty('doubts')
    expect(json.stderr).toBe('Note: There is no agent "my guide".\n')
  })

  it('knows its clients', async () => {
    const { code, stderr } = await run(['--print', 'emacs'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('Allowed choices are claude, codex, cursor, vscode.')])
  })
})
