import { describe, expect, it } from 'vitest'
import { createHub, simpleCapability, simplePrompt, simpleResource, simpleTool } from '../../../testing/hub.ts'
import { passedContents, passedPrompt, passedResult } from '../../catalogue/index.ts'

async function hubThatPasses(value: unknown, more: object = {}) {
  const tool = simpleTool('far', { handler: () => passedResult(value), ...more })
  const hub = await createHub({
    kind: 'upstream',
    units: { up: { capabilities: [simpleCapability('up', [tool])] } },
    agents: { coder: { capabilities: { up: {} } } },
  })
  return () => hub.callAs('coder', 'far')
}

const NUMBER = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }

describe('a result that someone else’s server gave', () => {
  it('goes on as it came, unknown kinds of content and fields included', async () => {
    const value = {
      content: [
        { type: 'hologram', depth: 3, _meta: { 'x/y': 1 } },
        { text: 'b', type: 'text', annotations: { audience: ['user'] } },
        { type: 'audio', data: 'not base64!', mimeType: 'audio/wav' },
      ],
      structuredContent: [1, 'two', null],
      _meta: { 'x/z': [1] },
      extra: true,
    }
    const call = await hubThatPasses(value)
    const { result } = await call()
    expect(JSON.stringify(result)).toBe(JSON.stringify(value))
    expect(result.content).toBe(value.content)
  })

  it('comes without what only meant something between the gateway and that server', async () => {
    const call = await hubThatPasses({
      resultType: 'input_required',
      content: [],
      _meta: { 'quartermaster/kept': {}, 'io.modelcontextprotocol/serverInfo': {}, mine: 1 },
    })
    expect((await call()).result).toEqual({ content: [], _meta: { mine: 1 } })
  })

  it('is no less one when it names what objects come from', async () => {
    const value = JSON.parse(
      '{"__proto__": {"isError": true, "toJSON": 1}, "content": [{"type": "text", "text": "a"}]}',
    )
    const { result } = await (await hubThatPasses(value))()
    expect(JSON.stringify(result)).toBe('{"content":[{"type":"text","text":"a"}]}')
    expect(result.isError).toBeUndefined()
  })

  it('without content has none', async () => {
    expect((await (await hubThatPasses({ structuredContent: { n: 1 } }))()).result).toEqual({
      structuredContent: { n: 1 },
      content: [],
    })
  })

  it.each([
    ['no object', 'text', 'must be a list'],
    ['a list of something else', { content: ['text'] }, 'must be an object with a type'],
    ['nothing in the list', { content: [null] }, 'must be an object with a type'],
    ['an odd isError', { content: [], isError: 'yes' }, 'must be true or false'],
    ['an odd _meta', { content: [], _meta: [] }, 'must be an object'],
  ])('that is %s is refused', async (_what, value, message) => {
    const call = await hubThatPasses(value)
    await expect(call()).rejects.toMatchObject({ code: 'OUTPUT_INVALID', message: expect.stringContaining(message) })
  })

  it('keeps what its tool promises, unless it says no', async () => {
    const good = await hubThatPasses({ content: [], structuredContent: { n: 1 } }, { output: NUMBER })
    expect((await good()).result.structuredContent).toEqual({ n: 1 })
    const bad = await hubThatPasses({ content: [], structuredContent: { n: 'one' } }, { output: NUMBER })
    await expect(bad()).rejects.toMatchObject({ code: 'OUTPUT_INVALID' })
    const no = await hubThatPasses({ content: [{ type: 'text', text: 'no' }], isError: true }, { output: NUMBER })
    expect((await no()).result.isError).toBe(true)
  })

  it.each([
    ['of many short texts', { content: Array.from({ length: 200 }, () => ({ type: 'text', text: 'abcdefghij' })) }],
    ['of one kind that nobody knows', { content: [{ type: 'hologram', data: 'x'.repeat(2_000) }] }],
    ['of a text without one', { content: [{ type: 'text', odd: 'x'.repeat(2_000) }] }],
  ])('that is too long %s is cut', async (_what, value) => {
    const call = await hubThatPasses(value, { maxResultBytes: 1024 })
    const { kept } = await call()
    expect(kept?.totalBytes).toBeGreaterThan(1024)
  })

  it('that is just as long as it may be is not cut', async () => {
    const text = '\u0001€'.repeat(100)
    const value = { content: [{ type: 'text', text, _meta: {} }] }
    const maxResultBytes = 1024 + 64
    expect(new TextEncoder().encode(JSON.stringify(value)).length).toBeLessThanOrEqual(maxResultBytes)
    expect((await (await hubThatPasses(value, { maxResultBytes }))()).kept).toBeUndefined()
  })
})

describe('what was read at someone else’s server', () => {
  async function seatWith(value: unknown) {
    const hub = await createHub({
      kind: 'upstream',
      units: {
        up: {
          capabilities: [
            simpleCapability('up', [], {
              prompts: [simplePrompt('far', { render: () => passedPrompt(value) })],
              resources: [simpleResource('far://a', { read: () => passedContents(value) })],
            }),
          ],
        },
      },
      agents: { coder: { capabilities: { up: {} } } },
      settings: { maxResultBytes: 1024 },
    })
    const seat = hub.agents.seat('coder')
    return {
      read: () => hub.readings.readResource({ seat, uri: 'far://a' }),
      render: () => hub.readings.renderPrompt({ seat, name: 'far' }),
    }
  }

  it('goes on as it came', async () => {
    const contents = {
      contents: [{ mimeType: 'x', uri: 'far://b', blob: 'not-base64_', _meta: { a: 1 } }],
      _meta: { b: 2 },
    }
    expect(JSON.stringify(await (await seatWith(contents)).read())).toBe(JSON.stringify(contents))
    const prompt = { messages: [{ content: { type: 'hologram' }, role: 'user', _meta: { a: 1 } }], _meta: { b: 2 } }
    expect(JSON.stringify(await (await seatWith(prompt)).render())).toBe(JSON.stringify(prompt))
  })

  it('is refused when it is no list of objects, or too large', async () => {
    const odd = await seatWith({ contents: 'text', messages: [1] })
    await expect(odd.read()).rejects.toMatchObject({ code: 'OUTPUT_INVALID' })
    await expect(odd.render()).rejects.toMatchObject({ code: 'OUTPUT_INVALID' })
    const large = await seatWith({ contents: [{ uri: 'a:b', text: 'x'.repeat(2_000) }] })
    await expect(large.read()).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
  })
})
