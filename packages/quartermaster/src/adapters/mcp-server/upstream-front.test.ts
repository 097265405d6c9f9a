import { describe, expect, it } from 'vitest'
import type { Question } from '../../contracts/index.ts'
import {
  type AnyResource,
  type AnyTool,
  defineTool,
  passedContents,
  passedPrompt,
  passedResult,
} from '../../core/catalogue/index.ts'
import { createHub, simpleCapability, simplePrompt, simpleResource, simpleTool } from '../../testing/hub.ts'
import { connect, ERAS, frontOf } from './testing/front.ts'

async function open(more: { tools?: readonly AnyTool[]; resources?: readonly AnyResource[] } & object) {
  const { tools = [], ...rest } = more
  const hub = await createHub({
    kind: 'upstream',
    units: { up: { capabilities: [simpleCapability('up', tools, rest), simpleCapability('none', [])] } },
    agents: { coder: { capabilities: { up: {} } }, other: { capabilities: { up: {} } } },
  })
  return { hub, front: frontOf(hub) }
}

const RESULT = {
  content: [
    { type: 'text', text: 'Hello.', annotations: { audience: ['user'], priority: 1 }, _meta: { 'x/y': 1 } },
    { type: 'image', data: 'AQID', mimeType: 'image/png' },
    { type: 'audio', data: 'AQID', mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'a://b', mimeType: 'text/plain', text: 'b', _meta: { c: 1 } } },
    { type: 'resource_link', uri: 'a://c', name: 'c', size: 3, icons: [{ src: 'https://example.com/c.png' }] },
  ],
  structuredContent: { n: 1 },
  _meta: { 'x/z': { deep: [1] } },
}

it('tells clients of one agent apart, by their tokens and their sessions', async () => {
  const seen: string[] = []
  const far = simpleTool('far', {
    handler(_input, { client }) {
      seen.push(client)
      return 'done'
    },
  })
  const { front } = await open({ tools: [far] })
  const call = async (agent: string, era: (typeof ERAS)[number]) => {
    const client = await connect(front, agent, era)
    await client.callTool({ name: 'far' })
    await client.callTool({ name: 'far' })
  }
  await call('coder', 'legacy')
  await call('coder', 'legacy')
  await call('coder', 'auto')
  await call('other', 'auto')
  const [one, again, second, , modern, , other] = seen
  expect(again).toBe(one)
  expect(new Set([one, second, modern, other]).size).toBe(4)
  expect(new Set(seen).size).toBe(4)
})

describe.each(ERAS)('a client of the era %s', era => {
  it('gets what an upstream’s tool answers as it was', async () => {
    const { front } = await open({ tools: [simpleTool('far', { handler: () => passedResult(RESULT) })] })
    const client = await connect(front, 'coder', era)
    const { _meta, ...result } = await client.callTool({ name: 'far' })
    const { _meta: given, ...rest } = RESULT
    expect(result).toEqual(rest)
    expect(_meta).toMatchObject({ ...given, 'quartermaster/operationId': expect.any(String) })
  })

  it('gets what an upstream’s prompts and resources hold as it was', async () => {
    const [text, , , resource] = RESULT.content
    const prompt = {
      description: 'd',
      messages: [text, resource].map(content => ({ role: 'user', content })),
      _meta: { a: 1 },
    }
    const contents = {
      contents: [{ uri: 'far://a', mimeType: 'text/plain', text: 'a', _meta: { b: 1 } }],
      _meta: { c: 1 },
    }
    const { front } = await open({
      prompts: [simplePrompt('far', { render: () => passedPrompt(prompt) })],
      resources: [simpleResource('far://a', { read: () => passedContents(contents) })],
    } as never)
    const client = await connect(front, 'coder', era)
    expect(await client.getPrompt({ name: 'far' })).toMatchObject(prompt)
    expect(await client.readResource({ uri: 'far://a' })).toMatchObject(contents)
  })

  it('is told of definitions what their server says beside the facts', async () => {
    const mcp = {
      annotations: { openWorldHint: true, readOnlyHint: false, destructiveHint: false },
      icons: [{ src: 'https://example.com/a.png', mimeType: 'image/png' }],
      _meta: { 'x/y': 1 },
    }
    const { annotations: _, ...rest } = mcp
    const { front } = await open({
      tools: [
        simpleTool('far', { mcp }),
        simpleTool('adds', { mcp, mutates: true }),
        simpleTool('does', { mutates: true }),
      ],
      prompts: [simplePrompt('far', { mcp: rest })],
      resources: [simpleResource('far://a', { mcp: { ...rest, annotations: { priority: 1 }, size: 7 } })],
    } as never)
    const client = await connect(front, 'coder', era)
    const { tools } = await client.listTools()
    expect(tools).toMatchObject([
      { ...rest, annotations: { openWorldHint: true, readOnlyHint: true, idempotentHint: true } },
      { annotations: { readOnlyHint: false, destructiveHint: false } },
      { annotations: { readOnlyHint: false, destructiveHint: true } },
    ])
    expect((await client.listPrompts()).prompts).toMatchObject([rest])
    const { resources } = await client.listResources()
    expect(resources.at(-1)).toMatchObject({ ...rest, annotations: { priority: 1 }, size: 7 })
  })

  it('has any template of an upstream listed as it is, and reads at its addresses', async () => {
    const page = {
      name: 'page',
      uriTemplate: 'docs://{book}{/path*}{?lang}',
      read: ({ uri }: { uri: string }) => passedContents({ contents: [{ uri, text: uri }] }),
    }
    const { front } = await open({ resources: [page as never] })
    const client = await connect(front, 'coder', era)
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.at(-1)?.uriTemplate).toBe('docs://{book}{/path*}{?lang}')
    const uri = 'docs://guide/a/b?lang=en'
    expect((await client.readResource({ uri })).contents).toEqual([{ uri, text: uri }])
  })

  it('hears of changes at the addresses it watches, and of no others', async () => {
    const watched = watchedResource('far://a')
    const { hub, front } = await open({ resources: [watched.resource, simpleResource('far://b')] })
    const client = await connect(front, 'coder', era)
    const other = await connect(front, 'other', era)
    const updated: string[] = []
    const others: string[] = []
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void updated.push(params.uri))
    other.setNotificationHandler('notifications/resources/updated', ({ params }) => void others.push(params.uri))
    const stop = await watch(client, era, 'far://a')
    await watch(other, era, 'far://b')
    await expect.poll(() => watched.watchers()).toEqual(['coder'])
    watched.tell('far://a')
    await expect.poll(() => updated).toEqual(['far://a'])
    for (let times = 0; times < 50; times++) watched.tell('far://a')
    await hub.clock.advance(1_000)
    await expect.poll(() => updated).toEqual(['far://a', 'far://a'])
    expect(others).toEqual([])
    await stop()
    await expect.poll(() => watched.watchers()).toEqual([])
  })

  it('stops watching with its token', async () => {
    const watched = watchedResource('far://a')
    const { front } = await open({ resources: [watched.resource] })
    const client = await connect(front, 'coder', era)
    await watch(client, era, 'far://a')
    await expect.poll(() => watched.watchers()).toEqual(['coder'])
    await front.revoke('coder')
    await expect.poll(() => watched.watchers()).toEqual([])
  })

  it('is sent to a page where it can open one', async () => {
    const question: Question = { kind: 'url', key: 'login', message: 'Sign in first.', url: 'https://example.com/in' }
    const { front } = await open({ tools: [asking(question)] })
    const client = await connect(front, 'coder', era, { capabilities: { elicitation: { url: {} } } })
    const seen: unknown[] = []
    client.setRequestHandler('elicitation/create', ({ params }) => {
      seen.push(params)
      return { action: 'accept' }
    })
    expect((await client.callTool({ name: 'asks' })).content).toEqual([{ type: 'text', text: '{"action":"accept"}' }])
    expect(seen).toMatchObject([{ mode: 'url', message: 'Sign in first.', url: 'https://example.com/in' }])
    const forms = await connect(front, 'coder', era, { capabilities: { elicitation: { form: {} } } })
    forms.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: {} }))
    const refused = forms.callTool({ name: 'asks' }).then(({ content }) => JSON.stringify(content), String)
    expect(await refused).toContain('elicitation.url')
  })
})

function asking(question: Question): AnyTool {
  const handler = async (_input: unknown, { ask }: { ask(question: Question): Promise<unknown> }) =>
    JSON.stringify(await ask(question))
  return defineTool({
    name: 'asks',
    short: 'Asks.',
    input: { type: 'object' },
    mutates: false,
    handler: handler as never,
  })
}

/** A resource that tells of changes, and who watches it. */
function watchedResource(uri: string) {
  const watching = new Map<() => void, { uri: string; agent: string }>()
  const resource = simpleResource(uri, {
    watch(address, onUpdated, { caller }) {
      watching.set(onUpdated, { uri: address, agent: caller.name })
      return () => void watching.delete(onUpdated)
    },
  })
  return {
    resource,
    watchers: () => [...watching.values()].map(({ agent }) => agent),
    tell(address: string) {
      for (const [onUpdated, one] of watching) if (one.uri === address) onUpdated()
    },
  }
}

async function watch(client: Awaited<ReturnType<typeof connect>>, era: string, uri: string) {
  if (era === 'legacy') {
    await client.subscribeResource({ uri })
    return () => client.unsubscribeResource({ uri }).then(() => {})
  }
  const subscription = await client.listen({ resourceSubscriptions: [uri] })
  return () => subscription.close()
}

describe('structured content that is no object', () => {
  const tool = simpleTool('list', {
    output: { type: 'array', items: { type: 'number' } } as never,
    handler: () => passedResult({ content: [{ type: 'text', text: '[1]' }], structuredContent: [1] }),
  })

  it('is promised and given to clients from 2026-07-28 on', async () => {
    const { front } = await open({ tools: [tool] })
    const client = await connect(front, 'coder', 'auto')
    expect((await client.listTools()).tools[0]?.outputSchema).toEqual({ type: 'array', items: { type: 'number' } })
    expect((await client.callTool({ name: 'list' })).structuredContent).toEqual([1])
  })

  it('is kept from older ones, which would refuse it', async () => {
    const { front } = await open({ tools: [tool] })
    const client = await connect(front, 'coder', 'legacy')
    expect((await client.listTools()).tools[0]?.outputSchema).toBeUndefined()
    expect((await client.callTool({ name: 'list' })).structuredContent).toBeUndefined()
  })
})
