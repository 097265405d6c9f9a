import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ApprovalSummary, CallAnswer, DocsAnswer, ToolDetail, ToolSummary } from '../src/contracts/index.ts'
import { type Finished, openUp, quartermaster, type RunningUp, writeFiles } from './support/product.ts'

const CAPABILITY = `
  import { defineCapability, defineTool, toolFailure } from 'quartermaster'
  import { writeFileSync } from 'node:fs'
  const file = name => new URL('../' + name, import.meta.url)
  const input = { type: 'object', properties: {} }
  const tool = (name, more) => defineTool({ name, short: name + '.', input, mutates: false, ...more })
  const numbers = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] }
  const sum = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] }
  const long = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  let pays = 0
  export const desk = defineCapability({
    key: 'desk', short: 'A desk.',
    tools: [
      tool('add', { input: numbers, output: sum, handler: ({ a, b }) => ({ sum: a + b }) }),
      tool('no', { handler: () => toolFailure('I would rather not.') }),
      tool('long', { maxResultBytes: 5_000, handler: () => 'y'.repeat(20_000) }),
      tool('report', { maxResultBytes: 5_000, output: long, handler: () => ({ text: 'y'.repeat(20_000) }) }),
      tool('wait', { handler: (_, { signal }) => new Promise((_, reject) => {
        signal.addEventListener('abort', () => { writeFileSync(file('ended'), ''); reject(signal.reason) })
        writeFileSync(file('begun'), '')
      }) }),
      tool('pay', { mutates: true, handler: () => 'paid ' + ++pays }),
    ],
  })
  export const vault = defineCapability({
    key: 'vault', short: 'A vault.', tools: [tool('open_vault', { handler: () => 'gold' })],
  })
`

const PAGE = `---
kind: reference
title: How we release
summary: What is done before a release.
---
Ring the bell twice.
`

let dir: string
let elsewhere: string
let up: RunningUp
let token: string
const own = (...args: string[]) => quartermaster(args, { cwd: dir })

/** Somewhere where there is no project, as an agent that has nothing but its token and an address. */
function asWorker(...args: string[]): Promise<Finished> {
  return quartermaster(args, { cwd: elsewhere, env: { QUARTERMASTER_TOKEN: token, QUARTERMASTER_URL: up.url } })
}

beforeAll(async () => {
  elsewhere = await mkdtemp(join(tmpdir(), 'elsewhere-'))
  dir = await mkdtemp(join(tmpdir(), 'project-'))
  await writeFiles(dir, {
    'quartermaster.config.json': '{ "settings": { "consentWaitSeconds": 0 } }',
    'capabilities/desk.ts': CAPABILITY,
    'knowledge/release.md': PAGE,
    'agents/worker.json': '{ "capabilities": { "desk": {}, "files": { "dirs": ["."] } }, "view": "direct" }',
    'agents/keeper.json': '{ "capabilities": { "desk": {}, "vault": {} }, "view": "gateway" }',
  })
  up = await openUp(dir)
  token = (await own('tokens', 'create', 'worker', '--json')).json<{ token: string }>().token
})
afterAll(async () => {
  await up?.stop()
  for (const folder of [dir, elsewhere]) await rm(folder, { recursive: true, force: true })
})

describe('with the token of an agent in QUARTERMASTER_TOKEN', () => {
  it.each([
    [0, 'do', 'do --agent worker'],
    [0, 'do --json', 'do --agent worker --json'],
    [0, 'do add --help', 'do add --help'],
    [0, 'do add 1 2', 'do add 1 2 --agent worker'],
    [2, 'do add 1', 'do add 1 --agent worker'],
    [4, 'do ad 1', 'do ad 1 --agent worker'],
    [2, 'do get_status', 'do get_status --agent worker'],
    [2, 'do read-docs', 'do read-docs --agent worker'],
    [0, 'call add a=1 b=2', 'call add a=1 b=2 --agent worker'],
    [1, 'call no', 'call no --agent worker'],
    [0, 'call long', 'call long --agent worker'],
    [0, 'call report', 'call report --agent worker'],
    [3, 'call add a=x b=2', 'call add a=x b=2 --agent worker'],
    [3, 'call add {"a":1} --json', 'call add {"a":1} --agent worker --json'],
    [0, 'tools', 'tools --agent worker'],
    [0, 'tools --section files --json', 'tools --agent worker --section files --json'],
    [0, 'tools read_file --json', 'tools read_file --json'],
    [0, 'prompt --shell', 'prompt worker --shell'],
    [0, 'prompt worker --json', 'prompt worker --json'],
    [0, 'docs', 'docs --agent worker'],
    [0, 'docs release --json', 'docs release --agent worker --json'],
    [0, 'docs --path release', 'docs --path release --agent worker'],
    [0, 'docs zzzz --json', 'docs zzzz --agent worker --json'],
    [4, 'docs --path nowhere', 'docs --path nowhere --agent worker'],
  ])('ends with %i, and with the same words as for the owner who names the agent: %s', async (code, mine, owners) => {
    const { json: _mine, ...asAgent } = await asWorker(...mine.split(' '))
    const { json: _owners, ...asOwner } = await own(...owners.split(' '))
    expect(asAgent).toEqual({ ...asOwner, code })
  })

  it('lists automatically granted tools too, with the reason why they are no commands', async () => {
    const { stdout } = await asWorker('do')
    expect(stdout).toMatch(/\(get_status\) .* Without a command: [^]* By its name: quartermaster call get_status\n/)
    expect(stdout).toMatch(/\(read_docs\) .* Without a command: On the command line: quartermaster docs\./)
  })

  it('prints calls as JSON with all that the owner sees of them', async () => {
    const withoutId = ({ operationId, ...answer }: CallAnswer) => {
      expect(operationId).toMatch(/^op_/)
      return JSON.parse(JSON.stringify(answer).replaceAll(operationId, 'op'))
    }
    for (const line of [['add', 'a=1', 'b=2'], ['no'], ['long'], ['report']]) {
      const [mine, owners] = [
        await asWorker('call', ...line, '--json'),
        await own('call', ...line, '--agent', 'worker', '--json'),
      ]
      expect(withoutId(mine.json<CallAnswer>())).toEqual(withoutId(owners.json<CallAnswer>()))
      expect(mine.code).toBe(owners.code)
    }
  })

  it('does a thing once under one key', async () => {
    const pay = () => asWorker('do', 'pay', '--idempotency-key', 'november')
    expect((await pay()).stdout).toBe((await pay()).stdout)
  })

  it('ends a call where it runs, by Ctrl-C', async () => {
    const interrupt = new AbortController()
    const env = { QUARTERMASTER_TOKEN: token, QUARTERMASTER_URL: up.url }
    const waiting = quartermaster(['call', 'wait'], { cwd: elsewhere, env, signal: interrupt.signal })
    await expect.poll(() => existsSync(join(dir, 'begun'))).toBe(true)
    interrupt.abort()
    expect(await waiting).toMatchObject({ code: 130, stdout: '', stderr: 'Cancelled.\n' })
    await expect.poll(() => existsSync(join(dir, 'ended'))).toBe(true)
  })

  it('reaches nothing that others have, and learns nothing about it', async () => {
    const call = await asWorker('call', 'open_vault', '--json')
    expect([call.code, call.json()]).toEqual([4, { error: expect.objectContaining({ code: 'TOOL_NOT_FOUND' }) }])
    expect(await asWorker('tools', 'open_vault')).toMatchObject({ code: 4, stdout: '' })
    expect(await asWorker('do', 'open-vault')).toMatchObject({ code: 4, stdout: '' })
    const seen = (await asWorker('tools', '--json')).stdout + (await asWorker('docs', '--json')).stdout
    expect(seen).not.toContain('vault')
    expect(await asWorker('prompt', 'keeper')).toMatchObject({ code: 8, stdout: '' })
  })

  it('calls by their names also what the gateway view does not list', async () => {
    const keeper = (await own('tokens', 'create', 'keeper', '--json')).json<{ token: string }>().token
    const env = { QUARTERMASTER_TOKEN: keeper, QUARTERMASTER_URL: up.url }
    const run = (...args: string[]) => quartermaster(args, { cwd: elsewhere, env })
    expect(await run('do', 'open-vault')).toMatchObject({ code: 0, stdout: 'gold' })
    expect((await run('tools', '--json')).json<ToolSummary[]>().map(({ name }) => name)).toContain('open_vault')
    expect(await run('do', 'find_tools')).toMatchObject({ code: 2, stderr: expect.stringContaining('call find_tools') })
    expect((await run('tools', 'find_tools', '--json')).json<ToolDetail>()).toMatchObject({ name: 'find_tools' })
    expect((await run('docs', 'bell', '--json')).json<DocsAnswer>().entries[0]).toMatchObject({ path: 'release' })
  })

  it('waits for a person, and cannot be that person', async () => {
    const asked = await asWorker('do', 'write-file', 'a.txt', 'one')
    expect(asked).toMatchObject({ code: 14, stdout: '' })
    const [, id = ''] = /quartermaster call get_status id=(op_[\w-]+)\n$/.exec(asked.stderr) ?? []
    expect((await asWorker('call', 'get_status', `id=${id}`)).stdout).toContain('waits for a person')
    const here = (...args: string[]) => quartermaster(args, { cwd: dir, env: { QUARTERMASTER_TOKEN: token } })
    for (const line of [['list'], ['show', id], ['allow', id], ['allow', id, '--always']]) {
      const refused = await here('approvals', ...line)
      expect(refused).toMatchObject({ code: 9, stdout: '', stderr: expect.stringContaining('(TOKEN_INVALID)') })
    }
    expect(await here('grants', 'list')).toMatchObject({ code: 9, stdout: '' })
    const open = (await own('approvals', '--json')).json<ApprovalSummary[]>()
    expect(open.map(one => one.id)).toEqual([id])
    await expect(readFile(join(dir, 'a.txt'))).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('has no part in what is the owner’s, also beside the data folder', async () => {
    const here = (...args: string[]) => quartermaster(args, { cwd: dir, env: { QUARTERMASTER_TOKEN: token } })
    expect(await here('do', 'add', '1', '2')).toMatchObject({ code: 0 })
    for (const line of [
      ['status'],
      ['grant', 'worker', 'vault'],
      ['tokens', 'create', 'keeper'],
      ['docs', 'check'],
      ['do', '--agent', 'keeper'],
      ['do', 'open-vault', '--agent', 'keeper'],
      ['call', 'open_vault', '--agent', 'keeper'],
      ['call', 'add', '--even-if-disabled'],
      ['tools', '--agent', 'keeper'],
      ['docs', '--agent', 'keeper'],
    ]) {
      const refused = await here(...line)
      expect({ line, ...refused }).toMatchObject({ line, code: 8, stdout: '' })
      expect(refused.stderr).toMatch(/is for the owner of the data folder, .* Ask the owner\.\n\(REQUEST_REFUSED\)\n$/s)
    }
  })

  it('is refused with an invalid token, wherever it stands', async () => {
    const made = (await own('tokens', 'create', 'worker', '--json')).json<{ token: string; id: string }>()
    await own('tokens', 'revoke', made.id)
    const expired = (await own('tokens', 'create', 'worker', '--for', '1s', '--json')).json<{ token: string }>()
    const person = (await own('tokens', 'create', '--person', 'eve', '--json')).json<{ token: string }>()
    for (const bad of [made.token, person.token, 'qm_nonsense'])
      for (const line of [['do'], ['call', 'add', 'a=1', 'b=2'], ['tools'], ['prompt'], ['docs']]) {
        const refused = await quartermaster(line, { cwd: dir, env: { QUARTERMASTER_TOKEN: bad } })
        expect({ line, ...refused }).toMatchObject({ line, code: 9, stdout: '' })
        expect(refused.stderr).toMatch(/Next: Ask the owner for a valid token.*\n\(TOKEN_INVALID\)\n$/s)
        expect(refused.stderr).not.toContain('Make one')
      }
    const use = () => quartermaster(['do'], { cwd: dir, env: { QUARTERMASTER_TOKEN: expired.token } })
    await expect.poll(async () => (await use()).code).toBe(9)
  })
})
