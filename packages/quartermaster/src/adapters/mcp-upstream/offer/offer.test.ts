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
})
