import { describe, expect, it } from 'vitest'
import { type PinKind, UpstreamConfig } from '../../../contracts/index.ts'
import { defineDependency } from '../../../core/catalogue/index.ts'
import type { ReviewedListing } from '../../../core/upstreams/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { sha256 } from '../../system/index.ts'
import { createOffer } from './offer.ts'
import type { ServedTool, UpstreamCalls } from './upstream-calls.ts'

const dependency = defineDependency({
  name: 'upstream-desk',
  title: 'Desk',
  probe: { describe: { kind: 'upstream' }, run: async () => ({ up: true, reason: '' }) },
})

const definition = (kind: PinKind, name: string, more: object = {}) => ({
  kind,
  name,
  hash: sha256(JSON.stringify([kind, name, more])),
  value: { name, inputSchema: { type: 'object' }, ...more },
})

const probeResultOf = (...offered: ReviewedListing['offered']): ReviewedListing => ({
  offered,
  held: [],
  gone: [],
  problems: [],
})

/** An offer, the calls that it makes its definitions of, and what it is told of watching. */
function stage(entry: Record<string, unknown> = {}) {
  const seen = { served: [] as ServedTool[], suggested: [] as unknown[], read: [] as unknown[] }
  let config = UpstreamConfig.parse({ command: 'server', ...entry })
  const calls: UpstreamCalls = {
    call: tool => (seen.served.push(tool), async () => ({ content: [] })),
    prompt: () => async () => ({ messages: [] }),
    read: async (uri, template) => (seen.read.push([uri, template]), { contents: [] }) as never,
    suggest: (of, argument) => (seen.suggested.push({ of, argument }), async () => []),
  }
  const offer = createOffer({
    name: 'desk',
    digest: sha256,
    clock: createFakeClock(),
    dependency,
    calls,
    config: () => config,
    watch: () => () => {},
  })
  const capability = () => {
    const [first] = offer.unit().definitions.capabilities ?? []
    if (!first) throw new Error('It offers no capability.')
    return first
  }
  const configure = (next: Record<string, unknown>) => {
    config = UpstreamConfig.parse({ command: 'server', ...next })
    offer.configured()
  }
  return { offer, capability, configure, seen }
}

describe('what an upstream offers', () => {
  it('is a capability without tools until it was seen, which says so', async () => {
    const { capability, offer } = stage()
    expect(capability()).toMatchObject({
      key: 'desk',
      tools: [],
      unseen: expect.stringMatching(/`quartermaster upstreams`; if you cannot run that, tell a person who can\.$/),
    })
    expect(capability().requires).toEqual(['upstream-desk'])
    await offer.take(probeResultOf())
    expect(capability().unseen).toBeUndefined()
  })

  it('is another one only when something of it is, in whatever order it is listed', async () => {
    const { offer, configure } = stage()
    const [a, b] = [definition('tool', 'a'), definition('tool', 'b')]
    expect(await offer.take(probeResultOf(a, b))).toBe(true)
    expect(await offer.take(probeResultOf(b, a))).toBe(false)
    expect(await offer.take(probeResultOf(a))).toBe(true)
    const { hash } = offer.unit()
    configure({ short: 'Another text.' })
    expect(offer.unit().hash).not.toBe(hash)
  })

  it('is called by the names of the server, and sent again only what may be', async () => {
    const { capability, offer, seen } = stage({ tools: { third: { idempotent: true } } })
    const reads = definition('tool', 'first', { annotations: { readOnlyHint: true } })
    await offer.take(probeResultOf(reads, definition('tool', 'second'), definition('tool', 'third')))
    expect(capability().tools.map(({ name }) => name)).toEqual(['desk_first', 'desk_second', 'desk_third'])
    expect(seen.served).toMatchObject([
      { name: 'first', mayRepeat: true, mutates: false },
      { name: 'second', mayRepeat: false, mutates: true },
      { name: 'third', mayRepeat: true, mutates: true },
    ])
  })

  it('is told which operation a call is, where that may change something and the configuration does not say no', async () => {
    const { offer, configure, seen } = stage()
    const reads = definition('tool', 'first', { annotations: { readOnlyHint: true } })
    await offer.take(probeResultOf(reads, definition('tool', 'second')))
    offer.unit()
    expect(seen.served.map(({ isKeyed }) => isKeyed)).toEqual([false, true])
    configure({ idempotencyKey: false })
    await offer.take(probeResultOf(reads, definition('tool', 'second')))
    offer.unit()
    expect(seen.served.slice(2).some(({ isKeyed }) => isKeyed)).toBe(false)
  })

  it('tells of what waits for a person, once, and how to look at it', async () => {
    const { offer, capability } = stage()
    const held = [{ kind: 'tool', name: 'odd', state: 'new', reason: 'New.' }] as const
    await offer.take({ ...probeResultOf(definition('tool', 'a')), held })
    expect(capability().withheld).toMatchObject([{ name: 'odd', reason: 'New.' }])
    expect(offer.unit().problems).toMatchObject([
      { severity: 'warning', fix: expect.stringContaining('quartermaster upstreams review desk') },
    ])
  })

  it('does not remind of what a person has rejected, and says of it that they have', async () => {
    const { offer, capability } = stage()
    const held = [{ kind: 'tool', name: 'odd', state: 'rejected', reason: 'It was looked at and refused.' }] as const
    await offer.take({ ...probeResultOf(definition('tool', 'a')), held })
    expect(capability().withheld).toMatchObject([{ name: 'odd', reason: 'It was looked at and refused.' }])
    expect(offer.unit().problems).toEqual([])
  })

  it('knows what its server had once, for agents that name it, and reminds nobody else of it', async () => {
    const { capability, offer } = stage({ leaveOut: ['old'] })
    const verdict = probeResultOf(definition('tool', 'a'))
    await offer.take(verdict)
    expect(await offer.take({ ...verdict, gone: ['look', 'old'] })).toBe(true)
    expect(capability().gone).toEqual([
      { name: 'look', calledAs: 'desk_look', reason: 'Its server does not list it any more.' },
    ])
    expect(capability().withheld).toEqual([])
    expect(capability().unwanted).toMatchObject([{ name: 'old' }])
    expect(offer.unit().problems).toMatchObject([{ subject: 'tool:old' }])
  })

  it.each([
    [{ leaveOut: ['wipe', 'odd'] }, '"leaveOut" names it'],
    [{ offer: ['a'] }, '"offer" does not name it'],
    [{ tools: { wipe: { offer: false }, odd: { offer: false } } }, '"tools" says "offer": false of it'],
  ])('knows what its owner leaves out, held back or not, for agents that name it: %j', async (entry, why) => {
    const { capability, offer, configure } = stage()
    const held = [{ kind: 'tool', name: 'odd', state: 'new', reason: 'New.' }] as const
    await offer.take({ ...probeResultOf(definition('tool', 'a'), definition('tool', 'wipe')), held })
    expect(capability().unwanted).toEqual([])
    configure(entry)
    const reason = `The owner leaves it out: in the entry of "desk" in "mcpServers", ${why}.`
    expect(capability().tools.map(({ name }) => name)).toEqual(['desk_a'])
    expect(capability().unwanted).toEqual([
      { name: 'wipe', calledAs: 'desk_wipe', reason },
      { name: 'odd', calledAs: 'desk_odd', reason },
    ])
    expect(capability().withheld).toEqual([])
    expect(offer.unit().problems).toEqual([])
  })

  it('is another one when its server adds something that is left out, which agents may name', async () => {
    const { capability, offer } = stage({ offer: ['a'] })
    await offer.take(probeResultOf(definition('tool', 'a')))
    const held = [{ kind: 'tool', name: 'odd', state: 'new', reason: 'New.' }] as const
    expect(await offer.take({ ...probeResultOf(definition('tool', 'a')), held })).toBe(true)
    expect(capability().unwanted).toMatchObject([{ name: 'odd' }])
  })

  it('does not warn of prompts that are left out either', async () => {
    const { offer, configure } = stage()
    const warning = {
      severity: 'warning',
      code: 'DEFINITION_INVALID',
      where: 'upstream:desk',
      message: 'Odd.',
    } as const
    const problems = [{ ...warning, subject: 'prompt:greet' }]
    await offer.take({ ...probeResultOf(definition('prompt', 'greet')), problems })
    expect(offer.unit().problems).toEqual(problems)
    configure({ prompts: false })
    expect(offer.unit().problems).toEqual([])
  })

  it('has prompts with suggestions for their arguments, under the prefix it is given, unless they are left out', async () => {
    const { offer, capability, configure, seen } = stage()
    const args = [{ name: 'who', required: true }, { description: 'No name.' }, 'nonsense']
    await offer.take(probeResultOf(definition('prompt', 'greet', { description: 'Greets.', arguments: args })))
    expect(capability().prompts).toMatchObject([
      { name: 'desk_greet', short: 'Greets.', arguments: [{ name: 'who', required: true }] },
    ])
    expect(seen.suggested).toEqual([{ of: { kind: 'prompt', name: 'greet' }, argument: 'who' }])
    for (const [prefix, name] of [
      [false, 'greet'],
      ['hall', 'hall_greet'],
    ] as const) {
      configure({ prefix })
      expect(capability().prompts).toMatchObject([{ name }])
    }
    configure({ prompts: false })
    expect(capability().prompts).toEqual([])
  })

  it('has resources at the addresses of the server, and suggestions for every name of a template', async () => {
    const { offer, capability, configure, seen } = stage()
    const page = definition('resource', 'desk://a', {
      name: 'A',
      size: 3,
      mimeType: 'text/plain',
      icons: [{ src: 'x' }],
    })
    const template = definition('template', 'desk://{+path}{?depth,tags*,first:3}', { name: 'Files' })
    await offer.take(probeResultOf(page, template))
    expect(capability().resources).toMatchObject([
      { name: 'A', uri: 'desk://a', mimeType: 'text/plain', mcp: { size: 3, icons: [{ src: 'x' }] } },
      { name: 'Files', uriTemplate: 'desk://{+path}{?depth,tags*,first:3}' },
    ])
    expect(seen.suggested.map(one => (one as { argument: string }).argument)).toEqual([
      'path',
      'depth',
      'tags',
      'first',
    ])
    for (const resource of capability().resources ?? []) await resource.read({ uri: 'desk://a' } as never, {} as never)
    expect(seen.read).toEqual([
      ['desk://a', undefined],
      ['desk://a', 'desk://{+path}{?depth,tags*,first:3}'],
    ])
    configure({ resources: false })
    expect(capability().resources).toEqual([])
  })

  it('takes its title from the configuration, else from the server, and no longer than there is room for', async () => {
    const { offer, capability, configure } = stage()
    await offer.take(probeResultOf(definition('server', 'server', { name: 'desk-server', title: 'x'.repeat(500) })))
    expect(capability()).toMatchObject({ title: 'x'.repeat(100), short: 'Tools of the MCP server "desk-server".' })
    configure({ title: 'The desk', short: 'Ask there.' })
    expect(capability()).toMatchObject({ title: 'The desk', short: 'Ask there.' })
  })

  it('is nothing while the entry is switched off, and that is said', () => {
    const { capability } = stage({ enabled: false })
    expect(capability()).toMatchObject({ unseen: expect.stringContaining('switched off') })
  })
})
