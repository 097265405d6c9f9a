import { describe, expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { httpEndpoint, type Visit } from './testing/http-endpoint.ts'
import { answerLegacy } from './testing/legacy-answers.ts'
import { entry, SIGNAL, stage } from './testing/upstreams-fixture.ts'

const TOO_LONG = 33 * 1024 * 1024
const DEEP = `${'['.repeat(600)}${']'.repeat(600)}`

const TOOLS = ['read', 'write', 'set'].map(name => ({
  name,
  description: `It is ${name}.`,
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: name === 'read', idempotentHint: name === 'set' },
}))
const ABOUT = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
  serverInfo: { name: 'odd', version: '1' },
}
const LISTS = {
  initialize: () => ABOUT,
  'tools/list': () => ({ tools: TOOLS }),
  'prompts/list': () => ({ prompts: [{ name: 'p', description: 'A prompt.', arguments: [{ name: 'a' }] }] }),
  'resources/list': () => ({ resources: [{ uri: 'odd://r', name: 'r' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
}
const ASKED = new Set(['tools/call', 'prompts/get', 'resources/read', 'completion/complete'])

const CONTEXT = { caller: { name: 'ada' }, client: 'one', signal: SIGNAL, canAnswer: () => false, progress() {} }

/** A server whose answers to what an agent asks of it are all written like this. */
async function serverThat(write: (visit: Visit, whole: (result: string) => string) => unknown) {
  const { configure, units, isUp } = await stage()
  const server = await httpEndpoint(visit => {
    if (!ASKED.has(String(visit.body.method))) return answerLegacy(visit, LISTS)
    return write(visit, result => `{"jsonrpc":"2.0","id":${JSON.stringify(visit.body.id)},"result":${result}}`)
  })
  await configure({ odd: UpstreamConfig.parse({ url: server.url, era: 'legacy' }) })
  await isUp('odd')
  const [unit] = await units()
  const [capability] = unit?.definitions.capabilities ?? []
  return {
    call: async (name: string) =>
      capability?.tools.find(tool => tool.name === `odd_${name}`)?.handler({} as never, CONTEXT as never),
    prompt: capability?.prompts?.[0],
    resource: capability?.resources?.[0],
    /** How often it was asked for something. */
    times: () => server.visits.filter(({ body }) => ASKED.has(String(body.method))).length,
  }
}

function inJson(visit: Visit, text: string): void {
  visit.response.writeHead(200, { 'content-type': 'application/json' }).end(text)
}

const ANSWERS: [string, RegExp, Parameters<typeof serverThat>[0]][] = [
  ['is too long', /longer than 33554432 bytes/, (visit, whole) => inJson(visit, whole(`"${'x'.repeat(TOO_LONG)}"`))],
  [
    'is too long for an event',
    /longer than 33554432 bytes/,
    (visit, whole) => visit.events()(`data: ${whole(`"${'x'.repeat(TOO_LONG)}"`)}\n\n`),
  ],
  ['nests too deep', /deeper than 512 levels/, (visit, whole) => inJson(visit, whole(`{"content":${DEEP}}`))],
  ['is nothing', /no result/, (visit, whole) => inJson(visit, whole('null'))],
  ['is a number', /no result/, (visit, whole) => visit.events()(`data: ${whole('5')}\n\n`)],
]

describe.each(ANSWERS)('an answer that %s', (_what, why, write) => {
  it('leaves open how a call ended that may have changed something, and is not asked for again', async () => {
    const server = await serverThat(write)
    for (const name of ['write', 'set']) {
      const asked = server.call(name)
      const details = { upstream: 'odd', because: 'OUTPUT_INVALID' }
      await expect(asked).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', details })
      await expect(asked).rejects.toThrow(why)
      await expect(asked).rejects.toThrow(/It may have done its work\. Look before you call it again\.$/)
    }
    expect(server.times()).toBe(2)
  })

  it('is no result of a call that changes nothing, and is not asked for again', async () => {
    const server = await serverThat(write)
    await expect(server.call('read')).rejects.toMatchObject({
      code: 'OUTPUT_INVALID',
      message: expect.stringMatching(why),
      details: { upstream: 'odd' },
    })
    expect(server.times()).toBe(1)
  })
})

it.each([
  ['a prompt', ({ prompt }) => prompt?.render({} as never, CONTEXT as never)],
  ['a resource', ({ resource }) => resource?.read({ uri: 'odd://r' } as never, CONTEXT as never)],
  ['a suggestion', ({ prompt }) => prompt?.arguments?.[0]?.suggest?.('', { ...CONTEXT, arguments: {} } as never)],
] as [string, (server: Awaited<ReturnType<typeof serverThat>>) => unknown][])(
  'says of %s what cannot be read of its answer, and does not ask again',
  async (_what, ask) => {
    const server = await serverThat((visit, whole) => inJson(visit, whole('5')))
    const failure = { code: 'OUTPUT_INVALID', message: expect.stringContaining('no result') }
    await expect(Promise.resolve(ask(server))).rejects.toMatchObject(failure)
    expect(server.times()).toBe(1)
  },
)

it('leaves open how a call of a program ended whose answer is too long', async () => {
  const { configure, units, isUp, status } = await stage()
  await configure({ ill: entry({ tools: { echo: { mutates: true } } }, `--huge-answer=${TOO_LONG}`) })
  await isUp()
  const [unit] = await units()
  const echo = unit?.definitions.capabilities?.[0]?.tools.find(({ name }) => name === 'ill_echo')
  expect(echo).toMatchObject({ mutates: true })
  const called = Promise.resolve(echo?.handler({} as never, CONTEXT as never))
  await expect(called).rejects.toMatchObject({
    code: 'OUTCOME_UNKNOWN',
    message: expect.stringContaining('longer than 33554432 bytes'),
  })
  expect(status()).toMatchObject({ state: 'up', restarts: 0 })
})
