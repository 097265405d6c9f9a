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
        { text: 'b', type: 'text', annotations: { listeners: ['user'] } },
        { type: 'audio', data: 'not base64!', mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'far://a', blob: '', odd: 1 } },
        { type: 'resource_link', uri: 'far://b', name: 'b' },
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

  it.each([
    ['a text that is none', { type: 'text', text: 5 }, 'content.1.text must be a text.'],
    ['a picture that is nowhere', { type: 'image' }, 'content.1.data must be a text.'],
    ['a sound of no kind', { type: 'audio', data: 'QUJD' }, 'content.1.mimeType must be a text.'],
    ['no file', { type: 'resource', resource: null }, 'content.1.resource must be an object.'],
    [
      'a file without an address',
      { type: 'resource', resource: { text: 'a' } },
      'content.1.resource.uri must be a text.',
    ],
    [
      'a file with nothing in it',
      { type: 'resource', resource: { uri: 'a:b', text: 5 } },
      'content.1.resource must have a text or a blob.',
    ],
    ['a link without a name', { type: 'resource_link', uri: 'a:b' }, 'content.1.name must be a text.'],
  ])(
    'with %s in it is refused as every client would, and what else it says is told beside that',
    async (_what, odd, issue) => {
      const said = { type: 'text', text: 'there is one' }
      for (const isError of [true, false]) {
        const value = { content: [said, odd, said], isError }
        const failure = { message: expect.stringContaining(issue), details: { issues: [issue], content: [said, said] } }
        const reading = await hubThatPasses(value, { mutates: false })
        await expect(reading()).rejects.toMatchObject({ code: 'OUTPUT_INVALID', ...failure })
        const changing = await hubThatPasses(value, { mutates: true })
        await expect(changing()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', ...failure })
      }
    },
  )

  it('keeps what its tool promises, unless it says no', async () => {
    const good = await hubThatPasses({ content: [], structuredContent: { n: 1 } }, { output: NUMBER })
    expect((await good()).result.structuredContent).toEqual({ n: 1 })
    const no = await hubThatPasses({ content: [{ type: 'text', text: 'no' }], isError: true }, { output: NUMBER })
    expect((await no()).result.isError).toBe(true)
  })

  it('and that does not fit the output schema is answered with everything else that the server said', async () => {
    const content = [{ type: 'text', text: 'there is one' }]
    const bad = await hubThatPasses({ content, structuredContent: { n: 'one' } }, { output: NUMBER, mutates: false })
    await expect(bad()).rejects.toMatchObject({ code: 'OUTPUT_INVALID', details: { content } })
    const long = [{ type: 'image', data: 'x'.repeat(70_000), mimeType: 'image/png' }, ...content]
    const much = await hubThatPasses({ content: long, structuredContent: {} }, { output: NUMBER, mutates: false })
    const left = {
      type: 'text',
      text: '[Left out of this: 1 of its 2 pieces, because they are too large for an error.]',
    }
    await expect(much()).rejects.toMatchObject({ details: { content: [...content, left] } })
  })

  it.each([
    ['of many short texts', { content: Array.from({ length: 200 }, () => ({ type: 'text', text: 'abcdefghij' })) }],
    ['of one kind that nobody knows', { content: [{ type: 'hologram', data: 'x'.repeat(2_000) }] }],
    ['of a field that nobody knows', { content: [{ type: 'text', text: '', odd: 'x'.repeat(2_000) }] }],
  ])('that is too long %s is cut', async (_what, value) => {
    const call = await hubThatPasses(value, { maxResultBytes: 1024 })
    const { kept } = await call()
    expect(kept?.totalBytes).toBeGreaterThan(1024)
  })

  const twice = (text: string) => ({ content: [{ type: 'text', text }], structuredContent: { content: text } })

  it('whose structure is its text once more is counted once', async () => {
    const fits = twice('"'.repeat(1_000))
    const call = await hubThatPasses(fits, { maxResultBytes: 1024 })
    expect(await call()).toMatchObject({ result: fits })
  })

  it('whose structure is its text once more is cut as a text, and kept as one', async () => {
    const call = await hubThatPasses(twice('"'.repeat(1_025)), { maxResultBytes: 1024 })
    const { result, kept } = await call()
    expect([result.content[0], kept?.totalBytes]).toEqual([{ type: 'text', text: '"'.repeat(1_024) }, 1_025])
  })

  it.each([
    ['a short text under a long name', { ['n'.repeat(2_000)]: 'x' }],
    ['another text', { content: 'y'.repeat(2_000) }],
  ])('whose structure is %s is counted with all of it', async (_what, structuredContent) => {
    const value = { content: [{ type: 'text', text: 'x' }], structuredContent }
    const call = await hubThatPasses(value, { maxResultBytes: 1024 })
    expect((await call()).kept?.totalBytes).toBeGreaterThan(2_000)
  })

  it('whose structure says more than its text is counted with all of it', async () => {
    const { content, structuredContent } = twice('x'.repeat(600))
    const call = await hubThatPasses(
      { content, structuredContent: { ...structuredContent, n: 1 } },
      { maxResultBytes: 1024 },
    )
    expect((await call()).kept?.totalBytes).toBeGreaterThan(1_200)
  })

  it('that is just as long as it may be is not cut', async () => {
    const text = '\u0001€'.repeat(100)
    const value = { content: [{ type: 'text', text, _meta: {} }] }
    const maxResultBytes = 1024 + 64
    expect(new TextEncoder().encode(JSON.stringify(value)).length).toBeLessThanOrEqual(maxResultBytes)
    expect((await (await hubThatPasses(value, { maxResultBytes }))()).kept).toBeUndefined()
  })
})

describe('pictures, sounds and files in a result', () => {
  const data = 'QUJD'.repeat(1_000)
  const words = { type: 'text', text: 'a picture' }
  const picture = { type: 'image', data, mimeType: 'image/png' }
  const file = { type: 'resource', resource: { uri: 'far://a', mimeType: 'application/pdf', blob: data } }
  const binary = { maxResultBytes: 1024, maxBinaryBytes: 10_000 }

  it.each([
    ['a picture', { content: [words, picture] }],
    ['a sound', { content: [{ type: 'audio', data, mimeType: 'audio/wav' }] }],
    ['a file', { content: [file, words] }],
    ['several', { content: [picture, file] }],
    ['a kind that nobody knows yet', { content: [{ type: 'video', data, mimeType: 'video/mp4' }] }],
    ['one that the structure repeats', { content: [picture], structuredContent: { content: [picture] } }],
    [
      'one that is an address in the structure',
      { content: [picture], structuredContent: { src: `data:image/png;base64,${data}` } },
    ],
  ])('pass whole beside the limit of texts: %s', async (_what, value) => {
    const { result, kept } = await (await hubThatPasses(value, binary))()
    expect(JSON.stringify(result)).toBe(JSON.stringify(value))
    expect(kept).toBeUndefined()
  })

  it('stay whole where the words beside them are cut, and are no part of the pages', async () => {
    const text = 'words '.repeat(1_000)
    const value = { content: [{ type: 'text', text }, picture], structuredContent: { text, shown: data } }
    const { result, kept } = await (await hubThatPasses(value, binary))()
    expect(result.content.map(({ type }) => type)).toEqual(['text', 'text', 'image'])
    expect(result.content[2]).toBe(picture)
    expect(JSON.stringify(result.content.slice(0, 2))).not.toContain(data.slice(0, 100))
    expect(kept?.totalBytes).toBeLessThan(2 * text.length + 1_000)
    const bare = await (await hubThatPasses({ content: [{ type: 'text', text }, picture] }, binary))()
    expect(bare.kept?.totalBytes).toBe(text.length)
  })

  it('are left out beyond a bound of their own, and the rest of the result passes', async () => {
    const large = { type: 'image', data: 'A'.repeat(11_000), mimeType: 'image/png' }
    const value = { content: [large, picture, words], structuredContent: { first: large.data, second: data }, more: 1 }
    const { result, kept } = await (await hubThatPasses(value, binary))()
    const text = expect.stringMatching(
      /^\[image\/png of 11000 bytes, as base64, is left out: .* 10000 .*"maxBinaryBytes"/,
    )
    expect(result.content).toEqual([{ type: 'text', text }, picture, words])
    expect(result).toMatchObject({ structuredContent: { first: text, second: data }, more: 1 })
    expect(kept).toBeUndefined()
  })

  it('take the structure along where one is left out that a promised structure repeats, and its words are told as text', async () => {
    const large = { type: 'image', data: 'A'.repeat(11_000), mimeType: 'image/png' }
    const output = {
      type: 'object',
      properties: { data: { type: 'string', pattern: '^[A-Z]+$' }, of: { type: 'string' } },
    }
    const value = { content: [large, words], structuredContent: { data: large.data, of: 'a cat' }, _meta: { mine: 1 } }
    const { result, kept } = await (await hubThatPasses(value, { ...binary, output }))()
    const left = expect.stringContaining('is left out')
    expect(result).toEqual({
      content: [{ type: 'text', text: left }, words, { type: 'text', text: expect.stringContaining('"of":"a cat"') }],
      _meta: { mine: 1, 'quartermaster/succeeded': true },
    })
    expect(kept).toBeUndefined()
    const apart = { ...value, structuredContent: { of: 'a cat' } }
    const { result: told } = await (await hubThatPasses(apart, { ...binary, output }))()
    expect(told).toEqual({ ...apart, content: [{ type: 'text', text: left }, words] })
  })

  it('have the bound of the settings where their tool says none', async () => {
    const tool = simpleTool('far', { maxResultBytes: 1024, handler: () => passedResult({ content: [picture, file] }) })
    const hub = await createHub({
      kind: 'upstream',
      units: { up: { capabilities: [simpleCapability('up', [tool])] } },
      agents: { coder: { capabilities: { up: {} } } },
      settings: { maxBinaryBytes: 5_000 },
    })
    const { content } = (await hub.callAs('coder', 'far')).result
    expect(content).toEqual([picture, { type: 'text', text: expect.stringContaining('application/pdf of 4000 bytes') }])
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
      settings: { maxResultBytes: 1024, maxBinaryBytes: 5_000 },
    })
    const session = hub.agents.session('coder')
    return {
      read: () => hub.readings.readResource({ session, uri: 'far://a' }),
      render: () => hub.readings.renderPrompt({ session, name: 'far' }),
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

  it.each([
    [{ role: 'user', content: { type: 'text' } }, 'messages.0.content.text must be a text.'],
    [{ role: 'user', content: 'text' }, 'messages.0.content must be an object with a type.'],
    [{ role: 'system', content: { type: 'text', text: '' } }, 'messages.0.role must be "user" or "assistant".'],
  ])('is refused when a message is none that clients take: %o', async (message, issue) => {
    const { render } = await seatWith({ messages: [message] })
    await expect(render()).rejects.toMatchObject({ code: 'OUTPUT_INVALID', message: expect.stringContaining(issue) })
  })

  it.each([
    [{ text: 'a' }, 'contents.0.uri must be a text.'],
    [{ uri: 'far://a', mimeType: 'text/plain' }, 'contents.0 must have a text or a blob.'],
  ])('is refused when something read is none that clients take: %o', async (one, issue) => {
    const { read } = await seatWith({ contents: [one] })
    await expect(read()).rejects.toMatchObject({ code: 'OUTPUT_INVALID', message: expect.stringContaining(issue) })
  })

  it('is refused when it is no list of objects, or too large', async () => {
    const odd = await seatWith({ contents: 'text', messages: [1] })
    await expect(odd.read()).rejects.toMatchObject({ code: 'OUTPUT_INVALID' })
    await expect(odd.render()).rejects.toMatchObject({ code: 'OUTPUT_INVALID' })
    const large = await seatWith({ contents: [{ uri: 'a:b', text: 'x'.repeat(2_000) }] })
    await expect(large.read()).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' })
  })

  it('may be a picture beyond the limit of texts, up to a bound of its own', async () => {
    const contents = (bytes: number) => ({ contents: [{ uri: 'far://a', blob: 'A'.repeat(bytes) }] })
    const messages = (bytes: number) => {
      const content = { type: 'image', data: 'A'.repeat(bytes), mimeType: 'image/png' }
      return { messages: [{ role: 'user', content }] }
    }
    expect(await (await seatWith(contents(4_000))).read()).toEqual(contents(4_000))
    expect(await (await seatWith(messages(4_000))).render()).toEqual(messages(4_000))
    const refusal = { code: 'LIMIT_EXCEEDED', message: expect.stringContaining('"maxBinaryBytes"') }
    await expect((await seatWith(contents(6_000))).read()).rejects.toMatchObject(refusal)
    await expect((await seatWith(messages(6_000))).render()).rejects.toMatchObject(refusal)
  })
})
