import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { createControlClient } from '../../src/adapters/control-client/index.ts'
import type { Control } from '../../src/contracts/index.ts'
import { createQuartermaster, type Quartermaster } from '../../src/index.ts'
import { openUp, writeFiles } from '../support/product.ts'

/** A core that runtimes reach the same agents in. */
export interface Place {
  readonly dir: string
  readonly control: Control
  /** A file of the clerk's parent, as that peer may name it here. */
  fileOf(peer: string): Promise<string>
}

/** A program that has opened the folder itself. */
export interface HostPlace extends Place {
  readonly host: Quartermaster
}

/** A running `up`. */
export interface UpPlace extends Place {
  readonly url: string
  readonly mcpUrl: string
  tokenOf(agent: string): Promise<string>
}

const CAPABILITY = `
  import { AppError, defineCapability, defineDependency, defineTool, toolFailure, toolResult } from 'quartermaster'
  import { path } from 'quartermaster/probes'
  const feed = defineDependency({ name: 'feed', probe: path({ path: new URL('../feed.txt', import.meta.url).pathname }) })
  const input = { type: 'object', properties: {} }
  const sum = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] }
  const tool = (name, more) => defineTool({ name, short: name + '.', input, mutates: false, ...more })
  export default defineCapability({
    key: 'desk', short: 'A desk.', dependencies: [feed],
    consentOperations: [{ name: 'desk.pay', reason: 'Pays.', weight: 'moderate' }],
    tools: [
      tool('picture', { handler: () => toolResult({ content: [{ type: 'text', text: 'Look:' }, { type: 'image', data: 'AAAA', mimeType: 'image/png' }] }) }),
      tool('number', { handler: () => 5 }),
      tool('refuse', { handler: () => toolFailure('I would rather not.') }),
      tool('boom', { handler: () => { throw new Error('It broke.') } }),
      tool('now', { requires: ['feed'], handler: () => {
        throw new AppError('DEPENDENCY_UNAVAILABLE', 'Nothing comes.', { details: { dependency: 'feed' } })
      } }),
      tool('blot', { handler: () => toolResult({ isError: true, content: [{ type: 'text', text: 'A blot:' }, { type: 'image', data: 'AAAA', mimeType: 'image/png' }] }) }),
      tool('papers', { handler: () => toolResult({ content: [
        { type: 'resource', resource: { uri: 'desk:letter', mimeType: 'text/plain', text: 'Dear all,' } },
        { type: 'resource', resource: { uri: 'desk:seal', mimeType: 'application/octet-stream', blob: 'AAEC' } },
        { type: 'resource_link', uri: 'desk:drawer', name: 'the drawer' },
      ] }) }),
      tool('ask', { handler: async (_, { ask }) => JSON.stringify(await ask({ message: 'Sure?', schema: input })) }),
      tool('long', { maxResultBytes: 1_024, handler: () => 'long '.repeat(500) }),
      // Promises a structure, so what fails must have none.
      tool('fail', {
        input: { type: 'object', properties: { code: { type: 'string' } } }, output: sum,
        handler: ({ code }) => { throw new AppError(code, 'It did not go.', { details: { of: 3 } }) },
      }),
      tool('sum', { output: sum, handler: () => toolResult({ content: [], structuredContent: { sum: 3 } }) }),
      tool('order', { output: sum, mutates: true, consent: ['desk.pay'], handler: () => ({ sum: 3 }) }),
      tool('steps', { handler: (_, { progress }) => { progress({ progress: 1, total: 2, message: 'half' }); return 'done' } }),
      tool('pay', { mutates: true, consent: ['desk.pay'], handler: () => 'paid' }),
    ],
  })
`

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Agents and a folder for each runtime, so that what one has done is not what another finds. */
function filesFor(fixtures: readonly string[]): Record<string, string | Uint8Array> {
  const files: Record<string, string | Uint8Array> = {
    'quartermaster.config.json': JSON.stringify({
      settings: { requestsPerMinute: 100_000, consentWaitSeconds: 0, recoveringSeconds: 0 },
    }),
    'capabilities/desk.ts': CAPABILITY,
    'feed.txt': '',
    'knowledge/chairs.md':
      '---\nkind: concept\ntitle: Chairs\nsummary: What a chair is.\n---\nA chair has four legs, and stands in a room.\n',
  }
  for (const fixture of fixtures) {
    const folder = { dirs: [`desks/${fixture}`] }
    const platform = { delegation: {}, inbox: {}, history: {}, memory: {}, registry: {}, user: {} }
    const agents = {
      top: { workspaceDir: `desks/${fixture}`, capabilities: { delegation: {}, inbox: {}, files: folder } },
      clerk: {
        view: 'direct',
        workspace: { parent: `top-${fixture}`, abilities: ['broadcast'] },
        capabilities: { files: folder, notes: { vault: `desks/${fixture}` }, ...platform, desk: {} },
        consent: { allow: ['files.write', 'notes.write'] },
      },
      reader: { view: 'gateway', capabilities: { files: folder, desk: {} } },
    }
    for (const [name, agent] of Object.entries(agents)) files[`agents/${name}-${fixture}.json`] = JSON.stringify(agent)
    Object.assign(files, {
      [`desks/${fixture}/note.txt`]: 'The key is under the mat.\n',
      [`desks/${fixture}/chairs.txt`]: 'One chair, two chairs.\n',
      [`desks/${fixture}/Garden.md`]: '# Garden\n\n- The tomatoes are red.\n',
      [`desks/${fixture}/dot.png`]: Buffer.from(PNG, 'base64'),
      [`desks/${fixture}/bytes.bin`]: new Uint8Array([0, 1, 2, 255]),
    })
  }
  return files
}

export async function openHostPlace(fixtures: readonly string[]): Promise<HostPlace & { close(): Promise<void> }> {
  const dir = await madeFolder(fixtures)
  const host = await createQuartermaster({ dir, env: {} })
  return { dir, host, control: host.control, fileOf: async () => 'chairs.txt', close: () => cleared(dir, host.stop) }
}

export async function openUpPlace(fixtures: readonly string[]): Promise<UpPlace & { close(): Promise<void> }> {
  const dir = await madeFolder(fixtures)
  const up = await openUp(dir)
  const token = (await readFile(join(dir, '.quartermaster', 'admin-token'), 'utf8')).trim()
  const control = createControlClient({ url: up.url, token })
  const tokenOf = async (agent: string) => (await control.createToken({ agent })).token
  return {
    dir,
    control,
    tokenOf,
    url: up.url,
    mcpUrl: String(up.facts.mcpUrl),
    async fileOf(peer) {
      const headers = { authorization: `Bearer ${await tokenOf(peer)}`, 'content-type': 'text/plain' }
      const body = 'One chair, two chairs.\n'
      const answer = await fetch(`${up.url}/api/v1/attachments?name=chairs.txt`, { method: 'POST', headers, body })
      return ((await answer.json()) as { id: string }).id
    },
    close: () => cleared(dir, up.stop),
  }
}

/** Takes away what a tool needs, and has it noticed. */
export async function breakFeed({ dir, control }: Place, agent: string): Promise<void> {
  await rm(join(dir, 'feed.txt'))
  await control.call({ agent, tool: 'now', input: {} }).catch(() => {})
  await vi.waitFor(async () => expect((await control.tool({ name: 'now' })).state).toBe('disabled'), {
    timeout: 300_000,
  })
}

async function madeFolder(fixtures: readonly string[]): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'agreement-'))
  await writeFiles(dir, filesFor(fixtures))
  return dir
}

async function cleared(dir: string, stop: () => Promise<unknown>): Promise<void> {
  await stop()
  await rm(dir, { recursive: true, force: true })
}
