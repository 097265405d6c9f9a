import { describe, expect, it } from 'vitest'
import { type CliHostOptions, createFakeCliHost } from '../../testing/cli-host.ts'
import { STATUS_REPORT } from '../../testing/fake-control.ts'
import { runCli } from './index.ts'

async function run(argv: string[], options: CliHostOptions = {}) {
  const { host, seen } = createFakeCliHost(options)
  return { code: await runCli(argv, host), ...seen }
}

const COMMANDS = [
  ['up'],
  ['init'],
  ['tools'],
  ['capabilities'],
  ['agents'],
  ['agents', 'check'],
  ['grant'],
  ['call'],
  ['recheck'],
  ['reload'],
  ['status'],
  ['doctor'],
  ['completion'],
]

describe('the program', () => {
  it('prints help to standard output when there is no command', async () => {
    const { code, stdout, stderr } = await run([])
    expect(code).toBe(0)
    expect(stdout).toContain('Usage: quartermaster COMMAND')
    expect(stdout).toContain('Examples:')
    expect(stdout).not.toContain('__complete')
    expect(stderr).toBe('')
  })

  it('prints its version', async () => {
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: '1.2.3\n', stderr: '' })
  })

  it.each(COMMANDS)('has examples in the help of %s %s', async (...command) => {
    const { code, stdout } = await run([...command, '--help'])
    expect(code).toBe(0)
    expect(stdout).toContain(`Examples:\n  # `)
    expect(stdout).toContain(`quartermaster ${command[0]}`)
    expect(stdout).toContain('--json')
  })

  it('suggests the command that was meant', async () => {
    const { code, stdout, stderr } = await run(['tolls'])
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toBe("Error: unknown command 'tolls'\n(Did you mean tools?)\nSee: quartermaster --help\n")
  })

  it('ends with 2 on a command that is like none', async () => {
    expect(await run(['nope'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: "Error: unknown command 'nope'\nSee: quartermaster --help\n",
    })
  })

  it('suggests the option that was meant', async () => {
    const { code, stderr } = await run(['tools', '--stat', 'active'])
    expect(code).toBe(2)
    expect(stderr).toContain("unknown option '--stat'\n(Did you mean --state?)\nSee: quartermaster tools --help")
  })

  it('suggests the subcommand that was meant', async () => {
    const { code, stderr } = await run(['agents', 'chekc', 'researcher'])
    expect(code).toBe(2)
    expect(stderr).toContain(`unknown command 'agents chekc'. Did you mean "check"?`)
  })

  it('names the allowed values of an option', async () => {
    const { code, stderr } = await run(['tools', '--state', 'broken'])
    expect(code).toBe(2)
    expect(stderr).toContain('Allowed choices are active, disabled.')
  })

  it('tells a program about a mistake as the one JSON value', async () => {
    const { code, stdout, stderr } = await run(['nope', '--json'])
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: 'INPUT_INVALID',
        kind: 'invalid',
        retry: 'never',
        message: "unknown command 'nope'\nSee: quartermaster --help",
      },
    })
    expect(stderr).toBe('')
  })

  it('prints help for a command that does not exist to standard error', async () => {
    const { code, stdout, stderr } = await run(['help', 'nope'])
    expect(code).toBe(2)
    expect(stdout).toBe('')
    expect(stderr).toContain('Usage:')
  })

  it.each([
    { argv: ['--config', 'a.json', '--data', 'd', 'status'] },
    { argv: ['status', '--config', 'a.json', '--data=d'] },
  ])('takes global options on either side of the command: $argv', async ({ argv }) => {
    const { opened, closed } = await run(argv, { control: { status: async () => STATUS_REPORT } })
    expect(opened).toEqual([{ config: 'a.json', data: 'd' }])
    expect(closed).toBe(1)
  })

  it('shows what was mistyped without obeying it', async () => {
    const { stderr } = await run(['\u001b[2Jnope'])
    expect(stderr).toContain("unknown command '\\x1b[2Jnope'")
  })
})
