import { describe, expect, it } from 'vitest'
import type { Control } from '../../../contracts/index.ts'
import { FILES, NOTES, READ_FILE, READ_FILE_DETAIL, WEATHER } from '../../../testing/cli-fixtures.ts'
import { type CliHostOptions, createFakeCliHost } from '../../../testing/cli-host.ts'
import { STATUS_REPORT } from '../../../testing/fake-control.ts'
import { runCli } from '../index.ts'

const control: Partial<Control> = {
  tools: async ({ agent }) => [
    { ...READ_FILE, command: { name: 'read-file' } },
    ...(agent === 'default' ? [] : [{ ...WEATHER, command: { none: 'Look outside.' } }]),
    ...(agent === 'researcher' ? [{ ...READ_FILE, name: 'later', command: { name: 'read-file', flag: 'async' } }] : []),
  ],
  tool: async ({ name }) => ({
    ...READ_FILE_DETAIL,
    name,
    command: name === 'later' ? { name: 'read-file', flag: 'async' } : { name: 'read-file' },
    input: {
      properties: { path: { type: 'string' }, mode: { enum: ['fast', 'safe'] }, [name]: { type: 'integer' } },
      required: ['path'],
    },
  }),
  agents: async () => [
    { name: 'researcher', title: 'Finds\tthings', capabilities: [], granted: 0, unavailable: 0, problems: [] },
  ],
  capabilities: async () => [FILES],
  upstreams: async () => [NOTES],
  status: async () => ({
    ...STATUS_REPORT,
    dependencies: [{ name: 'forecast', state: 'down', reason: 'no', since: 0, dependsOn: [] }],
  }),
}

async function complete(words: string[], options: CliHostOptions = {}) {
  const { host, seen } = createFakeCliHost({ control, ...options })
  const code = await runCli(['__complete', '--', ...words], host)
  const lines = seen.stdout.split('\n').filter(line => line !== '')
  return { code, values: lines.map(line => line.split('\t')[0]), lines, ...seen }
}

describe('completion', () => {
  it('offers no value that could steer the terminal, cannot be seen or looks like another line', async () => {
    const values = ['plain', 'a\u009b2J', 'b\u200b', 'c\nrm', 'd\u202e']
    const tool = async () => ({
      ...READ_FILE_DETAIL,
      command: { name: 'read-file' },
      input: { properties: { mode: { enum: values } } },
    })
    const { lines } = await complete(['do', 'read-file', '--mode', ''], { control: { ...control, tool } })
    expect(lines).toEqual(['plain'])
  })

  it.each([
    { words: ['too'], values: ['tools'] },
    { words: ['tokens', 'c'], values: ['create'] },
    { words: ['tokens', 'create', 'r'], values: ['researcher'] },
    { words: ['re'], values: ['remove', 'recheck', 'reload'] },
    { words: ['agents', 'c'], values: ['check'] },
    { words: ['agents', 'check', ''], values: ['researcher'] },
    { words: ['tools', ''], values: ['read_file', 'weather'] },
    { words: ['tools', '--st'], values: ['--state'] },
    { words: ['tools', '--state', ''], values: ['active', 'disabled'] },
    { words: ['tools', '--state=d'], values: ['--state=disabled'] },
    { words: ['tools', '--section', ''], values: ['files', 'world'] },
    { words: ['tools', '--agent', 'r'], values: ['researcher'] },
    { words: ['tools', '--state', 'active', 'w'], values: ['weather'] },
    { words: ['call', 'w'], values: ['weather'] },
    { words: ['call', 'weather', 'x'], values: [] },
    { words: ['call', '--even-if-disabled', 'rea'], values: ['read_file'] },
    { words: ['grant', ''], values: ['researcher'] },
    { words: ['grant', 'researcher', ''], values: ['files'] },
    { words: ['grant', 'researcher', 'files', '--set', 'a=1', '--cr'], values: ['--create'] },
    { words: ['capabilities', ''], values: ['files'] },
    { words: ['recheck', 'f'], values: ['forecast', 'files'] },
    { words: ['recheck', 'dependency:'], values: ['dependency:forecast'] },
    { words: ['connect', '--agent', 'r'], values: ['researcher'] },
    { words: ['connect', '--print', 'c'], values: ['claude', 'codex', 'cursor'] },
    { words: ['remove', ''], values: ['notes'] },
    { words: ['upstreams', 'r'], values: ['review', 'reject', 'restart'] },
    { words: ['upstreams', 'review', ''], values: ['notes'] },
    { words: ['add', 'x', '--agent', 'r'], values: ['researcher'] },
    { words: ['operations', 'c'], values: ['cancel'] },
    { words: ['operations', 'v'], values: ['verify'] },
    { words: ['approvals', 'a'], values: ['allow', 'answer'] },
    { words: ['approvals', '--agent', 'r'], values: ['researcher'] },
    { words: ['grants', 'revoke', '--agent', 'r'], values: ['researcher'] },
    { words: ['operations', 'list', '--de'], values: ['--dead'] },
    { words: ['call', 'weather', '--id'], values: ['--idempotency-key'] },
    { words: ['do', ''], values: ['read-file'] },
    { words: ['do', 'w'], values: [] },
    { words: ['do', '--ag'], values: ['--agent'] },
    { words: ['do', '--agent', 'r'], values: ['researcher'] },
    { words: ['do', 'read-file', '--m'], values: ['--mode'] },
    { words: ['do', 'read-file', '--mode', ''], values: ['fast', 'safe'] },
    { words: ['do', 'read-file', 'x', '--mode=s'], values: ['--mode=safe'] },
    { words: ['do', 'read-file', '--read'], values: ['--read-file'] },
    { words: ['do', '--agent', 'researcher', 'read-file', '--as'], values: ['--async'] },
    { words: ['do', '--agent', 'researcher', 'read-file', '--async', '--l'], values: ['--later'] },
    { words: ['do', 'read-file', '--idem'], values: ['--idempotency-key'] },
    { words: ['do', '--agent', 'read-file', '--m'], values: [] },
    { words: ['do', '--idempotency-key', 'x', 'read-file', '--m'], values: ['--mode'] },
    { words: ['completion', ''], values: ['bash', 'zsh', 'fish'] },
    { words: ['--json', 'sta'], values: ['status'] },
    { words: ['status', '--config', ''], values: [':files'] },
    { words: ['--data=x'], values: [':dirs'] },
    { words: ['init', ''], values: [':dirs'] },
    { words: ['tools', '--', '--st'], values: [] },
    { words: ['nope', ''], values: [] },
  ])('of $words is $values', async ({ words, values }) => {
    const { code, ...answer } = await complete(words)
    expect({ code, values: answer.values, stderr: answer.stderr }).toEqual({ code: 0, values, stderr: '' })
  })

  it('offers every command but the hidden one', async () => {
    const { values } = await complete([''])
    expect(values).toEqual([
      'up',
      'init',
      'connect',
      'join',
      'add',
      'remove',
      'import',
      'upstreams',
      'tools',
      'capabilities',
      'agents',
      'prompt',
      'grant',
      'tokens',
      'organisations',
      'workspaces',
      'peers',
      'join-codes',
      'persons',
      'memory',
      'delegations',
      'call',
      'do',
      'recheck',
      'reload',
      'status',
      'operations',
      'approvals',
      'grants',
      'logs',
      'login',
      'logout',
      'store',
      'docs',
      'doctor',
      'completion',
      'help',
    ])
  })

  it('says beside a word what it is, without what could break the line', async () => {
    expect((await complete(['grant', ''])).lines).toEqual(['researcher\tFinds\\x09things'])
  })

  it('looks where the line says', async () => {
    const { opened } = await complete(['--config', 'c.json', 'tools', '--data=d', ''])
    expect(opened).toEqual([{ config: 'c.json', data: 'd' }])
  })

  it('answers nothing, silently, when something fails', async () => {
    const answer = await complete(['tools', ''], { control: { tools: () => Promise.reject(new Error('broken')) } })
    expect(answer).toMatchObject({ code: 0, stdout: '', stderr: '' })
    const closed = await complete(['tools', ''], { host: { openControl: () => Promise.reject(new Error('broken')) } })
    expect(closed).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  it('completes what the program knows where no up answers for the rest', async () => {
    for (const host of [
      { openControl: () => Promise.reject(new Error('broken')) },
      { openControl: () => new Promise<never>(() => {}) },
    ]) {
      const { host: made, clock, seen } = createFakeCliHost({ host })
      const code = runCli(['__complete', '--', 'do', '--id'], made)
      await clock.advance(1_000)
      expect([await code, seen.stdout.split('\t')[0]]).toEqual([0, '--idempotency-key'])
    }
  })

  it('gives up after a second', async () => {
    const { host, clock, seen } = createFakeCliHost({
      control: { tools: () => new Promise(() => {}) },
      terminal: { stderr: true },
    })
    const code = runCli(['__complete', '--', 'tools', ''], host)
    await clock.advance(1_000)
    expect(await code).toBe(0)
    expect(seen.stdout).toBe('')
  })

  it('prints the script of a shell, also as JSON', async () => {
    const { host, seen } = createFakeCliHost()
    expect(await runCli(['completion', 'bash'], host)).toBe(0)
    const script = seen.stdout
    expect(script).toContain('complete -F _quartermaster quartermaster')
    seen.stdout = ''
    await runCli(['completion', 'bash', '--json'], host)
    expect(JSON.parse(seen.stdout)).toEqual({ shell: 'bash', script })
  })

  it('knows its shells', async () => {
    const { host, seen } = createFakeCliHost()
    expect(await runCli(['completion', 'csh'], host)).toBe(2)
    expect(seen.stderr).toContain('Allowed choices are bash, zsh, fish.')
  })
})
